/* A box of points, which is a part of the cube of n^3 points.
 *
 * A field holds five numbers for each point of the box and for two layers of other points around it, in all three
 * directions; points are numbered from the first own one.  Axes 0, 1, 2 are x, y, z. */
#ifndef FLOW_BOX_H
#define FLOW_BOX_H

#include <stddef.h>

typedef struct {
  int n; /* points of the whole cube along each axis, including its boundary */
  int start[3], count[3];
  int first[3], end[3]; /* the unknowns, own points not on the boundary of the cube: first <= i < end */
  ptrdiff_t stride[3];  /* distance in a field between neighbouring points along each axis */
  size_t size;          /* numbers in a field */
} Box;

enum { BOX_HALO = 2 };

Box box_make(int n, const int start[3], const int count[3]);

static inline double *box_at(const Box *box, double *field, int i, int j, int k)
{
  return field + (i + BOX_HALO) * box->stride[0] + (j + BOX_HALO) * box->stride[1] + (k + BOX_HALO) * box->stride[2];
}

/* Returns the number of unknowns in a plane across an axis. */
static inline double box_plane(const Box *box, int axis)
{
  int a = (axis + 1) % 3, b = (axis + 2) % 3;
  return (double)(box->end[a] - box->first[a]) * (box->end[b] - box->first[b]);
}

/* Returns the number of unknowns. */
static inline double box_unknowns(const Box *box) { return (box->end[2] - box->first[2]) * box_plane(box, 2); }

/* A part of a box: its numbers of points, counted from `from`, along each axis; `from` may lie outside the box. */
typedef struct {
  int from[3], count[3];
} Part;

static inline int part_numbers(const Part *part) { return 5 * part->count[0] * part->count[1] * part->count[2]; }

/* Copies between a part of a field and a message, which hold the points in the same order. */
void part_copy(const Box *box, const Part *part, double *field, double *message, int to_message);

#endif
