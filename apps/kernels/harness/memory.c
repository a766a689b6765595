#include "memory.h"

#include <dlfcn.h>
#include <math.h>
#include <simgrid/host.h>
#include <stdlib.h>
#include <string.h>

static double positive(const char *text)
{
  char *end;
  double value = text ? strtod(text, &end) : 0;
  return text && end != text && !*end && value > 0 && isfinite(value) ? value : 0;
}

const char *memory_make(Memory *memory, const char *library, const char *bandwidth, const char *bytes_per_flop)
{
  *memory = (Memory){0};
  if (!library && !bandwidth && !bytes_per_flop)
    return NULL;
  if (!library || !bandwidth || !bytes_per_flop)
    return "arguments memory_library=, memory_bandwidth= and bytes_per_flop= go together";
  memory->bytes_per_flop = positive(bytes_per_flop);
  if (memory->bytes_per_flop == 0)
    return strcmp(bytes_per_flop, "0") ? "argument bytes_per_flop= is not a number" : NULL;
  if (!strcmp(bandwidth, "platform"))
    bandwidth = sg_host_get_property_value(sg_host_self(), "memory_bandwidth");
  memory->bandwidth_Bps = positive(bandwidth);
  if (memory->bandwidth_Bps == 0)
    return "the bandwidth of its node's memory is not a positive number";
  void *loaded = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  memory->move = loaded ? (void (*)(double, double))dlsym(loaded, "memory_bus_move") : NULL;
  return memory->move ? NULL : "argument memory_library= names no memory bus";
}

void memory_move(Memory *memory, double flops)
{
  if (memory->bytes_per_flop == 0)
    return;
  memory->pending_bytes += flops * memory->bytes_per_flop;
  double bytes = floor(memory->pending_bytes); /* SimGrid reads whole bytes; the rest stays pending */
  memory->pending_bytes -= bytes;
  if (bytes > 0)
    memory->move(bytes, memory->bandwidth_Bps);
}
