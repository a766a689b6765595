/* The memory bus of a node, which carries the data of its ranks' computations (docs/kernels/index.md).
 *
 * RECORDER_BUS names the library that simulates it, RECORDER_BUS_BANDWIDTH its bandwidth in byte/s or `platform`, and
 * RECORDER_BUS_BYTES the bytes that each flop moves.  RECORDER_BUS_ALONE=yes: computation was timed, so it includes the
 * transfer of its data over an otherwise idle bus. */
#include "../recorder.h"
#include "../under.h"

#include "../../../kernels/harness/memory.h"

#include <stdlib.h>
#include <string.h>

struct Bus {
  Memory memory;
  bool alone;
};

void bus_begin(Rank *r)
{
  const char *library = getenv("RECORDER_BUS"), *alone = getenv("RECORDER_BUS_ALONE");
  if (!library)
    return;
  r->bus = calloc(1, sizeof *r->bus);
  if (!r->bus)
    fail("out of memory");
  const char *error =
      memory_make(&r->bus->memory, library, getenv("RECORDER_BUS_BANDWIDTH"), getenv("RECORDER_BUS_BYTES"));
  if (error)
    fail("memory bus: %s", error);
  r->bus->alone = alone && !strcmp(alone, "yes");
}

double bus_core_flops(const Rank *r, double flops)
{
  if (!r->bus->alone || r->bus->memory.bytes_per_flop == 0)
    return flops;
  double moving_s = flops * r->bus->memory.bytes_per_flop / r->bus->memory.bandwidth_Bps;
  double left = flops - moving_s * own_speed_flops();
  return left > 0 ? left : 0;
}

void bus_move(Rank *r, double flops)
{
  memory_move(&r->bus->memory, flops);
}

void bus_end(Rank *r)
{
  free(r->bus);
  r->bus = NULL;
}
