// The examples of docs/memory-model.md. The tests build and run them, and check that the document shows them as they are.
#include <weft/weft.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <span>
#include <string>

namespace {

struct account {
  weft::mutex lock;
  long balance = 0;
};

void deposit(account& a, long amount) {
  std::scoped_lock held(a.lock);
  a.balance += amount;
}

void produce(std::string_view what, std::span<char> message, weft::flag& ready) {
  std::copy(what.begin(), what.end(), message.begin());
  ready.set();
}

std::string consume(std::span<const char> message, weft::flag& ready) {
  ready.wait();
  return {message.begin(), message.end()};
}

// Each node has a byte of its own, all in one word.
bool neighbours(const weft::job& job, std::span<unsigned char> bytes) {
  bytes[job.self()] = static_cast<unsigned char>(job.self() + 1);
  weft::barrier();
  for (unsigned n = 0; n < job.nodes(); ++n)
    if (bytes[n] != n + 1) return false;
  return true;
}

// A race: nothing orders this read and the deposits.
long glance(const account& a) {
  return a.balance;
}

bool check(bool right, const char* what) {
  if (!right) std::printf("wrong: %s\n", what);
  return right;
}

}  // namespace

int main(int argc, char** argv) {
  weft::job job(argc, argv);
  constexpr std::string_view text = "made elsewhere";
  constexpr long each = 100;
  auto& shared = weft::make<account>();
  auto& ready = weft::make<weft::flag>();
  auto message = weft::make_array<char>(text.size());
  auto bytes = weft::make_array<unsigned char>(job.nodes());

  bool right = true;
  for (long i = 0; i < each; ++i) {
    deposit(shared, 1);
    const long seen = glance(shared);
    right &= check(seen >= 0 && seen <= each * job.nodes(), "a balance that never was");
  }
  weft::barrier();
  right &= check(shared.balance == each * job.nodes(), "a deposit is lost");

  if (job.self() == 0) produce(text, message, ready);
  right &= check(consume(message, ready) == text, "a message that was not sent");
  right &= check(neighbours(job, bytes), "a neighbour's byte is lost");

  const auto all_right = weft::sum(right ? 1u : 0u);
  if (job.self() == 0) std::printf("%u of %u nodes right\n", all_right, job.nodes());
  return right ? 0 : 1;
}
