// A program of the ANL macros, as one node sees it.
//
// Node 0 runs main. The others serve: they wait for orders, and an order to work brings the program's data as they are on node 0 at that
// moment (program_data.h) and the function to run. A node that works already starts another thread for a second order; its data stay
// as they are then, as they would with threads.
//
// Orders and their ends are messages, which wake whoever sleeps. What makes shared memory visible along with them are two counters:
// node 0 adds to one before it gives an order, and a worker adds to the other before it says that it has ended.
//
// Threads: create, wait_for_end and end are for node 0's main thread; serve and ended_by_exit for the others' first thread; barrier for
// all workers.
#pragma once

#include <atomic>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include <weft/job.h>
#include <weft/sync.h>

#include "dsm/lazy_memory.h"
#include "models/parmacs/program_data.h"

namespace weft::parmacs {

using function = void (*)();

class program {
 public:
  // Collective.
  program();

  bool is_first() const noexcept { return job_->self() == 0; }

  // One worker more, where there are the fewest.
  void create(function f);

  // All but one of `workers`, and `f` on the calling thread.
  void create(function f, std::uint32_t workers);

  // Waits for `count` of those that were created, or for all if there are fewer.
  void wait_for_end(std::uint32_t count);

  // Waits for all workers and lets the other nodes go. The job has ended then.
  void end();

  // Does what it is told, until the end of the job.
  void serve();

  // The worker on the serving thread ended its process in good order: that ends the worker, and the thread serves on.
  bool works() const noexcept { return working_; }
  void ended_by_exit();

  // Of `participants` workers. One of all nodes, if every node has one worker.
  void barrier(sync_object& b, std::uint32_t participants);

 private:
  enum class order_kind : word { work, initialised, end };
  struct order {
    order_kind what = order_kind::work;
    function f = nullptr;
    word ticket = 0;      // what the counter of orders has come to
    word one_a_node = 1;  // no node is known to get a second worker
    word has_image = 0;
    window image = {};
  };

  void give(node_id node, const order& o);
  void take_order(const message& m);
  order next_order();
  void work(const order& o, bool on_serving_thread);
  void start_thread(const order& o);
  void worker_ended();
  void end_initialisation();
  void start(function f, std::uint32_t workers);
  window make_image();
  void drop_image();
  node_id least_busy() const;
  void wait_until(condition holds, const char* what);

  std::unique_ptr<job> job_;
  port& port_;
  program_data data_;
  counter given_, ended_;  // orders to work; workers that have ended
  std::atomic<bool> one_a_node_{true};
  std::atomic<std::uint32_t> here_{0};      // workers on this node, main's own not counted
  std::atomic<bool> awaiting_data_{false};  // an order has come with data that the serving thread has not taken yet
  bool working_ = false;                    // of the serving thread: it is in the program's function

  // Of node 0's main thread.
  bool initialised_ = false;
  dsm::lazy_memory image_;  // of the data, while others take them
  window image_window_;
  word tickets_ = 0, waited_for_ = 0;
  // What the others have said: how many have taken their data, and which have ended, by node. Read by main's thread.
  std::atomic<std::uint32_t> taken_{0};
  std::atomic<word> ends_{0};
  std::vector<std::atomic<std::uint32_t>> busy_;  // workers by node; main counts

  std::mutex lock_;  // guards the rest; handlers take it
  std::deque<order> orders_;
  bool served_ = false;  // the serving thread is taken
  std::vector<std::thread> threads_;
};

}  // namespace weft::parmacs
