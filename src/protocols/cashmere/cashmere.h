// Cashmere (Kontothanassis and Scott 1996, section 2.2): coherence without handlers. A node that faults, releases or acquires does
// all the work itself, with one-sided operations on the directory and the frames of the homes; the processors there are not
// disturbed.
//
//   directory     a word for each page, at its home: a bit for each node that has a copy
//   write notices remote queues, one a node (Telegraphos): numbers of pages that have changed
//   first copies  a second queue: pages that have been copied for the first time; until then their home notes nothing
//
// The paper locks a directory entry to change it. Here the atomic operations of the port are enough: who takes a copy first sets
// its bit and then reads the page; who releases first writes the page and then reads the bits. So whoever is not told has read the
// new page.
//
// Notices are delayed to the release, as in the paper's first optimisation, and are sent for pages that were really written.
#pragma once

#include "dsm/home_based.h"
#include "protocols/cashmere/settings.h"

namespace weft::protocols {

class cashmere final : public dsm::home_based {
 public:
  // Collective.
  static result<std::unique_ptr<cashmere>> create(port& p, dsm::pages& memory, dsm::page_table& table, dsm::homes& homes,
                                                  const cashmere_settings& how, const dsm::exchange& with_all);

  const char* name() const noexcept override { return name_.c_str(); }
  status release() override;
  status acquire(bytes) override;
  bool carries_notices() const noexcept override { return false; }

 private:
  cashmere(const parts& of, const cashmere_settings& how)
      : home_based(of), name_(how.name()), bit_words_((port_.nodes() + 63) / 64), tell_(port_.nodes()) {}

  status fetch(node_id home, dsm::extent e) override;
  bool shared_by_others(dsm::page_id p) override;
  status leave(node_id home, dsm::page_id p) override;

  status take(const queue& from, std::vector<dsm::page_id>& into);
  status take_first_copies(std::vector<written_page>& written);
  status find_sharers(const std::vector<written_page>& written);
  status tell_sharers();

  std::uint64_t directory_offset(dsm::page_id p) const noexcept { return std::uint64_t{p} * bit_words_ * sizeof(word); }
  std::uint64_t own_offset(dsm::page_id p) const noexcept { return directory_offset(p) + port_.self() / 64 * sizeof(word); }
  word own_bit() const noexcept { return word{1} << port_.self() % 64; }
  word* own_directory(dsm::page_id p) const noexcept { return reinterpret_cast<word*>(directory_.base() + directory_offset(p)); }

  const std::string name_;
  const std::size_t bit_words_;  // of a directory entry
  dsm::lazy_memory directory_;           // this node's part
  struct card {
    window directory;
    queue notices, first_copies;
  };
  std::vector<card> cards_;              // of all nodes
  std::vector<std::vector<word>> tell_;  // by node: pages to be told of; behind the gate
};

}  // namespace weft::protocols
