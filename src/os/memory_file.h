// Memory as a file: a memfd that this process and others can map, and mappings of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include <sys/types.h>
#include <weft/status.h>

namespace weft::os {

// A file descriptor that closes itself.
class unique_fd {
 public:
  explicit unique_fd(int fd = -1) noexcept : fd_(fd) {}
  unique_fd(unique_fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  unique_fd& operator=(unique_fd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~unique_fd();
  int get() const noexcept { return fd_; }
  explicit operator bool() const noexcept { return fd_ >= 0; }

 private:
  int fd_;
};

// A mapping that unmaps itself.
class mapping {
 public:
  // Who gives the memory back.
  enum class source : bool { kernel, heap };

  mapping() noexcept = default;
  mapping(std::byte* base, std::size_t size, source from = source::kernel) noexcept : base_(base), size_(size), from_(from) {}
  mapping(mapping&& other) noexcept
      : base_(std::exchange(other.base_, nullptr)), size_(std::exchange(other.size_, 0)), from_(other.from_) {}
  mapping& operator=(mapping&& other) noexcept {
    std::swap(base_, other.base_);
    std::swap(size_, other.size_);
    std::swap(from_, other.from_);
    return *this;
  }
  ~mapping();
  std::byte* base() const noexcept { return base_; }
  std::size_t size() const noexcept { return size_; }
  explicit operator bool() const noexcept { return base_ != nullptr; }

 private:
  std::byte* base_ = nullptr;
  std::size_t size_ = 0;
  source from_ = source::kernel;
};

std::size_t round_to_pages(std::size_t size) noexcept;

// A new zeroed memory file. `name` shows up in /proc/PID/maps.
result<unique_fd> create_memory_file(const std::string& name, std::size_t size);

// Opens descriptor `fd` of process `pid` on this host: how peers reach each other's memory files. errc::node_failed if that process has
// ended.
result<unique_fd> open_descriptor_of(pid_t pid, int fd, bool writable);

result<mapping> map_file(int fd, std::uint64_t offset, std::size_t size, bool writable);

// Private memory for what is large and mostly empty: zeroed, and costing nothing until touched. A few pages come from the heap instead,
// at the start of a cache line: simulated nodes are made by the thousand, and each has a dozen such tables.
result<mapping> reserve(std::size_t size);

// Mappings of this kind are not in core dumps, map_file's and reserve's among them: they are terabytes of mostly nothing.
void leave_out_of_core_dumps(const mapping& m) noexcept;

}  // namespace weft::os
