// history: what a node knows of who wrote which page when, and the diffs of its own writes. The bookkeeping of lazy release
// consistency, without messages.
//
// A node's time is divided into intervals, numbered from 1; a release that has something to tell ends one. A vector of interval numbers
// is a vector timestamp. Every interval also has a stamp, larger than those of all intervals that its node knew: diffs in the order of
// their stamps are in causal order.
//
// A diff is of one page and covers one or more intervals of its writer. It is made while no diff of another node has come into the page
// since its first interval began, so its place in the causal order is that of its first interval. An interval's changes of a page are
// all in one diff, or in several that begin in it.
//
// Everything up to the cut has been collected: the page's manager has it, and nobody has its diffs any more.
//
// Not thread-safe: lrc's lock guards it.
#pragma once

#include <algorithm>
#include <deque>
#include <optional>
#include <unordered_map>
#include <vector>

#include "dsm/page_set.h"
#include "dsm/protocol.h"

namespace weft::protocols {

using interval_number = std::uint32_t;
using vector_time = std::vector<interval_number>;  // by node

struct diff {
  interval_number first = 0, last = 0;
  std::uint32_t stamp = 0;      // of the first interval; 0: it has not ended
  std::vector<std::byte> runs;  // as written by encode
};

// Runs of one page: offset and size in 16 bits each, then the bytes.
std::vector<std::byte> encode(dsm::page_id p, std::span<const run> runs);

// Puts diffs into a page in causal order, those of an interval that has not ended last.
void apply_in_order(std::vector<diff>& diffs, mutable_bytes page);

// Diffs as they travel: first, last, stamp, size in 32 bits each, then the runs.
void write(std::vector<std::byte>& into, const diff& d);
bool read(bytes from, std::vector<diff>& into);

class history {
 public:
  // `missing` is an empty set with room for all pages.
  history(node_id self, node_id nodes, dsm::page_id pages, dsm::page_set missing);

  // --- intervals ------------------------------------------------------------------------------------------------------------------

  // What this node has acquired; what it has ended itself.
  const vector_time& seen() const noexcept { return seen_; }
  interval_number own() const noexcept { return seen_[self_]; }
  const vector_time& logged() const noexcept { return logged_; }  // what it can tell of

  // Ends an interval in which these pages were written, and those that were closed with changes since the last one. How many, or 0 if
  // there is nothing to tell.
  // `late`: this node has told a barrier its news already, and is in it.
  std::size_t end_interval(std::vector<dsm::page_id> written, bool late = false);

  // Appends the intervals of all nodes, or of one, beyond what is known.
  void notices_beyond(const vector_time& known, dsm::notices& into) const;
  void own_beyond(interval_number known, interval_number last, dsm::notices& into) const;

  // Whether an interval beyond this one is known of a node that ended it late.
  bool late_beyond(node_id node, interval_number known) const;

  // Takes notices: appends the pages that others have changed, which must be closed, and sets `upto` to what is seen once they are closed.
  // False: the notices make no sense.
  bool learn(bytes notices, std::vector<dsm::page_id>& changed, vector_time& upto);
  void saw(const vector_time& upto);

  // How many pages notices name, in intervals that are not seen.
  std::size_t unseen(bytes notices) const;

  // Raises a vector to the last intervals that notices tell of.
  static void raise(vector_time& upto, bytes notices);

  // --- pages ----------------------------------------------------------------------------------------------------------------------

  // What has to be done before a page can be opened.
  struct need {
    struct part {
      node_id writer;
      interval_number after, upto;
    };
    std::uint64_t epoch;      // of collections
    bool missing = false;     // the copy is too old: fetch it from the manager
    bool reapply = false;     // the copy lacks some of this node's own changes
    std::vector<part> parts;  // diffs that it lacks
  };
  need needs(dsm::page_id p) const;

  // The page has been fetched, with everything up to `has`. False: a collection has come between.
  bool fetched(dsm::page_id p, const need& asked, const vector_time& has);

  // The diffs have come that were asked for, by part. Adds this node's own where they are to be put in again. False as above.
  bool received(dsm::page_id p, const need& asked, const std::vector<std::vector<diff>>& come, std::vector<diff>& own);

  // What a copy of the page has that this node gives to others.
  vector_time has(dsm::page_id p) const;

