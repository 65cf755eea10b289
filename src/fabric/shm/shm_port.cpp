#include "fabric/shm/shm_port.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <linux/membarrier.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/text.h"

namespace weft::fabric::shm {

namespace {

constexpr base::nanoseconds census_interval = 200 * base::millisecond;
constexpr unsigned messages_a_turn = 64;  // of one ring, so that waits look at their conditions now and then

struct card {
  std::uint64_t magic = node_block::the_magic;
  std::int32_t pid = 0;
  std::int32_t file = -1;
  std::uint64_t size = 0;
  std::uint64_t pid_namespace = 0;
};

std::uint64_t own_pid_namespace() {
  char text[64] = {};
  const auto n = ::readlink("/proc/self/ns/pid", text, sizeof text - 1);
  std::uint64_t hash = 14695981039346656037u;
  for (ssize_t i = 0; i < n; ++i) hash = (hash ^ static_cast<unsigned char>(text[i])) * 1099511628211u;
  return hash;
}

// Makes every processor that runs a registered process pass a full fence.
void fence_all_processors() {
  ::syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0);
}

// An aligned word is stored whole, because peers poll on words. The release orders it after all earlier stores.
void copy_out(std::byte* to, bytes from) {
  if (from.size() == sizeof(word) && reinterpret_cast<std::uintptr_t>(to) % sizeof(word) == 0)
    std::atomic_ref(*reinterpret_cast<word*>(to)).store(base::load<word>(from.data()), std::memory_order_release);
  else if (!from.empty())
    std::memcpy(to, from.data(), from.size());
}

}  // namespace

shm_port::shm_port(const fabric_options& options) : message_port(options), peers_(options.nodes) {
  for (auto& p : peers_) {
    p.views = std::make_unique<std::atomic<view*>[]>(most_windows);
    p.queues = std::make_unique<std::atomic<queue_view*>[]>(most_queues);
  }
  ::syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0);
}

shm_port::~shm_port() {
  close();
}

// --- bringing up ------------------------------------------------------------------------------------------------------------------

result<base::byte_buffer> shm_port::open() {
  const std::size_t size = os::round_to_pages(node_block::footprint(nodes()));
  auto file = os::create_memory_file(base::format("weft-%u-node", self()), size);
  if (!file) return file.failure();
  auto where = os::map_file(file->get(), 0, size, true);
  if (!where) return where.failure();
  file_ = std::move(*file);
  own_ = std::move(*where);
  block_ = reinterpret_cast<node_block*>(own_.base());
  block_->magic = node_block::the_magic;
  block_->group = options_.group;
  block_->node = self();
  block_->nodes = nodes();
  block_->asleep.store(static_cast<std::uint32_t>(sleeper::communication));
  const card mine{node_block::the_magic, ::getpid(), file_.get(), size, own_pid_namespace()};
  return base::writer().put(mine).take();
}

status shm_port::attach(node_id node, const base::byte_buffer& text) {
  base::reader in(text);
  const auto c = in.take<card>();
  if (!in.complete() || c.magic != node_block::the_magic || c.size != os::round_to_pages(node_block::footprint(nodes())))
    return {errc::invalid_argument, base::format("node %u did not open the shm fabric of this version", node)};
  if (c.pid_namespace != own_pid_namespace())
    return {errc::unavailable,
            base::format("node %u runs in another PID namespace (container) or on another host, so its memory cannot "
                         "be mapped; use --fabric udp",
                         node)};
  auto file = os::open_descriptor_of(c.pid, c.file, true);
  if (!file) return file.failure();
  auto where = os::map_file(file->get(), 0, c.size, true);
  if (!where) return where.failure();
  peer& p = peers_[node];
  p.mapping = std::move(*where);
  p.block = reinterpret_cast<node_block*>(p.mapping.base());
  if (p.block->magic != node_block::the_magic || p.block->group != options_.group || p.block->node != node)
    return {errc::invalid_argument, base::format("process %d is not node %u of this job", c.pid, node)};
  p.pid = c.pid;
  p.alive = os::unique_fd(static_cast<int>(::syscall(SYS_pidfd_open, c.pid, 0)));
  for (std::size_t l = 0; l < lanes; ++l) {
    p.out[l].attach(&p.block->inbound(self(), static_cast<lane>(l)));
    p.in[l].attach(&block_->inbound(node, static_cast<lane>(l)));
  }
  return {};
}

