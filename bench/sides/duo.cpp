#include "bench/sides/duo.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/clock.h"
#include "bench/sides/memory_side.h"
#include "bench/sides/vmmc_side.h"

namespace weft::bench {
namespace {

constexpr std::uint64_t no_more_orders = ~std::uint64_t{0};
constexpr auto limit = std::chrono::seconds(60);

std::byte* page_aligned(std::size_t size) {
  auto* memory = static_cast<std::byte*>(std::aligned_alloc(4096, size));
  std::memset(memory, 0x5a, size);
  return memory;
}

}  // namespace

duo::duo(job& all, with what)
    : port_(all.port()),
      shared_(all),
      memory_(port_.allocate(largest_block).or_throw()),
      private_(page_aligned(largest_block), std::free),
      sockets_(all) {
  std::memset(memory_.base, 0, memory_.size);  // touched, so that no measurement pays for it
  windows_ = all.exchange_values(port_.expose(memory_, rights::all).or_throw());
  queues_ = all.exchange_values(port_.make_queue().or_throw());
  register_handlers();
  if (what == with::vmmc) vmmc_ = std::make_unique<vmmc_side>(*this, all);
  if (what == with::memory) pages_ = std::make_unique<memory_side>();
  all.meet();
}

duo::~duo() = default;

void duo::register_handlers() {
  auto answer = [](const message& m) { m.at.send(m.source, lane::reply, message_station::pong, m.words, m.payload).or_throw(); };
  port_.on(message_station::ping, answer);
  port_.on(message_station::pong, [this](const message&) { station_.pongs.fetch_add(1, std::memory_order_relaxed); });
  port_.on(message_station::count, [this](const message& m) { count_one(m.source); });
  port_.on(message_station::hold, [this](const message& m) {
    shared_->holding.value.store(m.words[0]);
    wait_patiently([&] { return shared_->released.value.load() == m.words[0]; });
    station_.opened_at = base::now();
  });
  port_.on(message_station::mark, [this, answer](const message& m) {
    shared_->receiving_ns.value.fetch_add(static_cast<std::uint64_t>(base::now() - station_.opened_at));
    answer(m);
  });
  port_.on(message_station::take, [this](const message&) { ++station_.counted; });
  port_.on(message_station::done, [this](const message&) { station_.finished.store(true, std::memory_order_relaxed); });
}

void duo::count_one(node_id source) {
  if (station_.counted++ == 0) station_.opened_at = base::now();
  if (station_.counted != station_.expected) return;
  shared_->receiving_ns.value.store(static_cast<std::uint64_t>(base::now() - station_.opened_at));
  port_.send(source, lane::reply, message_station::pong, {}).or_throw();
}

// Before the two meet, so that nothing of the operation finds the counts of the one before.
void duo::prepare(std::uint64_t count) {
  station_.pongs.store(0);
  station_.finished.store(false);
  station_.counted = 0;
  station_.expected = count;
  word_here().store(0);
}

timing duo::run(std::size_t which, std::size_t size, std::uint64_t count) {
  prepare(count);
  shared_->receiving_ns.value.store(0);
  shared_->operation = which;
  shared_->size = size;
  shared_->count = count;
  shared_->serial.value.store(++orders_);
  shared_.meet();
  auto t = all_operations()[which].lead(*this, size, count);
  shared_.meet();
  t.receiving = static_cast<double>(shared_->receiving_ns.value.load());
  return t;
}

void duo::dismiss() {
  shared_->operation = no_more_orders;
  shared_->serial.value.store(++orders_);
}

void duo::obey() {
  while (true) {
    ++orders_;
    wait_patiently(
        [&] { return shared_->serial.value.load(std::memory_order_acquire) == orders_; });  // pairs with the store in run()
    if (shared_->operation == no_more_orders) return;
    const auto size = shared_->size, count = shared_->count;
    const auto& what = all_operations().at(shared_->operation);
    prepare(count);
    shared_.meet();
    what.follow(*this, size, count);
    shared_.meet();
  }
}

message_shape duo::shape(std::size_t size) {
  message_shape s;
  if (size <= sizeof s.words)
    s.used = std::max<std::size_t>(size / sizeof(word), 1);
  else
    s.payload = block(std::min(size - sizeof(word), most_payload));
  return s;
}

void duo::wait_for_pongs(std::uint64_t how_many) {
  port_.wait([&] { return station_.pongs.load(std::memory_order_relaxed) >= how_many; }, limit).or_throw();
}

void duo::serve() {
  port_.wait([&] { return station_.finished.load(std::memory_order_relaxed); }, limit).or_throw();
}

void duo::finish() {
  send(lane::request, message_station::done, {});
}

const std::vector<operation>& all_operations() {
  static const auto all = [] {
    std::vector<operation> list;
    for (const auto some : {message_operations(), one_sided_operations(), bare_memory_operations(), bare_socket_operations(),
                            typed_message_operations(), one_sided_vmmc_operations(), vmmc_operations(), bare_fault_operations(),
                            page_operations(), synchronisation_operations()})
      list.insert(list.end(), some.begin(), some.end());
    return list;
  }();
  return all;
}

}  // namespace weft::bench
