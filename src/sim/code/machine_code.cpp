#include "sim/code/machine_code.h"

#include <cstring>
#include <utility>

#include "sim/code/addresses.h"

namespace weft::sim {

namespace {

using kind = instruction::kind;

// What precedes the opcode.
struct prefixes {
  bool short_operand = false;  // 66: immediates are of 16 bits, vectors of doubles or integers
  bool repeat = false;         // F3: a float instead of a vector
  bool not_equal = false;      // F2: a double instead of a vector
  unsigned vector = 16;        // bytes of one
  bool wide = false;           // REX.W: a constant may be of 64 bits
  unsigned high = 0;  // REX.R, X, B in bits 2 to 0: the operands' register, index, base or other register is one of r8 to r15
  unsigned map = 0;   // of opcodes: 0 one byte, 1 0F, 2 0F 38, 3 0F 3A
};

// What VEX and EVEX say in two bits each instead of by prefixes.
void set_vector(prefixes& f, unsigned prefix, unsigned width) noexcept {
  f.short_operand = prefix == 1;
  f.repeat = prefix == 2;
  f.not_equal = prefix == 3;
  f.vector = 16u << width;
}

const std::uint8_t* skip_prefixes(const std::uint8_t* p, prefixes& f) noexcept {
  for (;; ++p) {
    if (*p == 0x66)
      f.short_operand = true;
    else if (*p == 0xf3)
      f.repeat = true;
    else if (*p == 0xf2)
      f.not_equal = true;
    else if (*p != 0xf0 && *p != 0x2e && *p != 0x36 && *p != 0x3e && *p != 0x26 && *p != 0x64 && *p != 0x65 && *p != 0x67)
      break;
  }
  if (*p == 0xc5) {  // VEX of two bytes
    f.map = 1;
    f.high = (p[1] & 0x80) == 0 ? 4 : 0;
    set_vector(f, p[1] & 3, p[1] >> 2 & 1);
    return p + 2;
  }
  if (*p == 0xc4 || *p == 0x62) {  // VEX of three bytes, EVEX of four
    f.map = p[1] & (*p == 0xc4 ? 0x1f : 7);
    f.high = ~unsigned{p[1]} >> 5 & 7;
    set_vector(f, p[2] & 3, *p == 0xc4 ? p[2] >> 2 & 1 : p[3] >> 5 & 3);
    return p + (*p == 0xc4 ? 3 : 4);
  }
  if ((*p & 0xf0) == 0x40) {
    f.wide = (*p & 8) != 0;
    f.high = *p & 7;
    ++p;
  }
  if (*p != 0x0f) return p;
  f.map = p[1] == 0x38 ? 2 : p[1] == 0x3a ? 3 : 1;
  return p + (f.map == 1 ? 1 : 2);
}

bool has_operands(unsigned map, std::uint8_t op) noexcept {
  if (map >= 2) return true;
  if (map == 1)
    return !(op == 0x05 || (op >= 0x06 && op <= 0x09) || op == 0x0b || (op >= 0x30 && op <= 0x37) || op == 0x77 ||
             (op & 0xf0) == 0x80 || (op >= 0xa0 && op <= 0xa2) || (op >= 0xa8 && op <= 0xaa) || (op >= 0xc8 && op <= 0xcf));
  if (op < 0x40) return (op & 7) < 4;
  return op == 0x63 || op == 0x69 || op == 0x6b || (op >= 0x80 && op <= 0x8f) || op == 0xc0 || op == 0xc1 || op == 0xc6 ||
         op == 0xc7 || (op >= 0xd0 && op <= 0xd3) || (op >= 0xd8 && op <= 0xdf) || op == 0xf6 || op == 0xf7 || op == 0xfe ||
         op == 0xff;
}

// Bytes of constants behind the operands; `reg` is the middle of the operands' first byte.
std::size_t constants(const prefixes& f, std::uint8_t op, unsigned reg) noexcept {
  const std::size_t whole = f.short_operand ? 2 : 4;
  if (f.map == 3) return 1;
  if (f.map == 2) return 0;
  if (f.map == 1) {
    if ((op & 0xf0) == 0x80) return 4;
    return (op >= 0x70 && op <= 0x73) || op == 0xa4 || op == 0xac || op == 0xba || op == 0xc2 || (op >= 0xc4 && op <= 0xc6);
  }
  if (op < 0x40) return (op & 7) == 4 ? 1 : (op & 7) == 5 ? whole : 0;
  if (op >= 0xb8 && op <= 0xbf) return f.wide ? 8 : whole;
  if (op >= 0xa0 && op <= 0xa3) return 8;
  if (op == 0xf6) return reg < 2;
  if (op == 0xf7) return reg < 2 ? whole : 0;
  switch (op) {
    case 0x68:
    case 0x69:
    case 0x81:
    case 0xa9:
    case 0xc7: return whole;
    case 0xe8:
    case 0xe9: return 4;
    case 0xc2:
    case 0xca: return 2;
    case 0xc8: return 3;
    case 0x6a:
    case 0x6b:
    case 0x80:
    case 0x83:
    case 0xa8:
    case 0xc0:
    case 0xc1:
    case 0xc6:
    case 0xcd:
    case 0xeb: return 1;
    default: return (op & 0xf0) == 0x70 || (op & 0xf8) == 0xb0 || (op >= 0xe0 && op <= 0xe7);
  }
}

bool moves(unsigned map, std::uint8_t op) noexcept {
  if (map == 0) return op >= 0x88 && op <= 0x8b;
  return map == 1 && (op == 0x10 || op == 0x11 || op == 0x28 || op == 0x29 || op == 0x6f || op == 0x7f || op == 0x6e ||
                      op == 0x7e || op == 0xd6);
}

// Whether an operand in memory is only moved, or not used at all.
bool moves_only(unsigned map, std::uint8_t op) noexcept {
  if (moves(map, op)) return true;
  if (map == 0) return op == 0x63 || op == 0x8d || op == 0xc6 || op == 0xc7;
  return map == 1 && (op == 0x12 || op == 0x13 || op == 0x14 || op == 0x16 || op == 0x17 || op == 0x1f || op == 0xb6 ||
                      op == 0xb7 || op == 0xbe || op == 0xbf || op == 0xe7 || op == 0xf0);
}

// --- vectors: a processor without them computes with one number after another -----------------------------------------------------

// How many numbers an instruction computes with. Not for logic, which serves single numbers as well.
unsigned lanes_of(const prefixes& f, std::uint8_t op) noexcept {
  if (f.map != 1 || f.repeat || f.not_equal) return 1;
  if ((op >= 0x51 && op <= 0x53) || op == 0x58 || op == 0x59 || (op >= 0x5c && op <= 0x5f) || op == 0xc2)
    return f.vector / (f.short_operand ? 8 : 4);
  if (f.short_operand && (op == 0xd4 || op == 0xfb)) return f.vector / 8;  // sums and differences of integers
  if (f.short_operand && (op == 0xfe || op == 0xfa)) return f.vector / 4;
  return 1;
}

bool moves_vector(const prefixes& f, std::uint8_t op) noexcept {
  if (f.map != 1) return false;
  if (op == 0x6f || op == 0x7f) return f.short_operand || f.repeat;
  return !f.repeat && !f.not_equal && (op == 0x10 || op == 0x11 || op == 0x28 || op == 0x29 || op == 0x2b || op == 0xe7);
}

// Whether it only gives numbers other places in registers.
bool shuffles(const prefixes& f, std::uint8_t op, bool in_registers) noexcept {
  if (f.map != 1 || f.repeat || f.not_equal) return false;
  if (op == 0x14 || op == 0x15 || op == 0xc6) return true;
  if (f.short_operand) return op == 0x62 || op == 0x6a || op == 0x6c || op == 0x6d || op == 0x70;
  return in_registers && (op == 0x12 || op == 0x16);
}

// Instructions without those for the address of an operand in memory: whole vectors there are moved by 8 bytes.
unsigned simple_ones(const prefixes& f, std::uint8_t op, bool in_memory) noexcept {
  const unsigned lanes = lanes_of(f, op), pieces = lanes > 1 || moves_vector(f, op) ? f.vector / 8 : 1;
  if (in_memory && moves_vector(f, op)) return pieces;
  const unsigned loads = in_memory && !moves_only(f.map, op) ? pieces : 0;
  return shuffles(f, op, !in_memory) ? loads : lanes + loads;
}

// --- registers --------------------------------------------------------------------------------------------------------------------

struct operands {
  unsigned mod = 0, reg = 0, rm = 0;  // with their high bits
  bool in_memory() const noexcept { return mod != 3; }
};

// The general registers that an instruction without prefix 0F writes.
std::uint16_t written_by_plain(std::uint8_t op, const operands& o) noexcept {
  const auto bit = [](unsigned r) { return static_cast<std::uint16_t>(1u << r); };
  const std::uint16_t reg = bit(o.reg), rm = o.in_memory() ? std::uint16_t{0} : bit(o.rm);
  constexpr std::uint16_t accumulator = 1, data = 4;
  if (op < 0x40) return op >= 0x38 ? std::uint16_t{0} : (op & 7) < 2 ? rm : reg;  // comparisons write none
  switch (op) {
    case 0x63:
    case 0x69:
    case 0x6b:
    case 0x8a:
    case 0x8b:
    case 0x8d: return reg;
    case 0x80:
    case 0x81:
    case 0x83: return (o.reg & 7) == 7 ? std::uint16_t{0} : rm;
    case 0x84:
    case 0x85: return 0;
    case 0x86:
    case 0x87: return reg | rm;
    case 0xf6:
    case 0xf7: return (o.reg & 7) < 2 ? std::uint16_t{0} : (o.reg & 7) < 4 ? rm : accumulator | data;
    default: return rm;  // of the others those that have operands
  }
}

// And one with it. The registers of most are floating ones; these have a general one for their result.
std::uint16_t written_by_other(const prefixes& f, std::uint8_t op, const operands& o) noexcept {
  const std::uint16_t reg = static_cast<std::uint16_t>(1u << o.reg);
  const std::uint16_t rm = o.in_memory() ? std::uint16_t{0} : static_cast<std::uint16_t>(1u << o.rm);
  if (f.map == 2) return op >= 0xf0 ? reg | rm : 0;
  if (f.map == 3) return op == 0xf0 ? reg : op >= 0x14 && op <= 0x17 ? rm : 0;
  if ((op & 0xf0) == 0x40 || op == 0x2c || op == 0x2d || op == 0x50 || op == 0xd7) return reg;
  if (op == 0x7e && f.repeat) return 0;  // from a floating register to another
  if ((op & 0xf0) == 0x90 || op == 0x7e) return rm;
  if (op == 0xaf || op == 0xb6 || op == 0xb7 || (op >= 0xbc && op <= 0xbf)) return reg;
  return op >= 0xa0 && op <= 0xc1 ? reg | rm : 0;
}

// Those that have their register in the opcode itself.
std::uint16_t written_by_opcode(const prefixes& f, std::uint8_t op) noexcept {
  const auto own = static_cast<std::uint16_t>(1u << ((op & 7) | (f.high & 1) << 3));
  if (f.map == 1) return op >= 0xc8 && op <= 0xcf ? own : 0;
  if (f.map != 0) return 0;
  if (op >= 0x50 && op <= 0x57) return 1u << stack_pointer;
  if (op >= 0x58 && op <= 0x5f) return own | 1u << stack_pointer;
  if (op >= 0x91 && op <= 0x97) return own | 1;
  if (op < 0x38 || op == 0x98) return 1;
  if (op == 0x99) return 4;
  return op >= 0xb0 && op <= 0xbf ? own : std::uint16_t{0};
}

void note_registers(instruction& i, const prefixes& f, std::uint8_t op, const operands& o) noexcept {
  i.writes = f.map == 0 ? written_by_plain(op, o) : written_by_other(f, op, o);
  i.only_address = f.map == 0 && op == 0x8d;
  if (f.map != 0 || !f.wide) return;
  if (op == 0x89) i.copies_from = static_cast<std::uint8_t>(o.reg);
  if (op == 0x8b && !o.in_memory()) i.copies_from = static_cast<std::uint8_t>(o.rm);
}

// A constant, which a loop would keep in a register if the hooks left it there.
bool loads_constant(const prefixes& f, std::uint8_t op, const std::optional<memory_operand>& from) noexcept {
  const bool floating = f.map == 1 && (op == 0x10 || op == 0x28 || op == 0x6e || op == 0x6f || (op == 0x7e && f.repeat) ||
                                       (op >= 0x51 && op <= 0x5f) || op == 0x2e || op == 0x2f || op == 0xef);
  return floating && from && from->base == no_register && from->index == no_register;
}

kind kind_of(const prefixes& f, std::uint8_t op, unsigned reg, bool kept) noexcept {
  if (f.map == 0) {
    if (op == 0xe8) return kind::call;
    if (op == 0xe9 || op == 0xeb || op == 0xc3 || op == 0xc2 || op == 0xcc || op == 0xf4) return kind::end;
    if (op == 0xff && (reg == 4 || reg == 5)) return kind::end;
    if (op == 0x90) return kind::filler;
    if (op == 0x06 || op == 0x07 || op == 0x0e || op == 0x16 || op == 0x17 || op == 0x1e || op == 0x1f || op == 0x27 ||
        op == 0x2f || op == 0x37 || op == 0x3f || op == 0x60 || op == 0x61 || op == 0x9a || op == 0xce || op == 0xd4 ||
        op == 0xd5 || op == 0xd6 || op == 0xea)
      return kind::unknown;
  }
  if (f.map == 1 && op == 0x0b) return kind::end;
  if (f.map == 1 && (op == 0x1f || (op == 0x1e && f.repeat))) return kind::filler;
  if (kept && moves(f.map, op)) return kind::spill;
  return f.map <= 3 ? kind::plain : kind::unknown;
}

// The operands behind the opcode.
const std::uint8_t* read_operands(const std::uint8_t* p, const prefixes& f, operands& o,
                                  std::optional<memory_operand>& memory) noexcept {
  constexpr unsigned index_follows = 4, no_base = 5;
  const auto with_high = [&](unsigned low, unsigned bit) { return low | (f.high >> bit & 1) << 3; };
  o.mod = *p >> 6;
  o.reg = with_high(*p >> 3 & 7, 2);
  const unsigned rm = *p++ & 7;
  o.rm = with_high(rm, 0);
  if (!o.in_memory()) return p;
  memory_operand& m = memory.emplace();
  unsigned base = rm;
  if (rm == index_follows) {
    const unsigned index = with_high(*p >> 3 & 7, 1);
    if (index != stack_pointer) {
      m.index = static_cast<std::uint8_t>(index);
      m.scale = *p >> 6;
    }
    base = *p++ & 7;
  }
  const bool far = o.mod == 0 && base == no_base;  // from the instruction's own place, or from 0
  if (!far) m.base = static_cast<std::uint8_t>(with_high(base, 0));
  if (o.mod == 1) {
    m.displacement = static_cast<std::int8_t>(*p);
    return p + 1;
  }
  if (o.mod != 2 && !far) return p;
  std::memcpy(&m.displacement, p, sizeof m.displacement);
  return p + sizeof m.displacement;
}

}  // namespace

instruction decode(const std::uint8_t* at) noexcept {
  prefixes f;
  const std::uint8_t* p = skip_prefixes(at, f);
  const std::uint8_t op = *p++;
  operands o;
  instruction i;
  if (has_operands(f.map, op)) {
    p = read_operands(p, f, o, i.memory);
    note_registers(i, f, op, o);
  } else {
    i.writes = written_by_opcode(f, op);
  }
  const bool by_index = i.memory && i.memory->index != no_register;
  const bool kept = (i.memory && i.memory->base == stack_pointer && !by_index) || loads_constant(f, op, i.memory);
  i.simple = simple_ones(f, op, i.memory && !kept);
  if (i.only_address && by_index) i.simple = 0;  // its sums are all
  i.what = kind_of(f, op, o.reg & 7, kept);
  if (i.what == kind::call) {
    std::int32_t distance;
    std::memcpy(&distance, p, sizeof distance);
    i.target = p + sizeof distance + distance;
  }
  i.length = static_cast<std::size_t>(p - at) + constants(f, op, o.reg & 7);
  return i;
}

std::uint32_t instructions_of_block(const std::uint8_t* begin, bool (*is_hook)(const void*), const void* block_hook) noexcept {
  constexpr std::uint32_t most = 100'000;  // no block is larger
  std::uint32_t count = 0, for_argument = 0;
  addresses computed;
  for (const std::uint8_t* p = begin; count < most;) {
    const instruction i = decode(p);
    p += i.length;
    if (i.what == kind::unknown || (i.what == kind::call && i.target == block_hook)) break;
    if (i.what == kind::call && is_hook(i.target)) {
      count -= std::exchange(for_argument, 0);
      continue;
    }
    const std::uint32_t own = i.what == kind::filler || i.what == kind::spill ? 0 : i.simple;
    count += own + computed.note(i);
    if (i.writes == 1u << first_argument) for_argument = own;
    if (i.what == kind::call) for_argument = 0;
    if (i.what == kind::end) break;
  }
  return count;
}

}  // namespace weft::sim
