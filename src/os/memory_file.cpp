#include "os/memory_file.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/text.h"

namespace weft::os {

unique_fd::~unique_fd() {
  if (fd_ >= 0) ::close(fd_);
}

mapping::~mapping() {
  if (from_ == source::heap)
    std::free(base_);
  else if (base_)
    ::munmap(base_, size_);
}

std::size_t round_to_pages(std::size_t size) noexcept {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return (size + page - 1) / page * page;
}

result<unique_fd> create_memory_file(const std::string& name, std::size_t size) {
  unique_fd fd(::memfd_create(name.c_str(), MFD_CLOEXEC));
  if (!fd) return base::system_failure("cannot create a memory file (memfd_create)", errno);
  if (::ftruncate(fd.get(), static_cast<off_t>(size)) != 0)
    return base::system_failure(base::format("cannot size a memory file to %zu bytes", size), errno);
  return fd;
}

result<unique_fd> open_descriptor_of(pid_t pid, int fd, bool writable) {
  const std::string path = base::format("/proc/%d/fd/%d", pid, fd);
  unique_fd opened(::open(path.c_str(), (writable ? O_RDWR : O_RDONLY) | O_CLOEXEC));
  if (opened) return opened;
  if (errno == ENOENT) return {errc::node_failed, base::format("process %d, another node on this host, has ended", pid)};
  return base::system_failure("cannot open " + path + " of another node on this host", errno);
}

result<mapping> map_file(int fd, std::uint64_t offset, std::size_t size, bool writable) {
  void* at = ::mmap(nullptr, size, writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, fd, static_cast<off_t>(offset));
  if (at == MAP_FAILED) return base::system_failure(base::format("cannot map %zu bytes", size), errno);
  mapping m(static_cast<std::byte*>(at), size);
  leave_out_of_core_dumps(m);
  return m;
}

result<mapping> reserve(std::size_t size) {
  constexpr std::size_t few = 16 << 10, cache_line = 64;
  const std::size_t whole = round_to_pages(size);
  if (whole <= few) {
    void* at = std::aligned_alloc(cache_line, whole);
    if (!at) return base::system_failure(base::format("cannot allocate %zu bytes", whole), errno);
    std::memset(at, 0, whole);
    return mapping(static_cast<std::byte*>(at), whole, mapping::source::heap);
  }
  void* at = ::mmap(nullptr, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) return base::system_failure(base::format("cannot reserve %zu bytes", whole), errno);
  mapping m(static_cast<std::byte*>(at), whole);
  leave_out_of_core_dumps(m);
  return m;
}

void leave_out_of_core_dumps(const mapping& m) noexcept {
  ::madvise(m.base(), m.size(), MADV_DONTDUMP);
}

}  // namespace weft::os
