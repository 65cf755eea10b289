// The charts and pages: what is drawn is what was given, and nothing of it can break the page.
#include <gtest/gtest.h>

#include <string>

#include "charts/bars.h"
#include "charts/document.h"
#include "charts/matrix.h"
#include "charts/plot.h"
#include "charts/table.h"

namespace weft::charts {
namespace {

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t n = 0;
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
  return n;
}

TEST(axis, a_linear_one_begins_at_zero_and_ends_at_a_tick) {
  const auto a = axis::around(scale::linear, 3, 47, 0, 100);
  EXPECT_EQ(a.least, 0);
  EXPECT_EQ(a.most, 50);
  EXPECT_EQ(a.ticks().size(), 6u);
  EXPECT_DOUBLE_EQ(a.at(25), 50);
}

TEST(axis, one_of_powers_spaces_them_equally) {
  const auto a = axis::around(scale::powers_of_ten, 0.2, 80, 100, 0);
  EXPECT_DOUBLE_EQ(a.least, 0.1);
  EXPECT_DOUBLE_EQ(a.most, 100);
  EXPECT_NEAR(a.at(1), 100.0 * 2 / 3, 1e-9);
}

TEST(axis, of_nothing_has_a_length_all_the_same) {
  const auto a = axis::around(scale::linear, 0, 0, 0, 100);
  EXPECT_GT(a.most, a.least);
}

TEST(plot, leaves_out_what_an_axis_of_powers_cannot_show) {
  plot p("t", {"x", scale::powers_of_two}, {"y", scale::powers_of_ten});
  p.add({"line", {{0, 1}, {1, -1}, {2, 3}, {4, 5}}});
  EXPECT_EQ(count(p.svg(), "class='hit'"), 2u);
  plot linear("t", {"x"}, {"y"});
  linear.add({"line", {{0, 1}, {1, -1}, {2, 3}, {4, 5}}});
  EXPECT_EQ(count(linear.svg(), "class='hit'"), 4u);
}

TEST(bars, tell_every_part_and_its_share) {
  bars b("t", "seconds", {"compute", "lock"});
  b.add("node 0", {3, 1});
  b.add("node 1", {2, 0});
  const auto svg = b.svg();
  EXPECT_NE(svg.find("node 0: compute 3.00 seconds (75.0% of 4.00)"), std::string::npos);
  EXPECT_NE(svg.find("node 0: lock 1.00 seconds (25.0% of 4.00)"), std::string::npos);
  EXPECT_EQ(svg.find("node 1: lock"), std::string::npos);  // nothing to see
}

TEST(bars, plain_ones_in_groups_are_told_apart_by_colour) {
  bars b("t", "y", {"time"});
  for (const char* program : {"sor", "fft"})
    for (const char* way : {"one", "other"}) b.add(way, {1}, program);
  const auto svg = b.svg();
  EXPECT_EQ(count(svg, ">one<"), 1u) << "in the legend";
  EXPECT_EQ(count(svg, ">sor<"), 1u);
  EXPECT_EQ(count(svg, "'f0'"), 3u) << "two bars and the legend";
  EXPECT_EQ(count(svg, "'f1'"), 3u);
}

TEST(bars, label_only_some_when_there_are_many) {
  bars b("t", "y", {"part"});
  for (int i = 0; i < 1000; ++i) b.add("b" + std::to_string(i), {1});
  EXPECT_LT(count(b.svg(), "</text>"), 40u);
}

TEST(matrix, writes_numbers_where_there_is_room_and_tells_all) {
  matrix few("t", "by node", "from node", 2, matrix::counts::bytes), many("t", "by node", "from node", 64, matrix::counts::bytes);
  few.set(1, 0, 4096);
  many.set(1, 0, 4096);
  EXPECT_EQ(count(few.svg(), "4 KiB"), 2u);
  EXPECT_EQ(count(many.svg(), "4 KiB"), 1u);
  EXPECT_NE(many.svg().find("by node 1 from node 0: 4 KiB"), std::string::npos);
}

TEST(document, needs_nothing_from_outside_and_lets_no_text_become_markup) {
  document d("<script>alert(1)</script>");
  d.heading("a & b");
  d.paragraph("\"<b>\"");
  table t({{"<i>", table::holds::words}});
  t.row({"</table>"});
  d.add(t.html());
  d.fold("<u>", "inside");
  const auto html = d.html();
  EXPECT_EQ(html.find("<script"), std::string::npos);
  EXPECT_EQ(html.find("<b>"), std::string::npos);
  EXPECT_EQ(html.find("<i>"), std::string::npos);
  EXPECT_EQ(html.find("<u>"), std::string::npos);
  EXPECT_EQ(count(html, "</table>"), 1u);
  EXPECT_EQ(html.find("http"), std::string::npos);
  EXPECT_EQ(html.find("src="), std::string::npos);
}

}  // namespace
}  // namespace weft::charts
