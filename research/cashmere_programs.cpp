#include "research/cashmere_programs.h"

#include <algorithm>

namespace weft::research {

const form& cashmere_program::marked(char mark) const {
  return *std::find_if(forms.begin(), forms.end(), [&](const form& f) { return f.is(mark); });
}

program cashmere_program::in(const form& f) const {
  const auto with = [&](const std::vector<std::string>& more) {
    auto all = f.options;
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  return {name, with(f.inputs.empty() ? inputs : f.inputs), with(small), weight};
}

// Why the usual form is the usual one:
// appbt comes from a version for messages (3.1), in which a processor has a cube and sweeps go through the processors. 4.1 has it among the programs
// that synchronise so often that pages go before all of them is used, so every line is handed on by itself.
// water is SPLASH's: a lock for each molecule, and its record. em3d: the record of Olden's nodes.
// fft is Akl's procedure, which 3.1 names: it raises a root to a power for each pair, and orders the result in the end.
// gauss has locks for flags (4.1), and whoever takes a row's lock reads the pivot under it.
// mgrid: its sharing is more widespread than sor's (4.1), so its grids are dealt in bars. It relaxes as NAS's kernel does, which 3.1 names, by the
// residual, and finds that direction by direction: unlike sor's, its writes in inner loops are frequent (4.2).
// sor's numbers are of four bytes, as in TreadMarks' program (sor_grid.h).
// research/cashmere-programs.md says which of these were chosen after the results were seen.
const std::vector<cashmere_program>& cashmere_programs() {
  static const std::vector<form> of_sor = {
      {"numbers of four bytes, an array for each colour", {"--single"}},
      {"the same in 10 steps", {"--single"}, "", {"--steps", "10"}},
      {"numbers of eight bytes", {}, "+"},
      {"four bytes, colours alternate in one array", {"--single", "--plain"}},
      {"the same in 10 steps, whole sweeps", {"--single", "--plain"}, "*", {"--steps", "10"}},
  };
  static const std::vector<cashmere_program> all = {
      {"appbt",
       {},
       {"--size", "12", "--steps", "1"},
       25,
       {{"a pipeline, line by line", {"--pipeline", "--lines-together", "1"}},
        {"a pipeline, two lines at once", {"--pipeline", "--lines-together", "2"}},
        {"a pipeline, row by row", {"--pipeline"}},
        {"the same with 24 points and 5 steps", {"--pipeline"}, "*", {"--size", "24", "--steps", "5"}},
        {"planes, no pipeline", {}, "+"}}},
      {"water",
       {},
       {"--molecules", "64", "--steps", "1"},
       3,
       {{"SPLASH's records and locks, forces added up first", {"--molecules-per-lock", "1", "--record", "672"}},
        {"SPLASH's, pair by pair", {"--molecules-per-lock", "1", "--record", "672", "--lock-pairs"}, "*"},
        {"an array of forces, a lock for 32 molecules", {}, "+"}}},
      {"mp3d",
       {},
       {"--particles", "2000", "--steps", "2"},
       20,
       {{"barriers instead of locks on cells", {}, "+"}, {"locks on cells", {"--lock-cells"}, "*"}}},
      {"em3d",
       {},
       {"--nodes", "8192", "--steps", "2"},
       1,
       {{"records of 32 bytes", {"--record", "32"}, "*"},
        {"records of 24 bytes", {"--record", "24"}},
        {"values lie together", {}, "+"}}},
      {"fft",
       {"--log-size", "17"},
       {"--log-size", "12"},
       1,
       {{"Akl's procedure", {"--butterflies", "--powers"}},
        {"the same without its last step", {"--butterflies", "--powers", "--unordered"}, "*"},
        {"the same with a table of roots", {"--butterflies"}},
        {"with that and without the last step", {"--butterflies", "--unordered"}},
        {"six steps", {}, "+"}}},
      {"gauss",
       {},
       {"--size", "128"},
       15,
       {{"the pivot is read under its row's lock, the row copied", {"--block", "1", "--locks"}},
        {"the row is read in place", {"--block", "1", "--locks", "--in-place"}},
        {"locks are given back at once, the row is copied", {"--block", "1", "--locks", "--passing"}},
        {"locks are given back at once, the row is read in place", {"--block", "1", "--locks", "--passing", "--in-place"}, "*"},
        {"flags, the row is copied", {"--block", "1"}, "+"}}},
      {"mgrid",
       {},
       {"--planes", "16", "--rows", "16", "--columns", "16", "--cycles", "1"},
       4,
       {{"bars, by the residual, by directions", {"--bars", "--by-residual"}},
        {"bars, red-black", {"--bars"}},
        {"planes, by the residual, by directions", {"--by-residual"}},
        {"planes, red-black", {}, "*+"}}},
      {"sor", {}, {"--size", "256", "--steps", "3"}, 18, of_sor},
      {"sor_lock", {}, {"--size", "256", "--steps", "3"}, 18, of_sor},
  };
  return all;
}

}  // namespace weft::research
