// The control messages: what is written is what is read, and what is garbage is refused.
#include <gtest/gtest.h>

#include "base/random.h"
#include "join/control.h"

namespace weft::control {
namespace {

base::byte_buffer bytes(std::string_view text) {
  const auto view = base::bytes_of(text);
  return {view.begin(), view.end()};
}

std::vector<message> one_of_each() {
  start_job job;
  job.nodes = 3;
  job.group = 0x0123456789abcdef;
  job.key.fill(std::byte{7});
  job.host_of = {0, 0, 1};
  job.options = {{"fabric", "udp"}, {"port", "20000"}};
  job.arguments = {"./prog", "", "a b"};
  job.directory = "/here";
  job.environment = {"A=1", "B="};
  welcome w;
  w.self = 2;
  w.host_of = {0, 0, 1};
  w.options = job.options;
  return {job,
          input{bytes("typed")},
          output_credit{9},
          admit{1},
          refuse{1, "no"},
          end_job{1},
          ready{"0.1.0"},
          started{2, 4711},
          not_started{2, 127, "not there"},
          output{1, 2, bytes("line\n")},
          input_credit{5},
          exited{1, -1},
          finished{},
          hello{1, "0.1.0", "abc"},
          card{1, 2, bytes("card")},
          leave{1},
          report{0, 1, "is silent"},
          ask_missing{0, 3},
          gathered{2, {bytes("a"), {}, bytes("ccc")}},
          notice{1, "was killed"},
          missing{0, 3, {1, 2}},
          w,
          heartbeat{0},
          give_up{1, "no way"},
          roll_call{7},
          presence{1, 7, 99, 3, {{0, 1, 0x40, 2, 5'000'000, 3, "mutex", "prog+0x10"}, {}}, {0x40, 0x80}},
          ask_roll_call{1},
          document{0, "{}"},
          trace_part{0, "[]"},
          ask_sample{3},
          sample{1, 2, 3, bytes("presence"), "{}"}};
}

base::byte_view without_length(const base::byte_buffer& frame) {
  return base::byte_view(frame).subspan(header_bytes);
}

TEST(control, every_message_survives_the_way_there) {
  const auto all = one_of_each();
  ASSERT_EQ(all.size(), std::variant_size_v<message>);
  for (std::size_t kind = 0; kind < all.size(); ++kind) {
    ASSERT_EQ(all[kind].index(), kind);
    const auto frame = encode(all[kind]);
    ASSERT_EQ(base::load<std::uint32_t>(frame.data()), frame.size() - header_bytes);
    const auto back = decode(without_length(frame));
    ASSERT_TRUE(back) << "kind " << kind;
    EXPECT_EQ(back->index(), kind);
    EXPECT_EQ(encode(*back), frame) << "kind " << kind;
  }
}

TEST(control, fields_arrive_as_they_were) {
  const auto m = decode(without_length(encode(not_started{2, 127, "not there"})));
  const auto& back = std::get<not_started>(*m);
  EXPECT_EQ(back.node, 2u);
  EXPECT_EQ(back.exit_status, 127);
  EXPECT_EQ(back.reason, "not there");
}

TEST(control, a_message_that_is_cut_short_or_too_long_is_refused) {
  for (const auto& m : one_of_each()) {
    auto frame = encode(m);
    for (std::size_t cut = header_bytes; cut < frame.size(); ++cut)
      EXPECT_FALSE(decode(base::byte_view(frame).subspan(header_bytes, cut - header_bytes)));
    frame.push_back(std::byte{0});
    EXPECT_FALSE(decode(without_length(frame)));
  }
}

TEST(control, an_unknown_kind_is_refused) {
  const base::byte_buffer unknown{std::byte{200}, std::byte{0}, std::byte{0}, std::byte{0}, std::byte{0}};
  EXPECT_FALSE(decode(unknown));
  EXPECT_FALSE(decode({}));
}

TEST(control, a_list_that_claims_more_than_there_is_costs_no_memory) {
  base::writer out;
  out.put(static_cast<std::uint8_t>(message(gathered{}).index())).put(std::uint32_t{1}).put(std::uint32_t{0xffffffff});
  EXPECT_FALSE(decode(out.view()));
}

TEST(control, options_out_of_order_are_refused) {
  base::writer out;
  out.put(static_cast<std::uint8_t>(message(welcome{}).index()));
  for (int i = 0; i < 4; ++i) out.put(std::uint32_t{0});
  out.put(std::uint64_t{0}).put(std::array<std::byte, 16>{}).put(std::uint32_t{0});
  out.put(std::uint32_t{2}).put_text("b").put_text("1").put_text("a").put_text("2");
  EXPECT_FALSE(decode(out.view()));
}

TEST(control, a_message_beyond_the_bound_is_not_written) {
  EXPECT_TRUE(encode(input{base::byte_buffer(most_bytes)}).empty());
  EXPECT_FALSE(encode(input{base::byte_buffer(most_bytes - 16)}).empty());
}

TEST(control, a_stream_comes_apart_wherever_it_was_cut) {
  base::byte_buffer stream;
  const auto all = one_of_each();
  for (const auto& m : all) {
    const auto frame = encode(m);
    stream.insert(stream.end(), frame.begin(), frame.end());
  }
  base::random random(1);
  for (int attempt = 0; attempt < 200; ++attempt) {
    parser p;
    std::size_t got = 0, at = 0;
    while (at < stream.size()) {
      const auto piece = std::min<std::size_t>(random.between(1, attempt % 2 == 0 ? 7 : 700), stream.size() - at);
      p.feed(base::byte_view(stream).subspan(at, piece));
      at += piece;
      while (const auto m = p.next()) ASSERT_EQ(encode(*m), encode(all[got++]));
    }
    ASSERT_EQ(got, all.size());
    ASSERT_FALSE(p.broken());
  }
}

TEST(control, a_stream_with_an_impossible_length_is_broken_for_good) {
  for (const std::uint32_t length : {0u, static_cast<std::uint32_t>(most_bytes) + 1, 0xffffffffu}) {
    parser p;
    p.feed(base::bytes_of(length));
    EXPECT_FALSE(p.next());
    EXPECT_TRUE(p.broken());
    p.feed(encode(leave{1}));
    EXPECT_FALSE(p.next());
  }
}

}  // namespace
}  // namespace weft::control
