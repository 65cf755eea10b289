// The ANL macros' functions: what include/weft/parmacs.m4 expands to. For programs in C (also of the old kind) and C++; a program
// includes it by MAIN_ENV or EXTERN_ENV and calls nothing here by name. docs/parmacs.md says what the macros mean.
//
// A program that uses any of these is a program of the macros: node 0 runs its main; the other nodes wait, before main, for CREATE.
//
// Objects may lie in shared memory, or among the program's globals: CREATE copies those, and the copies are the same object.
//
// Errors end the program with one sentence on standard error. Threads: any, except where it says that main's alone calls.
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#define WEFT_NOEXCEPT noexcept
#else
#define WEFT_NOEXCEPT
#endif

// Where the object is, and room for it.
#define WEFT_PARMACS_OBJECT(name, words) \
  typedef struct {                       \
    uint64_t weft_private[words];        \
  } name

// --- the program: main's thread on node 0 -------------------------------------------------------------------------------------------

void weft_parmacs_begin(void) WEFT_NOEXCEPT;

// Starts `f` on another node, or on another thread when all nodes have a worker.
void weft_parmacs_create(void (*f)(void)) WEFT_NOEXCEPT;

// Starts all but one of `workers`, and runs `f` here.
void weft_parmacs_create_all(void (*f)(void), long workers) WEFT_NOEXCEPT;

// Waits for so many of those that were started, or for all if there are fewer.
void weft_parmacs_wait_for_end(long workers) WEFT_NOEXCEPT;

// --- memory -------------------------------------------------------------------------------------------------------------------------

enum { WEFT_PARMACS_ANYWHERE = -1 };

// `home` is the number of the worker that uses it most.
void* weft_parmacs_malloc(size_t size, long home) WEFT_NOEXCEPT;
void weft_parmacs_free(void* p) WEFT_NOEXCEPT;

// --- synchronisation ----------------------------------------------------------------------------------------------------------------

WEFT_PARMACS_OBJECT(weft_parmacs_lock, 4);
void weft_parmacs_lock_init(weft_parmacs_lock* l) WEFT_NOEXCEPT;
void weft_parmacs_lock_take(weft_parmacs_lock* l) WEFT_NOEXCEPT;
void weft_parmacs_lock_give(weft_parmacs_lock* l) WEFT_NOEXCEPT;

WEFT_PARMACS_OBJECT(weft_parmacs_barrier, 4);
void weft_parmacs_barrier_init(weft_parmacs_barrier* b) WEFT_NOEXCEPT;
void weft_parmacs_barrier_wait(weft_parmacs_barrier* b, long workers) WEFT_NOEXCEPT;

WEFT_PARMACS_OBJECT(weft_parmacs_pause, 4);
void weft_parmacs_pause_init(weft_parmacs_pause* p) WEFT_NOEXCEPT;
void weft_parmacs_pause_set(weft_parmacs_pause* p) WEFT_NOEXCEPT;
void weft_parmacs_pause_clear(weft_parmacs_pause* p) WEFT_NOEXCEPT;
void weft_parmacs_pause_wait(weft_parmacs_pause* p) WEFT_NOEXCEPT;

WEFT_PARMACS_OBJECT(weft_parmacs_condition, 4);
void weft_parmacs_condition_init(weft_parmacs_condition* c) WEFT_NOEXCEPT;
void weft_parmacs_condition_wait(weft_parmacs_condition* c, weft_parmacs_lock* held) WEFT_NOEXCEPT;
void weft_parmacs_condition_signal(weft_parmacs_condition* c, int all) WEFT_NOEXCEPT;

// The next of 0 to `last`; when all have been given, every one of the workers waits for the others, gets -1, and it begins anew.
WEFT_PARMACS_OBJECT(weft_parmacs_subscripts, 9);
void weft_parmacs_subscripts_init(weft_parmacs_subscripts* s) WEFT_NOEXCEPT;
long weft_parmacs_subscript(weft_parmacs_subscripts* s, long last, long workers) WEFT_NOEXCEPT;

// What was written before a fence is seen after every later fence of another node.
void weft_parmacs_fence(void) WEFT_NOEXCEPT;

// Microseconds.
unsigned long weft_parmacs_clock(void) WEFT_NOEXCEPT;

#undef WEFT_PARMACS_OBJECT
#undef WEFT_NOEXCEPT
#ifdef __cplusplus
}
#endif
