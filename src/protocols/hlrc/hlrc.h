// Home-based lazy release consistency, as in HLRC-VIA and ViSMI (ViSMI section 5): a release sends the changes to the homes; a page
// that somebody else has changed is dropped at the acquire and fetched whole from its home when it is used again.
//
// Who has to drop what is said by write notices, which go with lock grants and barriers. A node's time is divided into intervals,
// each ended by a release that had something to tell; a vector of interval numbers says what a node has seen, so a grant carries
// what the acquirer lacks and no more. What a barrier has told everybody is forgotten at the next one: then nobody is still about to
// acquire it.
//
// Pages are asked for by a message, which the home's communication thread answers: so the home knows who has copies, and notes its
// own writes to those pages only.
#pragma once

#include <deque>
#include <mutex>

#include "base/bytes.h"
#include "dsm/home_based.h"

namespace weft::protocols {

class hlrc final : public dsm::home_based {
 public:
  // Collective.
  static result<std::unique_ptr<hlrc>> create(port& p, dsm::pages& memory, dsm::page_table& table, dsm::homes& homes,
                                              const dsm::exchange& with_all);

  const char* name() const noexcept override { return "hlrc"; }
  status release() override;
  status acquire(bytes from_releasers) override;
  void knowledge(dsm::notices& into) override;
  void notices_for(bytes knowledge, dsm::notices& into) override;
  void news(dsm::notices& into) override;
  void all_told(bytes from_others) override;
  bool carries_notices() const noexcept override { return true; }

 private:
  // What a node wrote in one of its intervals, or in several up to it.
  struct interval {
    std::uint32_t number;
    std::vector<dsm::page_id> pages;
  };
  // A page request that waits for its answer.
  struct question {
    mutable_bytes into;
    std::atomic<bool> done{false};
  };

  hlrc(const parts& of, dsm::page_set copied)
      : home_based(of), seen_(port_.nodes()), log_(port_.nodes()), copied_(std::move(copied)) {}

  status fetch(node_id home, dsm::extent e) override;
  bool shared_by_others(dsm::page_id p) override;
  status leave(node_id, dsm::page_id) override { return {}; }  // the notice that made us leave says it

  void serve_page(const message& m);
  void take_page(const message& m);
  static void write(dsm::notices& into, node_id node, const interval& i);
  bool read(base::reader& in, node_id& node, interval& i) const;  // false: it makes no sense
  void compact(node_id node);

  static constexpr std::size_t most_pages_logged = std::size_t{1} << 20;  // of one node; beyond, its intervals are merged

  os::spin_lock log_lock_;                 // guards the next five
  std::vector<std::uint32_t> seen_;        // by node: its last interval that this node has acquired
  std::vector<std::uint32_t> told_ = std::vector<std::uint32_t>(port_.nodes());  // by node: its last interval that a barrier has told
  std::vector<std::deque<interval>> log_;  // by node: since the barrier before the last
  std::uint32_t announced_ = 0;            // own intervals that a barrier has told of
  std::vector<std::size_t> logged_pages_ = std::vector<std::size_t>(port_.nodes());

  os::spin_lock copies_lock_;               // guards the next two
  dsm::page_set copied_;                    // pages whose home is here, and that others may have copies of
  std::vector<dsm::page_id> newly_copied_;  // of them, those that the last release did not know of
};

}  // namespace weft::protocols
