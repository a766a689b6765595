/* The name spaces of the nodes.  Their files are in SPACES, a file system that only the processes of the grid see and
 * that vanishes with the last of them; nothing is visible outside. */
#pragma once
#include "grid.h"

#define SPACES "/dev/shm"

/* Gives the calling process its own /proc and SPACES; returns what failed, or NULL. */
const char *spaces_begin(void);

/* Makes the name spaces of a node, and its network device tun0; returns what failed (see errno), or NULL. */
const char *spaces_make(Grid *grid, Node *node);

/* Moves the calling process into a node; returns whether a node of that name exists. */
bool spaces_enter(const char *name);
