// Cashmere (Kontothanassis and Scott 1996, section 2.2): coherence without handlers. A node that faults, releases or acquires does
// all the work itself, with one-sided operations on the directory and the frames of the homes; the processors there are not
// disturbed.
//
//   directory     an entry for each page, at its home: a bit for each node that has a copy, and one that says that the home notes its own
//                 writes; with immediate notices a bit for each that has written there; with unsafe pages whether it is one, and how
//                 often it has been released since
//   write notices remote queues, one a node (Telegraphos): numbers of pages that have changed
//   first copies  a second queue: pages that have been copied while their home did not note its writes
//
// The paper locks a directory entry to change it. Here the atomic operations of the port are enough: who takes a copy first sets
// its bit and then reads the page; who releases first writes the page and then reads the bits. So whoever is not told has read the
// new page.
//
// Notices are delayed to the release, as in the paper's first optimisation, and are sent for pages that were really written. What the
// variants do instead, and why that is right, is in docs/protocols/cashmere.md.
#pragma once

#include "dsm/home_based.h"
#include "os/memory_file.h"
#include "os/spin.h"
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
      : home_based(of),
        how_(how),
        name_(how.name()),
        bit_words_((port_.nodes() + nodes_a_word - 1) / nodes_a_word),
        entry_words_(bit_words_ * (how.immediate ? 2 : 1) + (how.unsafe_from != 0 ? 1 : 0)),
        tell_(port_.nodes()) {}

  status fetch(node_id home, dsm::page_row r) override;
  status fetch_run(node_id home, dsm::extent e);
  bool fetches_apart() const noexcept override { return port_.can().mapped; }
  bool shared_by_others(dsm::page_id p) override;
  status leave(node_id home, dsm::page_id p) override;
  status will_write(node_id home, dsm::page_id p) override;
  void set_free(dsm::extent e) override;

  // A directory entry, as it was read: the sharers, then the writers, then the state.
  using entry = std::span<word>;
  static constexpr std::size_t nodes_a_word = 63;
  static constexpr word home_watches = word{1} << nodes_a_word;  // in words of the sharers: it does, or has been asked to
  enum : word { turning = 1, unsafe = 2, one_release = 4 };      // of a state: two bits and a count of releases
  bool has_state() const noexcept { return how_.unsafe_from != 0; }
  bool doubts() const noexcept { return how_.immediate || has_state(); }  // weak_ and unsafe_ may hold pages
  word state_of(entry e) const noexcept { return has_state() ? e.back() : 0; }
  bool written_here(entry e) const noexcept;
  bool weak(entry e) const noexcept;
  bool nobody_shares(entry e) const noexcept;
  template <typename Do>
  std::uint32_t for_others(entry e, Do&& each) const;  // sharers but this node; how many

  // The entries of pages, one after another, into as many words as that takes.
  status read_entries(node_id home, dsm::extent of, std::span<word> into);
  status read_entries(std::span<const written_page> of, std::span<word> into);
  struct question {
    transfer under_way;
    std::span<const std::uint32_t> about;  // places in the list of pages, ascending by page; all have one home
    std::vector<word> answer;              // entries, from that of the first
  };
  status ask(std::span<const written_page> of, std::span<const std::uint32_t> order, std::size_t& i, question& into);
  entry nth(std::span<word> entries, std::size_t n) const noexcept { return entries.subspan(n * entry_words_, entry_words_); }

  result<bool> turn_if_many(node_id home, dsm::page_id p, entry e);
  status now_unsafe(node_id home, dsm::page_id p);
  status count_release(node_id home, dsm::page_id p);
  status note_joined(node_id home, dsm::extent of);
  void keep_asking(dsm::page_id p, entry e);
  void remember(dsm::page_id p, entry e) noexcept;  // with doubts_lock_
  status doubt(std::vector<dsm::page_id>& into);

  status take(const queue& from, std::vector<dsm::page_id>& into);
  status take_first_copies(std::vector<written_page>& written);
  bool stops_watching(dsm::page_id p);
  word watching(dsm::page_id p, bool now);
  status find_sharers(const std::vector<written_page>& written);
  status tell_sharers();

  std::uint64_t directory_offset(dsm::page_id p) const noexcept { return std::uint64_t{p} * entry_words_ * sizeof(word); }
  std::uint64_t own_offset(dsm::page_id p) const noexcept {
    return directory_offset(p) + port_.self() / nodes_a_word * sizeof(word);
  }
  std::uint64_t own_writer_offset(dsm::page_id p) const noexcept { return own_offset(p) + bit_words_ * sizeof(word); }
  std::uint64_t state_offset(dsm::page_id p) const noexcept { return directory_offset(p + 1) - sizeof(word); }
  word own_bit() const noexcept { return word{1} << port_.self() % nodes_a_word; }
  word* own_directory(dsm::page_id p) const noexcept { return reinterpret_cast<word*>(directory_.base() + directory_offset(p)); }

  const cashmere_settings how_;
  const std::string name_;
  const std::size_t bit_words_, entry_words_;
  dsm::lazy_memory directory_;  // this node's part
  struct card {
    window directory;
    queue notices, first_copies;
  };
  std::vector<card> cards_;              // of all nodes
  std::vector<std::vector<word>> tell_;  // by node: pages to be told of; behind the gate
  std::vector<written_page> turned_;     // by this release, to be unsafe when all are told; behind the gate

  // Copies that this node drops without being told. A page comes into a set and goes out of it with its entry held.
  os::spin_lock doubts_lock_;  // guards the following
  dsm::page_set told_;         // immediate: pages whose writer's bit of this node is set
  dsm::page_set weak_;         // others may write them: dropped at every acquire
  dsm::page_set unsafe_;       // dropped at the acquire that finds them released since
  os::mapping states_;         // by page: an unsafe page's state when it was joined, or released here without anybody else between
};

}  // namespace weft::protocols