status shm_port::connect(std::span<const base::byte_buffer> cards) {
  peers_[self()].block = block_;
  peers_[self()].pid = ::getpid();
  for (node_id node = 0; node < nodes(); ++node)
    if (node != self())
      if (auto attached = attach(node, cards[node]); !attached) return attached;
  driver_.start();
  return {};
}

// --- windows ----------------------------------------------------------------------------------------------------------------------

result<window> shm_port::expose(const memory& m, rights allowed) {
  if (m.file < 0)
    return {errc::invalid_argument, "on the shm fabric a window's memory must come from port::allocate or be backed by a memfd"};
  if (m.file_offset % 4096 != 0) return {errc::invalid_argument, "a window must start at a multiple of 4096 in its memory file"};
  auto opened = windows_.open(m, allowed);
  if (!opened) return opened;
  shown_window& s = block_->windows[opened->id];
  s.size = m.size;
  s.file_offset = m.file_offset;
  s.file = m.file;
  s.allowed = allowed;
  s.capability.store(opened->capability, std::memory_order_release);  // pairs with the acquire in map_window
  return opened;
}

status shm_port::revoke(const window& w) {
  if (w.id >= most_windows) return refuse_revoked(self(), w.id);
  std::uint64_t expected = w.capability;
  if (w.capability == 0 || !block_->windows[w.id].capability.compare_exchange_strong(expected, 0))
    return refuse_revoked(self(), w.id);
  wait_for_accesses(w.id);
  return windows_.close(w);
}

// After the fence, every thread either has said which window it is in, or sees that this one is closed.
void shm_port::wait_for_accesses(std::uint32_t id) {
  fence_all_processors();
  const std::uint64_t what = std::uint64_t{self()} << 32 | id;
  for (node_id node = 0; node < nodes(); ++node)
    for (auto& h : peers_[node].block->hazards)
      while (h.what.load(std::memory_order_acquire) == what && !failed(node))
        ::sched_yield();  // ended by ~access, or the node's end
}

// Of a node that has ended, the files are gone: that is the better reason to give. They go a moment before the process does.
result<os::unique_fd> shm_port::open_file_of(node_id node, int file, bool writable) {
  auto opened = os::open_descriptor_of(peers_[node].pid, file, writable);
  if (opened) return opened;
  pollfd ending{peers_[node].alive.get(), POLLIN, 0};
  ::poll(&ending, 1, 200);
  look_for_the_dead(true);
  auto known = check_node(node);
  return known.ok() ? opened.failure() : std::move(known);
}

result<shm_port::view*> shm_port::map_window(node_id node, const window& w) {
  const shown_window& s = peers_[node].block->windows[w.id];
  if (w.capability == 0 || s.capability.load(std::memory_order_acquire) != w.capability) return refuse_revoked(node, w.id);
  std::scoped_lock lock(mapping_lock_);
  auto& known = peers_[node].views[w.id];
  if (view* v = known.load(std::memory_order_relaxed); v && v->capability == w.capability) return v;
  const bool writable = allows(s.allowed, rights::write) || allows(s.allowed, rights::atomic);
  auto file = open_file_of(node, s.file, writable);
  if (!file) return file.failure();
  auto where = os::map_file(file->get(), s.file_offset, os::round_to_pages(s.size), writable);
  if (!where) return where.failure();
  auto fresh = std::make_unique<view>(view{std::move(*where), w.capability, s.size, s.allowed, &s});
  if (s.capability.load(std::memory_order_acquire) != w.capability)
    return refuse_revoked(node, w.id);                  // it changed while we read it
  known.store(fresh.get(), std::memory_order_release);  // pairs with the acquire in view_of
  all_views_.push_back(std::move(fresh));
  return all_views_.back().get();
}

