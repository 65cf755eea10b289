// What the kernel says about first writes: userfaultfd's asynchronous write protection, collected by PAGEMAP_SCAN (Linux 6.7). The
// constants are here because distributions' headers are older than the kernels they run on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <weft/status.h>

#include "os/memory_file.h"
#include "os/write_tracker.h"

namespace weft::os {

inline constexpr std::uint64_t uffd_wp_shmem = 1u << 12, uffd_wp_unpopulated = 1u << 13, uffd_wp_async = 1u << 15;

// A userfaultfd with these features besides those of asynchronous write protection.
result<unique_fd> open_userfaultfd(std::uint64_t features);

class kernel_write_log {
 public:
  // Memory at `base`, registered in write-protect mode. Fails where the kernel cannot be asked.
  static result<kernel_write_log> open(std::byte* base);

  // Appends the written pages of `among`, in order, neighbours joined; with `again` they are protected in the same step.
  void collect(page_range among, bool again, std::vector<page_range>& into) const;

 private:
  struct scan_region {  // struct page_region of linux/fs.h
    std::uint64_t start, end, categories;
  };
  // One question to the kernel: how many regions it found, and how far it came.
  int scan(std::byte* from, std::byte* to, bool again, std::span<scan_region> found, std::uint64_t& end) const;

  kernel_write_log(std::byte* base, unique_fd pagemap) : base_(base), pagemap_(std::move(pagemap)) {}

  std::byte* base_;
  unique_fd pagemap_;
};

// (Un)protects pages of memory at `base`.
void write_protect(int faults, std::byte* base, page_range pages, bool on);

}  // namespace weft::os
