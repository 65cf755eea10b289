#include "cli/report/page_map.h"

#include <algorithm>
#include <map>

#include "base/text.h"
#include "join/words.h"

namespace weft::cli::report {
namespace {

constexpr std::size_t most_ranges_told = 4;

struct writer {
  std::uint32_t node;
  byte_set bytes;  // as far as is known
};

// Who wrote again and again, the home aside: a single write is most often the initialisation's.
std::vector<const page_use*> steady_writers(const std::vector<page_use>& uses) {
  std::uint64_t most = 0;
  for (const auto& u : uses) most = std::max(most, u.writes);
  std::vector<const page_use*> all;
  for (const auto& u : uses)
    if (!u.home && u.writes >= 2 && u.writes * 20 >= most) all.push_back(&u);
  return all;
}

byte_set written_by_others_than(const std::vector<const page_use*>& writers, const page_use* one) {
  byte_set bytes;
  for (const auto* w : writers)
    if (w != one) bytes |= w->written;
  return bytes;
}

// The home makes no diffs: what it wrote is what the others saw change and none of them wrote.
byte_set written_by_home(const std::vector<const page_use*>& writers) {
  byte_set bytes;
  for (const auto* w : writers) bytes |= w->by_others & ~written_by_others_than(writers, w) & ~w->written;
  return bytes;
}

// A home that nobody has found writing may write all the same: somebody must have, if a page is fetched again and again.
bool home_writes(const page_use& home, const std::vector<page_use>& uses, const std::vector<const page_use*>& writers) {
  if (home.writes >= 2) return true;
  if (!writers.empty()) return written_by_home(writers).any();
  return std::any_of(uses.begin(), uses.end(), [](const page_use& u) { return u.fetches > 2; });
}

// Bytes that were written by more than one, of all that were written.
double shared_part(const std::vector<const page_use*>& writers) {
  byte_set all, shared;
  for (const auto* w : writers) {
    shared |= w->written & (w->by_others | written_by_others_than(writers, w));
    all |= w->written;
  }
  return all.any() ? static_cast<double>(shared.count()) / static_cast<double>(all.count()) : 1;
}

// Ranges of bytes; gaps in which nobody else writes are taken in, and so is the rest of a word of eight bytes.
std::string ranges(const byte_set& bytes, const byte_set& of_others) {
  std::vector<std::pair<std::size_t, std::size_t>> all;
  for (std::size_t b = 0; b < page_bytes; ++b) {
    if (!bytes[b]) continue;
    bool joined = !all.empty();
    for (std::size_t gap = joined ? all.back().second + 1 : b; joined && gap < b; ++gap) joined = !of_others[gap];
    if (joined)
      all.back().second = b;
    else
      all.push_back({b, b});
  }
  std::string text;
  for (std::size_t i = 0; i < std::min(all.size(), most_ranges_told); ++i) {
    auto [first, last] = all[i];
    while (first % 8 != 0 && !of_others[first - 1]) --first;
    while (last % 8 != 7 && !of_others[last + 1]) ++last;
    text += (i == 0 ? "" : ", ") + std::to_string(first) + "-" + std::to_string(last);
  }
  return text + (all.size() > most_ranges_told ? ", ..." : "");
}

void say_falsely_shared(page_story& s, const std::vector<writer>& writers) {
  std::vector<std::uint32_t> nodes;
  std::string bytes;
  for (std::size_t i = 0; i < writers.size(); ++i) {
    if (writers[i].bytes.none()) continue;
    nodes.push_back(writers[i].node);
    byte_set others;
    for (std::size_t j = 0; j < writers.size(); ++j)
      if (j != i) others |= writers[j].bytes;
    bytes += (nodes.size() == 1 ? "" : " and ") + ranges(writers[i].bytes, others);
  }
  s.verdict = verdict::falsely_shared;
  s.words = "falsely shared by " + runtime::name_nodes(nodes) + ": bytes " + bytes;
  s.advice = "put what different nodes write on different pages: align each node's part to weft::page_size, or pad the elements";
}

void say_several_writers(page_story& s, const std::vector<const page_use*>& writers, const page_use* home) {
  std::vector<writer> bytes;
  if (home) bytes.push_back({home->node, written_by_home(writers)});
  for (const auto* w : writers) bytes.push_back({w->node, w->written});
  std::sort(bytes.begin(), bytes.end(), [](const writer& a, const writer& b) { return a.node < b.node; });
  const auto apart = std::count_if(bytes.begin(), bytes.end(), [](const writer& w) { return w.bytes.any(); });
  constexpr double hardly_any = 0.1, most = 0.5;
  const double shared = shared_part(writers);
  if (apart >= 2 && shared <= hardly_any) return say_falsely_shared(s, bytes);
  const auto who = runtime::name_nodes(s.writers);
  if (shared >= most) {
    s.verdict = verdict::migratory;
    s.words = "migratory: " + who + " write the same bytes in turn";
    s.advice = "let each node collect its part in memory of its own and add it up once, or do more under one lock";
  } else {
    s.verdict = verdict::written_by_several;
    s.words = "written by " + who + ", partly the same bytes";
    s.advice = "see whether what only one of them writes can go to a page of its own";
  }
}

// A writer that never fetched the page is its home, even where that was not noticed.
void say_one_writer(page_story& s, const page_use& w, bool have_homes) {
  const bool at_home = w.home || w.fetches == 0 || !have_homes;
  std::vector<std::uint32_t> readers;
  std::uint64_t most = 0;
  for (const auto& u : s.uses) {
    if (u.node == w.node || u.fetches == 0) continue;
    readers.push_back(u.node);
    most = std::max(most, u.fetches);
  }
  const auto node = base::format("node %u", w.node);
  const auto move = at_home ? std::string()
                            : base::format(
                                  "place it on node %u, which alone writes it (weft::placement::on, or block): its changes "
                                  "travel to another home now",
                                  w.node);
  if (readers.empty()) {
    s.verdict = verdict::own;
    s.words = "used by " + node + " alone" + (at_home ? "" : ", and its home is another");
    s.advice = move;
  } else if (most <= 2) {
    s.verdict = verdict::read_mostly;
    s.words = "read-mostly: " + node + " writes it, and " + runtime::name_nodes(readers) + " fetched it at most twice";
    s.advice = move;
  } else {
    s.verdict = verdict::producer_consumer;
    s.words = "producer-consumer: " + node + " writes, " + runtime::name_nodes(readers) +
              (readers.size() == 1 ? " reads" : " read") + " it anew again and again";
    s.advice = move;
  }
}

void judge(page_story& s, bool have_homes) {
  const auto writers = steady_writers(s.uses);
  const auto found = std::find_if(s.uses.begin(), s.uses.end(), [](const page_use& u) { return u.home; });
  const page_use* home = found != s.uses.end() && home_writes(*found, s.uses, writers) ? &*found : nullptr;
  for (const auto* w : writers) s.writers.push_back(w->node);
  if (home) s.writers.push_back(home->node);
  std::sort(s.writers.begin(), s.writers.end());
  if (s.writers.size() > 1) return say_several_writers(s, writers, home);
  if (s.writers.size() == 1) return say_one_writer(s, home ? *home : *writers[0], have_homes);
  std::vector<std::uint32_t> users;
  for (const auto& u : s.uses) users.push_back(u.node);
  s.verdict = users.size() > 1 ? verdict::read_mostly : verdict::own;
  s.words =
      (users.size() > 1 ? "read-mostly: read by " : "used by ") + runtime::name_nodes(users) + (users.size() > 1 ? "" : " alone");
}

}  // namespace

const char* name_of(verdict v) {
  constexpr const char* names[verdicts] = {"one node's own", "read-mostly",        "producer-consumer",
                                           "migratory",      "written by several", "falsely shared"};
  return names[static_cast<std::size_t>(v)];
}

std::uint64_t page_story::faults() const {
  std::uint64_t all = 0;
  for (const auto& u : uses) all += u.read_faults + u.write_faults;
  return all;
}

std::uint64_t page_story::bytes() const {
  std::uint64_t all = 0;
  for (const auto& u : uses) all += u.fetches * page_bytes + u.changed_bytes;
  return all;
}

std::vector<page_story> tell_pages(const run_record& run) {
  std::map<std::uint64_t, page_story> by_page;
  for (const auto& n : run.nodes)
    for (const auto& u : n.pages) {
      auto& s = by_page[u.page];
      s.page = u.page;
      s.uses.push_back(u);
    }
  std::vector<page_story> all;
  for (auto& [page, s] : by_page) {
    judge(s, run.protocol != "lrc");
    const auto first = page * page_bytes, last = first + page_bytes;
    for (std::size_t a = 0; a < run.allocations.size(); ++a)
      if (run.allocations[a].offset < last && run.allocations[a].offset + run.allocations[a].bytes > first)
        s.allocations.push_back(a);
    all.push_back(std::move(s));
  }
  return all;
}

}  // namespace weft::cli::report
