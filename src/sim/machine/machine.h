// The simulated machine: nodes with a processor, memory and a network interface each, and on every node weft's own shared memory: the
// production space, protocol, locks, barriers and message port.
//
// Everything runs in one thread. The same program with the same parameters takes the same number of cycles every time.
//
// After a failure the processors are left where they are, and everything with them: whoever goes on afterwards should be another process.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "observe/activity.h"
#include "testbed/fiber.h"
#include "os/memory_file.h"
#include "space/software_space.h"
#include "sim/machine/account.h"
#include "sim/machine/exchanges.h"
#include "sim/machine/interface.h"
#include "sim/machine/machine_pages.h"
#include "sim/machine/machine_port.h"
#include "sim/machine/native_memory.h"
#include "sim/machine/network.h"
#include "sim/machine/parameters.h"
#include "sim/machine/processor.h"
#include "sim/machine/program_space.h"

namespace weft::sim {

struct machine_options {
  node_id processors = 1;
  std::string protocol = "cashmere";
  const interface* by = &interfaces[0];  // null: none, only messages
  parameters numbers;

  // Which interface a protocol runs on when none is asked for: cashmere on the best, the others on messages.
  static const interface* usual_interface(const std::string& protocol) { return is_cashmere(protocol) ? &interfaces[0] : nullptr; }

  // Or one of its variants.
  static bool is_cashmere(const std::string& protocol) { return protocol.substr(0, protocol.find(':')) == "cashmere"; }
};

class machine {
 public:
  struct node {
    node(machine& in, const fabric::fabric_options& o);
    cost waits_count_as();

    // What it has done so far.
    account so_far() const;

    // The program takes the time: what it measures is between its first look at the clock and its last.
    void takes_time();
    account measured() const;  // all of it if there were not two looks

    machine& whole;
    processor cpu;
    observe::activity activity;  // on the processor's clock
    machine_port port;
    machine_pages* pages = nullptr;  // the space's
    std::unique_ptr<runtime::software_space> space;
    std::optional<program_space> seen_space;  // it as the program sees it
    std::uint64_t adopted = 0;                // synchronisation objects outside of shared memory

   private:
    std::optional<account> began_, ended_;
  };

  explicit machine(const machine_options& o);
  ~machine();

  // Runs a program on every processor; its shared memory is there. An exception that leaves it is a failure. Returns when all have ended,
  // or nobody can go on.
  void run(const std::function<void(node&)>& program);

  // Ends the run with a deadlock if everybody has waited for long. Somebody who looks again and again at something calls it.
  void look_for_deadlock();

  void fail(const std::string& sentence);
  const std::optional<std::string>& failure() const noexcept { return failure_; }

  node_id processors() const noexcept { return options_.processors; }
  node& at(node_id n) { return *nodes_[n]; }
  processor* running() const noexcept { return running_; }  // null: in an event
  std::vector<std::vector<std::byte>> exchange(node& n, bytes mine);

  const parameters& numbers() const noexcept { return options_.numbers; }
  const machine_options& options() const noexcept { return options_; }
  const interface* interface_of_nodes() const noexcept { return options_.by; }
  base::nanoseconds nanoseconds_of(cycles c) const noexcept {
    return static_cast<base::nanoseconds>(c * 1000 / numbers().megahertz);
  }
  cycles cycles_of(base::nanoseconds t) const noexcept { return static_cast<cycles>(t) * numbers().megahertz / 1000; }

  event_queue& time() noexcept { return time_; }
  network& connections() noexcept { return network_; }
  native_memory& native() noexcept { return native_; }
  memory frames() const noexcept { return {frames_.base(), frames_.size(), frames_file_.get(), 0}; }

  // --- for processors -----------------------------------------------------------------------------------------------------------------

  testbed::fiber& main() noexcept { return main_; }
  void run_on(processor* p) noexcept { running_ = p; }

  // As long as it lives, what is done is not the running program's: the simulator copies memory that the program's hooks know.
  class aside {
   public:
    explicit aside(machine& m) noexcept : machine_(m), was_(std::exchange(m.running_, nullptr)) {}
    ~aside() { machine_.running_ = was_; }
    aside(const aside&) = delete;
    aside& operator=(const aside&) = delete;

   private:
    machine& machine_;
    processor* const was_;
  };

 private:
  void build(node& n);
  void stuck();

  const machine_options options_;
  event_queue time_;
  network network_;
  os::unique_fd frames_file_;
  os::mapping frames_;   // what all nodes' frames are: see machine_pages.h
  os::mapping program_;  // the program's shared memory, at its place
  native_memory native_;
  testbed::fiber main_;
  std::vector<std::unique_ptr<node>> nodes_;
  exchanges exchanges_;
  processor* running_ = nullptr;
  std::optional<std::string> failure_;
};

}  // namespace weft::sim
