// The header: what is written is read again, and nothing else is accepted.
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "base/bytes.h"
#include "reliable/wire.h"

namespace weft::reliable {
namespace {

class wire : public testing::Test {
 protected:
  static header sample() {
    header h;
    h.group = 0x1122334455667788;
    h.kind = datagram_kind::data;
    h.lane = lane::reply;
    h.source = 3;
    h.destination = 9;
    h.source_incarnation = 0xabcdef01;
    h.destination_incarnation = 0x12345678;
    h.sequence = 0x0102030405060708;
    h.round = 77;
    h.acks[0] = {1, 2, 3, 4};
    h.acks[1] = {5, 6, 7, 8};
    return h;
  }

  std::vector<std::byte> datagram(header h, std::size_t payload_size) const {
    std::vector<std::byte> payload(payload_size, std::byte{0x42});
    h.payload_bytes = h.packet_bytes = static_cast<std::uint16_t>(payload_size);
    if (h.kind != datagram_kind::data) h.packet_bytes = 0;
    return sealed(h, payload);
  }

  std::vector<std::byte> sealed(const header& h, bytes payload) const {
    header_buffer head;
    format(h, payload, sealer_, head);
    base::writer whole;
    whole.put(head).put_bytes(payload);
    return whole.take();
  }

  verdict judge(bytes d) { return check(d, expected_, sealer_, read_, payload_); }

  seal sealer_{seal::key{}};
  addressing expected_{0x1122334455667788, 9, 3};
  header read_;
  bytes payload_;
};

TEST_F(wire, what_is_written_is_read_again) {
  for (const std::size_t size : {1, 8, 256, 257, 1376, 65411}) {
    const auto d = datagram(sample(), size);
    ASSERT_EQ(judge(d), verdict::control);
    EXPECT_EQ(payload_.size(), size);
    header again = sample();
    again.payload_bytes = again.packet_bytes = static_cast<std::uint16_t>(size);
    again.tag = read_.tag;
    EXPECT_EQ(std::memcmp(&again, &read_, sizeof again), 0);
  }
}

TEST_F(wire, every_field_is_where_the_documentation_says) {
  const auto d = datagram(sample(), 16);
  EXPECT_EQ(base::load<std::uint64_t>(&d[8]), 0x1122334455667788u);
  EXPECT_EQ(d[16], std::byte{wire_version});
  EXPECT_EQ(d[17], std::byte{0});
  EXPECT_EQ(d[18], std::byte{1});
  EXPECT_EQ(base::load<std::uint16_t>(&d[20]), 3);
  EXPECT_EQ(base::load<std::uint16_t>(&d[22]), 9);
  EXPECT_EQ(base::load<std::uint64_t>(&d[32]), 0x0102030405060708u);
  EXPECT_EQ(base::load<std::uint32_t>(&d[40]), 77u);
  EXPECT_EQ(base::load<std::uint16_t>(&d[44]), 16);
  EXPECT_EQ(base::load<std::uint64_t>(&d[48]), 1u);
  EXPECT_EQ(base::load<std::uint32_t>(&d[92]), 8u);
}

TEST_F(wire, every_truncation_is_rejected) {
  for (const std::size_t size : {1, 100, 300, 5000}) {
    const auto d = datagram(sample(), size);
    for (std::size_t cut = 0; cut < d.size(); ++cut) ASSERT_TRUE(rejected(judge(bytes(d).first(cut)))) << cut << " of " << d.size();
  }
}

TEST_F(wire, a_datagram_with_zeros_appended_is_rejected) {
  auto d = datagram(sample(), 300);
  d.resize(d.size() + 20);
  EXPECT_EQ(judge(d), verdict::wrong_length);
  base::store(&d[44], std::uint16_t{320});  // the adversary corrects the length, but not the tag
  base::store(&d[46], std::uint16_t{320});
  EXPECT_EQ(judge(d), verdict::bad_tag);
}

TEST_F(wire, every_flipped_bit_is_rejected) {
  for (const std::size_t size : {1, 256, 700}) {
    auto d = datagram(sample(), size);
    for (std::size_t bit = 0; bit < d.size() * 8; ++bit) {
      d[bit / 8] ^= std::byte{1} << bit % 8;
      ASSERT_TRUE(rejected(judge(d))) << "bit " << bit;
      d[bit / 8] ^= std::byte{1} << bit % 8;
    }
  }
}

TEST_F(wire, each_cause_has_its_own_verdict) {
  EXPECT_EQ(judge({}), verdict::too_short);
  header h = sample();
  h.version = 2;
  EXPECT_EQ(judge(datagram(h, 8)), verdict::wrong_version);
  h = sample();
  h.group = 1;
  EXPECT_EQ(judge(datagram(h, 8)), verdict::wrong_group);
  h = sample();
  h.destination = 8;
  EXPECT_EQ(judge(datagram(h, 8)), verdict::wrong_destination);
  h = sample();
  h.source = 4;
  EXPECT_EQ(judge(datagram(h, 8)), verdict::wrong_source);
  auto d = datagram(sample(), 8);
  d[0] ^= std::byte{1};
  EXPECT_EQ(judge(d), verdict::bad_tag);
}

TEST_F(wire, a_valid_tag_does_not_excuse_nonsense) {
  const auto nonsense = [&](auto change) {
    header h = sample();
    std::vector<std::byte> payload(512);
    h.payload_bytes = 512;
    h.packet_bytes = 1300;
    change(h);
    payload.resize(h.payload_bytes);
    return judge(sealed(h, payload));
  };
  EXPECT_EQ(nonsense([](header&) {}), verdict::control) << "a piece in the middle is fine";
  EXPECT_EQ(nonsense([](header& h) { h.kind = static_cast<datagram_kind>(5); }), verdict::malformed);
  EXPECT_EQ(nonsense([](header& h) { h.lane = static_cast<lane>(2); }), verdict::malformed);
  EXPECT_EQ(nonsense([](header& h) { h.source_incarnation = 0; }), verdict::malformed);
  EXPECT_EQ(nonsense([](header& h) { h.piece = 2; }), verdict::malformed) << "beyond the packet's end";
  EXPECT_EQ(nonsense([](header& h) { h.payload_bytes = 500; }), verdict::malformed) << "neither whole units nor the last piece";
  EXPECT_EQ(nonsense([](header& h) { h.payload_bytes = 0; }), verdict::malformed);
  EXPECT_EQ(nonsense([](header& h) { h.kind = datagram_kind::ack; }), verdict::malformed) << "an acknowledgement has no number";
}

TEST_F(wire, the_claimed_source_is_read_without_believing_it) {
  EXPECT_EQ(claimed_source(datagram(sample(), 8)), 3u);
  EXPECT_EQ(claimed_source({}), std::nullopt);
}

}  // namespace
}  // namespace weft::reliable
