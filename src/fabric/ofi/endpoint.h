// The provider's objects of one node (fabric, domain, address vector, completion queue, endpoint) and the calls on them. Knows nothing of
// weft's messages. Calls that post return what libfabric returned: 0, -FI_EAGAIN for "not now", or another negative code.
//
// Threads: any may call anything; where the provider wants one thread at a time, a lock here sees to it.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>

#include "base/bytes.h"
#include "fabric/ofi/library.h"
#include "fabric/ofi/operation.h"
#include "fabric/ofi/select.h"

namespace weft::fabric::ofi {

struct close_fid {
  template <typename T>
  void operator()(T* object) const noexcept {
    ::fi_close(&object->fid);
  }
};
template <typename T>
using unique_fid = std::unique_ptr<T, close_fid>;

// Memory that the provider knows. Closing it ends remote access.
struct region {
  unique_fid<fid_mr> handle;
  std::uint64_t key = 0;
  std::uint64_t address = 0;  // of the first byte, as remote operations name it

  void* descriptor() const noexcept { return handle ? ::fi_mr_desc(handle.get()) : nullptr; }
};

// Where a remote operation goes.
struct remote_address {
  fi_addr_t node = FI_ADDR_UNSPEC;
  std::uint64_t address = 0;
  std::uint64_t key = 0;
};

class endpoint {
 public:
  // `sends`, `receives`: the most operations of either kind that can be under way at a time.
  status open(const library& l, selection chosen, std::size_t sends, std::size_t receives);
  bool is_open() const noexcept { return endpoint_ != nullptr; }

  // Ends all traffic: buffers may go away afterwards. Regions are closed by their owners.
  void shut() noexcept { endpoint_.reset(); }

  const ofi::plan& plan() const noexcept { return chosen_.plan; }
  const fi_info& info() const noexcept { return *chosen_.info; }
  const library& lib() const noexcept { return *library_; }

  result<base::byte_buffer> address() const;
  result<std::vector<fi_addr_t>> insert(std::span<const base::byte_buffer> addresses);

  // `access` in libfabric's bits.
  result<region> register_memory(std::byte* base, std::size_t size, std::uint64_t access);
  void close(region& r);

  std::int64_t receive(operation& o, std::size_t size);
  std::int64_t send(operation& o, fi_addr_t to);
  std::int64_t inject(bytes frame, fi_addr_t to);
  std::int64_t write(operation& o, bytes from, void* descriptor, const remote_address& to);
  std::int64_t inject_write(bytes from, const remote_address& to);
  std::int64_t read(operation& o, mutable_bytes into, void* descriptor, const remote_address& from);

  // Operands and the result lie in the slot: [0] operand, [1] what to compare with, [2] what the word held.
  enum class atomic_operation : std::uint8_t { add, swap, compare_swap, bit_and, bit_or };
  std::int64_t atomic(operation& o, atomic_operation what, const remote_address& on);

  // Completions of the last moment; -FI_EAGAIN when there are none, -FI_EAVAIL when the next is an error. One thread at a time.
  std::int64_t read_completions(std::span<fi_cq_msg_entry> into);
  bool read_error(fi_cq_err_entry& into);
  std::string explain(const fi_cq_err_entry& e) const;

  // A descriptor that becomes readable when there is something to do, or -1. may_sleep() says whether to sleep on it at all.
  int wait_fd() const noexcept { return wait_fd_; }
  bool may_sleep();

 private:
  std::unique_lock<std::mutex> turn() { return chosen_.plan.one_lock ? std::unique_lock(lock_) : std::unique_lock<std::mutex>(); }
  status open_queue(std::size_t completions);
  status open_endpoint();
  bool atomics_are_valid();
  status failure(const char* what, std::int64_t code) const;
  status registration_failure(std::size_t size, std::int64_t code) const;

  const library* library_ = nullptr;
  selection chosen_;
  std::mutex lock_;  // taken by all calls where the provider wants one thread at a time
  int wait_fd_ = -1;

  // In the order in which they are made; closed in the opposite order.
  unique_fid<fid_fabric> fabric_;
  unique_fid<fid_domain> domain_;
  unique_fid<fid_av> addresses_;
  unique_fid<fid_cq> queue_;
  unique_fid<fid_ep> endpoint_;
};

}  // namespace weft::fabric::ofi
