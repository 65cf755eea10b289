// Instructions of x86-64, as far as it takes to count them: how long each is, what it does to the flow of control, and how many
// instructions a processor takes for it that computes in registers only and with one number at a time, as the papers' do (MIPS, Alpha).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace weft::sim {

// General registers have their numbers.
inline constexpr std::uint8_t stack_pointer = 4, first_argument = 7, no_register = 0xff;

struct memory_operand {
  std::uint8_t base = no_register, index = no_register;
  std::uint8_t scale = 0;  // of the index: a power of two
  std::int32_t displacement = 0;
};

struct instruction {
  enum class kind : std::uint8_t {
    plain,
    call,     // of `target`
    end,      // control does not go on behind it: a jump, a return, a trap
    filler,   // does nothing, but fills space or marks a place
    spill,    // moves a register to or from the stack frame, or a constant into a floating register
    unknown,  // no instruction that a compiler makes for programs
  };
  kind what = kind::unknown;
  std::size_t length = 0;
  std::uint32_t simple = 1;  // instructions: operands in memory and vectors take more; what their addresses take is not among them
  const std::uint8_t* target = nullptr;
  std::optional<memory_operand> memory;
  bool only_address = false;               // the operand's address is what it computes
  std::uint16_t writes = 0;                // general registers, a bit for each; a call's are not told
  std::uint8_t copies_from = no_register;  // what it writes is this one's value
};

instruction decode(const std::uint8_t* at) noexcept;

// The simple instructions of a basic block that begins at `begin`, right behind a call that the compiler has put at its start: up to the next
// such call, or to where control leaves. `is_hook` tells the functions that are there for being told of references only: neither their
// calls nor the addresses that are put in place for them count. Nor does what the calls make necessary because they leave no floating
// register as it was: moves to and from the stack frame, and loads of constants.
std::uint32_t instructions_of_block(const std::uint8_t* begin, bool (*is_hook)(const void* function),
                                    const void* block_hook) noexcept;

}  // namespace weft::sim
