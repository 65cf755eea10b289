// Memory bound to an import, in one of the ways of weft/vmmc.h: what they share is how their stores are sent, and when.
//
// A flush collects the stores so far and puts them, under a lock: puts of one binding go out in the order of its passes. What a pass that
// failed held is not sent again; its failure is reported.
#pragma once

#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

#include <weft/vmmc.h>

namespace weft::communication {

class updater;

class bound_memory {
 public:
  bound_memory(updater& by, const imported& to, std::uint64_t offset, const binding_options& options)
      : updater_(by), to_(to), offset_(offset), options_(options) {}
  virtual ~bound_memory() = default;

  virtual mutable_bytes memory() const noexcept = 0;
  virtual update_way way() const noexcept = 0;

  status flush();
  void flush_in_background();  // a failure is kept for the next flush()
  status unbind();
  node_id node() const noexcept { return to_.node(); }
  const binding_options& options() const noexcept { return options_; }
  binding_statistics statistics() const;

 protected:
  // Appends what was stored since the last time, as runs with offsets into the bound memory whose bytes stay as they are until the next
  // call. `own_thread`: the program asks, so its own last store counts as well. Called with the lock.
  virtual void collect(std::vector<run>& runs, bool own_thread) = 0;

  // The program's stores are its own again: nothing notes them when this returns. Called with the lock, and collect() is not called any more.
  virtual void end() {}

 private:
  status pass(bool own_thread);
  status send(std::span<run> runs);

  updater& updater_;
  const imported to_;
  const std::uint64_t offset_;
  const binding_options options_;
  mutable std::mutex lock_;                 // guards the passes and what is below
  std::atomic<std::thread::id> passing_{};  // who holds it: a handler may run inside a pass and must not wait for it
  std::vector<run> runs_;
  bool ended_ = false;  // by unbind()
  status failure_;      // of a pass in the background
  binding_statistics statistics_;
};

// The remote memory itself.
class mapped_memory final : public bound_memory {
 public:
  mapped_memory(updater& by, const imported& to, std::uint64_t offset, mutable_bytes there, const binding_options& options)
      : bound_memory(by, to, offset, options), there_(there) {}
  mutable_bytes memory() const noexcept override { return there_; }
  update_way way() const noexcept override { return update_way::mapped; }

 private:
  void collect(std::vector<run>&, bool) override {}  // a store has arrived already
  const mutable_bytes there_;
};

}  // namespace weft::communication
