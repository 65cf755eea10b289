// What a link promises, one behaviour a test.
#include <algorithm>

#include "unit/reliable_allocations.h"
#include "unit/reliable_link_fixture.h"

namespace weft::reliable {
namespace {

using testing::Test;
using strings = std::vector<std::string>;

class a_link : public link_fixture {};

// --- records ----------------------------------------------------------------------------------------------------------------------

TEST_F(a_link, delivers_a_record_whole) {
  push(a, "hello");
  talk();
  EXPECT_EQ(take(b), strings{"hello"});
}

TEST_F(a_link, delivers_an_empty_record) {
  push(a, "");
  talk();
  EXPECT_EQ(take(b), strings{""});
}

TEST_F(a_link, joins_head_and_body) {
  links[a]->push(lane::request, base::bytes_of(std::string_view("head")), base::bytes_of(std::string_view("body")));
  talk();
  EXPECT_EQ(take(b), strings{"headbody"});
}

TEST_F(a_link, packs_small_records_into_one_datagram) {
  for (int i = 0; i < 20; ++i) push(a, "record " + std::to_string(i));
  const auto all = sent(a);
  EXPECT_EQ(all.size(), 1u);
  deliver_all(b, all);
  const auto got = take(b);
  ASSERT_EQ(got.size(), 20u);
  EXPECT_EQ(got[19], "record 19");
}

TEST_F(a_link, assembles_a_record_longer_than_a_packet) {
  std::string text(link::most_record, 'x');
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i * 7);
  push(a, text);
  push(a, "after");
  talk_for(10 * millisecond);
  EXPECT_EQ(take(b), (strings{text, "after"}));
}

TEST_F(a_link, says_how_much_fits_without_being_taken_apart) {
  const std::size_t fresh_packet = links[a]->room_in_packet(lane::request);
  EXPECT_EQ(fresh_packet, options.datagram_bytes - header_bytes - chunk_head_bytes);
  push(a, std::string(100, 'x'));
  EXPECT_EQ(links[a]->room_in_packet(lane::request), fresh_packet - 100 - chunk_head_bytes);
  push(a, std::string(links[a]->room_in_packet(lane::request), 'y'));
  EXPECT_EQ(links[a]->room_in_packet(lane::request), fresh_packet) << "a full packet makes way for a fresh one";
  EXPECT_EQ(sent(a).size(), 1u);
}

TEST_F(a_link, keeps_lanes_apart) {
  push(a, "request");
  push(a, "reply", lane::reply);
  const auto all = sent(a);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(header_of(all[0]).lane, lane::reply) << "replies go first";
  deliver_all(b, all);
  EXPECT_EQ(take(b, lane::reply), strings{"reply"});
  EXPECT_EQ(take(b), strings{"request"});
}

TEST_F(a_link, bounds_what_it_buffers) {
  const std::string record(1000, 'x');
  std::size_t pushed = 0;
  for (; links[a]->room(lane::request, record.size()); ++pushed) push(a, record);
  EXPECT_GT(pushed, 1000u);
  EXPECT_LE(links[a]->send_bytes_held(lane::request), options.send_buffer_bytes[0]);
  EXPECT_TRUE(links[a]->room(lane::reply, record.size())) << "the other lane has its own buffer";
}

TEST_F(a_link, does_not_refer_to_a_datagram_after_settle) {
  push(a, "first");
  push(a, "second");
  auto d = sent(a).front();
  ASSERT_EQ(links[b]->receive(now, d), verdict::data);
  EXPECT_EQ(links[b]->front(lane::request)->data(), d.data() + header_bytes + chunk_head_bytes) << "used where it lies";
  links[b]->settle();
  d.assign(d.size(), std::byte{0});
  EXPECT_EQ(take(b), (strings{"first", "second"}));
}

TEST_F(a_link, allocates_nothing_in_the_steady_state) {
  warm_up();
  std::vector<std::byte> d(options.datagram_bytes);
  const auto exchange = [&](node_id from, lane l) {
    link::outgoing out;
    links[from]->push(l, base::bytes_of(std::string_view("twelve bytes")));
    while (links[from]->transmit(now, out)) {
      std::copy(out.header.begin(), out.header.end(), d.begin());
      std::copy(out.payload.begin(), out.payload.end(), d.begin() + header_bytes);
      links[1 - from]->receive(now, bytes(d).first(header_bytes + out.payload.size()));
      while (links[1 - from]->front(l)) links[1 - from]->pop(l);
      links[1 - from]->settle();
    }
    now += 5 * microsecond;
  };
  for (int i = 0; i < 100; ++i) exchange(a, lane::request), exchange(b, lane::reply);
  const auto before = allocations();
  for (int i = 0; i < 1000; ++i) exchange(a, lane::request), exchange(b, lane::reply);
  EXPECT_EQ(allocations(), before);
}

// --- acknowledgements -------------------------------------------------------------------------------------------------------------

TEST_F(a_link, lets_acknowledgements_ride_on_data) {
  push(a, "question");
  deliver_all(b, sent(a));
  EXPECT_TRUE(sent(b).empty()) << "an acknowledgement waits for data to ride on";
  push(b, "answer", lane::reply);
  const auto all = sent(b);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(header_of(all[0]).acks[0].next, 1u);
  deliver_all(a, all);
  EXPECT_EQ(statistics(b).acks_out, 0u);
}

TEST_F(a_link, acknowledges_by_itself_after_the_delay) {
  push(a, "question");
  deliver_all(b, sent(a));
  EXPECT_EQ(links[b]->deadline(), now + options.ack_delay);
  EXPECT_FALSE(links[b]->idle());
  now += options.ack_delay;
  deliver_all(a, sent(b));
  EXPECT_EQ(statistics(b).acks_out, 1u);
  EXPECT_TRUE(links[a]->idle());
  EXPECT_TRUE(links[b]->idle());
}

TEST_F(a_link, acknowledges_at_once_when_asked) {
  push(a, "question");
  deliver_all(b, sent(a));
  links[b]->request_ack_now();
  EXPECT_EQ(sent(b).size(), 1u);
}

TEST_F(a_link, acknowledges_every_second_full_packet_at_once) {
  const std::string full(links[a]->room_in_packet(lane::request), 'x');
  push(a, full);
  push(a, full);
  const auto all = sent(a);
  ASSERT_EQ(all.size(), 2u);
  deliver(b, all[0]);
  EXPECT_TRUE(sent(b).empty());
  deliver(b, all[1]);
  EXPECT_EQ(sent(b).size(), 1u);
}

TEST_F(a_link, is_idle_when_everything_is_acknowledged) {
  EXPECT_TRUE(links[a]->idle());
  push(a, "x");
  EXPECT_FALSE(links[a]->idle());
  talk_for(millisecond);
  EXPECT_TRUE(links[a]->idle());
  EXPECT_EQ(links[a]->deadline(), never) << "an idle link has no timers";
}

// --- loss -------------------------------------------------------------------------------------------------------------------------

TEST_F(a_link, sends_again_what_three_later_packets_overtook) {
  warm_up();
  std::deque<datagram> all;
  for (int i = 0; i < 5; ++i) {
    push(a, std::to_string(i));
    for (auto& d : sent(a)) all.push_back(d);
  }
  ASSERT_EQ(all.size(), 5u);
  for (std::size_t i = 1; i < 4; ++i) {
    EXPECT_TRUE(take(b).empty());
    deliver(b, all[i]);  // the first is lost
  }
  now += 10 * microsecond;
  deliver_all(a, sent(b));
  const auto again = sent(a);
  ASSERT_EQ(again.size(), 1u) << "only what was lost";
  EXPECT_EQ(header_of(again[0]).sequence, header_of(all[0]).sequence);
  deliver_all(b, again);
  deliver(b, all[4]);
  EXPECT_EQ(take(b), (strings{"0", "1", "2", "3", "4"}));
  EXPECT_EQ(statistics(a).losses_seen, 1u);
  EXPECT_EQ(statistics(a).timeouts, 0u);
}

TEST_F(a_link, sends_the_last_packet_again_early) {
  warm_up();
  push(a, "lost");
  const nanoseconds start = now;
  sent(a);
  now = links[a]->deadline();
  EXPECT_LT(now - start, options.min_retry);
  deliver_all(b, sent(a));
  EXPECT_EQ(take(b), strings{"lost"});
  EXPECT_EQ(statistics(a).tail_probes, 1u);
}

TEST_F(a_link, recovers_a_burst_that_was_lost_as_a_whole_at_once) {
  warm_up();
  for (int i = 0; i < 100; ++i) {
    push(a, std::to_string(i));
    sent(a);
  }
  now = links[a]->deadline();
  talk();
  EXPECT_EQ(take(b).size(), 100u) << "the last packet, sent again, shows that all before it were lost";
  EXPECT_EQ(statistics(a).tail_probes, 1u);
  EXPECT_EQ(statistics(a).timeouts, 0u);
}

TEST_F(a_link, retries_with_growing_patience) {
  push(a, "lost");
  sent(a);
  nanoseconds last = 0;
  for (int i = 0; i < 6; ++i) {
    const nanoseconds wait = links[a]->deadline() - now;
    EXPECT_GE(wait, std::min(2 * last, options.max_retry));
    last = wait;
    now += wait;
    EXPECT_EQ(sent(a).size(), 1u);
  }
  EXPECT_EQ(statistics(a).timeouts, 6u);
  EXPECT_LE(last, options.max_retry);
}

TEST_F(a_link, does_not_flood_a_peer_that_does_not_answer) {
  const std::string full(links[a]->room_in_packet(lane::request), 'x');
  warm_up();
  for (int i = 0; i < 500; ++i) push(a, full);
  EXPECT_GT(sent(a).size(), 100u);
  std::size_t retried = 0;
  for (int i = 0; i < 12; ++i) {
    now = links[a]->deadline();
    retried = sent(a).size();
  }
  EXPECT_EQ(retried, 2u) << "the window has shrunk to its floor";
  talk_for(second);
  EXPECT_EQ(take(b).size(), 500u);
}

TEST_F(a_link, measures_a_path_that_is_slower_than_its_first_guess) {
  options.max_retry = 300 * millisecond;
  connect();
  std::uint64_t repeats = 0;
  for (int i = 0; i < 10; ++i) {
    push(a, "x");
    const nanoseconds arrives = now + 80 * millisecond;
    std::deque<datagram> first = sent(a);
    while (links[a]->deadline() < arrives) {
      now = links[a]->deadline();
      sent(a);
    }
    now = arrives;
    deliver_all(b, first);
    links[b]->request_ack_now();
    deliver_all(a, sent(b));
    take(b);
    if (i == 4) repeats = statistics(a).retransmitted;
  }
  EXPECT_EQ(statistics(a).retransmitted, repeats) << "the timer has learnt how slow the path is";
}

TEST_F(a_link, shrinks_its_window_when_a_good_part_of_it_is_lost) {
  const std::string full(links[a]->room_in_packet(lane::request), 'x');
  warm_up();
  const auto burst = [&] {
    while (links[a]->room(lane::request, full.size())) push(a, full);
    return sent(a);
  };
  const auto every_third = [&](const std::deque<datagram>& all) {  // the path drops two thirds, as an overrun socket does
    for (std::size_t i = 0; i < all.size(); i += 3) {
      deliver(b, all[i]);
      take(b);
    }
  };
  const std::size_t first = burst().size();
  ASSERT_GT(first, 500u);
  std::size_t largest = first;
  for (int i = 0; i < 50; ++i) {
    const auto all = burst();
    largest = all.size();
    every_third(all);
    now += 100 * microsecond;
    deliver_all(a, sent(b));
    now = std::max(now, std::min(links[a]->deadline(), now + millisecond));
  }
  EXPECT_LT(largest, first / 4);
}

TEST_F(a_link, delivers_a_repeated_datagram_once) {
  push(a, "once");
  const auto all = sent(a);
  EXPECT_EQ(deliver(b, all[0]), verdict::data);
  EXPECT_EQ(deliver(b, all[0]), verdict::duplicate);
  EXPECT_EQ(take(b), strings{"once"});
  EXPECT_EQ(deliver(b, all[0]), verdict::duplicate);
  EXPECT_TRUE(take(b).empty());
  EXPECT_EQ(statistics(b).duplicates, 2u);
}

TEST_F(a_link, reports_hundreds_of_packets_accepted_out_of_order) {
  warm_up();
  std::deque<datagram> all;
  for (int i = 0; i < 300; ++i) {
    push(a, std::to_string(i));
    for (auto& d : sent(a)) all.push_back(d);
  }
  ASSERT_EQ(all.size(), 300u);
  all.pop_front();
  deliver_all(b, all);
  now += 10 * microsecond;
  const auto acks = sent(b);
  ASSERT_EQ(acks.size(), 1u);
  deliver_all(a, acks);
  EXPECT_EQ(sent(a).size(), 1u) << "one packet is missing, and one only";
}

// --- flow control -----------------------------------------------------------------------------------------------------------------

TEST_F(a_link, passes_replies_while_nobody_takes_requests) {
  const std::string record(1000, 'x');
  for (int round = 0; round < 20; ++round) {
    while (links[a]->room(lane::request, record.size())) push(a, record);
    talk_for(millisecond);
  }
  EXPECT_LE(links[b]->receive_bytes_held(lane::request), options.receive_buffer_bytes[0]);
  const auto out = statistics(a).packets_out;
  push(a, "reply", lane::reply);
  talk();
  EXPECT_EQ(take(b, lane::reply), strings{"reply"});
  EXPECT_EQ(statistics(a).packets_out, out + 1) << "requests have stopped: there is no credit";
  const auto taken = take(b).size();
  talk_for(millisecond);
  EXPECT_EQ(take(b).size() + taken, statistics(a).records_out[0]) << "and go on when somebody takes them";
}

TEST_F(a_link, has_no_more_packets_under_way_than_acknowledgements_can_describe) {
  warm_up();
  const std::string record(750, 'x');  // more than half a packet: it does not wait for more to fill it
  std::size_t under_way = 0;
  for (std::size_t i = 0; i < most_ahead + most_ahead / 2; ++i) {
    push(a, record);
    under_way += sent(a).size();
  }
  EXPECT_EQ(under_way, most_ahead);
  talk_for(10 * millisecond);
  EXPECT_EQ(take(b).size(), most_ahead + most_ahead / 2);
}

TEST_F(a_link, fills_its_packets_when_much_is_under_way) {
  warm_up();
  const std::string long_record(1200, 'x'), short_record(100, 'y');
  std::size_t under_way = 0;
  for (unsigned i = 0; i < 200; ++i) {
    push(a, long_record);
    under_way += sent(a).size();
  }
  EXPECT_EQ(under_way, 200u);
  for (unsigned i = 0; i < 5; ++i) {
    push(a, short_record);
    EXPECT_EQ(sent(a).size(), 0u) << "a short packet waits";
  }
  push(a, long_record);
  EXPECT_EQ(sent(a).size(), 2u) << "until a record does not fit any more, which is long enough to go by itself";
  push(a, short_record);
  EXPECT_EQ(sent(a).size(), 0u);
  talk_for(10 * millisecond);  // what was sent above was lost
  EXPECT_EQ(take(b).size(), 207u) << "acknowledgements let go of the last";
}

TEST_F(a_link, holds_nothing_back_when_nothing_will_follow) {
  warm_up();
  const std::string long_record(1200, 'x'), short_record(100, 'y');
  for (unsigned i = 0; i < 200; ++i) {
    push(a, long_record);
    sent(a);
  }
  push(a, short_record);
  EXPECT_EQ(sent(a).size(), 0u);
  EXPECT_TRUE(links[a]->holds_back());
  links[a]->hurry();
  EXPECT_LE(links[a]->deadline(), now);
  EXPECT_EQ(sent(a).size(), 1u) << "what was held back goes";
  EXPECT_FALSE(links[a]->holds_back());
  push(a, short_record);
  EXPECT_EQ(sent(a).size(), 0u) << "what comes later waits again";
}

TEST_F(a_link, says_where_in_its_packet_a_record_will_begin) {
  EXPECT_EQ(links[a]->record_offset(lane::request, 100), chunk_head_bytes);
  push(a, std::string(100, 'x'));
  EXPECT_EQ(links[a]->record_offset(lane::request, 50), 100 + 2 * chunk_head_bytes);
  EXPECT_EQ(links[a]->record_offset(lane::request, options.datagram_bytes - header_bytes - 100), chunk_head_bytes)
      << "what does not fit begins a packet";
  EXPECT_EQ(links[a]->record_offset(lane::reply, 50), chunk_head_bytes);
}

TEST_F(a_link, asks_for_credit_when_the_news_of_it_was_lost) {
  const std::string record(1000, 'x');
  for (int round = 0; round < 20; ++round) {
    while (links[a]->room(lane::request, record.size())) push(a, record);
    talk_for(millisecond);
  }
  take(b);
  EXPECT_EQ(sent(b).size(), 1u) << "the news, which is lost";
  const auto before = statistics(a).packets_out;
  talk_for(options.max_retry);
  EXPECT_GT(statistics(a).packets_out, before);
  EXPECT_GT(statistics(a).probes_out, 0u);
}

// --- rounds -----------------------------------------------------------------------------------------------------------------------

class rounds : public link_fixture {
 protected:
  rounds() {
    warm_up();
    for (int i = 0; i < 3; ++i) {
      push(a, std::to_string(i));
      for (auto& d : sent(a)) all.push_back(d);
    }
    deliver(b, all[1]);
    deliver(b, all[2]);
    now += 10 * microsecond;
    sack = sent(b).front();
  }

