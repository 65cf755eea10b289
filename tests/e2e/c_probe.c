// A node in plain C that uses everything that the binding has.
#include <weft/c.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { rounds = 50 };
static weft_mutex global_mutex;

static void check(bool holds, const char* what) {
  if (holds) return;
  fprintf(stderr, "node %u: %s\n", weft_self(), what);
  exit(1);
}

// What node 0 makes for all.
struct shared {
  weft_mutex mutex;
  weft_shared_mutex shared_mutex;
  weft_condition changed;
  weft_counter counter;
  weft_flag flag;
  weft_group_barrier all;
  uint64_t under_mutex, under_global, under_shared, turn;
  char* block;
};

static struct shared* make(void) {
  struct shared* s = weft_allocate_together(sizeof *s, 0, weft_on(weft_nodes() - 1));
  if (weft_self() == 0) {
    weft_mutex_init(&s->mutex);
    weft_shared_mutex_init(&s->shared_mutex);
    weft_condition_init(&s->changed);
    weft_counter_init(&s->counter);
    weft_flag_init(&s->flag);
    weft_group_barrier_init(&s->all, weft_nodes());
  }
  weft_barrier();
  return s;
}

static void count(struct shared* s) {
  for (int i = 0; i < rounds; ++i) {
    weft_mutex_lock(&s->mutex);
    ++s->under_mutex;
    weft_mutex_unlock(&s->mutex);
    weft_mutex_lock(&global_mutex);
    ++s->under_global;
    weft_mutex_unlock(&global_mutex);
    weft_shared_mutex_lock(&s->shared_mutex);
    ++s->under_shared;
    weft_shared_mutex_unlock(&s->shared_mutex);
    weft_shared_mutex_lock_shared(&s->shared_mutex);
    check(s->under_shared > 0, "a reader that sees nothing");
    weft_shared_mutex_unlock_shared(&s->shared_mutex);
  }
  weft_barrier();
  const uint64_t all = (uint64_t)rounds * weft_nodes();
  check(s->under_mutex == all && s->under_global == all && s->under_shared == all, "a count that is wrong");
}

static void take_turns(struct shared* s) {
  for (int i = 0; i < 5; ++i) {
    weft_mutex_lock(&s->mutex);
    while (s->turn % weft_nodes() != weft_self()) weft_condition_wait(&s->changed, &s->mutex);
    ++s->turn;
    weft_condition_notify_all(&s->changed);
    weft_mutex_unlock(&s->mutex);
  }
  weft_group_barrier_wait(&s->all);
  check(s->turn == 5u * weft_nodes(), "a turn that was lost");
  weft_mutex_lock(&s->mutex);
  check(!weft_condition_wait_for(&s->changed, &s->mutex, 1000000), "a notification that nobody sent");
  weft_mutex_unlock(&s->mutex);
  weft_barrier();
}

static void signal_others(struct shared* s) {
  if (weft_self() == 0) {
    s->block = weft_allocate(10000, 0, WEFT_FIRST_TOUCH);
    memset(s->block, 'b', 10000);
    weft_mutex_lock(&s->mutex);
    weft_flag_set(&s->flag, 1);
    weft_counter_wait(&s->counter, weft_nodes() - 1);
    weft_mutex_unlock(&s->mutex);
  } else {
    weft_flag_wait(&s->flag, 1);
    check(weft_flag_is_set(&s->flag) && s->block[9999] == 'b', "a flag that came too soon");
    check(!weft_mutex_try_lock(&s->mutex) && !weft_mutex_try_lock_for(&s->mutex, 1000000), "a lock that another node holds");
    weft_counter_add(&s->counter, 1);
  }
  weft_barrier();
  check(weft_counter_value(&s->counter) == weft_nodes() - 1, "a counter that is wrong");
  weft_barrier();
  if (weft_self() == weft_nodes() - 1) weft_free(s->block);
}

static void combine(void) {
  const uint32_t self = weft_self(), nodes = weft_nodes();
  check(weft_reduce_int64(self, WEFT_SUM) == (int64_t)nodes * (nodes - 1) / 2, "a sum that is wrong");
  check(weft_reduce_double(self, WEFT_MAX) == nodes - 1, "a maximum that is wrong");
  check(weft_reduce_double(self, WEFT_MIN) == 0, "a minimum that is wrong");
  uint32_t* all = calloc(nodes, sizeof *all);
  weft_gather(&self, sizeof self, all);
  for (uint32_t n = 0; n < nodes; ++n) check(all[n] == n, "something gathered that is wrong");
  free(all);
}

int main(int argc, char** argv) {
  weft_mutex_init(&global_mutex);
  weft_start();
  if (argc > 1 && strcmp(argv[1], "wrong") == 0) weft_mutex_unlock(&global_mutex);
  struct shared* s = make();
  weft_initialised();
  count(s);
  take_turns(s);
  signal_others(s);
  combine();
  weft_touch(s, sizeof *s, false);
  if (weft_self() == 0) printf("c: right on %u nodes\n", weft_nodes());
  weft_end();
}
