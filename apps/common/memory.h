/* What a rank moves between its core and the memory of its node, whose bandwidth it shares with the node's other ranks. */
#ifndef APPS_COMMON_MEMORY_H
#define APPS_COMMON_MEMORY_H

typedef struct {
  double bytes_per_flop;            /* of operations that are counted; 0: no bus, memory never limits */
  double bandwidth_Bps;             /* of the node's bus */
  double pending_bytes;             /* not yet moved: less than one */
  void (*move)(double, double);     /* bytes, byte/s (apps/memorybus/bus.cpp) */
} Memory;

/* From the arguments `memory_library=FILE memory_bandwidth=X|platform bytes_per_flop=Y`: X in byte/s, or what the host's
 * property memory_bandwidth says.  All NULL: no bus.  Returns NULL, or what is wrong. */
const char *memory_make(Memory *memory, const char *library, const char *bandwidth, const char *bytes_per_flop);

/* Moves what so many operations need, which takes simulated time. */
void memory_move(Memory *memory, double flops);

#endif
