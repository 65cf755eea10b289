// The handlers that shared memory uses for itself, out of those below first_user_handler.
#pragma once

#include <weft/port.h>

namespace weft::dsm {

enum own_handler : handler_id {
  page_request = 20,
  page_reply,
  lock_request,
  lock_forward,
  lock_grant,
  barrier_arrival,
  barrier_departure,
  lock_wanted,
};

}  // namespace weft::dsm