  std::deque<datagram> all;
  datagram sack;  // accepts the second and the third packet
};

TEST_F(rounds, what_was_given_up_is_sent_again) {
  deliver(a, sack);
  links[b]->discard(lane::request);
  EXPECT_EQ(links[b]->receive_bytes_held(lane::request), 0u);
  const auto announcement = sent(b);
  ASSERT_EQ(announcement.size(), 1u);
  EXPECT_EQ(header_of(announcement[0]).kind, datagram_kind::round);
  deliver_all(a, announcement);
  const auto again = sent(a);
  EXPECT_EQ(again.size(), 3u);
  deliver_all(b, again);
  EXPECT_EQ(take(b), (strings{"0", "1", "2"}));
  EXPECT_EQ(statistics(b).rounds_announced, 1u);
  EXPECT_EQ(statistics(a).rounds_followed, 1u);
}

TEST_F(rounds, packets_of_an_earlier_round_are_dropped_and_counted) {
  links[b]->discard(lane::request);
  EXPECT_EQ(deliver(b, all[0]), verdict::stale_round);
  EXPECT_TRUE(take(b).empty());
  EXPECT_EQ(statistics(b).stale_rounds, 1u);
  deliver_all(a, sent(b));
  talk_for(10 * millisecond);
  EXPECT_EQ(take(b), (strings{"0", "1", "2"}));
}

TEST_F(rounds, acceptance_in_an_earlier_round_counts_for_nothing) {
  links[b]->discard(lane::request);
  deliver_all(a, sent(b));
  deliver(a, sack);  // was held up on the way, and reports what has been given up since
  EXPECT_EQ(sent(a).size(), 3u);
}

TEST_F(rounds, what_was_accepted_for_good_is_never_given_up) {
  deliver(b, all[0]);
  links[b]->discard(lane::request);
  EXPECT_EQ(statistics(b).rounds_announced, 0u);
  EXPECT_EQ(take(b), (strings{"0", "1", "2"}));
}

TEST_F(rounds, a_lost_announcement_is_repeated_by_the_next_acknowledgement) {
  links[b]->discard(lane::request);
  sent(b);
  deliver(b, all[0]);
  deliver_all(a, sent(b));
  EXPECT_EQ(statistics(a).rounds_followed, 1u);
}

TEST_F(rounds, pressure_gives_up_what_is_out_of_order_for_what_is_in_order) {
  options.receive_buffer_bytes[0] = least_buffer_bytes;
  options.credit_bytes[0] = 4 * least_buffer_bytes;
  connect();
  warm_up();
  const std::string record(links[a]->room_in_packet(lane::request), 'x');
  std::deque<datagram> many;
  for (int i = 0; i < 300; ++i) {
    push(a, record);
    for (auto& d : sent(a)) many.push_back(d);
  }
  ASSERT_GT(many.size(), 200u);
  for (std::size_t i = 60; i < many.size(); ++i) deliver(b, many[i]);
  EXPECT_GT(statistics(b).refused, 0u);
  for (std::size_t i = 0; i < 60; ++i) deliver(b, many[i]);
  EXPECT_LE(links[b]->receive_bytes_held(lane::request), least_buffer_bytes);
  EXPECT_EQ(statistics(b).rounds_announced, 1u);
  std::size_t got = take(b).size();
  for (int i = 0; i < 100; ++i) {
    talk_for(millisecond);
    got += take(b).size();
  }
  EXPECT_EQ(got, 300u);
}

// --- the peer's end ---------------------------------------------------------------------------------------------------------------

TEST_F(a_link, ends_when_the_peer_has_restarted) {
  push(a, "to the former b");
  talk_for(millisecond);
  take(b);
  links[b] = fresh(b, 99);
  push(b, "from the new b");
  push(a, "to the former b, too");
  talk_for(100 * millisecond);
  EXPECT_TRUE(take(a).empty());
  EXPECT_TRUE(take(b).empty());
  EXPECT_EQ(links[a]->why(now), end_cause::peer_restarted);
  EXPECT_TRUE(links[a]->dead(now));
  EXPECT_TRUE(sent(a).empty());
}

TEST_F(a_link, is_not_ended_by_what_a_former_peer_sent_long_ago) {
  push(b, "from the former b");
  const auto old = sent(b);
  links[b] = fresh(b, 99);
  push(b, "from b");
  talk_for(millisecond);
  EXPECT_EQ(take(a), strings{"from b"});
  EXPECT_EQ(deliver(a, old[0]), verdict::wrong_incarnation);
  EXPECT_FALSE(links[a]->dead(now));
  push(b, "still here");
  talk_for(millisecond);
  EXPECT_EQ(take(a), strings{"still here"});
}

TEST_F(a_link, ends_when_the_peer_knows_of_packets_that_were_never_sent) {
  push(a, "x");
  auto d = sent(a).front();
  deliver(b, d);
  auto h = header_of(d);
  std::swap(h.source, h.destination);
  h.source_incarnation = links[b]->incarnation();
  h.destination_incarnation = 0;
  h.acks[0].next = 2;
  header_buffer sealed;
  format(h, bytes(d).subspan(header_bytes), sealer, sealed);
  std::copy(sealed.begin(), sealed.end(), d.begin());
  EXPECT_EQ(deliver(a, d), verdict::ended);
  EXPECT_EQ(links[a]->why(now), end_cause::peer_restarted);
}

TEST_F(a_link, ends_when_the_peer_is_silent) {
  push(a, "anybody there?");
  const nanoseconds start = now;
  while (!links[a]->dead(now) && now < start + 60 * second) {
    sent(a);
    now = links[a]->deadline();
  }
  EXPECT_EQ(links[a]->why(now), end_cause::silent);
  EXPECT_GE(now - start, options.dead_after);
  EXPECT_LT(now - start, options.dead_after + second);
}

TEST_F(a_link, does_not_give_up_because_this_process_was_held_up) {
  push(a, "x");
  sent(a);
  now += 10 * options.dead_after;
  EXPECT_FALSE(links[a]->dead(now)) << "nothing was asked meanwhile";
  talk_for(10 * millisecond);
  EXPECT_FALSE(links[a]->dead(now));
  EXPECT_EQ(take(b), strings{"x"});
}

TEST_F(a_link, says_nothing_to_an_idle_peer_unless_asked_to) {
  warm_up();
  talk_for(10 * second);
  EXPECT_EQ(statistics(a).probes_out, 0u);
  EXPECT_FALSE(links[a]->dead(now));
}

TEST_F(a_link, notices_that_a_probed_peer_was_cut_off) {
  warm_up();
  links[a]->keep_probing(true);
  talk_for(10 * second);
  EXPECT_GT(statistics(a).probes_out, 15u);
  EXPECT_FALSE(links[a]->dead(now));
  const nanoseconds cut = now;
  while (!links[a]->dead(now) && now < cut + 60 * second) {
    sent(a);
    now = links[a]->deadline();
  }
  EXPECT_EQ(links[a]->why(now), end_cause::silent);
  EXPECT_LT(now - cut, options.dead_after + 2 * second);
}

TEST_F(a_link, ends_when_the_peer_sends_records_that_make_no_sense) {
  push(a, "x");
  auto d = sent(a).front();
  d[header_bytes + 3] = std::byte{0};  // neither first nor last chunk of anything
  header_buffer sealed;
  format(header_of(d), bytes(d).subspan(header_bytes), sealer, sealed);
  std::copy(sealed.begin(), sealed.end(), d.begin());
  deliver(b, d);
  EXPECT_FALSE(links[b]->front(lane::request));
  EXPECT_EQ(links[b]->why(now), end_cause::peer_broken);
}

// --- rejection --------------------------------------------------------------------------------------------------------------------

TEST_F(a_link, counts_what_it_rejects_by_cause) {
  push(a, "x");
  const auto good = sent(a).front();
  const auto count = [&](verdict v) { return statistics(b).rejected[static_cast<std::size_t>(v)]; };
  auto bad = good;
  bad.back() ^= std::byte{1};
  EXPECT_EQ(deliver(b, bad), verdict::bad_tag);
  EXPECT_EQ(deliver(b, datagram(good.begin(), good.begin() + 10)), verdict::too_short);
  bad = good;
  bad[8] ^= std::byte{1};
  EXPECT_EQ(deliver(b, bad), verdict::wrong_group);
  EXPECT_EQ(deliver(a, good), verdict::wrong_destination);
  EXPECT_EQ(count(verdict::bad_tag), 1u);
  EXPECT_EQ(count(verdict::too_short), 1u);
  EXPECT_EQ(count(verdict::wrong_group), 1u);
  EXPECT_EQ(statistics(b).all_rejected(), 3u);
  EXPECT_EQ(statistics(b).datagrams_in, 0u);
  EXPECT_EQ(deliver(b, good), verdict::data);
}

// --- the path's MTU ---------------------------------------------------------------------------------------------------------------

TEST_F(a_link, sends_in_pieces_what_was_packed_for_a_wider_path) {
  options.datagram_bytes = 60000;
  connect();
  warm_up();
  std::string text(50000, ' ');
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i * 31);
  push(a, text);
  EXPECT_EQ(sent(a).size(), 1u);  // lost: it was too large
  links[a]->change_datagram_bytes(1472);
  push(a, "small");
  auto pieces = sent(a);
  ASSERT_GT(pieces.size(), 30u);
  for (const auto& d : pieces) EXPECT_LE(d.size(), 1472u);
  std::swap(pieces[3], pieces[7]);
  const auto missing = pieces[5];
  pieces.erase(pieces.begin() + 5);
  deliver_all(b, pieces);
  EXPECT_TRUE(take(b).empty());
  deliver(b, missing);
  EXPECT_EQ(take(b), (strings{text, "small"}));
}

TEST_F(a_link, takes_pieces_of_different_sizes_for_one_packet) {
  options.datagram_bytes = 60000;
  connect();
  warm_up();
  const std::string text(40000, 'z');
  push(a, text);
  sent(a);
  links[a]->change_datagram_bytes(9000);
  auto large = sent(a);
  links[a]->change_datagram_bytes(1472);
  auto small = sent(a);
  deliver(b, large[0]);
  for (std::size_t i = 5; i < small.size(); ++i) deliver(b, small[i]);
  EXPECT_EQ(take(b), strings{text});
}

}  // namespace
}  // namespace weft::reliable
