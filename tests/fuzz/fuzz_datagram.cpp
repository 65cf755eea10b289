// Everything that a datagram can contain, through link::receive and what follows it.
//
// An input is a byte of choices and then datagrams, each after its length in 16 bits. As it stands, a mutated datagram fails at the tag,
// so half of the inputs have their datagrams sealed again, and the fields that decide whether they are looked at at all put right:
// that reaches the code behind the tag, which must survive a peer that holds the key and has gone mad.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>

#include "base/bytes.h"
#include "reliable/link.h"
#include "fuzz/fuzz.h"

namespace {

namespace wr = weft::reliable;
using weft::bytes;
using weft::lane;
using weft::base::byte_buffer;

constexpr std::size_t most_datagrams = 16;
constexpr lane both[] = {lane::request, lane::reply};

// The byte of choices.
constexpr std::uint8_t resealed = 1;          // make the tag right
constexpr std::uint8_t near_window = 2;       // bring numbers near to where they matter
constexpr std::uint8_t has_sent = 4;          // the link under test has packets under way
constexpr std::uint8_t consumes = 8;          // its owner takes records at once
constexpr std::uint8_t starts_with_gap = 16;  // it already holds something out of order
constexpr std::uint8_t restless = 32;         // its owner gives up packets, changes the MTU and probes in between
constexpr std::uint8_t slow = 64;             // long times pass between datagrams, so that timers expire
constexpr std::uint8_t crowded = 128;         // little room, and more credit than that

const wr::seal& sealer() {
  static const wr::seal one(wr::seal::key{});
  return one;
}

wr::link_options options(weft::node_id self, std::uint8_t choices = 0) {
  wr::link_options o;
  o.self = self;
  o.peer = 1 - self;
  o.group = 42;
  o.incarnation = self + 1;
  o.sealer = &sealer();
  o.datagram_bytes = 1472;
  if (choices & crowded)
    for (std::size_t l = 0; l < weft::lanes; ++l) {
      o.receive_buffer_bytes[l] = wr::least_buffer_bytes;
      o.credit_bytes[l] = 4 * wr::least_buffer_bytes;
    }
  return o;
}

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", what);
  std::abort();
}

byte_buffer joined(const wr::link::outgoing& out) {
  weft::base::writer w;
  w.put(out.header).put_bytes(out.payload);
  return w.take();
}

std::optional<byte_buffer> next_from(wr::link& l, weft::base::nanoseconds now) {
  wr::link::outgoing out;
  if (!l.transmit(now, out)) return std::nullopt;
  return joined(out);
}

// What a correct sender that holds the key would have made of these bytes.
void reseal(byte_buffer& datagram, bool near) {
  datagram.resize(std::clamp(datagram.size(), wr::header_bytes, wr::most_datagram_bytes));
  auto h = weft::base::load<wr::header>(datagram.data());
  h.version = wr::wire_version;
  h.group = 42;
  h.source = 1;
  h.destination = 0;
  h.payload_bytes = static_cast<std::uint16_t>(datagram.size() - wr::header_bytes);
  if (near) {
    h.kind = static_cast<wr::datagram_kind>(static_cast<std::uint8_t>(h.kind) % (wr::most_kind + 1));
    h.lane = static_cast<lane>(static_cast<std::uint8_t>(h.lane) % 2);
    h.source_incarnation = 2;
    h.destination_incarnation = h.destination_incarnation % 2;  // unknown, or the right one
    h.round %= 4;
    if (h.kind == wr::datagram_kind::data) {
      h.sequence %= 8;
      if (h.piece == 0) h.packet_bytes = std::max(h.packet_bytes, h.payload_bytes);
    } else {
      h.sequence = h.round = h.packet_bytes = h.piece = 0;
    }
    for (auto& ack : h.acks) {
      ack.next %= 8;
      ack.round %= 4;
    }
  }
  wr::header_buffer sealed;
  wr::format(h, bytes(datagram).subspan(wr::header_bytes), sealer(), sealed);
  std::copy(sealed.begin(), sealed.end(), datagram.begin());
}

void prepare(wr::link& l, std::uint8_t choices) {
  static const byte_buffer long_record(5000, std::byte{7});
  if (choices & has_sent)
    for (const lane which : both)
      for (int i = 0; i < 3; ++i) {
        l.push(which, long_record);
        while (next_from(l, i)) {
        }
      }
  if (choices & starts_with_gap) {
    wr::link other(options(1));
    other.push(lane::request, long_record);
    const auto first = next_from(other, 0);
    while (const auto d = next_from(other, 0)) {
      l.receive(10, *d);
      l.settle();
    }
  }
}

