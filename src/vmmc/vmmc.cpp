// The public objects: what they promise is in weft/vmmc.h; the work is done by the parts in this folder.
#include <weft/vmmc.h>

#include <algorithm>
#include <cstring>

#include "base/bytes.h"
#include "base/text.h"
#include "vmmc/own_handlers.h"
#include "vmmc/proxy.h"
#include "vmmc/state.h"

namespace weft {

using namespace communication;

namespace {

// How long to let the exporter be before it is asked again for a name that it did not have.
constexpr std::chrono::microseconds first_pause(200), longest_pause(20000);

void register_handlers(const std::shared_ptr<state>& s) {
  auto on = [&](handler_id id, auto&& serve) { s->at.on(id, [s, serve](const message& m) { serve(*s, m); }); };
  on(own::ask_import, [](state& t, const message& m) { t.exports.serve_import(m); });
  on(own::answer_import, [](state& t, const message& m) { t.asked.take(m); });
  on(own::notify, [](state& t, const message& m) { t.exports.serve_notification(m); });
  on(own::notified, [](state& t, const message& m) {
    if (m.words.size() == 1) t.unread.give_back(m.source, m.words[0]);
  });
  on(own::notify_refused, [](state& t, const message& m) {
    if (m.words.size() != 2 || m.words[1] > static_cast<word>(errc::system)) return;
    t.unread.give_back(m.source, m.words[0]);
    t.unread.refused(m.source,
                     {static_cast<errc>(m.words[1]), {reinterpret_cast<const char*>(m.payload.data()), m.payload.size()}});
  });
  on(own::group_write, [](state& t, const message& m) { t.groups.serve_write(m); });
  on(own::group_fence, [](state& t, const message& m) { t.groups.serve_fence(m); });
  on(own::group_answer, [](state& t, const message& m) { t.asked.take(m); });
}

}  // namespace

// --- exports ------------------------------------------------------------------------------------------------------------------------

exported::exported(std::shared_ptr<state> s, std::shared_ptr<export_record> r) : state_(std::move(s)), record_(std::move(r)) {}
exported::exported(exported&& other) noexcept : state_(std::move(other.state_)), record_(std::move(other.record_)) {}

exported& exported::operator=(exported&& other) noexcept {
  std::swap(state_, other.state_);
  std::swap(record_, other.record_);
  return *this;
}

exported::~exported() {
  revoke().ignore();
}

const std::string& exported::name() const noexcept {
  return record_->name;
}
const memory& exported::memory() const noexcept {
  return record_->memory;
}

status exported::revoke() {
  if (!record_) return {errc::revoked, "nothing is exported here"};
  return state_->exports.revoke(*record_);
}

result<exported> vmmc::export_memory(std::string_view name, const memory& m, export_options options) {
  auto added = state_->exports.add(name, m, std::move(options));
  if (!added) return added.failure();
  return exported(state_, std::move(*added));
}

// --- imports ------------------------------------------------------------------------------------------------------------------------

result<imported> vmmc::import_memory(node_id node, std::string_view name, import_options options) {
  port::duration pause = first_pause;
  const auto start = port().now();
  const word words[] = {static_cast<word>(options.need)};
  while (true) {
    const auto left = options.limit - (port().now() - start);
    auto got =
        state_->asked.ask(port(), node, own::ask_import, words, base::bytes_of(name), std::max<port::duration>(left, first_pause));
    if (!got) return {got.code(), base::format("cannot import '%s': %s", std::string(name).c_str(), got.sentence().c_str())};
    const auto& w = got->words;
    if (w.size() != 6) return {errc::system, base::format("node %u answered an import by nonsense", node)};
    const auto outcome = static_cast<import_outcome>(w[0]);
    if (outcome == import_outcome::refused) return {static_cast<errc>(std::min(w[5], static_cast<word>(errc::system))), got->text};
    if (outcome == import_outcome::given) {
      auto made = std::make_shared<proxy>();
      made->state = state_;
      made->node = node;
      made->window = {static_cast<std::uint32_t>(w[1]), static_cast<rights>(w[2]), w[3], w[4]};
      made->name = name;
      return imported(std::move(made));
    }
    if (port().now() - start + pause > options.limit)
      return {errc::timed_out, base::format("node %u has not exported '%s' for %.3g s", node, std::string(name).c_str(),
                                            static_cast<double>(options.limit.count()) / 1e9)};
    port().wait([&] { return port().failed(node); }, pause).ignore();
    pause = std::min<port::duration>(pause * 2, longest_pause);
  }
}

// --- bindings -----------------------------------------------------------------------------------------------------------------------

const char* to_string(update_way way) noexcept {
  switch (way) {
    case update_way::automatic: return "automatic";
    case update_way::mapped: return "mapped";
    case update_way::tracked: return "tracked";
    case update_way::doubled: return "doubled";
  }
  return "";
}

binding& binding::operator=(binding&& other) noexcept {
  std::swap(bound_, other.bound_);
  return *this;
}

binding::~binding() {
  if (bound_) unbind().ignore();
}

mutable_bytes binding::memory() const noexcept {
  return bound_->memory();
}
update_way binding::way() const noexcept {
  return bound_->way();
}
status binding::flush() {
  return bound_ ? bound_->flush() : status(errc::invalid_argument, "nothing is bound");
}
binding_statistics binding::statistics() const {
  return bound_->statistics();
}

status binding::unbind() {
  if (!bound_) return {errc::invalid_argument, "nothing is bound"};
  return std::exchange(bound_, nullptr)->unbind();
}

result<binding> vmmc::bind(const imported& to, std::uint64_t offset, std::size_t size, binding_options options) {
  auto bound = state_->updates.bind(to, offset, size, options);
  if (!bound) return bound.failure();
  return binding(std::move(*bound));
}

// --- groups -------------------------------------------------------------------------------------------------------------------------

std::span<const std::byte> multicast_group::memory() const noexcept {
  return group_->copy();
}
node_id multicast_group::owner() const noexcept {
  return group_->owner();
}
status multicast_group::write(std::uint64_t offset, bytes source) {
  return group_->write(offset, source);
}
status multicast_group::fence() {
  return group_->fence();
}

result<multicast_group> vmmc::join(std::string_view name, std::span<const node_id> members, std::size_t size) {
  auto joined = join_group(*this, state_, name, members, size);
  if (!joined) return joined.failure();
  return multicast_group(std::move(*joined));
}

// --- the node's part ----------------------------------------------------------------------------------------------------------------

vmmc::vmmc(weft::port& port, const exchange& with_all) : state_(std::make_shared<state>(port)) {
  register_handlers(state_);
  with_all({});  // nobody asks before all can answer
}

vmmc::~vmmc() {
  state_->close();
}

weft::port& vmmc::port() const noexcept {
  return state_->at;
}
status vmmc::fence(node_id node) {
  return state_->fence(node);
}
void vmmc::block_notifications() {
  state_->notes.block();
}
void vmmc::unblock_notifications() {
  state_->notes.unblock();
}

}  // namespace weft
