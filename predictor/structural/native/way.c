#include "way.h"

/* Returns the number of links from a host to itself. */
static int own_links(const Paths *paths, int32_t a, int32_t *link, double *weight)
{
  int32_t c = paths->cluster[a], hosts = (int32_t)paths->hosts;
  if (!paths->self_shares[c])
    return 0;
  link[0] = a;
  link[1] = hosts + a;
  link[2] = 2 * hosts + c;
  weight[0] = weight[1] = 1 + paths->back[c];
  weight[2] = 1.0;
  return 3;
}

int way_links(const Paths *paths, int32_t a, int32_t b, int32_t *link, double *weight)
{
  if (a == b)
    return own_links(paths, a, link, weight);
  int32_t c = paths->cluster[a], d = paths->cluster[b];
  int32_t hosts = (int32_t)paths->hosts, clusters = (int32_t)paths->clusters;
  int32_t inside = 2 * hosts, outside = inside + clusters, one_way = outside + clusters;
  for (int k = 0; k < MOST_LINKS; k++)
    weight[k] = 1.0;
  link[0] = a;
  link[1] = hosts + b;
  link[2] = hosts + a;
  link[3] = b;
  link[4] = inside + c;
  weight[2] = paths->back[c];
  weight[3] = paths->back[d];
  if (c == d)
    return 5;
  link[5] = inside + d;
  link[6] = outside + c;
  link[7] = outside + d;
  link[8] = one_way + c * clusters + d;
  link[9] = one_way + clusters * clusters + (c < d ? c : d) * clusters + (c < d ? d : c);
  return MOST_LINKS;
}