void take_records(wr::link& l) {
  for (const lane which : both)
    while (const auto record = l.front(which)) {
      require(record->size() <= wr::link::most_record, "a record is no longer than the longest");
      volatile std::byte touched{};
      if (!record->empty()) touched = record->back();  // the view must be good
      static_cast<void>(touched);
      l.pop(which);
    }
}

void be_restless(wr::link& l, std::size_t turn) {
  l.keep_probing(true);
  if (turn % 3 == 0) l.discard(turn % 2 == 0 ? lane::request : lane::reply);
  if (turn % 3 == 1) l.change_datagram_bytes(turn % 2 == 0 ? wr::least_datagram_bytes : 9000);
  if (turn % 3 == 2) l.request_ack_now();
  if (turn % 4 == 3) l.hurry();
  for (const lane which : both)
    if (l.room(which, 100)) l.push(which, {}, byte_buffer(std::min<std::size_t>(100, l.room_in_packet(which))));
}

void check_bounds(const wr::link& l, const wr::link_options& o) {
  for (const lane which : both) {
    const auto i = static_cast<std::size_t>(which);
    require(l.receive_bytes_held(which) <= o.receive_buffer_bytes[i], "the receive buffer's bound");
    require(l.send_bytes_held(which) <= o.send_buffer_bytes[i], "the send buffer's bound");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  weft::base::reader in(std::as_bytes(std::span(data, size)));
  const auto choices = in.take<std::uint8_t>();
  const auto o = options(0, choices);
  wr::link l(o);
  prepare(l, choices);
  const weft::base::nanoseconds pace = choices & slow ? 15 * weft::base::millisecond : 100 * weft::base::microsecond;
  weft::base::nanoseconds now = 1000;
  for (std::size_t i = 0; i < most_datagrams && in.left() > 0; ++i, now += pace) {
    const std::size_t length = std::min<std::size_t>(in.take<std::uint16_t>(), in.left());
    const auto part = in.take_bytes(length);
    byte_buffer datagram(part.begin(), part.end());
    if (choices & resealed) reseal(datagram, choices & near_window);
    l.receive(now, datagram);
    if (choices & consumes) take_records(l);
    l.settle();
    byte_buffer().swap(datagram);  // so that a sanitizer sees any later use
    if (choices & restless) be_restless(l, i);
    for (int sent = 0; sent < 4 && next_from(l, now); ++sent) {
    }
    require(!l.dead(now) || l.deadline() == wr::never, "a link that has ended wants nothing any more");
    check_bounds(l, o);
  }
  take_records(l);
  return 0;
}

// Conversations of two links over a path that loses some datagrams, as one of them sees them.
std::vector<fuzz::input> fuzz::examples() {
  std::vector<input> all;
  for (unsigned variant = 0; variant < 40; ++variant) {
    wr::link here(options(0)), there(options(1));
    weft::base::writer seen;
    seen.put(static_cast<std::uint8_t>(variant * 37 + variant / 8));
    std::size_t count = 0;
    for (unsigned turn = 0; turn < 4 && count < most_datagrams; ++turn) {
      const weft::base::nanoseconds now = 1000 + turn * 100'000;
      const byte_buffer record((variant * 97 + turn * 401) % 3000, static_cast<std::byte>(variant));
      there.push(turn % 2 == 0 ? lane::request : lane::reply, record);
      here.push(lane::request, bytes(record).first(record.size() / 2));
      if (variant % 8 == 5) there.change_datagram_bytes(700);
      if (variant % 8 == 6 && turn == 2) there.discard(lane::request);
      if (variant % 8 == 7) there.request_ack_now();
      there.keep_probing(variant % 4 == 3);
      while (const auto d = next_from(here, now))
        if ((variant + turn) % 3 != 0) there.receive(now, *d);
      there.settle();
      while (const auto d = next_from(there, now + (variant % 5) * 1'000'000)) {
        if (++count > most_datagrams) break;
        seen.put(static_cast<std::uint16_t>(d->size())).put_bytes(*d);
        if ((variant + count) % 4 != 0) here.receive(now, *d);
      }
      here.settle();
    }
    const auto bytes_seen = seen.take();
    input example(bytes_seen.size());
    std::transform(bytes_seen.begin(), bytes_seen.end(), example.begin(),
                   [](std::byte b) { return std::to_integer<std::uint8_t>(b); });
    all.push_back(std::move(example));
  }
  return all;
}
