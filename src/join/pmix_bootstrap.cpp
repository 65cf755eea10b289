#include "join/pmix_bootstrap.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <fstream>
#include <mutex>

#include "base/text.h"
#include "join/build_id.h"
#include "join/launch_options.h"
#include "join/pmix_library.h"
#include "join/secrets.h"
#include "join/version.h"
#include "join/words.h"

namespace weft::runtime {
namespace {

constexpr base::nanoseconds patience_at_start = 60 * base::second;

// Who is told of failures. It outlives the bootstrap, because PMIx's own thread may still call when the bootstrap is gone; the
// handler that PMIx calls gets no argument of ours, so there is one of these.
struct watcher {
  std::mutex mutex;
  std::function<void(node_id, const std::string&)> told;
  std::deque<std::pair<node_id, std::string>> untold;
  bool closed = false;
};

watcher& the_watcher() {
  static auto& one = *new watcher;
  return one;
}

void tell(node_id node, const std::string& how) {
  auto& w = the_watcher();
  const std::lock_guard held(w.mutex);
  if (w.closed) return;
  if (w.told)
    w.told(node, how);
  else
    w.untold.emplace_back(node, how);
}

void on_event(std::size_t, pmix_status_t, const pmix_proc_t* source, pmix_info_t info[], std::size_t ninfo, pmix_info_t*,
              std::size_t, pmix_event_notification_cbfunc_fn_t done, void* token) {
  const pmix_proc_t* who = source;
  for (std::size_t i = 0; i < ninfo; ++i)
    if (std::strcmp(info[i].key, PMIX_EVENT_AFFECTED_PROC) == 0 && info[i].value.type == PMIX_PROC) who = info[i].value.data.proc;
  if (who != nullptr && who->rank < most_nodes) tell(who->rank, "ended, says the launcher");
  if (done != nullptr) done(PMIX_EVENT_ACTION_COMPLETE, nullptr, 0, nullptr, nullptr, token);
}

// The end of a fence; shared with PMIx's thread, which may come after the waiter has given up.
struct completion {
  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;
  pmix_status_t status = PMIX_SUCCESS;
};

void on_fence(pmix_status_t status, void* token) {
  const std::unique_ptr<std::shared_ptr<completion>> mine(static_cast<std::shared_ptr<completion>*>(token));
  const std::lock_guard held((*mine)->mutex);
  (*mine)->status = status;
  (*mine)->done = true;
  (*mine)->changed.notify_all();
}

struct value_deleter {
  void operator()(pmix_value_t* v) const {
    if (v->type == PMIX_BYTE_OBJECT) std::free(v->data.bo.bytes);
    if (v->type == PMIX_STRING) std::free(v->data.string);
    std::free(v);
  }
};
using value = std::unique_ptr<pmix_value_t, value_deleter>;

class under_pmix final : public bootstrap {
 public:
  under_pmix(const pmix_library& pmix, const pmix_proc_t& self) : pmix_(pmix), self_(self) { who_.self = self.rank; }
  ~under_pmix() override { close_watcher(); }

  const identity& who() const override { return who_; }
  const char* way() const override { return "PMIx"; }
  result<std::vector<base::byte_buffer>> exchange(base::byte_view mine, base::nanoseconds limit) override;
  void watch(std::function<void(node_id, const std::string&)> told) override;
  void report(node_id peer, const std::string& how) override;
  status leave() override;

  status learn_size();
  status introduce();
  void listen_for_failures();

 private:
  status put(const std::string& key, base::byte_view mine);
  status fence(base::nanoseconds limit);
  result<base::byte_buffer> get(node_id node, const std::string& key, base::nanoseconds limit);
  status failed(const char* what, pmix_status_t s) const;
  static void close_watcher();

