/* The element: a cube of edge 1 with eight nodes and trilinear displacements between them. */
#ifndef FEM_ELEMENT_H
#define FEM_ELEMENT_H

enum { CORNERS = 8 };

/* Corner c has the coordinates (c >> 2 & 1, c >> 1 & 1, c & 1) along x, y and z.
 * stiffness[a][b][3 i + j] is the force along i at corner a for a displacement of 1 along j at corner b. */
typedef struct {
  double stiffness[CORNERS][CORNERS][9];
} Element;

/* Makes an isotropic element with Young's modulus `young` and Poisson's ratio `poisson`, -1 < poisson < 1/2. */
Element element_make(double young, double poisson);

#endif
