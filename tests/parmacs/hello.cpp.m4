// A program of the macros in C++: constructors of its globals run on every node, and its own data come from main.
#include <cstdio>
#include <string>

MAIN_ENV

namespace {

struct constructed {
  constructed() : value(40) {}
  int value;
} early;

struct shared_data {
  LOCKDEC(lock)
  long sum;
};
shared_data* shared;
long workers = 4;
std::string name = "a name that is too long to be kept in the string itself";  // its letters are in each node's own memory

void work() {
  LOCK(shared->lock)
  shared->sum += early.value;
  UNLOCK(shared->lock)
}

}  // namespace

int main() {
  MAIN_INITENV()
  shared = static_cast<shared_data*>(G_MALLOC(sizeof(shared_data)));
  shared->sum = 0;
  LOCKINIT(shared->lock)
  early.value += 2;
  CREATE(work, workers)
  WAIT_FOR_END(workers)
  std::printf("%ld\n", shared->sum);
  MAIN_END
}
