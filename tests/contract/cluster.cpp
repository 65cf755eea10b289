#include "contract/cluster.h"

#include <algorithm>
#include <csignal>
#include <cstdlib>

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#endif

#include "base/random.h"
#include "base/text.h"
#include "fabric/ofi/library.h"
#include "os/memory_file.h"
#include "job/fabrics.h"

namespace weft::test {

namespace {

constexpr auto patience = std::chrono::seconds(20);
constexpr int overall_seconds = 90;

std::vector<std::string> hosts() {
  const char* names = std::getenv("WEFT_TEST_HOSTS");
  return names ? base::split(names, ',') : std::vector<std::string>();
}

void go_to_host(node_id self) {
  const auto all = hosts();
  if (all.empty()) return;
  const std::string path = "/run/netns/" + all[self % all.size()];
  const os::unique_fd host(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  ASSERT_TRUE(host && ::setns(host.get(), CLONE_NEWNET) == 0) << "cannot enter " << path << ": " << std::strerror(errno);
}

void run_node(const setup& what, node_id self, const body& run, meeting& where) {
  ASSERT_NO_FATAL_FAILURE(go_to_host(self));
  if (!what.narrowed.empty()) ::setenv("WEFT_OFI", what.narrowed.c_str(), 1);
  auto made = runtime::make_fabric(what.fabric, options_for(what, self));
  ASSERT_TRUE(made.ok()) << made.sentence();
  auto& port = **made;
  port.patience(patience);
  auto card = port.open();
  ASSERT_TRUE(card.ok()) << card.sentence();
  auto cards = where.gather_bytes(self, *card);
  if (what.edit_cards) what.edit_cards(self, cards);
  auto connected = port.connect(cards);
  ASSERT_TRUE(connected.ok()) << connected.sentence();
  where.barrier();
  run(port, where);
  where.barrier();  // nobody leaves while others may still need its service
  port.close();
}

// A look for leaks takes longer than most tests. It is worth it where a test gives a node something of its own to do, which are the first
// two and the last, and once with every fault: how many faults there are and how many nodes do the same leaks nothing more.
[[maybe_unused]] bool looks_for_leaks(const setup& what, node_id self) {
  return (self < 2 || self + 1 == what.nodes) && (what.impair.empty() || what.impair == every_fault);
}

}  // namespace

std::string setup::label() const {
  std::string text = fabric;
  for (const auto& part : {provider, impair, narrowed})
    if (!part.empty()) text += "_" + part;
  for (char& c : text)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return text + "_" + std::to_string(nodes) + (nodes == 1 ? "_node" : "_nodes");
}

meeting* meeting::create(node_id nodes) {
  void* at = ::mmap(nullptr, sizeof(meeting) + nodes * note_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  auto* m = new (at) meeting();
  m->nodes_ = nodes;
  m->expected_ = nodes;
  return m;
}

void meeting::destroy(meeting* m) {
  ::munmap(m, sizeof(meeting) + m->nodes_ * note_bytes);
}

void meeting::arrive_if_complete() {
  if (arrived_.load() < expected_.load()) return;
  arrived_.store(0);
  generation_.fetch_add(1);
  os::futex_wake(generation_, INT32_MAX);
}

void meeting::barrier() {
  const std::uint32_t g = generation_.load();
  if (arrived_.fetch_add(1) + 1 >= expected_.load()) {
    arrive_if_complete();
    return;
  }
  while (generation_.load() == g) os::futex_wait(generation_, g, base::second);
}

std::vector<base::byte_buffer> meeting::gather_bytes(node_id self, base::byte_view mine) {
  if (mine.size() + sizeof(std::uint32_t) > note_bytes) std::abort();
  std::byte* slot = notes() + self * note_bytes;
  base::store(slot, static_cast<std::uint32_t>(mine.size()));
  if (!mine.empty()) std::memcpy(slot + sizeof(std::uint32_t), mine.data(), mine.size());
  barrier();
  std::vector<base::byte_buffer> all;
  for (node_id n = 0; n < nodes_; ++n) {
    const std::byte* from = notes() + n * note_bytes;
    all.emplace_back(from + 4, from + 4 + base::load<std::uint32_t>(from));
  }
  barrier();
  return all;
}

std::vector<std::byte> pattern(std::uint64_t seed, std::size_t size) {
  base::random r(seed);
  std::vector<std::byte> data(size);
  for (std::size_t at = 0; at < size; at += sizeof(word)) {
    const word next = r.next();
    std::memcpy(&data[at], &next, std::min(sizeof next, size - at));
  }
  return data;
}

bool same(bytes a, bytes b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size()) == 0);
}

fabric::fabric_options options_for(const setup& what, node_id self) {
  fabric::fabric_options o;
  o.self = self;
  o.nodes = what.nodes;
  o.nodes_on_host = what.nodes;
  o.group = 0x7765667400000001u + static_cast<std::uint64_t>(::getppid());
  for (std::size_t i = 0; i < o.key.size(); ++i) o.key[i] = static_cast<std::byte>(i * 17 + 3);
  o.one_host = hosts().empty();
  o.share_cores = std::getenv("WEFT_SHARE_CORES") != nullptr;
  o.provider = what.provider;
  o.impair = what.impair;
  o.dead_after = std::chrono::nanoseconds(dead_after).count();
  return o;
}

void run_on_nodes(const setup& what, const body& run, const std::set<node_id>& lost) {
  // libfabric takes a third of a second to look for hardware; the nodes inherit what it found.
  if (what.fabric == "ofi") static const auto known = fabric::ofi::list_providers();
  meeting* where = meeting::create(what.nodes);
  std::vector<pid_t> children;
  for (node_id self = 0; self < what.nodes; ++self) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      ::alarm(overall_seconds);  // a node that hangs ends itself
      run_node(what, self, run, *where);
      std::fflush(nullptr);
#ifdef __SANITIZE_ADDRESS__
      if (looks_for_leaks(what, self)) __lsan_do_leak_check();  // ends the node if there is any: _exit would not look
#endif
      ::_exit(::testing::Test::HasFailure() ? 1 : 0);
    }
    children.push_back(child);
  }
  if (what.meanwhile) what.meanwhile();
  bool ended_all = false;
  for (std::size_t left = children.size(); left > 0; --left) {
    int how = 0;
    const pid_t child = ::wait(&how);
    const auto node = static_cast<node_id>(std::find(children.begin(), children.end(), child) - children.begin());
    if ((WIFEXITED(how) && WEXITSTATUS(how) == 0) || lost.contains(node)) continue;
    if (!ended_all)
      ADD_FAILURE() << "node " << node << (WIFSIGNALED(how) ? " was ended by signal " : " ended with status ")
                    << (WIFSIGNALED(how) ? WTERMSIG(how) : WEXITSTATUS(how));
    if (!ended_all)  // the others may wait for it for ever
      for (pid_t other : children)
        if (other != child) ::kill(other, SIGKILL);
    ended_all = true;
  }
  meeting::destroy(where);
}

void die(const setup& what, fabric::fabric& port) {
  if (what.provider == "shm") port.close();
  ::kill(::getpid(), SIGKILL);
  std::abort();  // not reached
}

}  // namespace weft::test
