/* The layouts of CG's C kernel for 1 to MOST ranks, a line of JSON per rank: print_cg_layout N MOST */
#include <stdio.h>
#include <stdlib.h>

#include "layout.h"

static void print_parts(const Part *parts, int n, int with_count)
{
  putchar('[');
  for (int i = 0; i < n; i++)
    printf("%s[%d, %d]", i ? ", " : "", parts[i].rank, with_count ? parts[i].count : 0);
  putchar(']');
}

static void print_plan(const char *name, const Plan *plan, int with_count)
{
  printf(", \"%s\": [", name);
  for (int f = 0; f < plan->nphases; f++) {
    const Phase *phase = &plan->phases[f];
    printf(f ? ", [" : "[");
    print_parts(phase->receives, phase->nreceives, with_count);
    printf(", ");
    print_parts(phase->sends, phase->nsends, with_count);
    putchar(']');
  }
  putchar(']');
}

int main(int argc, char **argv)
{
  if (argc != 3)
    return 2;
  int n = atoi(argv[1]), most = atoi(argv[2]);
  for (int nranks = 1; nranks <= most; nranks++)
    for (int rank = 0; rank < nranks; rank++) {
      Layout at = layout_make(n, rank, nranks, &(Cuts){0});
      printf("{\"rank\": %d, \"nranks\": %d, \"groups\": %d, \"rows\": %d, \"columns\": %d", rank, nranks, at.groups,
             at.rows, at.columns);
      print_plan("sum", &at.sum, 1);
      print_plan("fetch", &at.fetch, 1);
      print_plan("scalar", &at.scalar, 0);
      printf("}\n");
      layout_free(&at);
    }
  return 0;
}
