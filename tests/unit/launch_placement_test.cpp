// What users say about nodes, hosts and launchers, and the sentences about what makes no sense.
#include <gtest/gtest.h>

#include "join/launch_options.h"
#include "launch/line_buffer.h"
#include "launch/placement.h"
#include "join/words.h"

namespace weft::launch {
namespace {

using words = std::vector<std::string>;

TEST(placement, counts_of_nodes_are_whole_numbers_from_1_to_4096) {
  EXPECT_EQ(*parse_node_count("1"), 1u);
  EXPECT_EQ(*parse_node_count("4096"), 4096u);
  for (const char* wrong : {"0", "-3", "lots", "4097", "1.5", "", " 2", "2 ", "0x10", "99999999999999999999"})
    EXPECT_FALSE(parse_node_count(wrong)) << wrong;
}

TEST(placement, hosts_have_one_slot_unless_they_say_more) {
  const auto hosts = parse_hosts("a,b:2,user@c.example.org,[fe80::1]:3");
  ASSERT_TRUE(hosts) << hosts.sentence();
  EXPECT_EQ(*hosts, (std::vector<host_slots>{{"a", 1}, {"b", 2}, {"user@c.example.org", 1}, {"fe80::1", 3}}));
}

TEST(placement, a_host_named_twice_has_the_slots_of_both) {
  EXPECT_EQ(*parse_hosts("a:2,b,a"), (std::vector<host_slots>{{"a", 3}, {"b", 1}}));
}

TEST(placement, garbage_in_the_list_of_hosts_is_named) {
  for (const char* wrong :
       {"", ",", "a,,b", "a:0", "a:x", "a:", ":2", "a b", "-oProxyCommand=x", "a;b", "a:4097", "a:4000,b:4000", "$(x)"})
    EXPECT_FALSE(parse_hosts(wrong)) << wrong;
  EXPECT_EQ(parse_hosts("a,b:many").sentence(),
            "'b:many' in --hosts does not have a number of slots from 1 to 4096 after the colon; write hosts like a,b:2,c");
}

TEST(placement, hosts_are_filled_in_order_and_then_once_more) {
  const std::vector<host_slots> hosts{{"a", 1}, {"b", 2}, {"c", 1}};
  EXPECT_EQ(place_nodes(4, hosts), (std::vector<std::uint32_t>{0, 1, 1, 2}));
  EXPECT_EQ(place_nodes(2, hosts), (std::vector<std::uint32_t>{0, 1}));
  EXPECT_EQ(place_nodes(7, hosts), (std::vector<std::uint32_t>{0, 1, 1, 2, 0, 1, 1}));
}

TEST(placement, commands_are_split_as_a_shell_would) {
  EXPECT_EQ(*split_words("ssh -p 22  {host}"), (words{"ssh", "-p", "22", "{host}"}));
  EXPECT_EQ(*split_words("sh -c 'a  \"b\"' \"c 'd'\" e\\ f"), (words{"sh", "-c", "a  \"b\"", "c 'd'", "e f"}));
  EXPECT_EQ(*split_words("x '' y"), (words{"x", "", "y"}));
  EXPECT_EQ(*split_words("a'b'c"), (words{"abc"}));
  EXPECT_EQ(*split_words("  "), words{});
  EXPECT_FALSE(split_words("a 'b"));
  EXPECT_FALSE(split_words("a \"b"));
}

TEST(placement, a_launcher_must_say_where_the_host_goes) {
  EXPECT_FALSE(parse_launcher("ssh"));
  EXPECT_FALSE(parse_launcher(""));
  EXPECT_EQ(for_host(*parse_launcher("run --on={host} {host}"), "b{host}"), (words{"run", "--on=b{host}", "b{host}"}));
}

TEST(placement, what_a_shell_would_change_is_quoted) {
  EXPECT_EQ(quote_for_shell("/usr/bin/weft"), "/usr/bin/weft");
  EXPECT_EQ(quote_for_shell("/my programs/weft"), "'/my programs/weft'");
  EXPECT_EQ(quote_for_shell("it's"), "'it'\\''s'");
  EXPECT_EQ(quote_for_shell(""), "''");
}

TEST(launch_options, nonsense_is_refused_in_one_sentence) {
  EXPECT_TRUE(runtime::check_options({{"fabric", "udp"}, {"port", "20000"}, {"stall-after", "5s"}, {"dead-after", "3s"}}, 4, 2));
  EXPECT_TRUE(runtime::check_options({{"port", "65535"}}, 1, 1));
  EXPECT_FALSE(runtime::check_options({{"port", "65535"}}, 2, 1));
  EXPECT_FALSE(runtime::check_options({{"port", "0"}}, 1, 1));
  EXPECT_FALSE(runtime::check_options({{"stall-after", "soon"}}, 1, 1));
  EXPECT_FALSE(runtime::check_options({{"dead-after", "never"}}, 1, 1));
  EXPECT_FALSE(runtime::check_options({{"fabric", ""}}, 1, 1));
  EXPECT_TRUE(runtime::check_options({{"fabric", "shm"}}, 4, 1));
  EXPECT_EQ(runtime::check_options({{"fabric", "shm"}}, 4, 2).sentence(),
            "the fabric shm works inside one host and this job has 2; use --fabric udp or ofi");
}

TEST(launch_options, an_impairment_is_of_udp_and_chooses_it) {
  EXPECT_EQ(runtime::fabric_of({}, 1), "shm");
  EXPECT_EQ(runtime::fabric_of({}, 2), "udp");
  EXPECT_EQ(runtime::fabric_of({{"fabric", "ofi"}}, 2), "ofi");
  EXPECT_EQ(runtime::fabric_of({{"impair", "loss=5%"}}, 1), "udp");
  EXPECT_TRUE(runtime::check_options({{"impair", "loss=5%,dup=1%"}}, 2, 1));
  EXPECT_TRUE(runtime::check_options({{"fabric", "udp"}, {"impair", "delay=1ms"}}, 2, 1));
  EXPECT_FALSE(runtime::check_options({{"impair", "loss"}}, 2, 1));
  EXPECT_FALSE(runtime::check_options({{"fabric", "shm"}, {"impair", "loss=5%"}}, 2, 1));
  EXPECT_FALSE(runtime::check_options({{"fabric", "ofi"}, {"impair", "loss=5%"}}, 2, 2));
  EXPECT_FALSE(runtime::check_options({{"impair", "loss=5%"}, {"protocol", "cashmere:in-place"}}, 2, 1));
}

TEST(line_buffer, lines_come_out_whole) {
  line_buffer b;
  b.add("one\ntw");
  EXPECT_EQ(b.take_lines(), "one\n");
  EXPECT_EQ(b.take_lines(), "");
  b.add("o\nthree\nfo");
  EXPECT_EQ(b.take_lines(), "two\nthree\n");
  EXPECT_EQ(b.take_all(), "fo");
  EXPECT_TRUE(b.empty());
}

TEST(line_buffer, a_line_without_end_comes_out_in_pieces) {
  line_buffer b;
  b.add(std::string(line_buffer::most_bytes - 1, 'x'));
  EXPECT_EQ(b.take_lines(), "");
  b.add("x");
  EXPECT_EQ(b.take_lines().size(), line_buffer::most_bytes);
}

TEST(words, nodes_are_named_as_people_would) {
  EXPECT_EQ(runtime::name_nodes({}), "no node");
  EXPECT_EQ(runtime::name_nodes({3}), "node 3");
  EXPECT_EQ(runtime::name_nodes({1, 3}), "nodes 1 and 3");
  EXPECT_EQ(runtime::name_nodes({1, 3, 4}), "nodes 1, 3 and 4");
  EXPECT_EQ(runtime::name_nodes({0, 1, 2, 3, 4, 5, 6, 7, 8, 9}), "nodes 0, 1, 2, 3, 4, 5, 6, 7 and 2 more");
}

TEST(words, ends_are_described_and_counted_as_a_shell_does) {
  EXPECT_EQ(runtime::describe_end(3 << 8), "exited with status 3");
  EXPECT_EQ(runtime::describe_end(9), "was killed by signal 9 (Killed)");
  EXPECT_EQ(runtime::shell_status(3 << 8), 3);
  EXPECT_EQ(runtime::shell_status(11), 139);
  EXPECT_EQ(runtime::describe_duration(300 * base::millisecond), "300 ms");
  EXPECT_EQ(runtime::describe_duration(1500 * base::millisecond), "1.5 s");
}

}  // namespace
}  // namespace weft::launch