  pmix_library pmix_;
  pmix_proc_t self_;
  identity who_;
  std::mutex exchanging_;
  std::uint32_t rounds_ = 0;
  bool left_ = false;
};

status under_pmix::failed(const char* what, pmix_status_t s) const {
  return {errc::system, base::format("node %u: PMIx could not %s: %s; look at what the launcher (mpirun, srun) said", who_.self,
                                     what, pmix_.error_string(s))};
}

status under_pmix::put(const std::string& key, base::byte_view mine) {
  pmix_value_t v;
  std::memset(&v, 0, sizeof v);
  v.type = PMIX_BYTE_OBJECT;
  v.data.bo.bytes = const_cast<char*>(reinterpret_cast<const char*>(mine.data()));  // copied, not written
  v.data.bo.size = mine.size();
  if (const auto s = pmix_.put(PMIX_GLOBAL, key.c_str(), &v); s != PMIX_SUCCESS) return failed("store this node's card", s);
  if (const auto s = pmix_.commit(); s != PMIX_SUCCESS) return failed("hand over this node's card", s);
  return {};
}

status under_pmix::fence(base::nanoseconds limit) {
  pmix_proc_t everyone = self_;
  everyone.rank = PMIX_RANK_WILDCARD;
  pmix_info_t collect;
  std::memset(&collect, 0, sizeof collect);
  std::strncpy(collect.key, PMIX_COLLECT_DATA, PMIX_MAX_KEYLEN);
  collect.value.type = PMIX_BOOL;
  collect.value.data.flag = true;

  const auto end = std::make_shared<completion>();
  auto token = std::make_unique<std::shared_ptr<completion>>(end);
  const auto s = pmix_.fence(&everyone, 1, &collect, 1, on_fence, token.get());
  if (s == PMIX_OPERATION_SUCCEEDED) return {};
  if (s != PMIX_SUCCESS) return failed("start a fence", s);
  static_cast<void>(token.release());  // on_fence owns it now

  std::unique_lock held(end->mutex);
  if (!end->changed.wait_for(held, std::chrono::nanoseconds(limit), [&] { return end->done; }))
    return {
        errc::timed_out,
        base::format("node %u: waited %s for the other nodes to meet at start-up exchange %u; look whether they hang or are slow",
                     who_.self, describe_duration(limit).c_str(), rounds_)};
  return end->status == PMIX_SUCCESS ? status() : failed("bring all nodes together", end->status);
}

result<base::byte_buffer> under_pmix::get(node_id node, const std::string& key, base::nanoseconds limit) {
  pmix_proc_t peer = self_;
  peer.rank = node;
  pmix_info_t timeout;
  std::memset(&timeout, 0, sizeof timeout);
  std::strncpy(timeout.key, PMIX_TIMEOUT, PMIX_MAX_KEYLEN);
  timeout.value.type = PMIX_INT;
  timeout.value.data.integer = static_cast<int>(std::clamp<base::nanoseconds>(limit / base::second, 1, 3600));
  pmix_value_t* raw = nullptr;
  const auto s = pmix_.get(&peer, key.c_str(), &timeout, 1, &raw);
  if (s != PMIX_SUCCESS || raw == nullptr) return failed(base::format("get the card of node %u", node).c_str(), s);
  const value v(raw);
  if (v->type != PMIX_BYTE_OBJECT) return failed(base::format("read the card of node %u", node).c_str(), PMIX_ERR_TYPE_MISMATCH);
  const auto view = base::bytes_of(std::string_view(v->data.bo.bytes, v->data.bo.size));
  return base::byte_buffer(view.begin(), view.end());
}

result<std::vector<base::byte_buffer>> under_pmix::exchange(base::byte_view mine, base::nanoseconds limit) {
  if (mine.size() > most_exchanged / who_.nodes)
    return {errc::too_large, base::format("node %u: a block of %zu bytes is too large to exchange among %u nodes; at most %zu fit",
                                          who_.self, mine.size(), who_.nodes, most_exchanged / who_.nodes)};
  const std::lock_guard one_at_a_time(exchanging_);
  const auto key = base::format("weft.%u", ++rounds_);
  // PMIx does not keep empty blocks, so each goes with a byte of its own in front.
  base::writer block;
  block.put(std::uint8_t{1}).put_bytes(mine);
  if (auto s = put(key, block.view()); !s) return s;
  if (auto s = fence(limit); !s) return s;
  std::vector<base::byte_buffer> all(who_.nodes);
  for (node_id node = 0; node < who_.nodes; ++node) {
    auto card = get(node, key, limit);
    if (!card) return card.failure();
    if (card->empty()) return failed("keep a card", PMIX_ERR_BAD_PARAM);
    all[node].assign(card->begin() + 1, card->end());
  }
  return all;
}

void under_pmix::watch(std::function<void(node_id, const std::string&)> told) {
  auto& w = the_watcher();
  const std::lock_guard held(w.mutex);
  w.told = std::move(told);
  for (; !w.untold.empty() && w.told; w.untold.pop_front()) w.told(w.untold.front().first, w.untold.front().second);
}

void under_pmix::report(node_id peer, const std::string& how) {
  const auto sentence = base::format("weft: node %u %s, found node %u; the job was ended", peer, how.c_str(), who_.self);
  pmix_.abort(1, sentence.c_str(), nullptr, 0);  // the whole job; the launcher prints the sentence if it prints such things at all
}

status under_pmix::leave() {
  if (std::exchange(left_, true)) return {};
  close_watcher();
  const auto s = pmix_.finalize(nullptr, 0);
  return s == PMIX_SUCCESS ? status() : failed("leave the job", s);
}

void under_pmix::close_watcher() {
  auto& w = the_watcher();
  const std::lock_guard held(w.mutex);
  w.closed = true;
  w.told = nullptr;
}

status under_pmix::learn_size() {
  pmix_proc_t everyone = self_;
  everyone.rank = PMIX_RANK_WILDCARD;
  pmix_value_t* raw = nullptr;
  const auto s = pmix_.get(&everyone, PMIX_JOB_SIZE, nullptr, 0, &raw);
  if (s != PMIX_SUCCESS || raw == nullptr) return failed("say how many nodes there are", s);
  const value v(raw);
  if (v->type != PMIX_UINT32) return failed("say how many nodes there are", PMIX_ERR_TYPE_MISMATCH);
  who_.nodes = v->data.uint32;
  if (who_.nodes == 0 || who_.nodes > most_nodes)
    return {errc::too_large, base::format("this job has %u nodes; weft's jobs have at most %u", who_.nodes, most_nodes)};
  return {};
}

// Processes share memory if and only if this is the same for both.
std::string host_fingerprint() {
  std::string boot, text(256, '\0');
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  ::gethostname(text.data(), text.size() - 1);
  text = std::string(text.c_str()) + " " + boot;
  for (const char* space : {"/proc/self/ns/net", "/proc/self/ns/pid"}) {
    char target[64] = {};
    if (::readlink(space, target, sizeof target - 1) > 0) text += std::string(" ") + target;
  }
  return text;
}

struct introduction {
  std::string host, release, build;
  std::uint64_t group = 0;
  std::array<std::byte, 16> key{};
  launch_options options;
};

base::byte_buffer write_introduction(const introduction& i) {
  base::writer out;
  out.put_text(i.host).put_text(i.release).put_text(i.build).put(i.group).put(i.key);
  out.put(static_cast<std::uint32_t>(i.options.size()));
  for (const auto& [name, text] : i.options) out.put_text(name).put_text(text);
  return out.take();
}

result<introduction> read_introduction(base::byte_view from, node_id node) {
  introduction i;
  base::reader in(from);
  i.host = in.take_text();
  i.release = in.take_text();
  i.build = in.take_text();
  i.group = in.take<std::uint64_t>();
  i.key = in.take<std::array<std::byte, 16>>();
  for (auto count = in.take<std::uint32_t>(); count > 0 && in.ok(); --count) {
    auto name = in.take_text();
    i.options[std::move(name)] = in.take_text();
  }
  if (!in.complete() || i.release != version)
    return {errc::unavailable,
            base::format("node %u runs another version of weft than this one (%s); install the same build on every host", node,
                         version)};
  return i;
}

// The first exchange: node 0 brings the secrets and the options for all, and everybody says where it runs and what.
status under_pmix::introduce() {
  introduction mine{host_fingerprint(), version, build_id(), 0, {}, {}};
  if (who_.self == 0) {
    if (auto s = make_secrets(mine.group, mine.key); !s) return s;
    mine.options = options_from_environment();
  }
  auto cards = exchange(write_introduction(mine), patience_at_start);
  if (!cards) return cards.failure();

  std::vector<std::string> hosts;
  who_.host_of.clear();
  for (node_id node = 0; node < who_.nodes; ++node) {
    const auto theirs = read_introduction((*cards)[node], node);
    if (!theirs) return theirs.failure();
    if (theirs->build != mine.build)
      return {errc::unavailable,
              base::format("node %u runs a different build of this program than node %u; copy the same file to every host", node,
                           who_.self)};
    if (node == 0) {
      who_.group = theirs->group;
      who_.key = theirs->key;
      who_.options = theirs->options;
    }
    const auto known = std::find(hosts.begin(), hosts.end(), theirs->host);
    who_.host_of.push_back(static_cast<std::uint32_t>(known - hosts.begin()));
    if (known == hosts.end()) hosts.push_back(theirs->host);
  }
  who_.hosts = static_cast<std::uint32_t>(hosts.size());
  who_.host = who_.host_of[who_.self];
  return check_options(who_.options, who_.nodes, who_.hosts);
}

void under_pmix::listen_for_failures() {
  pmix_status_t codes[] = {PMIX_ERR_PROC_ABORTED, PMIX_ERR_PROC_TERM_WO_SYNC, PMIX_EVENT_PROC_TERMINATED,
                           PMIX_ERR_PROC_ABORTED_BY_SIG};
  pmix_.register_event_handler(codes, std::size(codes), nullptr, 0, on_event, nullptr, nullptr);
}

}  // namespace

bool pmix_announced() {
  return std::getenv("PMIX_NAMESPACE") != nullptr && std::getenv("PMIX_RANK") != nullptr;
}

result<std::unique_ptr<bootstrap>> join_pmix() {
  auto pmix = open_pmix();
  if (!pmix) return {errc::unavailable, "this program was started under PMIx, but " + pmix.sentence()};
  pmix_proc_t self;
  const auto s = pmix->init(&self, nullptr, 0);
  if (s != PMIX_SUCCESS)
    return {errc::unavailable,
            base::format("the PMIx server that the environment names does not answer (%s); unset PMIX_NAMESPACE to run alone, "
                         "or start the job with 'weft run'",
                         pmix->error_string(s))};
  auto joined = std::make_unique<under_pmix>(*pmix, self);
  if (auto r = joined->learn_size(); !r) return r;
  if (auto r = joined->introduce(); !r) return r;
  joined->listen_for_failures();
  return std::unique_ptr<bootstrap>(std::move(joined));
}

result<std::string> find_pmix() {
  auto pmix = open_pmix();
  return pmix ? result<std::string>(pmix->path) : pmix.failure();
}

status check_not_scattered() {
  const char* tasks = std::getenv("SLURM_STEP_NUM_TASKS");
  if (tasks == nullptr || std::getenv("SLURM_SRUN_COMM_PORT") == nullptr || base::parse_number(tasks).value_or(1) <= 1) return {};
  return {errc::unavailable,
          base::format("srun started %s tasks without PMIx, so they cannot find each other; use 'srun --mpi=pmix'", tasks)};
}

}  // namespace weft::runtime
