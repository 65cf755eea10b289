// What the udp fabric does besides what every fabric promises.
#include <array>
#include <atomic>
#include <thread>

#include "base/clock.h"
#include "contract/cluster.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;
using fabric::fabric;

constexpr handler_id h_note = first_user_handler;

// The thread naps after an application thread has driven the port. A message to the node itself rings it then, and nobody rings again.
TEST(udp_port, a_ring_that_ends_a_nap_of_the_communication_thread_is_heard) {
  run_on_nodes({"udp", "", "", 1, {}}, [](fabric& port, meeting&) {
    constexpr std::uint64_t rounds = 200;
    std::atomic<std::uint64_t> handled{0};
    port.on(h_note, [&](const message&) { handled.fetch_add(1); });
    for (std::uint64_t i = 1; i <= rounds; ++i) {
      port.poll();
      const auto start = base::now();
      ASSERT_TRUE(port.send(0, lane::request, h_note, {}, {}).ok());
      const auto patient = [&] { return base::now() - start < 500 * base::millisecond; };
      while (handled.load() != i && patient()) std::this_thread::sleep_for(20us);  // this thread does not drive
      ASSERT_EQ(handled.load(), i) << "the communication thread slept on, for a second";
    }
  });
}

TEST(udp_port, a_long_payload_lies_in_a_cache_line_as_it_does_at_its_source) {
  run_on_nodes({"udp", "", "", 2, {}}, [](fabric& port, meeting& where) {
    constexpr std::size_t line = 64, size = 8192;
    std::atomic<unsigned> arrived{0}, misplaced{0};
    port.on(h_note, [&](const message& m) {
      const auto at = reinterpret_cast<std::uintptr_t>(m.payload.data());
      if (at % line != m.words[0] || m.payload.size() != size) misplaced.fetch_add(1);
      arrived.fetch_add(1);
    });
    where.barrier();
    alignas(line) std::array<std::byte, size + line> source{};
    for (word offset = 0; port.self() == 0 && offset < line; ++offset)
      ASSERT_TRUE(port.send(1, lane::request, h_note, {&offset, 1}, base::byte_view(source).subspan(offset, size)).ok());
    if (port.self() == 1) {
      ASSERT_TRUE(port.wait([&] { return arrived.load() == line; }, 10s).ok());
    }
    EXPECT_EQ(misplaced.load(), 0u);
    where.barrier();
  });
}

}  // namespace
}  // namespace weft::test
