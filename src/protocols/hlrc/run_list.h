// Changes as they travel in messages: runs one after another, each its offset in the frames (8 bytes), its length (4) and its bytes.
#pragma once

#include <vector>

#include <weft/port.h>

#include "base/bytes.h"
#include "dsm/pages.h"

namespace weft::protocols {

class run_list {
 public:
  // False, and nothing is done, when the run does not fit into the rest of one message. An empty list takes any run of a page.
  bool add(const run& r) {
    if (out_.view().size() + header + r.data.size() > most_payload) return false;
    out_.put(r.offset).put_block(r.data);
    return true;
  }
  bytes payload() const { return out_.view(); }
  bool empty() const { return out_.view().empty(); }

  // What a message holds; its bytes stay in the message. False when it makes no sense: every run must lie in one of `pages` pages.
  static bool read(bytes payload, dsm::page_id pages, std::vector<run>& into) {
    base::reader in(payload);
    while (in.left() != 0) {
      const auto offset = in.take<std::uint64_t>();
      const bytes data = in.take_block();
      if (!in.ok() || data.empty() || offset / dsm::page_bytes >= pages || offset % dsm::page_bytes + data.size() > dsm::page_bytes)
        return false;
      into.push_back({offset, data});
    }
    return true;
  }

  // The runs of one page at a time.
  template <typename F>
  static void for_pages(std::span<const run> runs, F&& each) {
    for (std::size_t i = 0, last = 0; i < runs.size(); i = last) {
      const auto p = static_cast<dsm::page_id>(runs[i].offset / dsm::page_bytes);
      while (last < runs.size() && runs[last].offset / dsm::page_bytes == p) ++last;
      each(p, runs.subspan(i, last - i));
    }
  }

 private:
  static constexpr std::size_t header = sizeof(std::uint64_t) + sizeof(std::uint32_t);
  base::writer out_;
};

}  // namespace weft::protocols
