// weft for programs in C (C11): the shared memory and the synchronisation of weft/memory.h and weft/sync.h, which say what each means.
//
//   int main(void) {
//     weft_start();                                                                       // every node runs main
//     double* squares = weft_allocate_together(n * sizeof *squares, 0, WEFT_FIRST_TOUCH); // the same address on every node
//     ...
//     weft_barrier();
//     weft_end();
//   }
//
// Errors. A call that fails ends the program with one sentence on standard error, as an exception that nobody catches does in C++. There
// is nothing to check: a call fails because the program is wrong, because memory is used up or because another node is gone, and a
// program whose shared memory is gone cannot go on. What may happen in a program that is right, such as a lock that was not free in
// time, is the result of the call.
//
// Objects (weft_mutex and the like) may lie in shared memory, made by one node and used by all; or elsewhere, and then all nodes
// initialise theirs in the same order. They are the objects of the same names in C++, so that parts in both languages can share them.
// They need not be destroyed.
//
// Threads: as in C++. Calls that all nodes make are made by one thread of each.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#define WEFT_NOEXCEPT noexcept
#else
#define WEFT_NOEXCEPT
#endif

// --- the job: once in a program ---------------------------------------------------------------------------------------------------

void weft_start(void) WEFT_NOEXCEPT;
void weft_end(void) WEFT_NOEXCEPT;
uint32_t weft_self(void) WEFT_NOEXCEPT;
uint32_t weft_nodes(void) WEFT_NOEXCEPT;

// This node's part of [0, count): the first and one past the last.
void weft_share_of(size_t count, size_t* first, size_t* last) WEFT_NOEXCEPT;

// --- memory -------------------------------------------------------------------------------------------------------------------------

enum { WEFT_PAGE_SIZE = 4096 };

// Where pages have their homes: one of these, or a node by weft_on().
typedef int64_t weft_placement;
enum { WEFT_FIRST_TOUCH = -1, WEFT_CYCLIC = -2, WEFT_BLOCK = -3 };
static inline weft_placement weft_on(uint32_t node) {
  return (weft_placement)node;
}

// Zeroed the first time. An alignment of 0 is that of any C type; for all nodes together, that of a page.
void* weft_allocate(size_t size, size_t alignment, weft_placement where) WEFT_NOEXCEPT;           // by this node alone
void* weft_allocate_together(size_t size, size_t alignment, weft_placement where) WEFT_NOEXCEPT;  // by all nodes, in the same order
void weft_free(void* p) WEFT_NOEXCEPT;                                                            // by any node, once

// For system calls that weft does not know: makes the bytes present, for reading or for reading and writing.
void weft_touch(const void* p, size_t size, bool for_writing) WEFT_NOEXCEPT;

// Ends the program's initialisation for the placement of pages, if the first barrier is not the place for it.
void weft_initialised(void) WEFT_NOEXCEPT;

// --- synchronisation ----------------------------------------------------------------------------------------------------------------

#define WEFT_OBJECT(name, words)  \
  typedef struct {                \
    uint64_t weft_private[words]; \
  } name

WEFT_OBJECT(weft_mutex, 3);
void weft_mutex_init(weft_mutex* m) WEFT_NOEXCEPT;
void weft_mutex_lock(weft_mutex* m) WEFT_NOEXCEPT;
bool weft_mutex_try_lock(weft_mutex* m) WEFT_NOEXCEPT;
bool weft_mutex_try_lock_for(weft_mutex* m, uint64_t nanoseconds) WEFT_NOEXCEPT;
void weft_mutex_unlock(weft_mutex* m) WEFT_NOEXCEPT;

WEFT_OBJECT(weft_shared_mutex, 3);
void weft_shared_mutex_init(weft_shared_mutex* m) WEFT_NOEXCEPT;
void weft_shared_mutex_lock(weft_shared_mutex* m) WEFT_NOEXCEPT;
bool weft_shared_mutex_try_lock(weft_shared_mutex* m) WEFT_NOEXCEPT;
void weft_shared_mutex_unlock(weft_shared_mutex* m) WEFT_NOEXCEPT;
void weft_shared_mutex_lock_shared(weft_shared_mutex* m) WEFT_NOEXCEPT;
bool weft_shared_mutex_try_lock_shared(weft_shared_mutex* m) WEFT_NOEXCEPT;
void weft_shared_mutex_unlock_shared(weft_shared_mutex* m) WEFT_NOEXCEPT;

WEFT_OBJECT(weft_condition, 3);
void weft_condition_init(weft_condition* c) WEFT_NOEXCEPT;
void weft_condition_wait(weft_condition* c, weft_mutex* held) WEFT_NOEXCEPT;
bool weft_condition_wait_for(weft_condition* c, weft_mutex* held,
                             uint64_t nanoseconds) WEFT_NOEXCEPT;  // false: not notified in time
void weft_condition_notify_one(weft_condition* c) WEFT_NOEXCEPT;
void weft_condition_notify_all(weft_condition* c) WEFT_NOEXCEPT;

WEFT_OBJECT(weft_counter, 3);
void weft_counter_init(weft_counter* c) WEFT_NOEXCEPT;
uint64_t weft_counter_add(weft_counter* c, uint64_t amount) WEFT_NOEXCEPT;  // the value before
uint64_t weft_counter_value(weft_counter* c) WEFT_NOEXCEPT;
void weft_counter_wait(weft_counter* c, uint64_t at_least) WEFT_NOEXCEPT;
void weft_counter_reset(weft_counter* c) WEFT_NOEXCEPT;

WEFT_OBJECT(weft_flag, 3);
void weft_flag_init(weft_flag* f) WEFT_NOEXCEPT;
void weft_flag_set(weft_flag* f, uint64_t value) WEFT_NOEXCEPT;
void weft_flag_clear(weft_flag* f) WEFT_NOEXCEPT;
bool weft_flag_is_set(weft_flag* f) WEFT_NOEXCEPT;
void weft_flag_wait(weft_flag* f, uint64_t at_least) WEFT_NOEXCEPT;

// All nodes meet.
void weft_barrier(void) WEFT_NOEXCEPT;

// For `participants` threads, of whichever nodes.
WEFT_OBJECT(weft_group_barrier, 4);
void weft_group_barrier_init(weft_group_barrier* b, uint32_t participants) WEFT_NOEXCEPT;
void weft_group_barrier_wait(weft_group_barrier* b) WEFT_NOEXCEPT;

// All nodes: a barrier that also gives everybody everybody's `size` bytes, by node. At most 1024.
void weft_gather(const void* mine, size_t size, void* all) WEFT_NOEXCEPT;

// All nodes: combined in node order, so the result is the same everywhere. Also a barrier.
typedef enum { WEFT_SUM, WEFT_MIN, WEFT_MAX } weft_operation;
double weft_reduce_double(double mine, weft_operation how) WEFT_NOEXCEPT;
int64_t weft_reduce_int64(int64_t mine, weft_operation how) WEFT_NOEXCEPT;

#undef WEFT_OBJECT
#undef WEFT_NOEXCEPT
#ifdef __cplusplus
}
#endif
