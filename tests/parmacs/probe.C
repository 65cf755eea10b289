/* What programs of the ANL macros do: probe WHAT WORKERS. Each prints what tests/parmacs/run expects, for any number of workers and nodes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

MAIN_ENV

#define MANY 12000 /* of each worker */
#define SOME 60    /* one of so many is used by another worker */
#define TURNS 100

typedef struct cell {
  LOCKDEC(lock)
  CONDVARDEC(changed)
  struct cell *next;
  long value;
} cell;

typedef struct {
  LOCKDEC(lock)
  ALOCKDEC(locks, 16)
  BARDEC(meet)
  PAUSEDEC(go)
  PAUSEDEC(steps, 8)
  GSDEC(numbers)
  CONDVARDEC(turn_changed)
  long next_number, sum, turn, counts[16];
  cell *lists[64];
} shared_data;

/* Private data that CREATE has to copy, and locks that lie among them. */
shared_data *shared;
long workers;
const char *what;
LOCKDEC(global_lock)
ALOCKDEC(global_locks, 4)
GSDEC(global_numbers)
FILE *out;
long table[4] = {1, 2, 3, 4};
long *entry = &table[2];
char words[16][32];
char huge[256 << 20];
char *sparse;
long rounds;

static long number() {
  long mine;
  LOCK(global_lock)
  mine = shared->next_number++;
  UNLOCK(global_lock)
  return mine;
}

static void count(amount) long amount; {
  LOCK(shared->lock)
  shared->sum += amount;
  UNLOCK(shared->lock)
}

static void see_data() {
  long i, found = 0;
  number();
  for (i = 0; i < 256; ++i) found += huge[(i << 20) + 4095] == (char)i;
  count(found == 256 && *entry == 30 && out == stdout && rounds == 7);
}

static void make_locks() {
  const long me = number();
  long i;
  for (i = 0; i < MANY; ++i) {
    cell *c = (cell *)G_MALLOC(sizeof(cell));
    LOCKINIT(c->lock)
    CONDVARINIT(c->changed)
    c->next = shared->lists[me];
    c->value = 0;
    shared->lists[me] = c;
  }
  BARRIER(shared->meet, workers)
  {
    cell *c;
    for (c = shared->lists[(me + 1) % workers], i = 0; c; c = c->next) {
      if (i++ % SOME != 0) continue;
      LOCK(c->lock)
      ++c->value;
      CONDVARSIGNAL(c->changed)
      UNLOCK(c->lock)
    }
  }
  BARRIER(shared->meet, workers)
  {
    cell *c, *next;
    long mine = 0;
    for (c = shared->lists[me]; c; c = next) {
      next = c->next;
      mine += c->value;
      G_FREE(c)
    }
    count(mine);
  }
}

static void use_sparse() {
  const long me = number();
  long i;
  for (i = 0; i < 16; ++i) sparse[((me * 16 + i) << 26) + 5] = (char)(me + i + 1);
  BARRIER(shared->meet, workers)
  for (i = 0; i < 16; ++i) count(sparse[((((me + 1) % workers) * 16 + i) << 26) + 5] == (char)((me + 1) % workers + i + 1));
}

static void take_turns() {
  const long me = number();
  long i;
  for (i = me; i < TURNS; i += workers) {
    LOCK(shared->lock)
    while (shared->turn != i) CONDVARWAIT(shared->turn_changed, shared->lock)
    printf("%ld\n", i);
    ++shared->turn;
    CONDVARBCAST(shared->turn_changed)
    UNLOCK(shared->lock)
  }
}

static void wait_for_events() {
  const long me = number();
  long i;
  if (me == 0) SETPAUSE(shared->go)
  WAITPAUSE(shared->go)
  for (i = 0; i < 8; ++i) {
    if (i % workers == me) {
      shared->counts[i] = i + 1;
      SETPAUSE(shared->steps, i)
    }
    WAITPAUSE(shared->steps, i)
    count(shared->counts[i]);
  }
  BARRIER(shared->meet, workers)
  if (me == 0) CLEARPAUSE(shared->go)
}

