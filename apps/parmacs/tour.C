/* tour: the shortest round trip through all cities, by branch and bound with a shared stack of partial trips. Written in the ANL macros.
 *
 *   weft run -n 4 tour [workers] [cities] [seed]
 *
 * Workers take a partial trip from the stack under a lock. A short one is made longer by every city that is left, and what comes of
 * it goes back on the stack; a long one is searched to its end. The best trip so far has a lock of its own. Who finds the stack empty
 * waits on a condition variable; when all wait, the work is done. Main checks the length by another method, dynamic programming. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

MAIN_ENV

#define MOST_CITIES 15
#define MOST_PARTIAL 20000
#define SPREAD 4 /* trips of fewer cities are shared out; longer ones are searched at once */

typedef struct {
  int length, cities;
  unsigned char city[MOST_CITIES];
} trip;

typedef struct {
  LOCKDEC(stack_lock)
  CONDVARDEC(stack_changed)
  int on_stack, waiting, workers;
  trip stack[MOST_PARTIAL];
  LOCKDEC(best_lock)
  trip best;
} shared_data;

/* Set by main, and copied to every worker by CREATE. */
static shared_data* shared;
static int cities = 11;
static int distance[MOST_CITIES][MOST_CITIES];

static void make_map(unsigned seed) {
  int x[MOST_CITIES], y[MOST_CITIES], i, j;
  for (i = 0; i < cities; ++i) {
    x[i] = (int)((seed = seed * 1103515245u + 12345u) >> 16) % 1000;
    y[i] = (int)((seed = seed * 1103515245u + 12345u) >> 16) % 1000;
  }
  for (i = 0; i < cities; ++i)
    for (j = 0; j < cities; ++j) distance[i][j] = abs(x[i] - x[j]) + abs(y[i] - y[j]);
}

static int contains(const trip* t, int city) { return memchr(t->city, city, (size_t)t->cities) != NULL; }

static void add(trip* t, int city) {
  t->length += distance[t->city[t->cities - 1]][city];
  t->city[t->cities++] = (unsigned char)city;
}

/* Takes a trip from the stack; 0 when all work is done. */
static int take(trip* into) {
  int got;
  LOCK(shared->stack_lock)
  while (shared->on_stack == 0 && shared->waiting + 1 < shared->workers) {
    ++shared->waiting;
    CONDVARWAIT(shared->stack_changed, shared->stack_lock)
    if (shared->waiting == shared->workers) break;
    --shared->waiting;
  }
  got = shared->on_stack != 0;
  if (got) {
    *into = shared->stack[--shared->on_stack];
  } else {
    shared->waiting = shared->workers;
    CONDVARBCAST(shared->stack_changed)
  }
  UNLOCK(shared->stack_lock)
  return got;
}

static void put(const trip* t) {
  LOCK(shared->stack_lock)
  if (shared->on_stack == MOST_PARTIAL) {
    fprintf(stderr, "tour: more than %d partial trips\n", MOST_PARTIAL);
    exit(1);
  }
  shared->stack[shared->on_stack++] = *t;
  CONDVARSIGNAL(shared->stack_changed)
  UNLOCK(shared->stack_lock)
}

static int best_length(void) {
  int length;
  LOCK(shared->best_lock)
  length = shared->best.length;
  UNLOCK(shared->best_lock)
  return length;
}

static void offer(const trip* t) {
  LOCK(shared->best_lock)
  if (t->length < shared->best.length) shared->best = *t;
  UNLOCK(shared->best_lock)
}

/* All ways to go on from a trip that may still be the best: on the stack, or searched here. */
static void go_on(const trip* t, int* bound) {
  int c;
  if (t->cities == cities) {
    trip whole = *t;
    whole.length += distance[t->city[t->cities - 1]][0];
    if (whole.length < *bound) {
      *bound = whole.length;
      offer(&whole);
    }
    return;
  }
  for (c = 1; c < cities; ++c) {
    trip longer = *t;
    if (contains(t, c)) continue;
    add(&longer, c);
    if (longer.length >= *bound) continue;
    if (longer.cities < SPREAD) put(&longer);
    else go_on(&longer, bound);
  }
}

static void worker(void) {
  trip t;
  while (take(&t)) {
    int bound = best_length();
    if (t.length < bound) go_on(&t, &bound);
  }
}

/* The shortest way from city 0 through a set of cities to one of them, for all sets in order of their size. */
static int shortest_by_sets(void) {
  const int sets = 1 << (cities - 1);
  int(*way)[MOST_CITIES] = malloc(sizeof(*way) * (size_t)sets);
  int set, c, d, best = 1 << 30;
  for (set = 1; set < sets; ++set)
    for (c = 1; c < cities; ++c) {
      const int rest = set & ~(1 << (c - 1));
      way[set][c] = rest == 0 && set != 0 ? distance[0][c] : 1 << 29;
      if (!(set & 1 << (c - 1))) way[set][c] = 1 << 29;
      else
        for (d = 1; d < cities; ++d)
          if (rest & 1 << (d - 1) && way[rest][d] + distance[d][c] < way[set][c]) way[set][c] = way[rest][d] + distance[d][c];
    }
  for (c = 1; c < cities; ++c)
    if (way[sets - 1][c] + distance[c][0] < best) best = way[sets - 1][c] + distance[c][0];
  free(way);
  return best;
}

int main(int argc, char** argv) {
  const int workers = argc > 1 ? atoi(argv[1]) : 4;
  unsigned long began, ended;
  trip start = {0, 1, {0}};
  int expected;
  if (argc > 2) cities = atoi(argv[2]);
  if (workers < 1 || cities < 3 || cities > MOST_CITIES) {
    fprintf(stderr, "usage: tour [workers] [cities, 3 to %d] [seed]\n", MOST_CITIES);
    return 2;
  }
  MAIN_INITENV()
  shared = (shared_data*)G_MALLOC(sizeof(shared_data));
  LOCKINIT(shared->stack_lock)
  LOCKINIT(shared->best_lock)
  CONDVARINIT(shared->stack_changed)
  make_map(argc > 3 ? (unsigned)atoi(argv[3]) : 1u);
  shared->workers = workers;
  shared->waiting = 0;
  shared->stack[0] = start;
  shared->on_stack = 1;
  shared->best.length = 1 << 30;

  CLOCK(began)
  CREATE(worker, workers)
  WAIT_FOR_END(workers)
  CLOCK(ended)

  expected = shortest_by_sets();
  printf("tour of %d cities: length %d in %.3f s with %d workers, %s\n", cities, shared->best.length, (double)(ended - began) / 1e6, workers,
         shared->best.length == expected ? "verified" : "WRONG");
  if (shared->best.length != expected) exit(1);
  MAIN_END
}
