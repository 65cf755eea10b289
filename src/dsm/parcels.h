// Bytes of any length as messages: cut into payloads, put together again at the other end. What a barrier, a lock grant or a list of diffs goes in.
//
// Pieces of one parcel travel on one lane, in order. The last word of each message says how many bytes follow after it.
#pragma once

#include <algorithm>
#include <vector>

#include <weft/port.h>

namespace weft::dsm {

// Sends `words` and `content` to a handler. At most most_words - 1 words.
inline status send_parcel(port& p, node_id to, lane l, handler_id id, std::span<const word> words, bytes content) {
  std::vector<word> all(words.begin(), words.end());
  all.push_back(0);
  do {
    const bytes piece = content.first(std::min(content.size(), most_payload));
    content = content.subspan(piece.size());
    all.back() = content.size();
    if (auto sent = p.send(to, l, id, all, piece); !sent) return sent;
  } while (!content.empty());
  return {};
}

// Appends a piece to what has come of its parcel; whether it is complete now.
inline bool take_piece(const message& m, std::vector<std::byte>& into) {
  into.insert(into.end(), m.payload.begin(), m.payload.end());
  return m.words.back() == 0;
}

}  // namespace weft::dsm
