/* The element: a cube of edge 1 with eight nodes, displacements tri-linear between them. */
#ifndef FEM_ELEMENT_H
#define FEM_ELEMENT_H

enum { CORNERS = 8 };

/* Corner c is in place (c >> 2 & 1, c >> 1 & 1, c & 1) along x, y and z.
 * stiffness[a][b][3 i + j]: force along i at corner a for a displacement 1 along j of corner b. */
typedef struct {
  double stiffness[CORNERS][CORNERS][9];
} Element;

/* Isotropic, with Young's modulus `young` and Poisson's ratio `poisson`, -1 < poisson < 1/2. */
Element element_make(double young, double poisson);

#endif
