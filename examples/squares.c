#include <weft/c.h>
#include <stdio.h>

int main(void) {
  weft_start();                                                                          // every node runs main
  const size_t count = 1000000;
  double* squares = weft_allocate_together(count * sizeof *squares, 0, WEFT_FIRST_TOUCH);  // the same address on every node
  size_t first, last;
  weft_share_of(count, &first, &last);                                                   // this node's part
  for (size_t i = first; i < last; ++i) squares[i] = (double)i * (double)i;
  weft_barrier();
  printf("node %u sees %.0f\n", weft_self(), squares[(last + 7) % count]);
  weft_end();
}
