/* heat: the temperature of a plate whose border is held warm, by Jacobi's method. Written in the ANL macros, in C as it was before
 * prototypes, with CREATE once for each worker.
 *
 *   echo "SIZE STEPS WORKERS" | weft run -n 4 heat
 *
 * Each worker has a band of rows. In a step it makes the new grid from the old one; then all meet, and the grids change places. Main
 * repeats the work alone and compares every point. */
#include <stdio.h>
#include <string.h>

MAIN_ENV

struct shared_data {
  LOCKDEC(number_lock)
  int next_number;
  BARDEC(step)
} *shared;

int size, steps, workers;
double *grids[2];

double warmth(row, column)
int row, column;
{
  return row == 0 ? 100.0 : column == 0 ? 50.0 : row == size - 1 || column == size - 1 ? 10.0 : 0.0;
}

heat_rows(from, to, first, last)
double *from, *to;
int first, last;
{
  int row, column;
  for (row = first; row < last; ++row)
    for (column = 1; column < size - 1; ++column) {
      double *at = from + row * size + column;
      to[row * size + column] = 0.25 * (at[-size] + at[-1] + at[1] + at[size]);
    }
}

work()
{
  int number, first, last, step;
  LOCK(shared->number_lock)
  number = shared->next_number++;
  UNLOCK(shared->number_lock)
  first = 1 + (size - 2) * number / workers;
  last = 1 + (size - 2) * (number + 1) / workers;
  for (step = 0; step < steps; ++step) {
    heat_rows(grids[step % 2], grids[1 - step % 2], first, last);
    BARRIER(shared->step, workers)
  }
}

fill(grid)
double *grid;
{
  int row, column;
  for (row = 0; row < size; ++row)
    for (column = 0; column < size; ++column) grid[row * size + column] = warmth(row, column);
}

int main()
{
  unsigned long began, ended;
  double *alone[2];
  double sum = 0;
  int i, same;
  size_t bytes;

  if (scanf("%d %d %d", &size, &steps, &workers) != 3 || size < 3 || steps < 0 || workers < 1) {
    fprintf(stderr, "heat: give it three numbers: size, steps, workers\n");
    exit(2);
  }
  bytes = (size_t)size * size * sizeof(double);
  MAIN_INITENV(, 80000000)
  shared = (struct shared_data *)G_MALLOC(sizeof(struct shared_data));
  LOCKINIT(shared->number_lock)
  BARINIT(shared->step, workers)
  shared->next_number = 0;
  for (i = 0; i < 2; ++i) {
    grids[i] = (double *)G_MALLOC(bytes);
    fill(grids[i]);
  }

  CLOCK(began)
  for (i = 1; i < workers; ++i) CREATE(work)
  work();
  WAIT_FOR_END(workers - 1)
  CLOCK(ended)

  for (i = 0; i < 2; ++i) {
    alone[i] = (double *)malloc(bytes);
    fill(alone[i]);
  }
  for (i = 0; i < steps; ++i) heat_rows(alone[i % 2], alone[1 - i % 2], 1, size - 1);
  same = memcmp(alone[steps % 2], grids[steps % 2], bytes) == 0;
  for (i = 0; i < size * size; ++i) sum += grids[steps % 2][i];
  printf("heat %dx%d, %d steps: %.6f on average, %.3f s with %d workers, %s\n", size, size, steps, sum / size / size,
         (double)(ended - began) / 1e6, workers, same ? "verified" : "WRONG");
  if (!same) exit(1);
  MAIN_END
}
