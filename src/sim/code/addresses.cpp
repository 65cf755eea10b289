#include "sim/code/addresses.h"

#include <algorithm>

namespace weft::sim {

addresses::addresses() {
  for (value& r : registers_) r = fresh();
}

const addresses::sum* addresses::find(value base, value index, std::uint8_t scale) const noexcept {
  const auto found = std::find_if(known_.begin(), known_.end(),
                                  [&](const sum& s) { return s.base == base && s.index == index && s.scale == scale; });
  return found == known_.end() ? nullptr : &*found;
}

addresses::value& addresses::kept_at(std::int32_t at) {
  for (slot& s : frame_)
    if (s.at == at) return s.holds;
  frame_.push_back({at, fresh()});
  return frame_.back().holds;
}

// Base and index; what is added as a constant comes with the reference.
std::uint32_t addresses::add(const memory_operand& at, value& total) {
  const value base = in(at.base), index = in(at.index);
  std::uint32_t takes = 0;
  if (at.scale != 0 && !find(nothing, index, at.scale)) {
    known_.push_back({nothing, index, at.scale, fresh()});
    ++takes;
  }
  if (!find(base, index, at.scale)) {
    known_.push_back({base, index, at.scale, fresh()});
    ++takes;
  }
  total = find(base, index, at.scale)->is;
  return takes;
}

std::uint32_t addresses::note(const instruction& i) {
  std::uint32_t takes = 0;
  value made = nothing;
  if (i.memory && i.memory->index != no_register) {
    takes = add(*i.memory, made);
    if (!i.only_address || i.memory->displacement != 0) made = nothing;
  }
  if (i.copies_from != no_register) made = in(i.copies_from);
  if (i.what == instruction::kind::spill && i.memory->base == stack_pointer) {
    value& kept = kept_at(i.memory->displacement);
    if (i.writes == 0)
      kept = made != nothing ? made : fresh();
    else
      made = kept;
  }
  constexpr unsigned results = 1 | 4;  // of a call
  const unsigned writes = i.writes | (i.what == instruction::kind::call ? results : 0);
  for (std::size_t r = 0; r < registers_.size(); ++r)
    if ((writes >> r & 1) != 0) registers_[r] = made != nothing ? made : fresh();
  if ((writes >> stack_pointer & 1) != 0) frame_.clear();
  return takes;
}

}  // namespace weft::sim
