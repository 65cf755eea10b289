// Four senders and very many words into one queue: none lost, none twice, each sender's order kept.
#include "contract/vmmc/fixture.h"

namespace weft::test {
namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr word share = 50;  // of the words, under a sanitizer
#else
constexpr word share = 1;
#endif

// Node 0 takes, nodes 1 to 4 send one word at a time.
void four_senders(const setup& what, word each) {
  run_on_nodes(what, [&](fabric& port, meeting& where) {
    node_under_test n(port, where);
    local_queue inbox;
    if (port.self() == 0) {
      auto made = make_queue(n.vmmc, "inbox");
      OK(made);
      inbox = std::move(*made);
    }
    auto outbox = find_queue(n.vmmc, 0, "inbox");
    OK(outbox);
    leave_together at_the_end{where};
    if (port.self() != 0) {
      for (word i = 0; i < each; ++i) OK(outbox->enqueue(word{port.self()} << 32 | i));
      OK(port.fence(0));
      return;
    }
    std::vector<word> next(port.nodes(), 0), values(1024);
    word taken = 0, wrong = 0;
    auto take_all = [&] {
      for (auto some = inbox.dequeue(values); !some.ok() || *some > 0; some = inbox.dequeue(values)) {
        if (!some.ok()) continue;  // the bound was reached; the words come all the same
        for (std::size_t i = 0; i < *some; ++i) wrong += next[values[i] >> 32]++ != (values[i] & 0xffffffff);
        taken += *some;
      }
      return taken == each * 4;
    };
    OK(port.wait(take_all, 80s));
    where.word(0) = taken;
    EXPECT_EQ(wrong, 0u);
    port.wait([] { return false; }, 50ms).ignore();  // what would come twice comes now
    take_all();
    EXPECT_EQ(taken, each * 4);
  });
}

TEST(vmmc_many_words, ten_million_of_each_sender_over_shm) {
  four_senders({"shm", "", "", 5, {}}, 10'000'000 / share);
}
TEST(vmmc_many_words, a_million_of_each_sender_over_udp_with_loss) {
  four_senders({"udp", "", "loss=5%", 5, {}}, 1'000'000 / share);
}

}  // namespace
}  // namespace weft::test
