// The handlers that shared memory uses for itself, out of those below first_user_handler.
#pragma once

#include <weft/port.h>

namespace weft::dsm {

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
  home_request,
  home_reply,
  lock_wanted,
  copy_leave,
  copy_flush,
  copy_flush_reply,
  end_of_own_handlers
};
static_assert(end_of_own_handlers <= 32);

}  // namespace weft::dsm
