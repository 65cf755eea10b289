#include <weft/c.h>

#include <stdio.h>

int main(void) {
  weft_start();
  const int64_t sum = weft_reduce_int64((int64_t)weft_self() * weft_self(), WEFT_SUM);
  if (weft_self() == 0) printf("%u nodes, sum of squares %lld\n", weft_nodes(), (long long)sum);
  weft_end();
}
