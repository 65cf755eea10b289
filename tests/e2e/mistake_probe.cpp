// A node that makes one mistake with shared memory.
#include <weft/weft.h>

#include <cstdio>
#include <functional>
#include <map>
#include <string>
#include <thread>

namespace {

struct shared {
  weft::mutex mutex;
  weft::shared_mutex shared_mutex;
  char* block = nullptr;
};

struct mistake {};  // that the program knows how to handle

void on_another_thread(const std::function<void()>& work) {
  std::thread(work).join();
}

const std::map<std::string, std::function<void(weft::job&, shared&)>> mistakes = {
    // memory
    {"more_than_there_is", [](auto&, auto&) { weft::allocate(std::size_t{1} << 50); }},
    {"more_than_is_left",
     [](auto&, auto&) {
       for (int i = 0; i < 8; ++i) weft::allocate(std::size_t{100} << 30);
     }},
    {"more_than_there_are_addresses", [](auto&, auto&) { weft::make_array<double>(~std::size_t{0} / 4); }},
    {"an_alignment_that_is_none", [](auto&, auto&) { weft::allocate(100, 24); }},
    {"a_node_that_does_not_exist", [](auto&, auto&) { weft::allocate(100, 16, weft::placement::on(99)); }},
    {"free_of_private_memory",
     [](auto&, auto&) {
       int mine = 0;
       weft::free(&mine);
     }},
    {"free_of_what_was_never_allocated",
     [](auto&, shared& s) { weft::free(reinterpret_cast<char*>(&s) + (std::size_t{300} << 30)); }},
    {"free_inside_a_block", [](auto&, auto&) { weft::free(static_cast<char*>(weft::allocate(1'000'000)) + 8192); }},
    {"free_inside_a_block_of_another_node",
     [](weft::job& job, shared& s) {
       if (job.self() == 0) s.block = static_cast<char*>(weft::allocate(100));
       weft::barrier();
       if (job.self() == 1) weft::free(s.block + 16);
     }},
    {"free_twice",
     [](auto&, auto&) {
       void* p = weft::allocate(100);
       weft::free(p);
       weft::free(p);
     }},
    {"free_twice_of_a_large_block",
     [](auto&, auto&) {
       void* p = weft::allocate(1'000'000);
       weft::free(p);
       weft::free(p);
     }},
    {"free_twice_by_others",
     [](weft::job& job, shared& s) {
       if (job.self() == 0) s.block = static_cast<char*>(weft::allocate(100));
       weft::barrier();
       if (job.self() == 1) weft::free(s.block), weft::free(s.block);
       weft::barrier();
       weft::allocate(100);  // when node 0 takes back what others have freed
     }},
    // exceptions: node 1 leaves the job by one that main catches
    {"an_exception",
     [](weft::job& job, auto&) {
       if (job.self() == 1) throw mistake{};
     }},
    // locks
    {"unlock_of_a_free_mutex", [](auto&, shared& s) { s.mutex.unlock(); }},
    {"unlock_by_another_node",
     [](weft::job& job, shared& s) {
       if (job.self() == 0) s.mutex.lock();
       weft::barrier();
       if (job.self() == 1) s.mutex.unlock();
     }},
    {"unlock_by_another_thread",
     [](weft::job& job, shared& s) {
       if (job.self() != 0) return;
       s.mutex.lock();
       on_another_thread([&] { s.mutex.unlock(); });
     }},
    {"unlock_of_a_shared_mutex_that_is_free", [](auto&, shared& s) { s.shared_mutex.unlock(); }},
    {"unlock_shared_without_readers", [](auto&, shared& s) { s.shared_mutex.unlock_shared(); }},
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  try {
    weft::job job(argc, argv);
    auto& s = weft::make<shared>();
    mistakes.at(argv[1])(job, s);
    weft::barrier();
    weft::barrier();
    std::printf("nobody minds\n");
  } catch (const mistake&) {
    return 3;
  }
}
