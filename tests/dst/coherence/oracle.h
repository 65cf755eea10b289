// What a run must see. The program has no races, so the order in which its accesses really happen is one that all its threads agree
// on: the last write before a read is the one whose value it must find. That holds as long as synchronisation synchronises, which is
// checked here as well.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "dst/coherence/program.h"

namespace dst {

class oracle {
 public:
  explicit oracle(const program& p);

  // --- memory ---------------------------------------------------------------------------------------------------------------------

  void wrote(std::uint32_t array, std::size_t offset, const std::byte* data, std::size_t size, std::uint32_t thread,
             std::uint32_t unit);
  // What is wrong with what was found there, if anything.
  std::optional<std::string> found(std::uint32_t array, std::size_t offset, const std::byte* data, std::size_t size) const;

  // --- synchronisation: each says what is wrong, if anything ------------------------------------------------------------------------

  std::optional<std::string> locked(std::uint32_t object, std::uint32_t thread);
  void unlocks(std::uint32_t object) { holders_.erase(object); }
  std::optional<std::string> entered(std::uint32_t object, bool writing);
  void leaves(std::uint32_t object, bool writing);
  void adds(std::uint32_t object, std::uint64_t amount) { values_[object] += amount; }
  std::optional<std::string> reached(std::uint32_t object, std::uint64_t value);

  // A barrier of `expected`, for the n-th time: arriving, and leaving.
  void arrives(std::uint32_t object, std::uint64_t generation) { ++arrivals_[{object, generation}]; }
  std::optional<std::string> left(std::uint32_t object, std::uint64_t generation, std::uint64_t expected);

  std::optional<std::string> allocated(std::uint64_t at, std::uint64_t size);
  void frees(std::uint64_t at) { blocks_.erase(at); }

 private:
  struct origin {
    std::uint32_t thread = unset, unit = unset;
  };
  struct shared_state {
    std::uint32_t readers = 0;
    bool writer = false;
  };

  std::vector<std::vector<std::byte>> memory_;  // by array
  std::vector<std::vector<origin>> origins_;
  std::map<std::uint32_t, std::uint32_t> holders_;
  std::map<std::uint32_t, shared_state> shared_;
  std::map<std::uint32_t, std::uint64_t> values_;
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::uint64_t> arrivals_;
  std::map<std::uint64_t, std::uint64_t> blocks_;  // in use: where, how large
};

}  // namespace dst
