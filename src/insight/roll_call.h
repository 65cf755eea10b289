// The roll-call: which thread of which node waits where for what, in sentences. For jobs that do not get on.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "observe/activity.h"
#include "join/control.h"
#include "space/observed.h"

namespace weft::runtime {

// What the threads of this node do. `shared` may be null: there is no shared memory yet.
control::presence present(const observe::activity& a, observed* shared);

// What a thread waits for, for people: an object in shared memory is where it is, a global has its name. "" if it is no object.
std::string name_of(const wait_record& w);

// What is known of a node: its answer, or what it is up to instead ("has left the job").
struct roll_answer {
  std::uint32_t node = 0;
  std::optional<control::presence> here;
  std::string instead;
};

// One sentence a line, from the answers of all nodes, or of those that can be asked: first who is missing at which barrier, then everybody else.
std::vector<std::string> tell_roll(std::span<const roll_answer> nodes);

}  // namespace weft::runtime
