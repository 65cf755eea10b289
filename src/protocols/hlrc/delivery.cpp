// How changes get to the homes, and on to the holders of copies.
#include <algorithm>
#include <cstring>

#include "dsm/own_handlers.h"
#include "protocols/hlrc/hlrc.h"
#include "protocols/hlrc/run_list.h"

namespace weft::protocols {

using dsm::page_id;

status hlrc::deliver(std::span<const dsm::changes> by_home, std::vector<written_page>& changed) {
  if (settings_.by_put) return home_based::deliver(by_home, changed);
  auto d = std::make_unique<delivery>();
  for (node_id home = 0; home < port_.nodes(); ++home) {
    if (by_home[home].empty()) continue;
    if (auto sent = send_home(home, by_home[home].runs(), *d); !sent) return (void)d.release(), sent.clone();
  }
  auto waited = wait_for(*d);
  while (waited && !d->moved.empty()) waited = send_again(by_home, *d);
  if (!waited) return (void)d.release(), waited.clone();  // replies may still come, in a program that is about to end
  offered_.insert(offered_.end(), d->offered.begin(), d->offered.end());
  std::sort(d->untold.begin(), d->untold.end());
  std::erase_if(changed, [&](const written_page& w) { return !std::binary_search(d->untold.begin(), d->untold.end(), w.page); });
  return {};
}

status hlrc::wait_for(delivery& d) {
  return dsm::wait_for(
      port_, [&] { return d.complete(); }, "waiting for changes to arrive at their homes");
}

// A moment, for who has to ask again: the node that a page moves to has it after one message.
status hlrc::rest() {
  if (dsm::broken(port_)) return {errc::node_failed, dsm::job_broken};
  port_.wait([] { return false; }, std::chrono::microseconds(2)).ignore();
  return {};
}

// The changes of pages whose homes have moved, to where they are said to be.
status hlrc::send_again(std::span<const dsm::changes> by_home, delivery& d) {
  const auto moved = std::exchange(d.moved, {});
  if (auto rested = rest(); !rested) return rested;
  for (const auto& [page, to] : moved) {
    const page_id p = page;
    for (const dsm::changes& c : by_home)
      run_list::for_pages(c.runs(), [&, home = to](page_id of, std::span<const run> runs) {
        if (of == p) send_home(home, runs, d).ignore();  // who is gone breaks the job, and the wait
      });
    if (!table_.try_take(p)) continue;  // whoever has it will find out
    if (table_.peek(p).now == dsm::view::cached) table_.peek(p).home_plus_1 = to + 1;
    table_.give(p);
  }
  return wait_for(d);
}

status hlrc::send_home(node_id home, std::span<const run> runs, delivery& d) {
  const word token = reinterpret_cast<word>(&d);
  while (!runs.empty()) {
    run_list some;
    while (!runs.empty() && some.add(runs.front())) runs = runs.subspan(1);
    d.sent.fetch_add(1, std::memory_order_relaxed);  // read by this thread
    if (auto sent = port_.send(home, lane::request, dsm::home_changes, std::span(&token, 1), some.payload()); !sent) return sent;
  }
  return {};
}

// At the home, on whichever thread drives. Its own changes come this way too, for the order's sake: among handlers, a page is read and
// sent, or changed and its changes sent, one after another.
void hlrc::serve_changes(const message& m) {
  std::vector<run> runs;
  if (m.words.size() != 1 || !run_list::read(m.payload, pages_.count(), runs)) return;
  base::writer said;
  take_at_home(m.source, runs, said);
  if (m.source != port_.self())
    run_list::for_pages(runs, [&](page_id p, std::span<const run> of_page) { pages_.update(p, of_page); });
  std::vector<page_id> untold;
  const word reply[] = {m.words[0], forward(m.source, m.words[0], runs, untold)};
  said.put_block(std::as_bytes(std::span(untold)));
  port_.send(m.source, lane::reply, dsm::home_changes_reply, reply, said.view()).ignore();
}

// Takes out the runs of pages whose home is not here, and says where they have gone; offers pages that `writer` should be home to.
void hlrc::take_at_home(node_id writer, std::vector<run>& runs, base::writer& reply) {
  std::vector<moved_page> moved;
  std::vector<page_id> offered;
  if (settings_.moving) {
    std::scoped_lock lock(copies_lock_);
    run_list::for_pages(runs, [&](page_id p, std::span<const run>) {
      if (node_id to = 0; !at_home(p, to)) moved.push_back({p, to});
      else if (offer(p, writer)) offered.push_back(p);
    });
    std::erase_if(runs, [&](const run& r) {
      return std::any_of(moved.begin(), moved.end(), [&](const moved_page& m) { return m.page == r.offset / dsm::page_bytes; });
    });
  }
  reply.put_block(std::as_bytes(std::span(moved))).put_block(std::as_bytes(std::span(offered)));
}

namespace {

template <typename T>
void append(std::vector<T>& to, bytes block) {
  const std::size_t had = to.size();
  to.resize(had + block.size() / sizeof(T));
  if (!block.empty()) std::memcpy(to.data() + had, block.data(), (to.size() - had) * sizeof(T));
}

}  // namespace

void hlrc::take_changes_reply(const message& m) {
  auto* d = reinterpret_cast<delivery*>(m.words[0]);
  base::reader in(m.payload);
  append(d->moved, in.take_block());
  append(d->offered, in.take_block());
  append(d->untold, in.take_block());
  d->holders.fetch_add(static_cast<std::uint32_t>(m.words[1]), std::memory_order_relaxed);  // ordered by the release that follows
  d->replies.fetch_add(1, std::memory_order_release);                                       // pairs with complete()
}

// Sends what `writer` has changed in pages whose home is here on to all others who have copies; how many messages that were. Pages
// whose holders get nothing, and so have to be told by notices, are appended to `untold`.
std::uint32_t hlrc::forward(node_id writer, word token, std::span<const run> runs, std::vector<page_id>& untold) {
  std::uint32_t sent = 0;
  std::vector<run_list> to(settings_.update ? port_.nodes() : 0);
  const auto flush = [&](node_id holder) {
    const word words[] = {token, writer};
    port_.send(holder, lane::reply, dsm::copy_update, words, to[holder].payload()).ignore();  // who is gone breaks the job
    to[holder] = {};
    ++sent;
  };
  std::vector<word> who(holder_words(port_.nodes()));
  run_list::for_pages(runs, [&](page_id p, std::span<const run> of_page) {
    if (!settings_.update) return untold.push_back(p);
    {
      std::scoped_lock lock(copies_lock_);
      std::copy_n(holders(p).begin(), who.size(), who.begin());
    }
    for (node_id n = 0; n < port_.nodes(); ++n) {
      if (n == writer || !(who[n / 64] >> n % 64 & 1)) continue;
      for (const run& r : of_page)
        if (!to[n].add(r)) {
          flush(n);
          to[n].add(r);
        }
    }
  });
  for (node_id n = 0; n < to.size(); ++n)
    if (!to[n].empty()) flush(n);
  return sent;
}

// At a holder. A copy that has been dropped meanwhile is not hurt: it is fetched whole before it is used again.
void hlrc::take_update(const message& m) {
  std::vector<run> runs;
  if (m.words.size() != 2 || m.words[1] >= port_.nodes() || !run_list::read(m.payload, pages_.count(), runs)) return;
  run_list::for_pages(runs, [&](page_id p, std::span<const run> of_page) { pages_.update(p, of_page); });
  {
    std::scoped_lock lock(copies_lock_);
    for (question* q : questions_)
      for (const run& r : runs)
        if (q->home != m.source && q->of.contains(static_cast<page_id>(r.offset / dsm::page_bytes))) q->outdated = true;
  }
  port_.send(static_cast<node_id>(m.words[1]), lane::reply, dsm::copy_update_reply, m.words.first(1)).ignore();
}

void hlrc::take_update_reply(const message& m) {
  reinterpret_cast<delivery*>(m.words[0])->holder_replies.fetch_add(1, std::memory_order_release);  // pairs with complete()
}

}  // namespace weft::protocols
