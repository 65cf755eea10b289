// How changes get to the homes, and on to the holders of copies.
#include <algorithm>
#include <cstring>

#include "dsm/own_handlers.h"
#include "protocols/hlrc/hlrc.h"

namespace weft::protocols {

using dsm::page_id;

namespace {

// The payload of one message. False, and nothing is done, when a patch does not fit into the rest of it. An empty one takes any.
bool add(base::writer& to, const dsm::patch& p) {
  if (to.view().size() + p.encoded().size() > most_payload) return false;
  to.put_bytes(p.encoded());
  return true;
}

// What a message holds; the bytes stay in it. False when it makes no sense.
bool read_patches(bytes payload, page_id pages, std::vector<dsm::patch>& into) {
  base::reader in(payload);
  while (in.left() != 0)
    if (!dsm::patch::read(in, pages, into.emplace_back())) return false;
  return true;
}

}  // namespace

status hlrc::deliver(std::span<const dsm::changes> by_home, std::vector<written_page>& changed) {
  if (settings_.by_put) return home_based::deliver(by_home, changed);
  auto d = std::make_unique<delivery>();
  for (node_id home = 0; home < port_.nodes(); ++home) {
    if (by_home[home].empty()) continue;
    if (auto sent = send_home(home, by_home[home].patches(), *d); !sent) return (void)d.release(), sent.clone();
  }
  auto waited = wait_for(*d);
  while (waited && !d->moved.empty()) waited = send_again(by_home, *d);
  if (!waited) return (void)d.release(), waited.clone();  // replies may still come, in a program that is about to end
  add_later(d->updates, untold_updates_);
  //~ moving_takes_no_offers
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
  for (const auto& [p, to] : moved) {
    for (const dsm::changes& c : by_home)
      for (const dsm::patch& changed : c.patches())
        //~ moving_loses_changes
        if (changed.page() == p) send_home(to, std::span(&changed, 1), d).ignore();  // who is gone breaks the job, and the wait
    if (!table_.try_take(p)) continue;                                               // whoever has it will find out
    if (table_.peek(p).now == dsm::view::cached) table_.peek(p).home_plus_1 = to + 1;
    table_.give(p);
  }
  return wait_for(d);
}

status hlrc::send_home(node_id home, std::span<const dsm::patch> changed, delivery& d) {
  const word token = reinterpret_cast<word>(&d);
  while (!changed.empty()) {
    going_home_.clear();
    while (!changed.empty() && add(going_home_, changed.front())) changed = changed.subspan(1);
    d.sent.fetch_add(1, std::memory_order_relaxed);  // read by this thread
    if (auto sent = port_.send(home, lane::request, dsm::home_changes, std::span(&token, 1), going_home_.view()); !sent)
      return sent;
  }
  return {};
}

// At the home, on whichever thread drives. Its own changes come this way too, for the order's sake: among handlers, a page is read and
// sent, or changed and its changes sent, one after another.
void hlrc::serve_changes(const message& m) {
  std::vector<dsm::patch> changed;
  if (m.words.size() != 1 || !read_patches(m.payload, pages_.count(), changed)) return;
  base::writer said;
  take_at_home(m.source, changed, said);
  //~ home_applies_nothing
  if (m.source != port_.self())
    for (const dsm::patch& each : changed) pages_.update(each);
  std::vector<page_id> untold;
  const auto updated = forward(m.source, changed, untold);
  said.put_block(std::as_bytes(std::span(untold))).put_block(std::as_bytes(std::span(updated)));
  port_.send(m.source, lane::reply, dsm::home_changes_reply, m.words, said.view()).ignore();
}

// Takes out the changes of pages whose home is not here, and says where they have gone; offers pages that `writer` should be home to.
void hlrc::take_at_home(node_id writer, std::vector<dsm::patch>& changed, base::writer& reply) {
  std::vector<moved_page> moved;
  std::vector<page_id> offered;
  if (settings_.moving || adapts()) {
    std::scoped_lock lock(copies_lock_);
    std::erase_if(changed, [&](const dsm::patch& c) {
      node_id to = 0;
      const bool gone = !at_home(c.page(), to);
      if (gone)
        moved.push_back({c.page(), to});
      else if (note_change(c.page(), writer, cost_of(c)))
        offered.push_back(c.page());
      return gone;
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
  append(d->updates, in.take_block());
  d->replies.fetch_add(1, std::memory_order_release);  // pairs with complete()
}

// Sends what `writer` has changed in pages whose home is here on to all others who have copies; the last update for each of them. Pages
// whose holders get nothing, and so have to be told by notices, are appended to `untold`.
std::vector<hlrc::sent_updates> hlrc::forward(node_id writer, std::span<const dsm::patch> changed, std::vector<page_id>& untold) {
  std::vector<sent_updates> sent;
  auto& to = going_on_;
  const auto flush = [&](node_id holder) {
    port_.send(holder, lane::reply, dsm::copy_update, {}, to[holder].view()).ignore();  // who is gone breaks the job
    to[holder].clear();
    add_later({{port_.self(), holder, ++forwarded_[holder]}}, sent);
  };
  std::vector<word> who(holder_words(port_.nodes()));
  for (const dsm::patch& each : changed) {
    const page_id p = each.page();
    if (!knows_holders()) {
      untold.push_back(p);
      continue;
    }
    {
      std::scoped_lock lock(copies_lock_);
      if (!updates(p)) {
        untold.push_back(p);
        continue;
      }
      record(p).updated = true;
      std::copy_n(holders(p).begin(), who.size(), who.begin());
      //~ auto_never_frees
      if (adapts() && std::all_of(who.begin(), who.end(), [](word w) { return w == 0; })) abandoned_.push_back(p);
    }
    for (node_id n = 0; n < port_.nodes(); ++n) {
      //~ update_skips_a_holder
      if (n == writer || !(who[n / 64] >> n % 64 & 1) || add(to[n], each)) continue;
      flush(n);
      add(to[n], each);
    }
  }
  for (node_id n = 0; n < to.size(); ++n)
    if (!to[n].view().empty()) flush(n);
  return sent;
}

// At a holder. A copy that has been dropped meanwhile is not hurt: it is fetched whole before it is used again.
void hlrc::take_update(const message& m) {
  std::vector<dsm::patch> changed;
  if (!m.words.empty() || !read_patches(m.payload, pages_.count(), changed)) return;
  for (const dsm::patch& each : changed) pages_.update(each);
  {
    std::scoped_lock lock(copies_lock_);
    for (question* q : questions_)
      for (const dsm::patch& each : changed)
        if (q->home != m.source && q->of.contains(each.page())) q->outdated = true;
    if (adapts())
      for (const dsm::patch& each : changed) note_update(each, m.source);
  }
  //~ update_of_another_home_counts
  received_[m.source].fetch_add(1, std::memory_order_release);  // pairs with the acquire in wait_for_updates
}

// `more` are later than those in `to`.
void hlrc::add_later(const std::vector<sent_updates>& more, std::vector<sent_updates>& to) {
  for (const sent_updates& u : more) {
    const auto before = std::find_if(to.begin(), to.end(), [&](const sent_updates& b) { return b.home == u.home && b.to == u.to; });
    before == to.end() ? to.push_back(u) : void(*before = u);
  }
}

// They were sent before the intervals ended, so they are on their way; those of one home arrive in order.
status hlrc::wait_for_updates(const std::vector<std::pair<node_id, interval>>& of) {
  const auto missing = [&](const sent_updates& u) {
    return u.to == port_.self() && static_cast<std::int32_t>(received_[u.home].load(std::memory_order_acquire) - u.count) < 0;
  };
  const auto all_here = [&] {
    return std::none_of(of.begin(), of.end(),
                        [&](const auto& i) { return std::any_of(i.second.updates.begin(), i.second.updates.end(), missing); });
  };
  return all_here() ? status() : dsm::wait_for(port_, all_here, "waiting for updates of copies");
}

}  // namespace weft::protocols
