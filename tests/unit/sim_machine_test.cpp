// Production protocols on the simulated machine.
#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <vector>

#include "space/region.h"
#include "sim/machine/machine.h"
#include "sync/locks.h"

namespace weft::sim {
namespace {

machine_options options(const std::string& protocol, node_id processors, const char* by = nullptr) {
  machine_options o;
  o.protocol = protocol;
  o.processors = processors;
  o.by = by ? find_interface(by) : machine_options::usual_interface(protocol);
  o.numbers.memory_pages = 4096;
  return o;
}

std::uint64_t offset_of(const void* p) {
  return static_cast<std::uint64_t>(static_cast<const std::byte*>(p) - runtime::region_base);
}

// Every node adds to every number in its turn, with a barrier between turns; some of them share lines and pages.
constexpr std::size_t count = 3000;
cycles add_in_turns(const machine_options& o, breakdown* spent = nullptr) {
  machine m(o);
  std::uint64_t wrong = 0;
  m.run([&](machine::node& n) {
    auto* numbers = static_cast<std::uint64_t*>(n.space->allocate_together(count * sizeof(std::uint64_t), 4096, {}));
    n.space->barrier();
    for (node_id turn = 0; turn < o.processors; ++turn) {
      for (std::size_t i = turn; i < count; i += turn == n.cpu.self() ? 1 : count) {
        n.cpu.refer(offset_of(numbers + i), sizeof *numbers, false);
        wrong += turn == n.cpu.self() && numbers[i] != turn;
        n.cpu.refer(offset_of(numbers + i), sizeof *numbers, turn == n.cpu.self());
        if (turn == n.cpu.self()) ++numbers[i];
      }
      n.space->barrier();
    }
  });
  EXPECT_EQ(m.failure(), std::nullopt);
  EXPECT_EQ(wrong, 0u);
  cycles longest = 0;
  for (node_id n = 0; n < o.processors; ++n) {
    longest = std::max(longest, m.at(n).cpu.spent().total);
    if (spent) *spent = m.at(n).cpu.spent();
  }
  return longest;
}

TEST(machine, the_same_program_takes_the_same_time_every_time) {
  for (const char* protocol : {"hlrc", "cashmere", "cashmere:immediate", "cashmere:unsafe=1", "lrc"}) {
    const cycles once = add_in_turns(options(protocol, 4));
    EXPECT_GT(once, count);
    EXPECT_EQ(add_in_turns(options(protocol, 4)), once) << protocol;
  }
}

TEST(machine, every_interface_runs_and_the_weakest_is_slower_than_the_best) {
  for (const interface& i : interfaces) EXPECT_GT(add_in_turns(options("cashmere", 3, i.name)), count) << i.name;
  EXPECT_GT(add_in_turns(options("cashmere", 3, "NSSN")), add_in_turns(options("cashmere", 3, "NHHM")));
}

TEST(machine, time_is_divided_without_a_rest) {
  breakdown messages, mapped, copying;
  add_in_turns(options("hlrc", 4), &messages);
  add_in_turns(options("cashmere", 4, "NHHM"), &mapped);
  add_in_turns(options("cashmere", 4, "CHHM"), &copying);
  for (const auto& b : {messages, mapped, copying}) {
    cycles sum = 0;
    for (const cycles s : b.spent) sum += s;
    EXPECT_LE(sum, b.total);
    EXPECT_GT(b.of(cost::synchronisation), 0u);
    EXPECT_GT(b.of(cost::cache_stall), 0u);
  }
  EXPECT_GT(messages.of(cost::diff), 0u);
  EXPECT_EQ(mapped.of(cost::diff), 0u);
  EXPECT_GT(copying.of(cost::page_copy), 0u);
  EXPECT_EQ(mapped.of(cost::page_copy), 0u);
}

// SHRIMP 4.2: automatic update release consistency.
TEST(machine, hlrc_needs_no_diffs_where_writes_are_forwarded) {
  breakdown with_diffs, without;
  const cycles slow = add_in_turns(options("hlrc", 4), &with_diffs);
  EXPECT_LT(add_in_turns(options("hlrc", 4, "CHHM"), &without), slow);
  EXPECT_EQ(without.of(cost::diff), 0u);
}

// How long a processor is busy with sending three messages of a page.
cycles time_of_sending(std::uint64_t send_queue) {
  auto o = options("hlrc", 2);
  o.numbers.send_queue = send_queue;
  machine m(o);
  cycles took = 0;
  m.run([&](machine::node& n) {
    n.port.on(first_user_handler, [](const message&) {});
    n.space->barrier();
    const cycles began = n.cpu.now();
    const std::vector<std::byte> page(dsm::page_bytes);
    for (int i = 0; i < 3 && n.cpu.self() == 0; ++i) EXPECT_TRUE(n.port.send(1, lane::request, first_user_handler, {}, page));
    if (n.cpu.self() == 0) took = n.cpu.now() - began;
    n.space->barrier();
  });
  EXPECT_EQ(m.failure(), std::nullopt);
  return took;
}

// SHRIMP 4.5.3.
TEST(machine, who_sends_waits_for_room_in_the_interface) {
  const parameters n;
  const cycles three = 3 * n.messaging, page = n.transfer(dsm::page_bytes);
  EXPECT_EQ(time_of_sending(0), three);
  EXPECT_EQ(time_of_sending(3), three);
  EXPECT_GT(time_of_sending(2), page);
  EXPECT_LT(time_of_sending(2), 2 * page);
  EXPECT_GT(time_of_sending(1), 2 * page);
}

// Node 0 stores words into memory of its own that is bound to node 1's, then a flag elsewhere in it, and stores other things into the words
// when node 1 has seen the flag. What node 1 finds with the flag, when it does, and how many packets there were.
struct bound_stores {
  std::vector<word> found;
  cycles flag_stored = 0, flag_seen = 0;
  std::uint64_t packets = 0;
};
bound_stores store_into_bound_memory(const char* by, std::size_t words) {
  constexpr std::size_t flag = 500;
  machine m(options("hlrc", 2, by));
  bound_stores s;
  m.run([&](machine::node& n) {
    const memory mine = n.port.allocate(dsm::page_bytes).or_throw();
    auto* own = reinterpret_cast<word*>(mine.base);
    const window w = n.port.expose(mine, rights::all).or_throw();
    const auto all = m.exchange(n, std::as_bytes(std::span(&w, 1)));
    if (n.cpu.self() == 1) {
      EXPECT_TRUE(n.port.wait([&] { return own[flag] == 1; }, std::chrono::hours(1)));
      s.flag_seen = n.cpu.now();
      s.found.assign(own, own + words);
    } else {
      window theirs;
      std::memcpy(&theirs, all[1].data(), sizeof theirs);
      auto* bound = reinterpret_cast<word*>(n.port.mapped(1, theirs));
      const std::uint64_t before = m.connections().at(0).messages;
      const auto store = [&](std::size_t i, word value) {  // as a program's hooks say it: before it is done
        n.cpu.store_bound(native_memory::offset_of(reinterpret_cast<std::byte*>(bound + i)), sizeof(word));
        bound[i] = value;
      };
      for (std::size_t i = 0; i < words; ++i) store(i, i + 7);
      store(flag, 1);
      s.flag_stored = n.cpu.now();
      n.cpu.send_updates();
      s.packets = m.connections().at(0).messages - before;
      n.port.fence(1).or_throw();
      for (std::size_t i = 0; i < words; ++i) store(i, 0);
      n.cpu.send_updates();
    }
    m.exchange(n, {});
  });
  EXPECT_EQ(m.failure(), std::nullopt);
  return s;
}

// SHRIMP 2.2, 4.5.1.
TEST(machine, stores_into_bound_memory_arrive_in_order_after_the_network_s_latency) {
  const std::size_t words = 20;
  for (const char* by : {"CHHN", "CHHM"}) {
    const auto s = store_into_bound_memory(by, words);
    for (std::size_t i = 0; i < words; ++i) EXPECT_EQ(s.found.at(i), i + 7) << by;
    EXPECT_GE(s.flag_seen, s.flag_stored + parameters().latency) << by;
    EXPECT_EQ(s.packets, std::string(by) == "CHHN" ? words + 1 : 2u) << by;
  }
}

TEST(machine, without_an_interface_that_forwards_writes_nothing_is_mapped) {
  machine m(options("hlrc", 2));
  m.run([&](machine::node& n) {
    const memory mine = n.port.allocate(dsm::page_bytes).or_throw();
    const window w = n.port.expose(mine, rights::all).or_throw();
    const auto all = m.exchange(n, std::as_bytes(std::span(&w, 1)));
    window theirs;
    std::memcpy(&theirs, all[1 - n.cpu.self()].data(), sizeof theirs);
    EXPECT_EQ(n.port.mapped(1 - n.cpu.self(), theirs), nullptr);
  });
  EXPECT_EQ(m.failure(), std::nullopt);
}

// What a processor is busy for with a deliberate update of so many bytes, and what it then takes to read a line that the cache lacks.
struct sent_and_read {
  cycles sent, read;
};
sent_and_read send_and_read(std::size_t size, std::uint64_t sends_wait, std::uint64_t shared_bus) {
  auto o = options("hlrc", 2, "CHHN");
  o.numbers.initiation = 100;
  o.numbers.sends_wait = sends_wait;
  o.numbers.shared_bus = shared_bus;
  o.numbers.bandwidth = 20;  // slow: ten cycles a byte
  machine m(o);
  sent_and_read took{};
  m.run([&](machine::node& n) {
    const memory mine = n.port.allocate(4 * dsm::page_bytes).or_throw();
    const window w = n.port.expose(mine, rights::all).or_throw();
    const auto all = m.exchange(n, std::as_bytes(std::span(&w, 1)));
    if (n.cpu.self() == 0) {
      window theirs;
      std::memcpy(&theirs, all[1].data(), sizeof theirs);
      const std::uint64_t line = native_memory::offset_of(mine.base) + 2 * dsm::page_bytes;
      n.cpu.refer_native(line, false);  // the page is in the TLB from now on
      const cycles began = n.cpu.now();
      EXPECT_TRUE(n.port.put(1, theirs, 0, {mine.base, size}));
      took.sent = n.cpu.now() - began;
      n.cpu.refer_native(line + 64, false);
      took.read = n.cpu.now() - began - took.sent;
    }
    m.exchange(n, {});
  });
  EXPECT_EQ(m.failure(), std::nullopt);
  return took;
}

// SHRIMP 4.5.3 and 2.1: a send may wait until all has left, and an interface that moves a page may hold the bus.
TEST(machine, a_deliberate_update_takes_its_initiation_and_what_its_bytes_take_where_that_is_waited_for) {
  const std::size_t size = 2048;
  EXPECT_EQ(send_and_read(size, 0, 1).sent, 100u);
  EXPECT_GT(send_and_read(size, 1, 1).sent, 100u + 10 * size);
  EXPECT_LT(send_and_read(size, 0, 1).read, 3000u);
  EXPECT_GT(send_and_read(size, 0, 0).read, 9 * size);
}

TEST(machine, calls_and_interrupts_for_every_message_take_time) {
  const cycles usual = add_in_turns(options("hlrc", 4));
  for (const auto number : {&parameters::send_call, &parameters::arrival_interrupt}) {
    auto slow = options("hlrc", 4);
    slow.numbers.*number = 1000;
    EXPECT_GT(add_in_turns(slow), usual);
  }
}

// Node 1 writes to ten pages, and node 0 hears of it: by a lock that it takes afterwards, and then again at a barrier; or only there.
cycles hear_of_ten_pages(bool by_lock, std::uint64_t notice) {
  auto o = options("lrc", 2);
  o.numbers.notice = notice;
  machine m(o);
  sync_object lock;
  lock.number.store(space::elsewhere | 1);
  m.run([&](machine::node& n) {
    auto* bytes = static_cast<std::byte*>(n.space->allocate_together(10 * dsm::page_bytes, dsm::page_bytes, placement::on(0)));
    const auto pass_time = [&] {  // longer than the other takes for its part
      n.cpu.compute(10'000'000);
      n.cpu.take_turn();
    };
    if (n.cpu.self() == 0 && by_lock) pass_time();
    if (by_lock) n.space->lock(lock, space::for_ever);
    for (std::size_t i = 0; i < 10 && n.cpu.self() == 1; ++i) n.cpu.refer(offset_of(bytes + i * dsm::page_bytes), 8, true);
    if (by_lock) n.space->unlock(lock);
    if (n.cpu.self() == 1 && by_lock) pass_time(), pass_time();
    n.space->barrier();
  });
  EXPECT_EQ(m.failure(), std::nullopt);
  return std::max(m.at(0).cpu.spent().total, m.at(1).cpu.spent().total);
}

// Cashmere 2.1 and Table 1: a processor is sent the notices that it has not seen, and each goes through a list at both ends.
TEST(machine, a_notice_is_processed_where_it_is_sent_and_where_it_is_taken_and_only_once) {
  const auto growth = [](bool by_lock) { return hear_of_ten_pages(by_lock, 10'007) - hear_of_ten_pages(by_lock, 7); };
  EXPECT_EQ(growth(false), 2 * 10 * 10'000u);
  EXPECT_EQ(growth(true), 10 * 10'000u) << "who sent them is late by that, and the other waits";
}

// Node 1 writes to pages, and node 0 hears of it by a lock, and then again at a barrier; or only there. What node 1 sends for the barrier.
std::uint64_t bytes_for_a_barrier(bool by_lock, std::size_t pages) {
  machine m(options("lrc", 2));
  sync_object lock;
  lock.number.store(space::elsewhere | 1);
  std::uint64_t sent = 0;
  m.run([&](machine::node& n) {
    auto* bytes = static_cast<std::byte*>(n.space->allocate_together(pages * dsm::page_bytes, dsm::page_bytes, placement::on(0)));
    const auto take_turn_after = [&](cycles c) {
      n.cpu.compute(c);
      n.cpu.take_turn();
    };
    if (n.cpu.self() == 0) take_turn_after(100'000'000);  // longer than the other takes for all of its pages
    if (by_lock) n.space->lock(lock, space::for_ever);
    for (std::size_t i = 0; i < pages && n.cpu.self() == 1; ++i) n.cpu.refer(offset_of(bytes + i * dsm::page_bytes), 8, true);
    if (by_lock) n.space->unlock(lock);
    if (n.cpu.self() == 1) take_turn_after(200'000'000);
    const auto before = n.so_far().bytes;
    n.space->barrier();
    if (n.cpu.self() == 1) sent = n.so_far().bytes - before;
  });
  EXPECT_EQ(m.failure(), std::nullopt);
  return sent;
}

// Cashmere 2.1: who meets others tells them what they have not seen. More than one message's payload of it, too.
TEST(machine, a_barrier_sends_only_what_its_destination_has_not_seen) {
  EXPECT_EQ(bytes_for_a_barrier(true, 100), bytes_for_a_barrier(true, 10));
  EXPECT_EQ(bytes_for_a_barrier(false, 100), bytes_for_a_barrier(false, 10) + 90 * sizeof(dsm::page_id));
}

// Node 1 reads a line of a page of node 0's, which has just been written again, and then another line.
struct times_of_lines {
  cycles first, second;
};
times_of_lines time_of_lines(const char* by) {
  machine m(options("cashmere", 2, by));
  times_of_lines took{};
  m.run([&](machine::node& n) {
    auto* bytes = static_cast<std::byte*>(n.space->allocate_together(dsm::page_bytes, dsm::page_bytes, placement::on(0)));
    const auto time_of = [&](std::byte* line) {
      const cycles began = n.cpu.now();
      n.cpu.refer(offset_of(line), 8, false);
      return n.cpu.now() - began;
    };
    for (int turn = 0; turn < 2; ++turn) {  // in the first, node 1 also has to find out where the page's home is
      if (n.cpu.self() == 0) n.cpu.refer(offset_of(bytes), 8, true);
      n.space->barrier();
      if (n.cpu.self() == 1) {
        took.first = time_of(bytes);
        took.second = time_of(bytes + 64);
      }
      n.space->barrier();
    }
  });
  EXPECT_EQ(m.failure(), std::nullopt);
  return took;
}

// Cashmere 3 adds up what a read fault takes: 100 + 400 + 450 + 160 cycles, and then the line is fetched. Here the 450 are 452.
TEST(machine, a_page_fault_takes_what_the_paper_says) {
  const auto took = time_of_lines("NHHM");
  EXPECT_NEAR(static_cast<double>(took.first - took.second), 1110, 2);
}

// One node writes to pages one after another, or to every other one.
cycles time_of_write_faults(cycles beside, std::size_t step) {
  auto o = options("lrc", 1);
  o.numbers.page_fault_beside = beside;
  machine m(o);
  constexpr std::size_t pages = 10;
  cycles took = 0;
  m.run([&](machine::node& n) {
    auto* bytes = static_cast<std::byte*>(n.space->allocate_together(pages * step * dsm::page_bytes, dsm::page_bytes, {}));
    const cycles began = n.cpu.now();
    for (std::size_t i = 0; i < pages; ++i) n.cpu.refer(offset_of(bytes + i * step * dsm::page_bytes), 8, true);
    took = n.cpu.now() - began;
  });
  EXPECT_EQ(m.failure(), std::nullopt);
  return took;
}

TEST(machine, a_fault_behind_a_page_that_may_be_used_so_can_take_less) {
  const auto usual = parameters().page_fault;
  EXPECT_EQ(time_of_write_faults(usual, 1), time_of_write_faults(0, 1));
  EXPECT_EQ(time_of_write_faults(usual / 4, 2), time_of_write_faults(0, 2));
  EXPECT_EQ(time_of_write_faults(usual / 4, 1) + 9 * (usual - usual / 4), time_of_write_faults(0, 1));
}

// Cashmere 2.3: software fetches the line after an ECC fault and writes it to local memory, from where the cache is filled.
TEST(machine, a_miss_by_software_takes_an_interrupt_and_goes_by_local_memory) {
  const parameters n;
  EXPECT_EQ(time_of_lines("NSHM").second, time_of_lines("NHHM").second + n.ecc_interrupt + 2 * n.line_fill());
}

// Node 1 reads so many lines of a page that node 0 writes before each of four barriers; the time of all.
cycles reading_lines_again(const char* by, std::uint64_t lines) {
  machine m(options("cashmere", 2, by));
  m.run([&](machine::node& n) {
    auto* bytes = static_cast<std::byte*>(n.space->allocate_together(dsm::page_bytes, dsm::page_bytes, placement::on(0)));
    for (int turn = 0; turn < 4; ++turn) {
      if (n.cpu.self() == 0) n.cpu.refer(offset_of(bytes), 8, true);
      n.space->barrier();
      for (std::uint64_t l = 0; n.cpu.self() == 1 && l < lines; ++l) n.cpu.refer(offset_of(bytes + 64 * l), 8, false);
      n.space->barrier();
    }
  });
  EXPECT_EQ(m.failure(), std::nullopt);
  return m.at(1).cpu.spent().total;
}

// Cashmere 2.3 and 6: a local page is filled with what gives ECC errors each time it is mapped, whatever is used of it.
TEST(machine, a_page_whose_lines_software_fetches_is_set_up_whenever_it_is_mapped) {
  const parameters n;
  const auto by_software = [](std::uint64_t lines) {
    return static_cast<double>(reading_lines_again("NSHM", lines) - reading_lines_again("NHHM", lines));
  };
  const auto a_line = static_cast<double>(4 * (n.ecc_interrupt + 2 * n.line_fill())),
             a_page = static_cast<double>(4 * 64 * n.line_fill());
  EXPECT_NEAR((by_software(60) - by_software(20)) / 40, a_line, 10);
  EXPECT_NEAR(by_software(20) - 20 * a_line, a_page, a_page / 20);
}

// How many more messages node 1 sends for these writes to a page of node 0's than for one of a word.
struct write_of {
  std::uint64_t offset, size;
};
std::uint64_t messages_of(const machine_options& o, const std::vector<write_of>& writes) {
  const auto sent = [&](const std::vector<write_of>& all) {
    machine m(o);
    m.run([&](machine::node& n) {
      auto* bytes = static_cast<std::byte*>(n.space->allocate_together(dsm::page_bytes, dsm::page_bytes, placement::on(0)));
      n.space->barrier();
      if (n.cpu.self() == 1)
        for (const auto& w : all) n.cpu.refer(offset_of(bytes) + w.offset, w.size, true);
      n.space->barrier();
    });
    EXPECT_EQ(m.failure(), std::nullopt);
    return m.at(1).so_far().messages;
  };
  return sent(writes) - sent({{0, 8}});
}

// Cashmere 2.3: without a merge buffer all writes go through the network individually; with one, those to a line go together.
TEST(machine, a_copy_is_as_many_writes_as_the_stores_it_takes) {
  EXPECT_EQ(messages_of(options("cashmere", 2, "NHHN"), {{0, 64}}), 7u);
  EXPECT_EQ(messages_of(options("cashmere", 2, "NHHM"), {{0, 64}}), 0u);
  EXPECT_EQ(messages_of(options("hlrc", 2, "CHHN"), {{0, 64}}), 7u);
  EXPECT_EQ(messages_of(options("hlrc", 2, "CHHM"), {{0, 64}}), 0u);
}

// SHRIMP 4.2: automatic updates go to the page's home. Node 1 writes a page of node 2's; what comes to each of the others.
TEST(machine, writes_are_forwarded_to_the_home_of_their_page) {
  for (const char* protocol : {"hlrc", "cashmere"}) {
    machine m(options(protocol, 3, "CHHN"));
    std::uint64_t before[3] = {}, came[3] = {};
    m.run([&](machine::node& n) {
      auto* bytes = static_cast<std::byte*>(n.space->allocate_together(dsm::page_bytes, dsm::page_bytes, placement::on(2)));
      n.space->barrier();
      if (n.cpu.self() == 1) {
        n.cpu.refer(offset_of(bytes), 8, true);
        n.cpu.flush();
        for (node_id to : {0u, 2u}) before[to] = m.connections().at(to).in.requests();
        for (std::uint64_t i = 0; i < 100; ++i) n.cpu.refer(offset_of(bytes + 8 * i), 8, true);
        n.cpu.flush();
        for (node_id to : {0u, 2u}) came[to] = m.connections().at(to).in.requests() - before[to];
      }
      n.space->barrier();
    });
    EXPECT_EQ(m.failure(), std::nullopt);
    EXPECT_GE(came[2], 100u) << protocol;
    EXPECT_LT(came[0], 10u) << protocol;
  }
}

// Cashmere 2.2 and 2.3: others read the master copy from main memory, so all that its home writes has to be there. A copy is written back.
// What node 1's memory does for its writes to a page that is at home on a node.
std::uint64_t memory_used_by_writes(const char* by, node_id home) {
  machine m(options("cashmere", 2, by));
  std::uint64_t used = 0;
  m.run([&](machine::node& n) {
    auto* bytes = static_cast<std::byte*>(n.space->allocate_together(dsm::page_bytes, dsm::page_bytes, placement::on(home)));
    n.space->barrier();
    const auto write_all = [&] {
      for (std::uint64_t i = 0; i < 64; ++i) n.cpu.refer(offset_of(bytes + 8 * i), 8, true);
      n.cpu.flush();
      return m.connections().at(1).memory.requests();
    };
    if (n.cpu.self() == 1) {
      const std::uint64_t before = write_all();  // the page is open now, and a copy's lines are there
      used = write_all() - before;
    }
    n.space->barrier();
  });
  EXPECT_EQ(m.failure(), std::nullopt);
  return used;
}

TEST(machine, what_a_home_writes_is_in_its_memory_also_where_software_forwards_writes) {
  for (const char* by : {"NHHN", "CHHN", "CHSN", "NSSN"}) EXPECT_EQ(memory_used_by_writes(by, 1), 64u) << by;
  for (const char* by : {"CHSN", "NSSN"}) EXPECT_EQ(memory_used_by_writes(by, 0), 0u) << by;
}

// SHRIMP 4.5.1: a store that does not follow the last one ends a packet. A merge buffer has lines for both places.
TEST(machine, combining_is_of_consecutive_stores_and_merging_of_those_to_a_line) {
  const std::vector<write_of> in_turns = {{0, 8}, {512, 8}, {8, 8}, {520, 8}, {16, 8}, {528, 8}};
  EXPECT_EQ(messages_of(options("hlrc", 2, "CHHM"), in_turns), 5u);
  EXPECT_EQ(messages_of(options("cashmere", 2, "NHHM"), in_turns), 1u);
}

// SHRIMP 4.5.1: or a timer expires.
TEST(machine, a_packet_leaves_when_nothing_follows_in_time) {
  auto o = options("hlrc", 2, "CHHM");
  std::uint64_t left = 0;
  machine m(o);
  m.run([&](machine::node& n) {
    auto* bytes = static_cast<std::byte*>(n.space->allocate_together(dsm::page_bytes, dsm::page_bytes, placement::on(0)));
    n.space->barrier();
    if (n.cpu.self() == 1) {
      n.cpu.refer(offset_of(bytes), 8, true);
      const std::uint64_t before = n.so_far().messages;
      n.cpu.compute(2 * o.numbers.combining_time + o.numbers.slack);
      n.cpu.take_turn();
      left = n.so_far().messages - before;
    }
    n.space->barrier();
  });
  EXPECT_EQ(m.failure(), std::nullopt);
  EXPECT_EQ(left, 1u);
}

// Node 0 writes a page of its own; node 1 reads it after a barrier. Then they meet again some times, and node 0 may write before each of them.
// The notices that node 1 gets.
std::uint64_t notices_of_a_page(const machine_options& o, bool written_again) {
  machine m(o);
  m.run([&](machine::node& n) {
    auto* bytes = static_cast<std::byte*>(n.space->allocate_together(dsm::page_bytes, dsm::page_bytes, placement::on(0)));
    const auto refer_as = [&](node_id node, bool write) {
      if (n.cpu.self() == node) n.cpu.refer(offset_of(bytes), 8, write);
    };
    refer_as(0, true);
    n.space->barrier();
    refer_as(1, false);
    for (int i = 0; i < 5; ++i) {
      n.space->barrier();
      if (written_again) refer_as(0, true);
    }
    n.space->barrier();
  });
  EXPECT_EQ(m.failure(), std::nullopt);
  return m.at(1).so_far().notices;
}

// Cashmere 4.1 on gauss: there are no notices of pages that nobody writes any more.
TEST(machine, a_page_that_its_home_does_not_write_any_more_needs_no_notice) {
  for (const char* by : {"NHHM", "CHHM", "NSSN"}) EXPECT_EQ(notices_of_a_page(options("cashmere", 2, by), false), 0u) << by;
  EXPECT_GE(notices_of_a_page(options("cashmere", 2), true), 1u);
}

// Cashmere 2.1: one diff for every write notice. Node 1 asks for the first only.
TEST(machine, lrc_can_tell_of_a_page_once_for_each_diff) {
  auto once = options("lrc", 2);
  once.numbers.told_once = 1;
  EXPECT_EQ(notices_of_a_page(once, true), 2u);
  EXPECT_EQ(notices_of_a_page(options("lrc", 2), true), 6u);
}

// Nodes 1 and 2 use a page that node 0 manages, and that only node 2 writes. What all nodes send, in whole pages.
std::uint64_t pages_sent(const machine_options& o) {
  machine m(o);
  std::uint64_t sent = 0;
  m.run([&](machine::node& n) {
    auto* bytes = static_cast<std::byte*>(n.space->allocate_together(dsm::page_bytes, dsm::page_bytes, {}));
    for (int turn = 0; turn < 3; ++turn) {
      if (n.cpu.self() == 2) n.cpu.refer(offset_of(bytes), 8, true);
      n.space->barrier();
      if (n.cpu.self() == 1) n.cpu.refer(offset_of(bytes), 8, false);
      n.space->barrier();
    }
    sent += n.so_far().bytes;
  });
  EXPECT_EQ(m.failure(), std::nullopt);
  return sent / dsm::page_bytes;
}

// As TreadMarks does: who has never had a page is sent it, and then its diffs.
TEST(machine, lrc_can_send_first_copies_whole) {
  auto whole = options("lrc", 3);
  whole.numbers.first_copies = 1;
  EXPECT_EQ(pages_sent(whole), pages_sent(options("lrc", 3)) + 2);
}

TEST(machine, a_slower_network_makes_a_slower_machine) {
  auto slow = options("cashmere", 4);
  slow.numbers.latency = 2000;
  EXPECT_GT(add_in_turns(slow), add_in_turns(options("cashmere", 4)));
}

TEST(machine, a_deadlock_names_who_waits_for_what) {
  machine m(options("cashmere", 2));
  sync_object lock;
  lock.number.store(space::elsewhere | 1);
  m.run([&](machine::node& n) {
    n.space->lock(lock, space::for_ever);
    n.space->barrier();
  });
  ASSERT_TRUE(m.failure());
  EXPECT_NE(m.failure()->find("in a deadlock"), std::string::npos);
  EXPECT_NE(m.failure()->find("barrier"), std::string::npos) << *m.failure();
}

// 15 pages: no power of two, which would be divided in another way.
TEST(machine, pages_placed_in_blocks_are_where_their_blocks_writers_are) {
  machine m(options("cashmere", 3));
  std::uint64_t fetched = 0;
  m.run([&](machine::node& n) {
    constexpr std::size_t each = 5 * dsm::page_bytes;
    auto* bytes = static_cast<std::byte*>(n.space->allocate_together(3 * each, dsm::page_bytes, placement::block()));
    for (std::size_t i = 0; i < each; i += dsm::page_bytes) n.cpu.refer(offset_of(bytes + n.cpu.self() * each + i), 8, true);
    fetched += n.so_far().fetched_pages;
  });
  EXPECT_EQ(m.failure(), std::nullopt);
  EXPECT_EQ(fetched, 0u);
}

// As TreadMarks deals its locks; a node that makes an array of them is not asked for all.
TEST(machine, all_nodes_manage_locks_in_turn) {
  machine m(options("lrc", 3));
  sync_object made[3][7];
  m.run([&](machine::node& n) {
    for (auto& o : made[n.cpu.self()]) n.space->name(o);
  });
  EXPECT_EQ(m.failure(), std::nullopt);
  std::set<sync::object_number> numbers;
  for (node_id maker = 0; maker < 3; ++maker)
    for (std::uint32_t i = 0; i < 7; ++i) {
      const auto number = made[maker][i].number.load();
      EXPECT_EQ(sync::manager_of(number), (maker + i) % 3);
      EXPECT_TRUE(numbers.insert(number).second) << "each has a number of its own";
    }
}

TEST(machine, mutexes_exclude) {
  for (const char* protocol : {"hlrc", "cashmere", "cashmere:immediate", "cashmere:unsafe=1", "lrc"}) {
    machine m(options(protocol, 5));
    sync_object lock;
    lock.number.store(space::elsewhere | 1);
    int inside = 0, most = 0, entered = 0;
    m.run([&](machine::node& n) {
      for (int i = 0; i < 20; ++i) {
        n.space->lock(lock, space::for_ever);
        most = std::max(most, ++inside);
        ++entered;
        n.cpu.compute(500);
        n.cpu.take_turn();
        --inside;
        n.space->unlock(lock);
      }
    });
    EXPECT_EQ(m.failure(), std::nullopt);
    EXPECT_EQ(most, 1);
    EXPECT_EQ(entered, 100);
  }
}

}  // namespace
}  // namespace weft::sim
