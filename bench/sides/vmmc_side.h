// What a measuring node has of the communication layer: an import of the other node's memory, bound memory, typed calls and a segment.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include <weft/active.h>
#include <weft/vmmc.h>

#include "bench/sides/duo.h"

namespace weft::bench {

// The calls of message_station with N words as their one argument.
template <std::size_t N>
struct typed_calls {
  using words = std::array<word, N>;
  typed_calls(duo& d, active::station& s);
  active::function<void(words)> pong, ping, count, take;
};

class vmmc_side {
 public:
  static constexpr std::size_t field_bytes = std::size_t{16} << 20;

  vmmc_side(duo& d, job& all);

  const imported& theirs() const { return theirs_; }                            // what duo::theirs() leads to
  const imported& theirs_that_listens() const { return theirs_that_listens_; }  // the same memory, with notifications
  const imported& their_field() const { return their_field_; }                  // field_bytes

  // Memory bound to the other node's. They are made at first use, and flushed by fences alone.
  mutable_bytes mapped();                        // to theirs(); where the fabric maps
  mutable_bytes bound();                         // to their field: mapped where the fabric maps, else tracked
  mutable_bytes tracked(bool combining = true);  // to their field

  // This node's own copy of a field, for gathering by hand.
  std::span<word> own_field();

  void transfer(bytes what);

  // Calls `with` with the typed calls that have as many words as `s`, and the words.
  template <typename F>
  void typed(const message_shape& s, F&& with) {
    switch (s.used) {
      case 1: return with(one_, std::array<word, 1>{s.words[0]});
      case 4: return with(four_, std::array<word, 4>{s.words[0], s.words[1], s.words[2], s.words[3]});
      default: return with(twenty_, s.words);
    }
  }
  template <typename Function, typename Words>
  static void call(const Function& f, node_id to, lane l, const Words& words) {
    (l == lane::request ? f(to, words) : f.reply(to, words)).or_throw();
  }

 private:
  mutable_bytes bind(std::optional<binding>& into, const imported& to, std::size_t size, update_way way, bool combining);

  weft::vmmc vmmc_;
  active::station station_;
  typed_calls<1> one_;
  typed_calls<4> four_;
  typed_calls<20> twenty_;
  memory field_;
  exported mine_, mine_that_listens_, my_field_;
  imported theirs_, theirs_that_listens_, their_field_;
  std::unique_ptr<active::segment> segment_;
  active::segment_address their_segment_;
  std::optional<binding> mapped_, bound_, tracked_, uncombined_;
  std::vector<word> own_field_;
};

}  // namespace weft::bench
