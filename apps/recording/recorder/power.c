/* Energy of hosts and links during the program, by rank and in total. */
#include "recorder.h"

#include <errno.h>
#include <simgrid/engine.h>
#include <simgrid/host.h>
#include <simgrid/plugins/energy.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../common/energy.h"

typedef struct {
  double clock_s, *joules; /* NULL: not read */
} Reading;

static EnergyMeter meter;
static bool counts_hosts, counts_links;
static Reading init, start, stop, finalize; /* the first rank reads init and start, the last stop and finalize */
static int nranks, starts, stops, ends;
static Reading *iterations; /* at the ends of rank 0's iterations, for links */
static size_t niterations, iterations_room;

static Reading read_now(void) { return (Reading){simgrid_get_clock(), energy_read(&meter)}; }

void power_begin(Rank *r)
{
  const char *asked = getenv("RECORDER_ENERGY");
  if (!asked)
    return;
  if (!init.joules) {
    PMPI_Comm_size(MPI_COMM_WORLD, &nranks);
    counts_hosts = strstr(asked, "hosts");
    counts_links = strstr(asked, "links");
    meter = energy_meter(counts_hosts, counts_links);
    init = read_now();
  }
  r->metered = energy_place(&meter, sg_host_self()) < meter.nhosts;
}

void power_computed(Rank *r)
{
  r->computed = true;
  if (r->metered)
    r->now.energy_j = sg_host_get_consumed_energy(sg_host_self());
}

void power_mark(Rank *r, int op)
{
  if (!init.joules)
    return;
  if (op == MARK_START && !starts++)
    start = read_now();
  if (op == MARK_STOP && ++stops == nranks)
    stop = read_now();
  if (op == END && ++ends == nranks)
    finalize = read_now();
  if (op == MARK_ITERATION && r->rank == 0 && counts_links) {
    iterations = grown(iterations, niterations, &iterations_room, sizeof *iterations);
    iterations[niterations++] = read_now();
  }
  if (!r->metered)
    return;
  if (op == BEGIN || op == MARK_START)
    r->now.energy_j = (op == BEGIN ? init : start).joules[energy_place(&meter, sg_host_self())];
  if (op == MARK_ITERATION && !r->computed)
    r->now.energy_j = energy_read_host(sg_host_self());
  if (op == MARK_START || op == MARK_ITERATION)
    r->computed = false;
}

/* Writes the same JSON as a kernel (apps/kernels/harness/record.c), for the timed section that apps/recording/files.py
 * finds. */
void power_write(const char *path)
{
  if (!init.joules)
    return;
  FILE *file = fopen(path, "w");
  if (!file)
    fail("cannot write %s: %s", path, strerror(errno));
  bool marked = starts == nranks && stops == nranks;
  const Reading *from = marked ? &start : &init, *to = marked ? &stop : &finalize;
  fprintf(file, "{\"span_s\": %.17g", to->clock_s - from->clock_s);
  if (counts_hosts) {
    fprintf(file, ", \"hosts\": ");
    energy_write_hosts(file, &meter, from->joules, to->joules);
  }
  if (counts_links) {
    fprintf(file, ", \"links\": ");
    energy_write_links(file, &meter, from->joules, to->joules);
    fprintf(file, ", \"iteration_links\": [");
    for (size_t i = 0; i < niterations; i++) {
      fprintf(file, i ? ", " : "");
      energy_write_links(file, &meter, from->joules, iterations[i].joules);
    }
    fprintf(file, "]");
  }
  fprintf(file, "}\n");
  if (fclose(file))
    fail("cannot write %s: %s", path, strerror(errno));
}
