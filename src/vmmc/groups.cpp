#include "vmmc/groups.h"

#include <algorithm>
#include <cstring>

#include "base/bytes.h"
#include "base/text.h"
#include "vmmc/own_handlers.h"
#include "vmmc/state.h"

namespace weft::communication {

// --- the owner ----------------------------------------------------------------------------------------------------------------------

word group_table::add(owned_group g) {
  std::scoped_lock lock(lock_);
  groups_.emplace(next_, std::make_shared<owned_group>(std::move(g)));
  return next_++;
}

void group_table::drop(word id) {
  std::scoped_lock lock(lock_);
  groups_.erase(id);
}

// Only members are heard.
std::shared_ptr<owned_group> group_table::find(node_id source, word id) {
  std::scoped_lock lock(lock_);
  const auto found = groups_.find(id);
  if (found == groups_.end()) return nullptr;
  const auto& members = found->second->members;
  return std::find(members.begin(), members.end(), source) == members.end() ? nullptr : found->second;
}

void group_table::serve_write(const message& m) {
  if (m.words.size() != 2) return;
  const auto group = find(m.source, m.words[0]);
  status outcome;
  if (!group)
    outcome = {errc::revoked, base::format("node %u: a write to a group that node %u is not a member of", port_.self(), m.source)};
  else if (m.words[1] > group->size || m.payload.size() > group->size - m.words[1])
    outcome = {errc::out_of_bounds, base::format("node %u: a write outside a group's %llu bytes", port_.self(),
                                                 static_cast<unsigned long long>(group->size))};
  else
    for (const imported& copy : group->copies)
      if (auto put = copy.update(m.words[1], m.payload); !put && outcome.ok()) outcome = std::move(put);
  if (outcome.ok()) return;
  std::scoped_lock lock(lock_);
  refusals_.emplace(m.source, std::move(outcome));  // the first is kept
}

void group_table::serve_fence(const message& m) {
  if (m.words.size() != 2) return;
  const auto group = find(m.source, m.words[1]);
  std::scoped_lock lock(lock_);
  if (stopping_ || fences_.size() >= most_fences) return;  // who asks too often is not answered, and gives up
  fences_.push_back({group, m.source, m.words[0]});
  if (!thread_.joinable()) thread_ = std::thread([this] { work(); });
  changed_.notify_all();
}

void group_table::work() {
  std::unique_lock lock(lock_);
  while (true) {
    changed_.wait(lock, [&] { return stopping_ || !fences_.empty(); });
    if (stopping_) return;
    const auto next = std::move(fences_.front());
    fences_.pop_front();
    status outcome;
    if (auto refused = refusals_.extract(next.source)) outcome = std::move(refused.mapped());
    lock.unlock();
    if (outcome.ok() && !next.of)
      outcome = {errc::revoked, base::format("node %u: there is no such group (any more)", port_.self())};
    if (next.of)
      for (const node_id member : next.of->members)
        if (auto fenced = port_.fence(member); !fenced && outcome.ok()) outcome = std::move(fenced);
    const word words[] = {next.token, outcome.ok() ? 0 : 1 + static_cast<word>(outcome.code())};
    port_.send(next.source, lane::reply, own::group_answer, words, outcome.ok() ? bytes() : base::bytes_of(outcome.sentence()))
        .ignore();
    lock.lock();
  }
}

void group_table::stop() {
  {
    std::scoped_lock lock(lock_);
    stopping_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
  std::scoped_lock lock(lock_);
  groups_.clear();  // they hold imports, and those the state that we are part of
}

// --- a member -----------------------------------------------------------------------------------------------------------------------

group_state::group_state(std::shared_ptr<state> s, exported copy, node_id owner, word id, exported ready)
    : state_(std::move(s)), copy_(std::move(copy)), owner_(owner), id_(id), ready_(std::move(ready)) {}

group_state::~group_state() {
  if (ready_) state_->groups.drop(id_);
}

status group_state::write(std::uint64_t offset, bytes source) {
  const std::uint64_t size = copy().size();
  if (offset > size || source.size() > size - offset)
    return {errc::out_of_bounds,
            base::format("the group's memory has %llu bytes; the write would leave it", static_cast<unsigned long long>(size))};
  while (!source.empty()) {
    const std::size_t piece = std::min(source.size(), most_payload);
    const word words[] = {id_, offset};
    if (auto sent = state_->at.send(owner_, lane::request, own::group_write, words, source.first(piece)); !sent) return sent;
    offset += piece;
    source = source.subspan(piece);
  }
  return {};
}

status group_state::fence() {
  const word words[] = {id_};
  auto got = state_->asked.ask(state_->at, owner_, own::group_fence, words, {}, state_->at.patience());
  if (!got) return got.failure();
  if (got->words.size() != 1) return {errc::system, base::format("node %u answered a group's fence by nonsense", owner_)};
  if (got->words[0] == 0) return {};
  return {static_cast<errc>(std::min(got->words[0] - 1, static_cast<word>(errc::system))), got->text};
}

namespace {

// The owner imports all copies, then says the group's number under the name that the others wait for.
result<std::pair<word, exported>> found_group(vmmc& v, state& s, const std::string& name, std::span<const node_id> members,
                                              std::size_t size) {
  owned_group g;
  g.members.assign(members.begin(), members.end());
  g.size = size;
  for (const node_id member : members) {
    auto copy = v.import_memory(member, name, {.need = rights::write});
    if (!copy) return copy.failure();
    g.copies.push_back(*copy);
  }
  auto card = v.port().allocate(sizeof(word));
  if (!card) return card.failure();
  const word id = s.groups.add(std::move(g));
  std::memcpy(card->base, &id, sizeof id);
  auto ready = v.export_memory(name + " number", *card, {.allowed = rights::read, .nodes = {members.begin(), members.end()}});
  if (!ready) return ready.failure();
  return std::pair<word, exported>(id, std::move(*ready));
}

}  // namespace

result<std::shared_ptr<group_state>> join_group(vmmc& v, const std::shared_ptr<state>& s, std::string_view name,
                                                std::span<const node_id> members, std::size_t size) {
  if (std::find(members.begin(), members.end(), v.port().self()) == members.end())
    return {errc::invalid_argument, "only a member can join a multicast group"};
  const std::string full = "group " + std::string(name);
  const node_id owner = members.front();
  auto memory = v.port().allocate(size);
  if (!memory) return memory.failure();
  auto copy = v.export_memory(full, *memory, {.allowed = rights::write, .nodes = {owner}});
  if (!copy) return copy.failure();
  word id = 0;
  exported ready;
  if (owner == v.port().self()) {
    auto founded = found_group(v, *s, full, members, size);
    if (!founded) return founded.failure();
    id = founded->first;
    ready = std::move(founded->second);
  } else {
    auto number = v.import_memory(owner, full + " number", {.need = rights::read});
    if (!number) return number.failure();
    if (auto got = number->fetch(0, std::as_writable_bytes(std::span(&id, 1))); !got) return got;
  }
  return std::make_shared<group_state>(s, std::move(*copy), owner, id, std::move(ready));
}

}  // namespace weft::communication
