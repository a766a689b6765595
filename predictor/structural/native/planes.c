#include "planes.h"

#include "way.h"

/* A message of a plane. */
typedef struct {
  int32_t link[MOST_LINKS];
  double weight[MOST_LINKS];
  int links;
  double amount_bytes, time_s;
} Planar;

/* Sets the message that a rank sends along an axis; returns false if it sends none. */
static bool find(Planar *planar, const Schedule *schedule, const Paths *paths, const int32_t *host, int64_t sweep,
                 int axis, int64_t rank)
{
  const int64_t *shape = &schedule->shape[4 * sweep];
  int64_t width = shape[0], height = shape[1], ahead = shape[2] ? 1 : -1;
  int64_t place = axis == 0 ? rank % width : rank / width, places = axis == 0 ? width : height;
  if (place + ahead < 0 || place + ahead >= places)
    return false;
  int32_t a = host[rank], b = host[rank + ahead * (axis == 0 ? 1 : width)];
  int64_t at = way_row(paths, a, b) * paths->sizes + schedule->plane_size[(2 * sweep + axis) * schedule->ranks + rank];
  planar->amount_bytes = paths->amount_bytes[at];
  planar->time_s = paths->latency_s[at] + planar->amount_bytes / paths->bound_Bps[way_row(paths, a, b)];
  planar->links = way_links(paths, a, b, planar->link, planar->weight);
  return true;
}

void planes_share(const Schedule *schedule, const Paths *paths, const int32_t *host, int64_t sweep, const Shares *shares,
                  double *load_s)
{
  int64_t ranks = schedule->ranks, used = schedule->shape[4 * sweep] * schedule->shape[4 * sweep + 1];
  Planar planar;
  for (int64_t l = 0; l < paths->links; l++)
    load_s[l] = 0.0;
  for (int64_t r = 0; r < used; r++)
    for (int axis = 0; axis < 2; axis++)
      if (find(&planar, schedule, paths, host, sweep, axis, r))
        for (int k = 0; k < planar.links; k++) {
          int32_t link = planar.link[k];
          load_s[link] += planar.weight[k] * planar.amount_bytes / paths->capacity_Bps[link];
        }
  for (int64_t r = 0; r < used; r++)
    for (int axis = 0; axis < 2; axis++)
      if (find(&planar, schedule, paths, host, sweep, axis, r)) {
        double *most_s = &shares->plane_load_s[(2 * sweep + axis) * ranks + r];
        shares->plane_s[(2 * sweep + axis) * ranks + r] = planar.time_s;
        for (int k = 0; k < planar.links; k++)
          *most_s = larger(*most_s, load_s[planar.link[k]]);
      }
}
