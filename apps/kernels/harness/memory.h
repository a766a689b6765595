/* The data that a rank moves between its core and the memory of its node, whose bandwidth the node's ranks share. */
#ifndef APPS_COMMON_MEMORY_H
#define APPS_COMMON_MEMORY_H

typedef struct {
  double bytes_per_flop;            /* per counted operation; 0: no bus, memory never limits */
  double bandwidth_Bps;             /* bandwidth of the node's bus */
  double pending_bytes;             /* fraction of a byte that is not moved yet */
  void (*move)(double, double);     /* moves bytes at byte/s (apps/smpi/memorybus/bus.cpp) */
} Memory;

/* Fills `memory` from the arguments `memory_library=FILE memory_bandwidth=X|platform bytes_per_flop=Y`.  X is in
 * byte/s; `platform` means the host's property memory_bandwidth.  If all are NULL, there is no bus.  Returns NULL, or
 * an error message. */
const char *memory_make(Memory *memory, const char *library, const char *bandwidth, const char *bytes_per_flop);

/* Moves the data of a number of operations, which takes simulated time. */
void memory_move(Memory *memory, double flops);

#endif
