// Cashmere's nine programs in the forms that they may have had. The paper says what each computes and little of how (3.1, 4.1, 4.2), and their
// sources are not public.
//
// Inputs are the paper's. Where it names none they are what our program takes if nobody says otherwise, which is older than this simulator.
#pragma once

#include <string>
#include <vector>

#include "research/experiment.h"

namespace weft::research {

struct form {
  std::string what;
  std::vector<std::string> options;
  std::string marks = {};                // whose form it is, of these two
  std::vector<std::string> inputs = {};  // that belong to it, instead of the program's

  static constexpr char guessed = '*';  // by readers who had not seen the results: research/cashmere-programs.md
  static constexpr char oldest = '+';   // our program's before there was a simulator
  bool is(char mark) const { return marks.find(mark) != std::string::npos; }
};

struct cashmere_program {
  std::string name;
  std::vector<std::string> inputs, small;  // small: for a quick run
  double weight;
  std::vector<form> forms;  // the first is the usual one; each mark stands at one

  const form& usual() const { return forms.front(); }
  const form& marked(char mark) const;
  program in(const form& f) const;
};

const std::vector<cashmere_program>& cashmere_programs();  // in Table 2's order

}  // namespace weft::research
