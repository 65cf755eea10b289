// The parts of the simulated machine, each by itself.
#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <string>

#include "sim/machine/breakdown.h"
#include "sim/parts/cache.h"
#include "sim/parts/event_queue.h"
#include "sim/machine/interface.h"
#include "sim/code/machine_code.h"
#include "sim/parts/merge_buffer.h"
#include "sim/parts/packet.h"
#include "sim/machine/network.h"
#include "sim/machine/networks.h"
#include "sim/machine/parameters.h"
#include "sim/parts/resource.h"
#include "sim/machine/settings.h"
#include "sim/parts/tlb.h"
#include "sim/parts/write_buffer.h"

namespace weft::sim {
namespace {

TEST(event_queue, runs_events_by_time_and_equal_ones_in_the_order_they_were_put_in) {
  event_queue q;
  std::string seen;
  q.at(5, [&] { seen += 'c'; });
  q.at(3, [&] {
    seen += 'a';
    q.at(3, [&] { seen += 'b'; });
  });
  q.at(5, [&] { seen += 'd'; });
  while (!q.empty()) q.step();
  EXPECT_EQ(seen, "abcd");
  EXPECT_EQ(q.now(), 5u);
}

TEST(resource, serves_one_at_a_time_in_the_order_of_arrival) {
  resource r;
  EXPECT_EQ(r.serve(10, 5), 15u);
  EXPECT_EQ(r.serve(11, 5), 20u);
  EXPECT_EQ(r.serve(30, 5), 35u);
  EXPECT_EQ(r.requests(), 3u);
  EXPECT_EQ(r.busy(), 15u);
  EXPECT_EQ(r.waited(), 4u);
}

TEST(resource, a_local_request_waits_for_one_remote_request_at_most) {
  resource r;
  for (int i = 0; i < 4; ++i) r.serve(0, 10);
  EXPECT_EQ(r.serve(0, 3, resource::from::here), 13u);
  EXPECT_EQ(r.serve(0, 10), 53u) << "remote ones were put off by the local one";
}

TEST(resource, a_local_request_waits_for_those_before_it) {
  resource r;
  EXPECT_EQ(r.serve(0, 10, resource::from::here), 10u);
  EXPECT_EQ(r.serve(1, 10, resource::from::here), 20u);
}

TEST(cache, a_line_stays_until_another_one_takes_its_place) {
  cache c(1024, 64, 1);
  EXPECT_FALSE(c.holds(0));
  c.fill(0);
  EXPECT_TRUE(c.holds(63));
  EXPECT_FALSE(c.holds(64));
  EXPECT_EQ(c.fill(1024), std::nullopt);
  EXPECT_FALSE(c.holds(0));
}

TEST(cache, the_line_used_longest_ago_goes) {
  cache c(1024, 64, 2);
  c.fill(0);
  c.fill(512);
  EXPECT_TRUE(c.holds(0));
  c.fill(1024);
  EXPECT_TRUE(c.holds(0));
  EXPECT_FALSE(c.holds(512));
}

TEST(cache, a_dirty_line_that_goes_is_told) {
  cache c(1024, 64, 1);
  c.fill(128);
  EXPECT_TRUE(c.holds(130));
  c.soil(130);
  EXPECT_EQ(c.fill(128 + 2048), 128u);
}

TEST(cache, purging_forgets_a_pages_lines_and_no_others) {
  cache c(16384, 64, 1);
  for (std::uint64_t a = 0; a < 12288; a += 64) c.fill(a);
  EXPECT_TRUE(c.holds(4096));
  c.soil(4096);
  EXPECT_EQ(c.purge(4096, 4096), 1u);
  EXPECT_TRUE(c.holds(4095));
  EXPECT_FALSE(c.holds(4096));
  EXPECT_FALSE(c.holds(8191));
  EXPECT_TRUE(c.holds(8192));
}

TEST(tlb, keeps_so_many_pages_and_drops_the_oldest) {
  tlb t(2, 10);
  t.fill(1);
  t.fill(2);
  EXPECT_TRUE(t.holds(1));
  t.fill(3);
  EXPECT_FALSE(t.holds(1));
  EXPECT_TRUE(t.holds(2));
  t.drop(2);
  EXPECT_FALSE(t.holds(2));
  t.fill(4);
  EXPECT_TRUE(t.holds(3));
  EXPECT_TRUE(t.holds(4));
}

TEST(write_buffer, has_room_again_when_the_oldest_write_has_left) {
  write_buffer w(2);
  EXPECT_EQ(w.room_at(5), 5u);
  w.add(50);
  EXPECT_EQ(w.room_at(6), 6u);
  w.add(40);  // behind the first
  EXPECT_EQ(w.room_at(7), 50u);
  w.add(60);
  EXPECT_EQ(w.room_at(50), 50u);
  EXPECT_EQ(w.room_at(70), 70u);
}

TEST(merge_buffer, writes_to_a_line_leave_together_as_the_words_that_were_written) {
  merge_buffer m(2, 64);
  EXPECT_FALSE(m.write(0, 8));
  EXPECT_FALSE(m.write(8, 4));
  EXPECT_FALSE(m.write(8, 4));
  EXPECT_FALSE(m.write(64, 1));
  const auto gone = m.write(256, 8);
  ASSERT_TRUE(gone);
  EXPECT_EQ(gone->address, 0u);
  EXPECT_EQ(gone->bytes(), 12u);
}

TEST(merge_buffer, a_write_across_two_words_dirties_both) {
  merge_buffer m(1, 64);
  m.write(62, 2);
  m.write(2, 4);
  std::uint64_t words = 0;
  m.drain([&](const merge_buffer::line& l) { words = l.words; });
  EXPECT_EQ(words, 0x8003u);
}

TEST(merge_buffer, draining_forwards_the_oldest_first_and_leaves_nothing) {
  merge_buffer m(3, 64);
  for (const std::uint64_t a : {640u, 0u, 128u, 64u}) m.write(a, 4);
  std::vector<std::uint64_t> order;
  m.drain([&](const merge_buffer::line& l) { order.push_back(l.address); });
  EXPECT_EQ(order, (std::vector<std::uint64_t>{0, 128, 64}));
  m.drain([&](const merge_buffer::line&) { ADD_FAILURE(); });
}

// SHRIMP 4.5.1.
TEST(packet, takes_what_follows_it_within_its_page_and_in_time) {
  constexpr std::uint64_t waits = 100;
  packet p;
  EXPECT_FALSE(p.takes(0, 5, waits));
  p = {4000, 4008, 10};
  EXPECT_EQ(p.bytes(), 8u);
  EXPECT_TRUE(p.takes(4008, 109, waits));
  EXPECT_FALSE(p.takes(4008, 110, waits));
  EXPECT_FALSE(p.takes(4016, 20, waits));
  EXPECT_FALSE(p.takes(4000, 20, waits));
  p = {4000, 4096, 10};
  EXPECT_FALSE(p.takes(4096, 20, waits));
}

TEST(interfaces, are_the_eight_of_the_paper) {
  std::set<std::string> names;
  for (const interface& i : interfaces) {
    names.insert(i.name);
    const std::string letters{i.copies_pages ? 'C' : 'N', i.hardware_reads ? 'H' : 'S', i.hardware_writes ? 'H' : 'S',
                              i.merges ? 'M' : 'N'};
    EXPECT_EQ(letters, i.name);
    EXPECT_EQ(find_interface(i.name), &i);
  }
  EXPECT_EQ(names.size(), 8u);
  EXPECT_EQ(find_interface("NHSM"), nullptr);
}

TEST(parameters, every_one_can_be_set_by_its_name) {
  for (const auto& d : parameters::all()) {
    parameters p;
    EXPECT_TRUE(p.set(d.name, 4321));
    EXPECT_EQ(p.*d.value, 4321u) << d.name;
  }
  parameters p;
  EXPECT_FALSE(p.set("bandwith", 1));
}

TEST(parameters, a_cache_that_is_no_power_of_two_is_refused_in_a_sentence) {
  parameters p;
  EXPECT_TRUE(p.check());
  p.cache_bytes = 100000;
  EXPECT_EQ(p.check().sentence(), "--cache-bytes must be a power of two");
  p = {};
  p.bandwidth = 0;
  EXPECT_EQ(p.check().sentence(), "--bandwidth must not be 0");
}

TEST(settings, say_what_the_machine_is_like) {
  const auto s = read_settings("processors=8 protocol=hlrc latency=2000 report=7");
  ASSERT_TRUE(s);
  EXPECT_EQ(s->machine.processors, 8u);
  EXPECT_EQ(s->machine.protocol, "hlrc");
  EXPECT_EQ(s->machine.by, nullptr);
  EXPECT_EQ(s->machine.numbers.latency, 2000u);
  EXPECT_EQ(s->report_to, 7);
  EXPECT_EQ(read_settings("interface=CHHN")->machine.by, find_interface("CHHN"));
  EXPECT_EQ(read_settings("interface=none")->machine.by, nullptr);
}

TEST(settings, refuse_what_does_not_exist) {
  EXPECT_NE(read_settings("interface=NHSM").failure().sentence().find("there is no network interface 'NHSM'"), std::string::npos);
  EXPECT_NE(read_settings("latencyy=1").failure().sentence().find("no parameter 'latencyy'"), std::string::npos);
  EXPECT_NE(read_settings("bandwidth=1us").failure().sentence().find("whole number"), std::string::npos);
  EXPECT_NE(read_settings("network=token-ring").failure().sentence().find("no network 'token-ring'"), std::string::npos);
  EXPECT_NE(read_settings("protocol=lrc interface=NHHM").failure().sentence().find("lrc runs on messages"), std::string::npos);
  EXPECT_NE(read_settings("protocol=hlrc interface=NHHM").failure().sentence().find("hlrc copies pages"), std::string::npos);
  EXPECT_FALSE(read_settings("processors=0"));
}

TEST(settings, take_times_where_cycles_are_counted) {
  EXPECT_EQ(read_settings("latency=500ns")->machine.numbers.latency, 100u);
  EXPECT_EQ(read_settings("latency=2us megahertz=1000")->machine.numbers.latency, 2000u);
}

TEST(settings, a_number_that_is_given_goes_over_the_networks) {
  const auto s = read_settings("bandwidth=100 network=efa");
  EXPECT_EQ(s->machine.numbers.bandwidth, 100u);
  EXPECT_EQ(s->machine.numbers.megahertz, 3000u);
  EXPECT_EQ(s->machine.numbers.latency, 46500u);
}

TEST(networks, every_number_is_of_a_parameter_and_has_a_source) {
  for (const auto& n : networks())
    for (const auto numbers : {node_of_today(), n.link})
      for (const auto& each : numbers) {
        EXPECT_TRUE(parameters().set(each.parameter, each.value)) << each.parameter;
        EXPECT_FALSE(std::string(each.source).empty());
      }
  for (const auto& n : networks()) EXPECT_TRUE(read_settings(std::string("network=") + n.name)) << n.name;
}

// --- machine code -------------------------------------------------------------------------------------------------------------------

TEST(machine_code, knows_how_long_instructions_are_and_what_they_do) {
  const auto decoded = [](std::vector<std::uint8_t> code) {
    code.resize(16);
    return decode(code.data());
  };
  using kind = instruction::kind;
  EXPECT_EQ(decoded({0xc3}).what, kind::end);
  EXPECT_EQ(decoded({0xe9, 0, 0, 0, 0}).length, 5u);
  EXPECT_EQ(decoded({0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0}).what, kind::filler);
  EXPECT_EQ(decoded({0xf2, 0x0f, 0x11, 0x44, 0x24, 0x08}).what, kind::spill) << "movsd %xmm0,8(%rsp)";
  EXPECT_EQ(decoded({0x48, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8}).length, 10u) << "movabs";
  EXPECT_EQ(decoded({0xc4, 0xe2, 0xf9, 0xb8, 0xc1}).length, 5u) << "vfmadd231sd";
  const auto plain = decoded({0xf2, 0x0f, 0x58, 0xc1}), from_memory = decoded({0xf2, 0x0f, 0x58, 0x04, 0xc7});
  EXPECT_EQ(plain.simple, 1u) << "addsd %xmm1,%xmm0";
  EXPECT_EQ(from_memory.simple, 2u) << "addsd (%rdi,%rax,8),%xmm0: load, add; and its address";
  EXPECT_EQ(from_memory.length, 5u);
  EXPECT_EQ(decoded({0xf2, 0x0f, 0x58, 0x44, 0x24, 0x10}).simple, 1u) << "addsd 16(%rsp),%xmm0: put away because of a hook";
  EXPECT_EQ(decoded({0xf2, 0x0f, 0x59, 0x05, 0x10, 0, 0, 0}).simple, 1u) << "mulsd 16(%rip),%xmm0: a constant";
}

TEST(machine_code, a_vector_takes_an_instruction_for_each_of_its_numbers) {
  const auto simple = [](std::vector<std::uint8_t> code) {
    code.resize(16);
    return decode(code.data()).simple;
  };
  EXPECT_EQ(simple({0x66, 0x0f, 0x58, 0xc1}), 2u) << "addpd %xmm1,%xmm0";
  EXPECT_EQ(simple({0x0f, 0x59, 0xc1}), 4u) << "mulps %xmm1,%xmm0";
  EXPECT_EQ(simple({0xf3, 0x0f, 0x59, 0xc1}), 1u) << "mulss %xmm1,%xmm0";
  EXPECT_EQ(simple({0x66, 0x0f, 0x58, 0x07}), 4u) << "addpd (%rdi),%xmm0: two loads, two additions";
  EXPECT_EQ(simple({0x0f, 0x10, 0x07}), 2u) << "movups (%rdi),%xmm0";
  EXPECT_EQ(simple({0xf2, 0x0f, 0x10, 0x07}), 1u) << "movsd (%rdi),%xmm0";
  EXPECT_EQ(simple({0x66, 0x0f, 0x14, 0xc1}), 0u) << "unpcklpd %xmm1,%xmm0";
  EXPECT_EQ(simple({0xc5, 0xf5, 0x58, 0xc2}), 4u) << "vaddpd %ymm2,%ymm1,%ymm0";
  EXPECT_EQ(simple({0xc5, 0xf3, 0x58, 0xc2}), 1u) << "vaddsd %xmm2,%xmm1,%xmm0";
}

TEST(machine_code, an_address_is_computed_once_in_a_block) {
  const auto counted = [](std::vector<std::uint8_t> code) {
    code.push_back(0xc3);
    code.resize(code.size() + 16);
    return instructions_of_block(
               code.data(), [](const void*) { return false; }, nullptr) -
           1;
  };
  const std::vector<std::uint8_t> load = {0xf2, 0x0f, 0x10, 0x44, 0xdd, 0x00},  // movsd (%rbp,%rbx,8),%xmm0
      next = {0xf2, 0x0f, 0x58, 0x44, 0xdd, 0x08},                              // addsd 8(%rbp,%rbx,8),%xmm0
      other = {0xf2, 0x41, 0x0f, 0x58, 0x04, 0xdc},                             // addsd (%r12,%rbx,8),%xmm0
      count = {0x48, 0x83, 0xc3, 0x01},                                         // add $1,%rbx
      address = {0x4c, 0x8d, 0x6c, 0xdd, 0x00},                                 // lea (%rbp,%rbx,8),%r13
      get = {0x48, 0x8b, 0x6c, 0x24, 0x08},                                     // mov 8(%rsp),%rbp
      copy = {0x48, 0x89, 0xeb};                                                // mov %rbp,%rbx
  const auto together = [](std::initializer_list<std::vector<std::uint8_t>> all) {
    std::vector<std::uint8_t> code;
    for (const auto& each : all) code.insert(code.end(), each.begin(), each.end());
    return code;
  };
  EXPECT_EQ(counted(load), 3u) << "shift, add, load";
  EXPECT_EQ(counted(together({load, next})), 5u) << "and load, add";
  EXPECT_EQ(counted(together({load, other})), 6u) << "and add, load, add: the index is shifted already";
  EXPECT_EQ(counted(together({load, count, load})), 7u) << "another index";
  EXPECT_EQ(counted(together({address, load})), 3u) << "shift, add; load";
  EXPECT_EQ(counted(together({get, load, get, load})), 4u) << "the same base, put away because of a hook";
  EXPECT_EQ(counted(together({load, get, load})), 5u) << "another base";
  EXPECT_EQ(counted(together({load, copy, load})), 7u) << "another index";
}

TEST(machine_code, an_address_for_a_hook_does_not_count) {
  std::vector<std::uint8_t> code = {0x48, 0x8d, 0x7b, 0x08,                     // lea 8(%rbx),%rdi
                                    0xe8, 0,    0,    0,    0,                  // call: a hook
                                    0xf2, 0x0f, 0x10, 0x43, 0x08, 0xc3, 0x90};  // movsd 8(%rbx),%xmm0; ret
  static const std::uint8_t* hook;
  hook = code.data() + 9;
  const auto counted = [&] {
    return instructions_of_block(
        code.data(), [](const void* f) { return f == hook; }, nullptr);
  };
  EXPECT_EQ(counted(), 2u);
  hook = nullptr;
  EXPECT_EQ(counted(), 4u) << "a call of the program's own";
}

TEST(machine_code, counts_a_block_without_what_the_hooks_are_there_for) {
  std::vector<std::uint8_t> code = {0x48, 0x89, 0xdf,        // mov %rbx,%rdi: for the hook
                                    0xe8, 0,    0,    0, 0,  // call: a hook
                                    0x48, 0x8b, 0x03,        // mov (%rbx),%rax
                                    0x48, 0x83, 0xc0, 1,     // add $1,%rax
                                    0xe8, 0,    0,    0, 0,  // call: the next block's hook
                                    0x90, 0x90};
  const auto aim = [&](std::size_t at, const std::uint8_t* target) {
    const auto distance = static_cast<std::int32_t>(target - (code.data() + at + 5));
    std::memcpy(code.data() + at + 1, &distance, sizeof distance);
  };
  static const std::uint8_t* hook;  // where the code pretends that functions are
  hook = code.data() + 20;
  aim(3, hook);
  aim(15, code.data() + 21);
  const auto is_hook = [](const void* function) { return function == hook; };
  EXPECT_EQ(instructions_of_block(code.data(), is_hook, code.data() + 21), 2u);
}

// Cashmere 3: "the cost of accessing the lock (and the data it protects) is approximately 450 cycles (200 cycles each way plus 50 cycles
// for the memory".
TEST(network, a_line_of_another_nodes_memory_takes_what_the_paper_says) {
  event_queue time;
  const parameters p;
  network n(time, p, 2);
  cycles done = 0;
  n.fetch_line(0, 0, 1, [&] { done = time.now(); });
  while (!time.empty()) time.step();
  EXPECT_GE(done, 450u);
  EXPECT_LE(done, 480u);
}

TEST(network, messages_of_one_node_wait_for_each_other) {
  event_queue time;
  const parameters p;
  network n(time, p, 3);
  std::vector<cycles> in;
  for (const node_id to : {1u, 2u}) n.travel(0, 0, to, 400, [&](cycles all_in) { in.push_back(all_in); });
  while (!time.empty()) time.step();
  EXPECT_EQ(in, (std::vector<cycles>{400, 600}));
}

}  // namespace
}  // namespace weft::sim
