// Bringing the port up and down, and what it says of itself.
#include "fabric/ofi/ofi_port.h"

#include <algorithm>
#include <cstring>

#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/text.h"

namespace weft::fabric::ofi {

namespace {

constexpr std::uint64_t card_magic = 0x3169666f74666577;  // "weftofi1"
constexpr std::size_t most_operations = 256;
constexpr base::nanoseconds longest_drain = base::second;

// What a node tells the others. Behind it: the provider's name and the endpoint's address.
struct card {
  std::uint64_t magic = card_magic;
  std::int32_t pid = 0;
  std::int32_t bell = -1;  // a descriptor of that process, or -1
  std::uint32_t address_format = 0;
  std::uint32_t credits = 0;
  std::uint64_t slot = 0;
  std::uint64_t flush_key = 0, flush_address = 0;
};

}  // namespace

ofi_port::ofi_port(const fabric_options& options)
    : message_port(options),
      peers_(std::make_unique<peer[]>(options.nodes)),
      gets_(std::make_unique<std::array<get_entry, most_gets>>()) {
  for (std::size_t i = most_gets; i-- > 0;) free_gets_.push_back(static_cast<std::uint16_t>(i));
  register_handlers();
}

ofi_port::~ofi_port() {
  ofi_port::close();
  endpoint_.shut();
}

capabilities ofi_port::can() const noexcept {
  return {.mapped = false, .one_sided = plan().one_sided, .ordered = !plan().rma || plan().ordered_puts(), .multicast = false};
}

port_statistics ofi_port::statistics() const {
  auto s = message_port::statistics();
  s.rejected = rejected_.load(std::memory_order_relaxed);
  return s;
}

void ofi_port::register_handlers() {
  auto serve = [this](handler_id id, std::size_t words, void (ofi_port::*how)(const message&)) {
    on(id, [this, words, how](const message& m) {
      if (m.words.size() == words)
        (this->*how)(m);
      else
        rejected_.fetch_add(1, std::memory_order_relaxed);
    });
  };
  serve(describe, 3, &ofi_port::serve_describe);
  serve(description, 8, &ofi_port::take_description);
  serve(refusal, 2, &ofi_port::take_refusal_of_window);
  serve(withdraw, 3, &ofi_port::serve_withdraw);
  serve(withdrawn, 1, &ofi_port::take_withdrawn);
}

result<base::byte_buffer> ofi_port::open() {
  auto l = load_library();
  if (!l) return l.failure();
  auto chosen = select_provider(**l, options_);
  if (!chosen) return chosen.failure();
  const std::size_t sends = std::min(chosen->plan.transmit_depth, most_operations);
  const std::size_t receives = std::max<std::size_t>(1, nodes() - 1) * frames_a_peer(chosen->plan);
  if (auto opened = endpoint_.open(**l, std::move(*chosen), sends, receives); !opened) return opened;
  inject_limit_ = std::min<std::size_t>(plan().inject, 4096);
  for (auto& e : events_) e = os::unique_fd(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (auto prepared = prepare_buffers(sends, receives); !prepared) return prepared;
  if (endpoint_.wait_fd() < 0 && plan().bell && options_.one_host) {
    auto made = bell::create(self());
    if (!made) return made.failure();
    bell_ = std::move(*made);
    bell_.arm(sleeper::communication);
  }
  auto address = endpoint_.address();
  if (!address) return address.failure();
  card mine;
  mine.pid = ::getpid();
  mine.bell = bell_ ? bell_.descriptor() : -1;
  mine.address_format = endpoint_.info().addr_format;
  mine.credits = plan().credits;
  mine.slot = plan().slot;
  mine.flush_key = flush_region_.key;
  mine.flush_address = flush_region_.address;
  return base::writer().put(mine).put_text(provider()).put_block(*address).take();
}

status ofi_port::prepare_buffers(std::size_t sends, std::size_t receives) {
  if (auto made = operations_.create(sends, plan().slot, sends / 4, "weft-ofi-sends"); !made) return made;
  if (auto made = receives_.create(receives, plan().slot, 0, "weft-ofi-receives"); !made) return made;
  if (plan().register_local) {
    auto enlist = [this](operation_pool& pool, region& r, std::uint64_t access) -> status {
      auto known = endpoint_.register_memory(pool.memory().data(), pool.memory().size(), access);
      if (!known) return known.failure();
      r = std::move(*known);
      for (auto& o : pool.all()) o.descriptor = r.descriptor();
      return {};
    };
    if (auto done = enlist(operations_, operations_region_, FI_SEND | FI_READ | FI_WRITE); !done) return done;
    if (auto done = enlist(receives_, receives_region_, FI_RECV); !done) return done;
  }
  if (plan().rma) {
    auto m = allocate(sizeof(word));
    if (!m) return m.failure();
    flush_memory_ = *m;
    auto known = endpoint_.register_memory(m->base, m->size, FI_REMOTE_READ);
    if (!known) return known.failure();
    flush_region_ = std::move(*known);
  }
  while (operation* o = receives_.take(true)) post_receive(*o);
  return {};
}

status ofi_port::attach(node_id node, const base::byte_buffer& text, base::byte_buffer& address) {
  base::reader in(text);
  const auto c = in.take<card>();
  const std::string its_provider = in.take_text();
  const auto where = in.take_block();
  if (!in.complete() || c.magic != card_magic)
    return {errc::invalid_argument, base::format("node %u did not open the ofi fabric of this version", node)};
  if (its_provider != provider() || c.address_format != endpoint_.info().addr_format || c.slot != plan().slot ||
      c.credits != plan().credits)
    return {errc::unavailable,
            base::format("node %u uses libfabric's provider \"%s\" and node %u \"%s\", or other settings of it; choose one "
                         "with --provider",
                         node, its_provider.c_str(), self(), provider())};
  address.assign(where.begin(), where.end());
  peer& p = peers_[node];
  p.flush_key = c.flush_key;
  p.flush_address = c.flush_address;
  p.pid = c.pid;
  p.silent_since = base::now();
  for (auto& credits : p.credits) credits.store(plan().credits, std::memory_order_relaxed);
  if (node == self() || !options_.one_host) return {};
  if (endpoint_.info().ep_attr->protocol == FI_PROTO_SHM) {
    const std::string name(reinterpret_cast<const char*>(address.data()),
                           ::strnlen(reinterpret_cast<const char*>(address.data()), address.size()));
    if (const auto prefix = name.find("://"); prefix != std::string::npos) p.left_behind = "/" + name.substr(prefix + 3);
  }
  p.alive = os::unique_fd(static_cast<int>(::syscall(SYS_pidfd_open, c.pid, 0)));
  if (c.bell >= 0)
    if (auto opened = bell::open(c.pid, c.bell); opened.ok()) p.bell = std::move(*opened);
  return {};
}

status ofi_port::connect(std::span<const base::byte_buffer> cards) {
  std::vector<base::byte_buffer> addresses(nodes());
  for (node_id node = 0; node < nodes(); ++node)
    if (auto attached = attach(node, cards[node], addresses[node]); !attached) return attached;
  auto inserted = endpoint_.insert(addresses);
  if (!inserted) return inserted.failure();
  for (node_id node = 0; node < nodes(); ++node) peers_[node].address = (*inserted)[node];
  driver_.start();
  if (nodes() > 1) watch_ = std::jthread([this](std::stop_token stop) { watch(stop); });
  return {};
}

// What has been sent must not die with this node: a provider that is driven by hand may still hold it.
void ofi_port::close() {
  if (endpoint_.is_open() && !driver_.stopping()) {
    bool slept = false;
    driver_.wait([this] { return operations_.under_way() == 0 && unsent_frames_.load(std::memory_order_relaxed) == 0; },
                 longest_drain, slept);
  }
  watch_ = {};
  driver_.stop();
}

}  // namespace weft::fabric::ofi
