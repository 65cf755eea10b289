// The handlers of weft's own: remote operations as messages. Numbers are part of the wire format, and shared out so:
//   1 to 11   here
//   12 to 31  dsm/own_handlers.h
//   32 to 39  ofi/ofi_port.h
//   40 to 59  vmmc/own_handlers.h
//   60 to 63  the models
#pragma once

#include <weft/port.h>

namespace weft::fabric::own {

enum : handler_id {
  nudge = 1,      // -
  put = 2,        // window, capability, offset | bytes
  put_runs = 3,   // window, capability, runs | (offset, length, bytes) each
  get = 4,        // window, capability, offset, length, token, offset in the requester's buffer
  atomic = 5,     // window, capability, offset, kind, a, b, token
  enqueue = 6,    // queue, capability | words
  fence = 7,      // token
  get_reply = 8,  // token, offset in the requester's buffer | bytes
  value = 9,      // token, value
  refused = 10,   // token, code | sentence
};

}  // namespace weft::fabric::own
