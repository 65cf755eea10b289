/* locks: what a lock costs that nobody else wants. Written in the ANL macros.
 *
 *   weft run -n 4 locks [workers] [pairs] [--time]
 *
 * Every worker has some locks of its own and a counter under each, and takes one after the other. Its locks move to it with the first
 * pairs; what is printed is the time of the rest, which is what a pair costs. Main checks that nothing was lost. */
#include <stdio.h>
#include <stdlib.h>

MAIN_ENV

#define LOCKS 16 /* of a worker */
#define WARM_UP 10

typedef struct {
  LOCKDEC(lock)
  long count;
} guarded;

typedef struct {
  guarded of[LOCKS];
  double nanoseconds; /* a pair */
  char rest[PAGE_SIZE];
} worker_data;

typedef struct {
  LOCKDEC(number_lock)
  int next_number;
  BARDEC(start)
  worker_data* workers;
} shared_data;

static shared_data* shared;
static long workers = 4, pairs = 1000000;

static void work(void) {
  worker_data* mine;
  unsigned long began = 0, ended;
  long i;
  LOCK(shared->number_lock)
  mine = &shared->workers[shared->next_number++];
  UNLOCK(shared->number_lock)
  for (i = 0; i < LOCKS; ++i) LOCKINIT(mine->of[i].lock)
  BARRIER(shared->start, workers)
  for (i = -WARM_UP * LOCKS; i < pairs; ++i) {
    guarded* g = &mine->of[(unsigned long)i % LOCKS];
    if (i == 0) CLOCK(began)
    LOCK(g->lock)
    ++g->count;
    UNLOCK(g->lock)
  }
  CLOCK(ended)
  mine->nanoseconds = (double)(ended - began) * 1e3 / (double)pairs;
}

int main(int argc, char** argv) {
  double worst = 0;
  long sum = 0, w, i;
  if (argc > 1) workers = atol(argv[1]);
  if (argc > 2) pairs = atol(argv[2]);
  if (workers < 1 || pairs < 1) {
    fprintf(stderr, "usage: locks [workers] [pairs]\n");
    return 2;
  }
  MAIN_INITENV()
  shared = (shared_data*)G_MALLOC(sizeof(shared_data));
  shared->next_number = 0;
  shared->workers = (worker_data*)G_MALLOC((size_t)workers * sizeof(worker_data));
  LOCKINIT(shared->number_lock)
  BARINIT(shared->start, workers)
  CREATE(work, workers)
  WAIT_FOR_END(workers)
  for (w = 0; w < workers; ++w) {
    if (shared->workers[w].nanoseconds > worst) worst = shared->workers[w].nanoseconds;
    for (i = 0; i < LOCKS; ++i) sum += shared->workers[w].of[i].count;
  }
  if (argc > 3) printf("seconds=%.3e\n", worst * 1e-9); /* a pair */
  else printf("locks: %ld pairs each by %ld workers, %.1f ns a pair, %s\n", pairs, workers, worst,
         sum == workers * (pairs + WARM_UP * LOCKS) ? "verified" : "WRONG");
  if (sum != workers * (pairs + WARM_UP * LOCKS)) exit(1);
  MAIN_END
}
