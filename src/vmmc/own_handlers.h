// The handlers of weft's own that belong to this layer. Numbers are part of the wire format; fabric/own_handlers.h has those below.
#pragma once

#include <weft/port.h>

namespace weft::communication::own {

enum : handler_id {
  ask_import = 40,       // token, rights needed | name
  answer_import = 41,    // token, outcome, window, rights, size, capability | why not
  notify = 42,           // window, capability, offset, size, tag
  notified = 43,         // how many have been run
  notify_refused = 44,   // how many, code | sentence
  group_write = 45,      // group, offset | bytes
  group_fence = 46,      // token, group
  group_answer = 47,     // token, code | why not
  segment_arrival = 48,  // segment, capability, offset, size, whether the bytes are in the message | bytes
};

// Functions of weft/active.h: the number follows from the name.
inline constexpr handler_id first_named = 2048;

}  // namespace weft::communication::own
