// A vmmc's parts, wired. Handlers of the port hold it, so it lives as long as messages for it can arrive.
#pragma once

#include <memory>

#include <weft/vmmc.h>

#include "vmmc/exports.h"
#include "vmmc/groups.h"
#include "vmmc/notifier.h"
#include "vmmc/questions.h"
#include "vmmc/unread.h"
#include "vmmc/updater.h"

namespace weft::communication {

struct state {
  explicit state(port& p) : at(p), notes(p), exports(p, notes), unread(p), updates(p), groups(p) {}

  status fence(node_id node) {
    if (node < at.nodes())
      if (auto flushed = updates.flush(node); !flushed) return flushed;
    if (auto fenced = at.fence(node); !fenced) return fenced;
    return unread.take_refusal(node);
  }

  // No thread of the layer's own runs any more, and nothing is exported.
  void close() {
    updates.stop();
    groups.stop();
    exports.revoke_all();
    notes.stop();
  }

  port& at;
  notifier notes;
  export_table exports;
  questions asked;
  unread_notifications unread;
  updater updates;
  group_table groups;
};

}  // namespace weft::communication
