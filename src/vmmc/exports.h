// The names under which this node exports memory, and who has been given access. Answers import questions and takes notifications.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include <weft/vmmc.h>

#include "vmmc/notifier.h"

namespace weft::communication {

struct export_record {
  std::string name;
  weft::memory memory;
  export_options options;
  std::map<node_id, window> given;  // guarded by the table's lock
};

class export_table {
 public:
  export_table(port& at, notifier& n) : port_(at), notifier_(n) {}

  result<std::shared_ptr<export_record>> add(std::string_view name, const memory& m, export_options options);
  status revoke(const export_record& r);
  void revoke_all();

  // Handlers.
  void serve_import(const message& m);
  void serve_notification(const message& m);

 private:
  result<window> window_for(export_record& r, node_id node, rights need);

  port& port_;
  notifier& notifier_;
  std::mutex lock_;  // guards the tables and every record's `given`
  std::map<std::string, std::shared_ptr<export_record>, std::less<>> by_name_;
  std::unordered_map<std::uint64_t, std::shared_ptr<export_record>> by_capability_;
};

// Answers to an import question.
enum class import_outcome : word { given, not_yet, refused };

}  // namespace weft::communication
