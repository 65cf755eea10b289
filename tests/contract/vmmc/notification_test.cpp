// Notifications: a thread of their own, in order, none lost, blocked and unblocked.
#include "contract/vmmc/fixture.h"

namespace weft::test {
namespace {

class vmmc_notification : public vmmc_contract {};

TEST_P(vmmc_notification, come_once_in_order_and_after_their_update) {
  const word turns = static_cast<word>(rounds(4000));  // more than may wait at a time
  run_on_nodes(GetParam(), [&](fabric& port, meeting& where) {
    node_under_test n(port, where);
    const auto memory = n.allocate(64 * port.nodes());
    std::vector<word> next(port.nodes(), 0);
    std::atomic<word> heard{0}, wrong{0};
    const auto driver = std::this_thread::get_id();
    const auto mine = n.give("bell", memory, {.on_notification = [&](const notification& note) {
                               if (std::this_thread::get_id() == driver) ++wrong;
                               if (note.tag != next[note.source]++ || note.offset != 64 * note.source || note.size != 8) ++wrong;
                               if (word_at(memory, note.offset) < note.tag) ++wrong;  // the update is there, or a later one
                               ++heard;
                             }});
    const auto theirs = n.take(n.next(), "bell", {.need = rights::write | rights::notify});
    leave_together at_the_end{where};
    for (word i = 0; i < turns; ++i) OK(theirs.update_and_notify(64 * port.self(), bytes_of(i), i));
    OK(port.wait([&] { return heard == turns; }, 30s));
    EXPECT_EQ(wrong, 0u);
  });
}

TEST_P(vmmc_notification, wait_while_they_are_blocked) {
  run_on_nodes(GetParam(), [&](fabric& port, meeting& where) {
    node_under_test n(port, where);
    std::atomic<int> heard{0};
    const auto mine = n.give("bell", n.allocate(64), {.on_notification = [&](const notification&) { ++heard; }});
    const auto theirs = n.take(n.next(), "bell");
    leave_together at_the_end{where};
    n.vmmc.block_notifications();
    where.barrier();
    for (int i = 0; i < 10; ++i) OK(theirs.update_and_notify(0, bytes_of(word{1})));
    OK(theirs.fence());
    where.barrier();
    port.wait([] { return false; }, 30ms).ignore();
    EXPECT_EQ(heard, 0);
    n.vmmc.unblock_notifications();
    OK(port.wait([&] { return heard == 10; }, 20s));
  });
}

TEST_P(vmmc_notification, a_sender_waits_rather_than_that_one_is_lost) {
  run_on_nodes(GetParam(), [&](fabric& port, meeting& where) {
    node_under_test n(port, where);
    std::atomic<word> heard{0};
    const auto mine = n.give("bell", n.allocate(64), {.on_notification = [&](const notification&) { ++heard; }});
    const auto theirs = n.take(n.next(), "bell");
    leave_together at_the_end{where};
    n.vmmc.block_notifications();
    where.barrier();
    for (word i = 0; i < imported::most_unread; ++i) OK(theirs.update_and_notify(0, bytes_of(i)));
    const auto patience = port.patience();
    port.patience(50ms);
    EXPECT_EQ(theirs.update_and_notify(0, bytes_of(word{1})).code(), errc::timed_out);
    port.patience(patience);
    where.barrier();
    n.vmmc.unblock_notifications();
    OK(theirs.update_and_notify(0, bytes_of(word{1})));
    OK(port.wait([&] { return heard == imported::most_unread + 1; }, 20s));
  });
}

TEST_P(vmmc_notification, are_refused_where_nobody_listens_and_end_with_the_export) {
  run_on_nodes(GetParam(), [&](fabric& port, meeting& where) {
    node_under_test n(port, where);
    const auto silent = n.give("silent", n.allocate(64));
    std::atomic<int> heard{0};
    auto mine = n.give("bell", n.allocate(64), {.on_notification = [&](const notification&) { ++heard; }});
    const auto to_silent = n.take(n.next(), "silent"), theirs = n.take(n.next(), "bell");
    leave_together at_the_end{where};
    EXPECT_EQ(to_silent.update_and_notify(0, bytes_of(word{1})).code(), errc::no_right);
    EXPECT_EQ(n.vmmc.import_memory(n.next(), "silent", {.need = rights::notify}).code(), errc::no_right);
    where.barrier();
    n.vmmc.block_notifications();
    where.barrier();
    OK(theirs.update_and_notify(0, bytes_of(word{1})));
    OK(theirs.fence());
    where.barrier();
    OK(mine.revoke());
    n.vmmc.unblock_notifications();
    port.wait([] { return false; }, 20ms).ignore();
    EXPECT_EQ(heard, 0);
    where.barrier();
    auto stale = theirs.update_and_notify(0, bytes_of(word{1}));
    for (int i = 0; stale.ok() && i < 100; ++i) stale = theirs.fence();
    EXPECT_EQ(stale.code(), errc::revoked);
  });
}

TEST_P(vmmc_notification, a_handler_may_do_what_waits) {
  run_on_nodes(GetParam(), [&](fabric& port, meeting& where) {
    node_under_test n(port, where);
    const auto memory = n.allocate(4096);
    const auto words = n.give("words", memory);
    const auto counter = n.take(0, "words");
    std::atomic<int> heard{0};
    const auto mine = n.give("bell", n.allocate(64), {.on_notification = [&](const notification&) {
                               EXPECT_TRUE(counter.fetch_add(0, 1).ok());
                               EXPECT_TRUE(counter.fence().ok());
                               ++heard;
                             }});
    const auto theirs = n.take(n.next(), "bell");
    leave_together at_the_end{where};
    for (int i = 0; i < 20; ++i) OK(theirs.update_and_notify(0, bytes_of(word{1})));
    OK(port.wait([&] { return heard == 20; }, 20s));
    where.barrier();
    if (port.self() != 0) return;
    EXPECT_EQ(word_at(memory, 0), 20u * port.nodes());
  });
}

ON_EVERY_FABRIC(vmmc_notification);

}  // namespace
}  // namespace weft::test