result<shm_port::view*> shm_port::view_of(node_id node, const window& w) {
  if (node >= nodes()) return refuse_node(node, nodes());
  if (w.id >= most_windows) return refuse_revoked(node, w.id);
  view* v = peers_[node].views[w.id].load(std::memory_order_acquire);
  if (v && v->capability == w.capability) [[likely]]
    return v;
  return map_window(node, w);
}

shm_port::access::access(shm_port& from, node_id node, const window& w, std::uint64_t offset, std::size_t size, rights need) {
  view* v = nullptr;
  if (node < from.nodes() && w.id < most_windows) [[likely]]
    v = from.peers_[node].views[w.id].load(std::memory_order_acquire);
  if (!v || v->capability != w.capability) [[unlikely]] {
    auto found = from.view_of(node, w);
    if (!found) {
      failure_ = found.failure();
      return;
    }
    v = *found;
  }
  const std::size_t slot = base::thread_slot();
  if (slot == base::shared_thread_slot) [[unlikely]] {
    shared_ = &from.shared_hazard_;
    shared_->lock();
  }
  slot_ = &from.block_->hazards[slot].what;
  slot_->store(std::uint64_t{node} << 32 | w.id, std::memory_order_relaxed);
  // Compiler order only: wait_for_accesses supplies the processor's fence.
  std::atomic_signal_fence(std::memory_order_seq_cst);
  if (v->shown->capability.load(std::memory_order_relaxed) != w.capability || from.failed(node)) [[unlikely]] {
    auto known = from.check_node(node);
    failure_ = known.ok() ? refuse_revoked(node, w.id) : std::move(known);
  } else if (!allows(v->allowed, need)) [[unlikely]] {
    failure_ = refuse_right(node, w.id, need);
  } else if (!inside(offset, size, v->size)) [[unlikely]] {
    failure_ = refuse_bounds(node, w.id, offset, size, v->size);
  } else {
    base_ = v->where.base();
    size_ = v->size;
  }
}

std::byte* shm_port::mapped(node_id node, const window& w) {
  access a(*this, node, w, 0, 0, rights::none);
  return a ? a.base() : nullptr;
}

// --- one-sided operations ---------------------------------------------------------------------------------------------------------

status shm_port::put(node_id node, const window& w, std::uint64_t offset, bytes source) {
  access a(*this, node, w, offset, source.size(), rights::write);
  if (!a) [[unlikely]]
    return a.failure();
  copy_out(a.base() + offset, source);
  count(counter::puts);
  count(counter::put_bytes, source.size());
  return {};
}

status shm_port::put_runs(node_id node, const window& w, std::span<const run> runs) {
  access a(*this, node, w, 0, 0, rights::write);
  if (!a) return a.failure();
  std::size_t total = 0;
  for (const run& r : runs)
    if (!inside(r.offset, r.data.size(), a.size())) return refuse_bounds(node, w.id, r.offset, r.data.size(), a.size());
  for (const run& r : runs) {
    copy_out(a.base() + r.offset, r.data);
    total += r.data.size();
  }
  count(counter::puts);
  count(counter::put_bytes, total);
  return {};
}

result<transfer> shm_port::start_get(node_id node, const window& w, std::uint64_t offset, mutable_bytes into) {
  access a(*this, node, w, offset, into.size(), rights::read);
  if (!a) return a.failure();
  std::memcpy(into.data(), a.base() + offset, into.size());
  count(counter::gets);
  count(counter::get_bytes, into.size());
  return transfer{};
}

result<word> shm_port::atomic_operation(node_id node, const window& w, std::uint64_t offset, atomic_kind kind, word x, word y) {
  if (offset % sizeof(word) != 0) return {errc::invalid_argument, "an atomic operation needs an offset that is a multiple of 8"};
  access a(*this, node, w, offset, sizeof(word), rights::atomic);
  if (!a) return a.failure();
  count(counter::atomics);
  return perform(a.base() + offset, kind, x, y);
}

