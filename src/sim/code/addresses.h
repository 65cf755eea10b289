// What computing addresses takes in a basic block, on a processor that adds only a constant to a register when it loads or stores.
//
// x86-64 adds an index, scaled, to a base in every reference anew; the papers' processors need a shift for the index and an addition for each
// base, and their compilers do not repeat in a block what the block has computed. So a value is known by where it came from (value numbering):
// copies of registers and what was put away in the stack frame keep it, everything else that writes a register makes a new one.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "sim/code/machine_code.h"

namespace weft::sim {

class addresses {
 public:
  addresses();

  // The block's next instruction: how many more it takes for its address.
  std::uint32_t note(const instruction& i);

 private:
  using value = std::uint32_t;
  struct sum {
    value base, index;
    std::uint8_t scale;
    value is;
  };
  struct slot {
    std::int32_t at;  // from the stack pointer
    value holds;
  };
  static constexpr value nothing = 0;

  value fresh() noexcept { return ++last_; }
  value in(std::uint8_t r) const noexcept { return r < registers_.size() ? registers_[r] : nothing; }
  const sum* find(value base, value index, std::uint8_t scale) const noexcept;
  value& kept_at(std::int32_t at);
  std::uint32_t add(const memory_operand& at, value& total);

  value last_ = nothing;
  std::array<value, 16> registers_;
  std::vector<slot> frame_;
  std::vector<sum> known_;  // an index by itself, scaled, has no base
};

}  // namespace weft::sim
