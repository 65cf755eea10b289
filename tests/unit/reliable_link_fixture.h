// Two links and the path between them, under the test's control: every datagram is held until the test says what becomes of it.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "reliable/link.h"

namespace weft::reliable {

using base::microsecond;
using base::millisecond;
using base::second;

inline constexpr node_id a = 0, b = 1;

class link_fixture : public testing::Test {
 protected:
  link_fixture() {
    options.sealer = &sealer;
    options.group = 42;
    options.datagram_bytes = 1472;
    connect();
  }

  void connect() {
    for (const node_id n : {a, b}) links[n] = fresh(n, n + 1);
  }

  std::unique_ptr<link> fresh(node_id self, std::uint32_t incarnation) {
    auto o = options;
    o.self = self;
    o.peer = 1 - self;
    o.incarnation = incarnation;
    return std::make_unique<link>(o);
  }

  // --- what goes in and out above ---

  void push(node_id n, std::string_view text, lane l = lane::request) {
    ASSERT_TRUE(links[n]->room(l, text.size()));
    links[n]->push(l, base::bytes_of(text));
  }

  std::vector<std::string> take(node_id n, lane l = lane::request) {
    std::vector<std::string> taken;
    while (auto record = links[n]->front(l)) {
      taken.emplace_back(reinterpret_cast<const char*>(record->data()), record->size());
      links[n]->pop(l);
    }
    return taken;
  }

  // --- what goes over the path ---

  using datagram = std::vector<std::byte>;

  // Everything that `n` wants to send now.
  std::deque<datagram> sent(node_id n) {
    std::deque<datagram> all;
    link::outgoing out;
    while (links[n]->transmit(now, out)) {
      all.emplace_back(out.header.begin(), out.header.end());
      all.back().insert(all.back().end(), out.payload.begin(), out.payload.end());
    }
    return all;
  }

  verdict deliver(node_id n, datagram d) {
    const auto v = links[n]->receive(now, d);
    links[n]->settle();
    d.assign(d.size(), std::byte{0xdd});
    return v;
  }

  void deliver_all(node_id n, const std::deque<datagram>& all) {
    for (const auto& d : all) deliver(n, d);
  }

  // Lets both sides talk over a perfect path until neither has anything to say now.
  void talk() {
    for (bool any = true; any;) {
      any = false;
      for (const node_id n : {a, b}) {
        now += microsecond;
        const auto all = sent(n);
        any = any || !all.empty();
        now += 10 * microsecond;
        deliver_all(1 - n, all);
      }
    }
  }

  // The same, and then again whenever a timer is due, for this long.
  void talk_for(nanoseconds time) {
    const nanoseconds end = now + time;
    while (now < end) {
      talk();
      now = std::max(now, std::min({links[a]->deadline(), links[b]->deadline(), end}));
    }
  }

  // Gives both sides a round-trip estimate and credit.
  void warm_up() {
    for (int i = 0; i < 20; ++i) {
      push(a, "ping");
      talk_for(options.ack_delay + microsecond);
      push(b, "pong", lane::reply);
      talk_for(options.ack_delay + microsecond);
    }
    take(a, lane::reply);
    take(b);
  }

  static header header_of(const datagram& d) { return base::load<header>(d.data()); }
  const link_statistics& statistics(node_id n) const { return links[n]->statistics(); }

  seal sealer{seal::key{}};
  link_options options;
  std::array<std::unique_ptr<link>, 2> links;
  nanoseconds now = second;
};

}  // namespace weft::reliable