static void deal_numbers() {
  long i, round;
  number();
  for (round = 0; round < 3; ++round) {
    GETSUB(shared->numbers, i, 99, workers)
    while (i >= 0) {
      count(i);
      GETSUB(shared->numbers, i, 99, workers)
    }
  }
  GETSUB(global_numbers, i, 9, workers)
  while (i >= 0) {
    ALOCK(shared->locks, i)
    ++shared->counts[i];
    AULOCK(shared->locks, i)
    ALOCK(global_locks, i % 4)
    UNLOCK(AGETL(global_locks, i % 4))
    GETSUB(global_numbers, i, 9, workers)
  }
  RELEASE_FENCE();
}

static void read_words() {
  const long me = number();
  count((long)strlen(words[me % 4]));
}

static void end_by_exit() {
  count(1);
  MAIN_END
}

static void fail() {
  if (number() == workers - 1) exit(3);
  BARRIER(shared->meet, workers + 1)
}

static void start(f, once) void (*f)(); int once; {
  long i;
  shared->next_number = 0;
  if (once) {
    CREATE(f, workers)
    WAIT_FOR_END(workers)
  } else {
    for (i = 1; i < workers; ++i) CREATE(f)
    f();
    WAIT_FOR_END(workers - 1)
  }
}

static int is(name) char *name; { return strcmp(what, name) == 0; }

static void data_test() {
  long i;
  out = stdout;
  for (i = 0; i < 256; ++i) huge[(i << 20) + 4095] = (char)i;
  table[2] = 30;
  rounds = 7;
  start(see_data, 1);
  huge[4095] = 1; /* a second start brings what has changed since, zeros too */
  start(see_data, 1);
  huge[4095] = 0;
  start(see_data, 0);
  printf("%s\n", shared->sum == 2 * workers ? "data as they should be" : "WRONG data");
}

int main(argc, argv) int argc; char **argv; {
  unsigned long began, ended;
  long i;
  what = argc > 1 ? argv[1] : "";
  workers = argc > 2 ? atol(argv[2]) : 1;
  for (i = 0; is("input") && i < 4; ++i)
    if (scanf("%31s", words[i]) != 1) return 2;
  if (is("sparse")) sparse = (char *)G_MALLOC((size_t)48 << 30);
  shared = (shared_data *)G_MALLOC(sizeof(shared_data));
  memset(shared, 0, sizeof *shared);
  MAIN_INITENV(, 1000)
  LOCKINIT(shared->lock)
  ALOCKINIT(shared->locks, 16)
  LOCKINIT(global_lock)
  ALOCKINIT(global_locks, 4)
  BARINIT(shared->meet, workers)
  PAUSEINIT(shared->go)
  PAUSEINIT(shared->steps, 8)
  GSINIT(shared->numbers)
  GSINIT(global_numbers)
  CONDVARINIT(shared->turn_changed)
  CLOCK(began)
  SPLASH3_ROI_BEGIN()
  if (is("data")) data_test();
  if (is("locks")) start(make_locks, 1);
  if (is("sparse")) start(use_sparse, 0);
  if (is("order")) start(take_turns, 1);
  if (is("events")) start(wait_for_events, 0);
  if (is("numbers")) start(deal_numbers, 1);
  if (is("input")) start(read_words, 0);
  for (i = 1; is("exit") && i < workers; ++i) CREATE(end_by_exit)
  WAIT_FOR_END(workers - 1)
  if (is("fail")) start(fail, 1);
  SPLASH3_ROI_END()
  CLOCK(ended)
  if (ended < began) printf("the clock goes backwards\n");
  if (is("locks")) printf("%s\n", shared->sum == workers * MANY / SOME ? "all locks" : "WRONG locks");
  if (is("sparse")) printf("%s\n", shared->sum == workers * 16 ? "sparse" : "WRONG");
  if (is("order")) printf("end\n");
  if (is("events")) printf("%s\n", shared->sum == workers * 36 ? "events" : "WRONG events");
  if (is("numbers")) printf("%ld %ld\n", shared->sum, shared->counts[9]);
  if (is("input")) printf("%ld\n", shared->sum);
  if (is("exit")) printf("%s\n", shared->sum == workers - 1 ? "all ended" : "WRONG");
  G_FREE(shared)
  MAIN_END
}