// A store is performed when it is visible, which the fence waits for.
status shm_port::fence(node_id node) {
  if (auto fine = check_node(node); !fine) return fine;
  std::atomic_thread_fence(std::memory_order_seq_cst);
  count(counter::fences);
  return {};
}

// --- queues -----------------------------------------------------------------------------------------------------------------------

result<queue> shm_port::make_queue(std::size_t bound) {
  auto made = message_port::make_queue(bound);
  if (!made) return made;
  local_queue* q = find_queue(made->id, made->capability);
  shown_queue& s = block_->queues[made->id];
  s.size = q->where.size();
  s.file = q->file.get();
  s.capability.store(made->capability, std::memory_order_release);  // pairs with the acquire in queue_of
  return made;
}

status shm_port::drop_queue(const queue& q) {
  auto dropped = message_port::drop_queue(q);
  if (dropped.ok()) block_->queues[q.id].capability.store(0, std::memory_order_release);
  return dropped;
}

// Without a word about why not.
word_queue* shm_port::known_queue(node_id node, const queue& q) const noexcept {
  if (node >= nodes() || q.id >= most_queues || q.capability == 0 || failed(node)) [[unlikely]]
    return nullptr;
  const queue_view* v = peers_[node].queues[q.id].load(std::memory_order_acquire);  // pairs with the release in queue_of
  return v && v->capability == q.capability && v->shown->capability.load(std::memory_order_relaxed) == q.capability ? v->words
                                                                                                                    : nullptr;
}

result<word_queue*> shm_port::queue_of(node_id node, const queue& q) {
  if (auto fine = check_node(node); !fine) return fine;
  if (q.id >= most_queues || q.capability == 0) return refuse_queue(node, q.id);
  std::scoped_lock lock(mapping_lock_);
  if (word_queue* words = known_queue(node, q)) return words;
  auto& known = peers_[node].queues[q.id];
  const shown_queue& s = peers_[node].block->queues[q.id];
  if (s.capability.load(std::memory_order_acquire) != q.capability) return refuse_queue(node, q.id);
  auto file = open_file_of(node, s.file, true);
  if (!file) return file.failure();
  auto where = os::map_file(file->get(), 0, s.size, true);
  if (!where) return where.failure();
  auto fresh = std::make_unique<queue_view>(queue_view{std::move(*where), q.capability, nullptr, &s});
  fresh->words = word_queue::attach(fresh->where.base());
  known.store(fresh.get(), std::memory_order_release);  // pairs with the acquire in known_queue
  all_queues_.push_back(std::move(fresh));
  return all_queues_.back()->words;
}

status shm_port::enqueue(node_id node, const queue& q, word value) {
  word_queue* words = known_queue(node, q);
  if (!words) [[unlikely]]
    return enqueue(node, q, std::span<const word>(&value, 1));
  words->enqueue(value);
  count(counter::enqueues);
  if (!q.silent) peers_[node].block->ring_bell_of_waits();
  return {};
}

status shm_port::enqueue(node_id node, const queue& q, std::span<const word> values) {
  word_queue* words = known_queue(node, q);
  if (!words) [[unlikely]] {
    auto found = queue_of(node, q);
    if (!found) return found.failure();
    words = *found;
  }
  words->enqueue(values);
  count(counter::enqueues, values.size());
  if (!q.silent) peers_[node].block->ring_bell_of_waits();
  return {};
}

status shm_port::nudge(node_id node) {
  if (auto fine = check_node(node); !fine) return fine;
  if (node == self()) driver_.wake_followers();
  std::atomic_thread_fence(std::memory_order_seq_cst);  // the caller's stores, before the looks at who sleeps
  peers_[node].block->ring_bell_of_waits();
  return {};
}

// --- messages ---------------------------------------------------------------------------------------------------------------------

