// The trace's document: clocks that differ and drift are put right, and what is too much is left out from the front.
#include <gtest/gtest.h>

#include <string>

#include "dsm/own_handlers.h"
#include "insight/trace_document.h"

namespace weft::runtime {
namespace {

using observe::trace;
using observe::trace_kind;

TEST(clock_difference, lies_on_a_line_between_two_measurements) {
  const clock_difference d{1000, 50, 2000, 150};
  EXPECT_EQ(d.corrected(1000), 1050);
  EXPECT_EQ(d.corrected(1500), 1600);
  EXPECT_EQ(d.corrected(2000), 2150);
  EXPECT_EQ(clock_difference{}.corrected(7), 7);
}

std::string document(const std::vector<base::byte_buffer>& nodes) {
  std::string all;
  write_trace(nodes, [&](const std::string& piece) { all += piece; });
  return all;
}

TEST(trace_document, has_the_events_of_all_nodes_on_one_line_of_time) {
  const trace::thread here{0, 0, 0, {{5000, 1000, 12, 4096, 1, trace_kind::fetch}}};
  const trace::thread there{2, -1, 0, {{1'006'000, 500, dsm::page_request, 24, 0, trace_kind::handle}}};
  const auto text = document({encode_trace({here}, {}, 10000), encode_trace({there}, {1, -1'000'000, 1, -1'000'000}, 10000)});
  EXPECT_NE(text.find("\"name\":\"fetch\",\"cat\":\"fault\",\"ph\":\"X\",\"pid\":0,\"tid\":0,\"ts\":0.000,\"dur\":1.000"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("\"name\":\"handle page_request\",\"cat\":\"message\",\"ph\":\"X\",\"pid\":1,\"tid\":2,\"ts\":1.000"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("communication thread"), std::string::npos);
}

TEST(trace_document, leaves_out_the_oldest_events_where_there_is_no_room) {
  trace::thread t{0, 0, 0, {}};
  for (std::uint64_t i = 0; i < 1000; ++i)
    t.events.push_back({static_cast<base::nanoseconds>(i), 1, i, 0, trace::nowhere, trace_kind::read_fault});
  const auto bytes = encode_trace({t}, {}, 8000);
  EXPECT_LE(bytes.size(), 8000u);
  const auto text = document({bytes});
  EXPECT_NE(text.find("\"page\":999}"), std::string::npos);
  EXPECT_EQ(text.find("\"page\":10}"), std::string::npos);
  EXPECT_NE(text.find("earlier events were not kept"), std::string::npos);
}

}  // namespace
}  // namespace weft::runtime