  // --- this node's own diffs ------------------------------------------------------------------------------------------------------

  // The page has been closed, with these changes since they were last taken. No interval may end between.
  void closed(dsm::page_id p, bool changed, std::vector<std::byte> runs);

  // Whether changes of intervals up to this one have not been taken yet; and that they have been.
  bool untaken(dsm::page_id p, interval_number upto) const;
  void taken(dsm::page_id p, interval_number ended, std::vector<std::byte> runs);  // `ended`: own() before they were taken
  std::vector<dsm::page_id> all_untaken(interval_number upto) const;

  // Appends the diffs that cover an interval beyond `after` and up to `upto`, from the one numbered `skip` among them on, for one
  // message; whether these were all, or there are more, or they have been collected.
  enum class answer : word { all, more, collected };
  answer diffs(dsm::page_id p, interval_number after, interval_number upto, std::size_t skip, std::vector<std::byte>& into) const;

  // --- collection -----------------------------------------------------------------------------------------------------------------

  static constexpr dsm::page_id group = 16;  // neighbours with one manager
  static node_id manager(dsm::page_id p, node_id nodes) noexcept { return p / group % nodes; }
  node_id manager(dsm::page_id p) const noexcept { return manager(p, nodes_); }
  std::uint64_t epoch() const noexcept { return epoch_; }
  const vector_time& cut() const noexcept { return cut_; }
  std::size_t memory() const noexcept { return memory_; }  // bytes, for intervals, diffs and what is known of pages

  std::size_t most_memory() const noexcept { return most_memory_; }

  // Appends the diffs of this node that cover intervals up to `upto`, of pages with this manager: page, size, diffs.
  void diffs_for(node_id manager, interval_number upto, std::vector<std::byte>& into) const;

  // At the manager, whose copy is closed: which of a writer's diffs the copy lacks; they are about to be put in.
  void keep_missing(dsm::page_id p, node_id writer, std::vector<diff>& diffs);

  // All managers have what is up to the cut: it is forgotten here.
  void forget(const vector_time& cut);

 private:
  struct interval {
    interval_number number;
    std::uint32_t stamp;
    bool late;
    std::vector<dsm::page_id> pages;
  };
  static constexpr std::uint32_t late_mark = 1u << 31;  // in the number of pages

  static void append_interval(const interval& i, node_id of, dsm::notices& into);
  struct writer {
    node_id node;
    interval_number applied, known;  // in this node's copy; written according to notices
  };
  struct page {
    std::vector<writer> writers;  // others
    std::vector<diff> own;
    interval_number untaken = 0;             // the first ended interval whose changes have not been taken, 0: none
    std::uint32_t stamp = 0;                 // of that interval
    bool unreleased = false;                 // closed with changes that no interval tells of yet
    std::optional<interval_number> reapply;  // own diffs beyond this are not in the copy
  };

  page& at(dsm::page_id p);
  const page* look(dsm::page_id p) const;
  static writer* find_writer(page& of, node_id node);
  writer& writer_of(page& of, node_id node, interval_number first);
  void note(dsm::page_id p, node_id node, interval_number number);
  void add_own(page& to, diff d);
  void log(node_id node, interval i);
  void grow(std::size_t by) { most_memory_ = std::max(most_memory_, memory_ += by); }
  void forget_page(dsm::page_id p, page& of, const vector_time& cut);
  static std::size_t size_of(const interval& i) { return sizeof i + i.pages.size() * sizeof(dsm::page_id); }
  static std::size_t size_of(const diff& d) { return sizeof d + d.runs.size(); }
  static constexpr std::size_t most_at_once = 128 * 1024;                         // bytes of diffs in an answer, and one more diff
  static constexpr std::size_t page_overhead = sizeof(page) + 4 * sizeof(void*);  // in the table

  const node_id self_, nodes_;
  const dsm::page_id count_;
  vector_time seen_, logged_, cut_;
  std::uint32_t clock_ = 0;  // the largest stamp known
  std::vector<std::deque<interval>> log_;
  std::unordered_map<dsm::page_id, page> pages_;
  dsm::page_set missing_;  // pages whose copy is too old for diffs
  std::vector<dsm::page_id> unreleased_;
  std::uint64_t epoch_ = 0;
  std::size_t memory_ = 0, most_memory_ = 0;
};

}  // namespace weft::protocols
