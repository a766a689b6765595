/* The grid to emulate, in the format written by apps/emulate/description.py:
 *
 *   mtu BYTES             of the network devices
 *   window BYTES          of TCP
 *   queue BYTES           that may wait for a link
 *   tick SECONDS          time between two polls of the devices
 *   cpu NUMBER            processor of the router and the ranks
 *   pacer PATH            of the library that paces ranks
 *   node NAME ADDRESS SLOTS      the first is the one in which the command runs; it has no slots
 *   link NAME RATE DELAY ORDER   of one direction, bit/s and s; fifo: first come, first served, turns: flows in turn
 *   path FROM TO LINK...         numbers of nodes and links, in the order in which a packet crosses them */
#pragma once
#include "turns.h"

#include <stdint.h>

enum { NODES = 17, LINKS = 320, HOPS = 8 };

typedef struct {
  char name[160];
  uint32_t address; /* in network order */
  int slots;
  int device; /* file descriptor of its TUN device */
} Node;

typedef struct {
  int count;
  Link *links[HOPS];
} Path;

typedef struct {
  int mtu, window, cpu;
  char pacer[4096];
  double queue, tick;
  int nnodes, nlinks;
  Node nodes[NODES];
  Link links[LINKS];
  Path paths[NODES][NODES];
} Grid;

/* Reads the description; returns an error message, or NULL. */
const char *grid_read(Grid *grid, int from);
