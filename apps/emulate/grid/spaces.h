/* The name spaces of the nodes.  They have files in SPACES, a file system that only the processes of the grid see and
 * that ends with the last of them; nothing of them is visible outside. */
#pragma once
#include "grid.h"

#define SPACES "/dev/shm"

/* Gives the calling process files of its own in /proc and SPACES; returns what failed, or NULL. */
const char *spaces_begin(void);

/* Makes the name spaces of a node, and its network device tun0; returns what failed (see errno), or NULL. */
const char *spaces_make(Grid *grid, Node *node);

/* Puts the calling process into a node; returns whether there is one of that name. */
bool spaces_enter(const char *name);
