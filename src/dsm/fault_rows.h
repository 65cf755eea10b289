// fault_rows: which pages to ask for together with one that is missing.
//
// Faults at equal distances from one another are a row, and are met with longer and longer fetches. A neighbour of the last page begins
// a row; at another distance the second fault says how far, and the third begins it. Programs do the same again, so rows are remembered by
// their first page: where one began before, all of it is asked for at once but for its last page. The fault of that one tells that the row
// is still used up to its end; if it does not come, the row is taken for a quarter shorter the next time.
//
// Threads: any. Faults of several threads may take one another's rows for ended, which costs fetches.
#pragma once

#include <algorithm>
#include <array>
#include <mutex>

#include "dsm/pages.h"
#include "os/spin.h"

namespace weft::dsm {

class fault_rows {
 public:
  // There is a fault at p: up to so many pages would be good to have, p first. Without `apart` they are neighbours.
  page_row expect(page_id p, page_id most, bool apart) {
    std::scoped_lock guard(lock_);
    page_id want = 1;
    if (row_.count != 0 && row_.end() == p) {
      want = row_.count < known_ ? known_ - row_.count : 2 * wanted_;
    } else {
      end_row();
      row_ = {p, 0, 1};
      if (const page_row& known = place_of(p); known.count != 0 && known.first == p && (known.stride == 1 || apart)) {
        row_.stride = known.stride;
        known_ = known.count;
        want = known_ - 1;
      } else if (const page_id step = p - last_; wanted_ == 1 && step != 0 && step < (apart ? most_stride : 2)) {
        //~ fetch_ahead_forgets_the_stride
        row_ = {last_, 1, step};
      }
    }
    last_ = p;
    //~ fetch_ahead_never
    wanted_ = std::min(want, most);
    return {p, wanted_, row_.stride};
  }

  // So many of them were fetched.
  void fetched(page_id pages) {
    std::scoped_lock guard(lock_);
    row_.count += pages;
  }

 private:
  static constexpr page_id most_stride = 64;  // pages between those of a row
  static constexpr page_id worth_it = 3;      // pages of a row, to remember it

  page_row& place_of(page_id first) { return remembered_[first * 0x9e37'79b1u >> 22]; }

  void end_row() {
    const bool shorter = known_ > row_.count;
    //~ fetch_ahead_never_forgets
    if (shorter) row_.count = known_ - (known_ + 3) / 4;
    known_ = 0;
    //~ fetch_ahead_remembers_no_rows
    if (row_.count >= worth_it)
      place_of(row_.first) = row_;
    else if (shorter)
      place_of(row_.first) = {};
  }

  os::spin_lock lock_;                           // guards the rest
  page_row row_;                                 // of the last faults, as far as it has been fetched
  page_id known_ = 0;                            // pages that it had before; 0: it is not known
  page_id last_ = ~page_id{0} / 2, wanted_ = 1;  // where the last fetch began, and its pages
  std::array<page_row, 1024> remembered_;
};

}  // namespace weft::dsm
