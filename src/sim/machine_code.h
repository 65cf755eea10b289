// Instructions of x86-64, as far as it takes to count them: how long each is, what it does to the flow of control, and how many
// instructions a processor takes for it that computes in registers only and with one number at a time, as the papers' do (MIPS, Alpha).
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::sim {

struct instruction {
  enum class kind : std::uint8_t {
    plain,
    call,      // of `target`
    end,       // control does not go on behind it: a jump, a return, a trap
    filler,    // does nothing, but fills space or marks a place
    spill,     // moves a register to or from the stack frame
    unknown,   // no instruction that a compiler makes for programs
  };
  kind what = kind::unknown;
  std::size_t length = 0;
  std::uint32_t simple = 1;  // instructions: operands in memory, indices of addresses, and vectors take more
  const std::uint8_t* target = nullptr;
};

instruction decode(const std::uint8_t* at) noexcept;

// The simple instructions of a basic block that begins at `begin`, right behind a call that the compiler has put at its start: up to the next
// such call, or to where control leaves. `is_hook` tells the functions that are there for being told of references only: neither their
// calls nor the addresses that are put in place for them count. Spills do not count either: nearly all of them save registers from hooks.
std::uint32_t instructions_of_block(const std::uint8_t* begin, bool (*is_hook)(const void* function), const void* block_hook) noexcept;

}  // namespace weft::sim
