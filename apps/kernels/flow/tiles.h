/* Multipartitioning: the cube is cut into more tiles than there are ranks, such that every rank has equally many tiles
 * in every layer of tiles across every axis.  A solver that passes through the layers one by one keeps all ranks busy.
 *
 * On a square number q^2 of ranks there are q^3 tiles (Bruno and Cappello; NAS-95-020).  On other numbers the cuts are
 * those of Darte, Chavarria-Miranda, Fowler and Mellor-Crummey, "Generalized multipartitioning for multi-dimensional
 * arrays", 2002: the number of ranks divides the number of tiles in each layer, and each prime factor of the number of
 * ranks cuts the three axes as evenly as it can.  The rank of a tile is linear in the tile's place, modulo two numbers
 * whose product is the number of ranks, so that all tiles before a rank's tiles along an axis belong to one rank, and
 * all tiles after them to another. */
#ifndef FLOW_TILES_H
#define FLOW_TILES_H

#include <stdbool.h>

#include "problem.h"

typedef struct {
  int place[3]; /* among the tiles along each axis */
  Box box;
} Tile;

typedef struct {
  int n, cuts[3];          /* points of the cube, and tiles, along each axis */
  int modulus[2];          /* a tile's rank is r0 + modulus[0] r1, */
  int weight[2][3];        /* with ri = place . weight[i] modulo modulus[i] */
  int before[3], after[3]; /* ranks of the neighbouring tiles along each axis, as if the cube repeated itself */
  int count, each[3];      /* tiles of this rank, and its tiles in a layer across each axis */
  Tile *tile;              /* in order of z, then y, then x */
} Tiles;

/* Cuts the cube for a number of ranks; tile is NULL. */
Tiles tiles_cut(int n, int nranks);

/* Finds the tiles of a rank. */
void tiles_make(Tiles *tiles, int rank);
void tiles_free(Tiles *tiles);

/* Returns whether there is a tile after this one along the axis, or before it. */
static inline bool tile_has_next(const Tiles *tiles, const Tile *tile, int axis, bool after)
{
  return after ? tile->place[axis] < tiles->cuts[axis] - 1 : tile->place[axis] > 0;
}

#endif
