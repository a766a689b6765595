/* The dominant arithmetic, on arrays in column order. */
#ifndef HPL_PRODUCT_H
#define HPL_PRODUCT_H

#include <stddef.h>

/* y -= factor x, for n elements. */
void subtract_multiple(int n, double factor, const double *x, double *y);

/* c -= l u, with l m x k and u k x n; `height` is the distance between columns of c. */
void subtract_product(int m, int n, int k, const double *l, const double *u, double *c, size_t height);

#endif
