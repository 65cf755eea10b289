// The handlers that shared memory uses for itself, out of those below first_user_handler.
#pragma once

#include <weft/port.h>

namespace weft::dsm {

// From 12 to 31: fabric/own_handlers.h ends at 10, and ofi has its own from 32 on.
enum own_handler : handler_id {
  page_request = 12,
  page_reply,
  lock_request,
  lock_forward,
  lock_grant,
  barrier_arrival,
  barrier_departure,
  diff_request,
  diff_reply,
  collection,
  home_changes,
  home_changes_reply,
  copy_update,
  copy_update_reply,
  home_request,
  home_reply,
};
static_assert(home_reply < 32);

}  // namespace weft::dsm
