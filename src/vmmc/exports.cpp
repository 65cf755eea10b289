#include "vmmc/exports.h"

#include <algorithm>

#include "base/bytes.h"
#include "base/text.h"
#include "vmmc/own_handlers.h"

namespace weft::communication {

result<std::shared_ptr<export_record>> export_table::add(std::string_view name, const memory& m, export_options options) {
  if (name.empty() || name.size() > vmmc::most_name)
    return {errc::invalid_argument,
            base::format("the name of an export has 1 to %zu bytes, not %zu", vmmc::most_name, name.size())};
  if (!m.base || m.size == 0) return {errc::invalid_argument, "an export needs at least one byte of memory"};
  for (const node_id n : options.nodes)
    if (n >= port_.nodes())
      return {errc::invalid_argument, base::format("there is no node %u in this job of %u", n, port_.nodes())};
  if (!options.on_notification) options.allowed = rights(std::uint32_t(options.allowed) & ~std::uint32_t(rights::notify));
  auto record = std::make_shared<export_record>(export_record{std::string(name), m, std::move(options), {}});
  // Memory that the fabric cannot expose is better refused here than to everybody who imports it.
  auto possible = port_.expose(m, record->options.allowed);
  if (!possible) return possible.failure();
  port_.revoke(*possible).ignore();
  std::scoped_lock lock(lock_);
  if (by_name_.size() >= vmmc::most_exports)
    return {errc::too_large,
            base::format("node %u exports %zu buffers already; revoke some first", port_.self(), vmmc::most_exports)};
  if (!by_name_.emplace(record->name, record).second)
    return {errc::invalid_argument, base::format("node %u exports '%s' already", port_.self(), record->name.c_str())};
  return record;
}

// First nobody is given access any more, then those who have it lose it, then what they left to be run is dropped.
status export_table::revoke(const export_record& r) {
  std::vector<window> given;
  {
    std::scoped_lock lock(lock_);
    const auto found = by_name_.find(r.name);
    if (found == by_name_.end() || found->second.get() != &r)
      return {errc::revoked, base::format("node %u: '%s' is not exported any more", port_.self(), r.name.c_str())};
    for (const auto& [node, w] : r.given) given.push_back(w);
    for (const auto& w : given) by_capability_.erase(w.capability);
    by_name_.erase(found);
  }
  status outcome;
  for (const auto& w : given)
    if (auto revoked = port_.revoke(w); !revoked && outcome.ok()) outcome = std::move(revoked);
  notifier_.forget(&r);
  return outcome;
}

void export_table::revoke_all() {
  while (true) {
    std::shared_ptr<export_record> next;
    {
      std::scoped_lock lock(lock_);
      if (by_name_.empty()) return;
      next = by_name_.begin()->second;
    }
    revoke(*next).ignore();
  }
}

// Called with the lock. Every node that may have access gets a window of its own.
result<window> export_table::window_for(export_record& r, node_id node, rights need) {
  const auto& may = r.options.nodes;
  if (!may.empty() && std::find(may.begin(), may.end(), node) == may.end())
    return {errc::no_right,
            base::format("node %u exports '%s' to other nodes, not to node %u", port_.self(), r.name.c_str(), node)};
  if (!allows(r.options.allowed, need))
    return {errc::no_right,
            base::format("node %u exports '%s' without all the rights that node %u asks for", port_.self(), r.name.c_str(), node)};
  if (const auto known = r.given.find(node); known != r.given.end()) return known->second;
  auto opened = port_.expose(r.memory, r.options.allowed);
  if (opened) r.given.emplace(node, *opened);
  return opened;
}

void export_table::serve_import(const message& m) {
  if (m.words.size() != 2) return;
  const std::string name(reinterpret_cast<const char*>(m.payload.data()), m.payload.size());
  auto outcome = import_outcome::not_yet;
  window w;
  status why;
  {
    std::scoped_lock lock(lock_);
    if (const auto found = by_name_.find(name); found != by_name_.end()) {
      auto opened = window_for(*found->second, m.source, static_cast<rights>(m.words[1]));
      outcome = opened ? import_outcome::given : import_outcome::refused;
      if (opened) by_capability_.emplace(opened->capability, found->second);
      if (opened)
        w = *opened;
      else
        why = opened.failure();
    }
  }
  const bool refused = outcome == import_outcome::refused;
  const word words[] = {m.words[0],
                        static_cast<word>(outcome),
                        w.id,
                        static_cast<word>(w.allowed),
                        w.size,
                        w.capability,
                        refused ? static_cast<word>(why.code()) : 0};
  m.at.send(m.source, lane::reply, own::answer_import, words, refused ? base::bytes_of(why.sentence()) : bytes()).ignore();
}

void export_table::serve_notification(const message& m) {
  if (m.words.size() != 5) return;
  const word capability = m.words[1];
  std::shared_ptr<export_record> record;
  {
    std::scoped_lock lock(lock_);
    const auto found = by_capability_.find(capability);
    if (found != by_capability_.end()) record = found->second;
    if (record) {
      const auto given = record->given.find(m.source);
      if (given == record->given.end() || given->second.capability != capability) record = nullptr;  // somebody else's
    }
  }
  status why;
  if (!record)
    why = {errc::revoked,
           base::format("node %u: a notification for what is not exported (any more) under this capability", port_.self())};
  else if (!allows(record->options.allowed, rights::notify))
    why = {errc::no_right, base::format("node %u: '%s' was exported without notifications", port_.self(), record->name.c_str())};
  else if (m.words[2] > record->memory.size || m.words[3] > record->memory.size - m.words[2])
    why = {errc::out_of_bounds,
           base::format("node %u: a notification about bytes outside '%s'", port_.self(), record->name.c_str())};
  if (why.ok()) {
    if (notifier_.push(record, {m.source, m.words[2], m.words[3], m.words[4]})) return;
    why = {errc::too_large,
           base::format("node %u: more than %u notifications of node %u wait here", port_.self(), imported::most_unread, m.source)};
  }
  const word words[] = {1, static_cast<word>(why.code())};
  m.at.send(m.source, lane::reply, own::notify_refused, words, base::bytes_of(why.sentence())).ignore();
}

}  // namespace weft::communication