bool shm_port::try_transmit(node_id node, lane l, handler_id id, std::span<const word> words, bytes payload) {
  peer& p = peers_[node];
  const auto i = static_cast<std::size_t>(l);
  {
    std::scoped_lock producing(p.out_locks[i]);
    if (!p.out[i].try_write(id, words, payload)) return false;
  }
  p.block->ring_bell();
  return true;
}

bool shm_port::poll_transport() {
  bool any = false;
  auto drain = [&](node_id node, lane l) {
    for (unsigned n = 0; n < messages_a_turn; ++n) {
      if (l == lane::request && !requests_welcome()) return;
      if (!peers_[node].in[static_cast<std::size_t>(l)].read(
              [&](handler_id id, std::span<const word> words, bytes payload) { dispatch(node, l, id, words, payload); },
              [&] { peers_[node].block->ring_bell(); }))
        return;
      any = true;
    }
  };
  for (node_id node = 0; node < nodes(); ++node) {
    if (node == self()) continue;
    drain(node, lane::reply);
    drain(node, lane::request);
  }
  if (block_->for_followers.load(std::memory_order_relaxed) != 0)
    any |= block_->for_followers.exchange(0, std::memory_order_acquire) != 0;  // pairs with the store in ring_bell_of_waits
  return any;
}

// Rung since arm(): the communication thread may have come while the role was still taken, and gone back to sleep.
bool shm_port::pending() {
  if (block_->asleep.load(std::memory_order_relaxed) != static_cast<std::uint32_t>(sleeper::communication)) return true;
  const bool welcome = requests_welcome();
  for (node_id node = 0; node < nodes(); ++node)
    for (auto l : {lane::request, lane::reply})
      if (node != self() && (welcome || l == lane::reply) && !peers_[node].in[static_cast<std::size_t>(l)].empty()) return true;
  return false;
}

// --- sleeping ---------------------------------------------------------------------------------------------------------------------

void shm_port::arm(sleeper who) {
  block_->asleep.store(static_cast<std::uint32_t>(who), std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_seq_cst);  // pairs with the fence in ring_bell: news or the bell, one is seen
}

// Sequentially consistent, before the follower's last look at its condition: it sees the news or its bringer sees it.
void shm_port::following(bool begins) {
  if (begins)
    block_->followers.fetch_add(1);
  else
    block_->followers.fetch_sub(1);
}

void shm_port::disarm() {
  block_->asleep.store(0, std::memory_order_relaxed);
}  // a bell rung late is only a wake-up for nothing

void shm_port::block(sleeper who, base::nanoseconds limit) {
  auto& bell = block_->bells[static_cast<std::size_t>(who)];
  const std::uint32_t seen = bell.load(std::memory_order_acquire);
  // The communication thread may come here with news already waiting and its bell rung before it read `seen`.
  const auto expected = static_cast<std::uint32_t>(who);
  if (block_->asleep.load() == expected && !driver_.stopping()) {
    count(counter::system_calls);
    os::futex_wait(bell, seen, limit);
  } else if (who == sleeper::communication && !driver_.stopping()) {
    // An application thread drives, or somebody has rung. Only the first needs a sleep: until it lets go and is rung for.
    if (driver_.held()) os::futex_wait(bell, seen, limit);
  }
  look_for_the_dead();
}

// A peer that died without anybody telling us. Looked for by whoever sleeps, a few times a second.
void shm_port::look_for_the_dead(bool now_please) {
  const auto now = base::now();
  auto last = last_census_.load(std::memory_order_relaxed);
  const bool due = now - last >= census_interval && last_census_.compare_exchange_strong(last, now, std::memory_order_relaxed);
  if (!due && !now_please) return;
  for (node_id node = 0; node < nodes(); ++node) {
    if (node == self() || failed(node) || !peers_[node].alive) continue;
    pollfd p{peers_[node].alive.get(), POLLIN, 0};
    if (::poll(&p, 1, 0) == 1) mark_failed(node, base::format("its process (pid %d) has ended", peers_[node].pid));
  }
}

}  // namespace weft::fabric::shm
