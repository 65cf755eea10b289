#include "insight/account.h"

#include <algorithm>
#include <cstring>

#include "os/symbols.h"
#include "space/region.h"
#include "insight/roll_call.h"

namespace weft::runtime {

namespace {

constexpr std::size_t most_pages = 8192, most_locks = 16;

std::vector<account::byte_range> ranges_of(const dsm::page_profile::byte_set& set) {
  std::vector<account::byte_range> all;
  constexpr std::size_t grain = dsm::page_profile::grain;
  for (std::size_t i = 0; i < set.size() && all.size() < account::most_ranges; ++i) {
    if (!set[i]) continue;
    const std::size_t first = i;
    while (i + 1 < set.size() && set[i + 1]) ++i;
    all.push_back({static_cast<std::uint16_t>(first * grain), static_cast<std::uint16_t>((i + 1) * grain - 1)});
  }
  return all;
}

void take_pages(account& into, const dsm::page_profile& from) {
  for (const auto& u : from.used(most_pages))
    into.pages.push_back({u.page, u.home, u.read_faults, u.write_faults, u.fetches, u.writes, u.changed_bytes, ranges_of(u.written),
                          ranges_of(u.by_others)});
  into.is.pages_left_out = from.count_used() - into.pages.size();
}

void take_allocations(account& into, const observe::allocation_log& from) {
  for (const auto& chain : from.sites()) {
    auto& calls = into.sites.emplace_back();
    for (const void* address : chain)
      if (auto place = os::place_of_call(address); !place.empty()) calls.push_back(std::move(place));
  }
  for (const auto& g : from.groups())
    into.allocated.push_back({static_cast<std::uint64_t>(g.first - region_base), g.bytes, g.blocks, g.site});
}

void take_locks(account& into, const observe::activity& from) {
  for (const auto& c : from.most_contended()) {
    if (into.locks.size() == most_locks) break;
    into.locks.push_back({c.what.what, c.waits, c.waited, name_of(c.what), os::place_of_call(c.what.caller)});
  }
}

// --- bytes -----------------------------------------------------------------------------------------------------------------------

template <typename T>
void put_list(base::writer& out, const std::vector<T>& list) {
  out.put(static_cast<std::uint32_t>(list.size()));
  out.put_bytes(std::as_bytes(std::span(list)));
}

template <typename T>
std::vector<T> take_list(base::reader& in) {
  const auto bytes = in.take_bytes(in.take<std::uint32_t>() * sizeof(T));
  std::vector<T> list(bytes.size() / sizeof(T));
  if (!list.empty()) std::memcpy(list.data(), bytes.data(), bytes.size());
  return list;
}

base::byte_buffer encode_pages(account& a, std::size_t room) {
  base::writer out;
  std::size_t count = 0;
  for (const auto& p : a.pages) {
    const auto longest = 4 * sizeof(std::uint64_t) + 16 + (p.written.size() + p.by_others.size()) * sizeof(account::byte_range);
    if (out.view().size() + longest > room) break;
    out.put(p.number).put(p.home).put(p.read_faults).put(p.write_faults).put(p.fetches).put(p.writes).put(p.changed_bytes);
    put_list(out, p.written);
    put_list(out, p.by_others);
    ++count;
  }
  a.is.pages_left_out += a.pages.size() - count;
  a.pages.resize(count);
  return out.take();
}

base::byte_buffer encode_allocations(const account& a, std::size_t room) {
  auto needed = a.allocated;
  base::writer out;
  out.put(static_cast<std::uint32_t>(a.sites.size()));
  for (const auto& calls : a.sites) {
    out.put(static_cast<std::uint32_t>(calls.size()));
    for (const auto& c : calls) out.put_text(c);
  }
  const auto left = room > out.view().size() + 4 ? room - out.view().size() - 4 : 0;
  needed.resize(std::min(needed.size(), left / sizeof(account::blocks)));
  put_list(out, needed);
  return out.view().size() <= room ? out.take() : base::byte_buffer();
}

base::byte_buffer encode_epochs(const account& a) {
  base::writer out;
  out.put(a.epochs.barriers);
  put_list(out, a.epochs.spent);
  out.put(static_cast<std::uint32_t>(a.locks.size()));
  for (const auto& l : a.locks) out.put(l.what).put(l.waits).put(l.waited).put_text(l.name).put_text(l.place);
  return out.take();
}

void decode_epochs(account& a, base::reader in) {
  a.epochs.barriers = in.take<std::uint64_t>();
  a.epochs.spent = take_list<std::array<base::nanoseconds, observe::phases>>(in);
  for (auto left = in.take<std::uint32_t>(); left > 0 && in.ok(); --left) {
    auto& l = a.locks.emplace_back();
    l.what = in.take<wait_kind>();
    l.waits = in.take<std::uint64_t>();
    l.waited = in.take<base::nanoseconds>();
    l.name = in.take_text();
    l.place = in.take_text();
  }
}

void decode_pages(account& a, base::reader in) {
  while (in.left() != 0) {
    auto& p = a.pages.emplace_back();
    p.number = in.take<dsm::page_id>();
    p.home = in.take<bool>();
    p.read_faults = in.take<std::uint32_t>();
    p.write_faults = in.take<std::uint32_t>();
    p.fetches = in.take<std::uint32_t>();
    p.writes = in.take<std::uint32_t>();
    p.changed_bytes = in.take<std::uint64_t>();
    p.written = take_list<account::byte_range>(in);
    p.by_others = take_list<account::byte_range>(in);
  }
}

void decode_allocations(account& a, base::reader in) {
  a.sites.resize(std::min<std::size_t>(in.take<std::uint32_t>(), observe::allocation_log::most_sites));
  for (auto& calls : a.sites) {
    calls.resize(std::min<std::size_t>(in.take<std::uint32_t>(), observe::allocation_log::most_calls));
    for (auto& c : calls) c = in.take_text();
  }
  a.allocated = take_list<account::blocks>(in);
}

}  // namespace

account take_account(const observe::activity& a, base::nanoseconds began, observed& shared, const port& p) {
  account all;
  const auto times = a.summed();
  all.is.threads = times.threads;
  all.is.wall = a.now() - began;
  all.is.spent = times.spent;
  all.is.served = times.served;
  all.is.watching = shared.cost_of_watching();
  for (std::size_t e = 0; e < observe::events; ++e) all.is.events[e] = a.sum(static_cast<observe::event>(e));
  all.is.barriers = shared.barriers();
  all.is.protocol = shared.statistics();
  all.is.port = p.statistics();
  const auto with = a.traffic();
  for (node_id peer = 0; peer < with.size(); ++peer)
    if (with[peer].fetched + with[peer].changed != 0) all.traffic.push_back({peer, with[peer].fetched, with[peer].changed});
  all.epochs = a.epochs();
  take_locks(all, a);
  if (const auto* profile = shared.profile()) take_pages(all, *profile);
  if (const auto* log = shared.allocations()) take_allocations(all, *log);
  return all;
}

base::byte_buffer encode(account a, std::size_t room) {
  const auto spare = [&](std::size_t taken) { return room > taken ? room - taken : 0; };
  constexpr std::size_t lengths = 5 * sizeof(std::uint32_t);
  if (const auto most = spare(sizeof a.is + lengths) / sizeof(account::traffic_with); a.traffic.size() > most) {
    const auto more = [](const auto& x, const auto& y) { return x.fetched + x.changed > y.fetched + y.changed; };
    std::partial_sort(a.traffic.begin(), a.traffic.begin() + static_cast<std::ptrdiff_t>(most), a.traffic.end(), more);
    a.traffic.resize(most);
  }
  std::size_t taken = sizeof a.is + lengths + a.traffic.size() * sizeof(account::traffic_with);
  auto epochs = encode_epochs(a);
  if (epochs.size() > spare(taken)) epochs.clear();
  taken += epochs.size();
  const auto pages = encode_pages(a, spare(taken) * 3 / 4);
  taken += pages.size();
  const auto allocations = encode_allocations(a, spare(taken));
  base::writer out;
  out.put(a.is);
  put_list(out, a.traffic);
  return out.put_block(epochs).put_block(pages).put_block(allocations).take();
}

account decode(base::byte_view from) {
  account a;
  base::reader in(from);
  a.is = in.take<account::numbers>();
  a.traffic = take_list<account::traffic_with>(in);
  decode_epochs(a, base::reader(in.take_block()));
  decode_pages(a, base::reader(in.take_block()));
  decode_allocations(a, base::reader(in.take_block()));
  return a;
}

}  // namespace weft::runtime
