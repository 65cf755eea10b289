/* A program in the ANL macros, as somebody else would write one. */
#include <stdio.h>

MAIN_ENV

struct shared_data {
  LOCKDEC(lock)
  int next, sum;
} *shared;
int workers = 4;

void work() {
  int me;
  LOCK(shared->lock)
  me = shared->next++;
  shared->sum += me * me;
  UNLOCK(shared->lock)
}

int main() {
  MAIN_INITENV()
  shared = (struct shared_data*)G_MALLOC(sizeof *shared);
  LOCKINIT(shared->lock)
  CREATE(work, workers)
  WAIT_FOR_END(workers)
  printf("%d nodes, sum of squares %d\n", workers, shared->sum);
  MAIN_END
}
