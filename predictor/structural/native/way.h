/* The path of a message between two hosts. */
#ifndef PREDICTOR_STRUCTURAL_WAY_H
#define PREDICTOR_STRUCTURAL_WAY_H

#include "structural.h"

enum { MOST_LINKS = 10 }; /* that a message crosses */

/* Returns the row of the path between two hosts. */
static inline int32_t way_row(const Paths *paths, int32_t a, int32_t b)
{
  int32_t c = paths->cluster[a];
  return a != b ? paths->row[c * paths->clusters + paths->cluster[b]] : paths->self_row[c];
}

/* Writes the links from host a to host b, numbered as in PlaceOfLinks of paths.py, and the share of each that a flow
 * uses; returns the number of links. */
int way_links(const Paths *paths, int32_t a, int32_t b, int32_t *link, double *weight);

#endif
