#include "models/parmacs/program.h"

#include <algorithm>
#include <cstring>

#include <sys/mman.h>

#include "dsm/waiting.h"
#include "models/parmacs/output.h"
#include "models/parmacs/same_addresses.h"

namespace weft::parmacs {

namespace {

// Of weft's own handlers, those of this layer. Numbers are part of the wire format.
enum : handler_id {
  order_given = 56,  // an order
  data_taken = 57,
  work_ended = 58,
};

template <typename T>
std::span<const word> words_of(const T& value) {
  static_assert(sizeof(T) % sizeof(word) == 0 && sizeof(T) / sizeof(word) <= most_words);
  return {reinterpret_cast<const word*>(&value), sizeof(T) / sizeof(word)};
}

}  // namespace

program::program()
    : job_(std::make_unique<job>()),
      port_(job_->port()),
      data_(program_data::find(compare_addresses(*job_))),
      busy_(job_->nodes()) {
  busy_[0] = 1;
  port_.on(order_given, [this](const message& m) { take_order(m); });
  port_.on(data_taken, [this](const message&) { ++taken_; });
  port_.on(work_ended, [this](const message& m) {
    --busy_[m.source];
    ++ends_;
  });
  job_->meet();  // nobody gives orders before all can take them
}

void program::wait_until(condition holds, const char* what) {
  const wait_note noted(space::here(), {wait_kind::meeting});
  dsm::wait_for(port_, holds, what).or_throw();
}

// --- node 0 ----------------------------------------------------------------------------------------------------------------------

void program::give(node_id node, const order& o) {
  port_.send(node, lane::request, order_given, words_of(o)).or_throw();
}

// What main has set up so far moves to the nodes that use it.
void program::end_initialisation() {
  if (std::exchange(initialised_, true)) return;
  for (node_id n = 1; n < job_->nodes(); ++n) give(n, {.what = order_kind::initialised});
  initialised();
}

node_id program::least_busy() const {
  return static_cast<node_id>(std::min_element(busy_.begin(), busy_.end()) - busy_.begin());
}

window program::make_image() {
  if (image_.base() == nullptr) {
    image_ = dsm::lazy_memory::create_file(data_.most_bytes()).or_throw();
    image_window_ = image_.expose(port_).or_throw();
  }
  data_.pack(image_.base());
  return image_window_;
}

// Gives its memory back, and makes it zero.
void program::drop_image() {
  if (::madvise(image_.base(), os::round_to_pages(data_.most_bytes()), MADV_REMOVE) != 0)
    throw error(errc::system, "the memory that the program's data were copied through could not be given back");
}

void program::start(function f, std::uint32_t workers) {
  show_all_output();
  end_initialisation();
  order o{.what = order_kind::work, .f = f, .ticket = tickets_ += workers, .one_a_node = one_a_node_};
  given_.fetch_add(workers);
  std::uint32_t takers = 0;
  taken_ = 0;
  for (std::uint32_t i = 0; i < workers; ++i) {
    const node_id node = least_busy();
    o.has_image = busy_[node]++ == 0;
    if (o.has_image && takers++ == 0) o.image = make_image();
    if (node != 0) {
      give(node, o);
      continue;
    }
    const std::scoped_lock guard(lock_);
    start_thread(o);
  }
  if (takers == 0) return;
  wait_until([&] { return taken_ == takers; }, "waiting for the nodes to take the program's data");
  drop_image();
}

void program::create(function f) {
  if (!is_first()) throw error(errc::invalid_argument, "CREATE is for the program's main; a worker has called it");
  start(f, 1);
}

void program::create(function f, std::uint32_t workers) {
  if (!is_first()) throw error(errc::invalid_argument, "CREATE is for the program's main; a worker has called it");
  if (workers > job_->nodes()) one_a_node_ = false;
  if (workers > 1) start(f, workers - 1);
  f();
}

void program::wait_for_end(std::uint32_t count) {
  show_all_output();
  waited_for_ = std::min(waited_for_ + count, tickets_);
  wait_until([&] { return ends_ >= waited_for_; }, "waiting for workers to end");
  ended_.wait_for(waited_for_);
}

void program::end() {
  wait_for_end(static_cast<std::uint32_t>(tickets_ - waited_for_));
  for (node_id n = 1; n < job_->nodes(); ++n) give(n, {.what = order_kind::end});
  for (auto& t : threads_) t.join();
  job_.reset();
}

// --- workers ---------------------------------------------------------------------------------------------------------------------

// A handler: it must not wait.
void program::take_order(const message& m) {
  order o;
  std::memcpy(static_cast<void*>(&o), m.words.data(), std::min(sizeof o, m.words.size_bytes()));
  if (o.has_image) awaiting_data_ = true;
  const std::scoped_lock guard(lock_);
  if (o.what == order_kind::work && std::exchange(served_, true)) return start_thread(o);
  orders_.push_back(o);
}

// With lock_.
void program::start_thread(const order& o) {
  threads_.emplace_back([this, o] {
    space::here().thread_begins(here_ + 1);
    work(o, false);
    space::here().thread_ends();
  });
}

program::order program::next_order() {
  order next;
  bool taken = false;
  const auto there = [&] {
    const std::scoped_lock guard(lock_);
    if (taken || orders_.empty()) return taken;
    next = orders_.front();
    orders_.pop_front();
    return taken = true;
  };
  wait_until(there, "waiting for work");
  return next;
}

void program::serve() {
  while (true) {
    const order o = next_order();
    switch (o.what) {
      case order_kind::initialised: initialised(); break;
      case order_kind::work: work(o, true); break;
      case order_kind::end: {
        for (auto& t : threads_) t.join();
        job_.reset();
        return;
      }
    }
  }
}

void program::work(const order& o, bool on_serving_thread) {
  ++here_;
  given_.wait_for(o.ticket);
  if (on_serving_thread) {
    one_a_node_ = o.one_a_node != 0;
    if (o.has_image) {
      data_.unpack(port_, 0, o.image).or_throw();
      port_.send(0, lane::request, data_taken, {}).or_throw();
      awaiting_data_ = false;
      port_.nudge(port_.self()).or_throw();
    }
    working_ = true;
  } else {
    wait_until([&] { return !awaiting_data_; }, "waiting for the program's data");
  }
  o.f();
  if (on_serving_thread) {
    working_ = false;
    const std::scoped_lock guard(lock_);
    served_ = false;
  }
  worker_ended();
}

void program::worker_ended() {
  show_all_output();
  --here_;
  ended_.fetch_add();
  port_.send(0, lane::request, work_ended, {}).or_throw();
}

void program::ended_by_exit() {
  working_ = false;
  {
    const std::scoped_lock guard(lock_);
    served_ = false;
  }
  worker_ended();
  serve();
}

void program::barrier(sync_object& b, std::uint32_t participants) {
  show_all_output();
  if (participants != job_->nodes() || !one_a_node_) return space::here().barrier(b, participants);
  if (here_ + (is_first() ? 1 : 0) > 1)
    throw error(errc::invalid_argument,
                "a barrier of as many workers as there are nodes, and a node has two of them; start the program "
                "on as many nodes as it has workers, or on fewer than take part in any barrier");
  space::here().barrier();
}

}  // namespace weft::parmacs
