/* Carries packets between the devices of the nodes as the links would. */
#pragma once
#include "grid.h"

/* Writes a byte to `ready` when it carries packets; ends on SIGTERM, and writes a line of JSON to `report`. */
int router(Grid *grid, int ready, int report);
