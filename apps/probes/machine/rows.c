#include "rows.h"
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static double elapsed(const Plan *plan) { return MPI_Wtime() - plan->start; }

const char *name_of(const Plan *plan, int rank) { return plan->names + (size_t)rank * (size_t)plan->name_bytes; }

void print_row(const Plan *plan, const char *experiment, int first, int second, double amount, double time_s)
{
  FILE *files[] = {stdout, plan->kept};
  for (int i = 0; i < 2 && files[i]; i++)
    fprintf(files[i], "%s,%d,%s,%s,%.0f,%.9g,%.6f\n", experiment, plan->group, name_of(plan, first),
            second < 0 ? "" : name_of(plan, second), amount, time_s, elapsed(plan));
}

void print_header(const Plan *plan)
{
  static const char header[] = "experiment,group,first,second,amount,time_s,at_s\n";
  fputs(header, stdout);
  if (plan->kept)
    fputs(header, plan->kept);
}

void flush_rows(const Plan *plan)
{
  fflush(stdout);
  if (plan->kept)
    fflush(plan->kept);
}

int compare_times(const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

double median(int count, double values[])
{
  qsort(values, (size_t)count, sizeof *values, compare_times);
  return values[count / 2];
}

bool time_is_up(const Plan *plan) { return elapsed(plan) > plan->budget_s; }
