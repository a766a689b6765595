/* Each of the K planes takes a rank one stage: receive along x, receive along y, compute.  Because all planes are
 * alike, the longest chain of events crosses the grid once and spends K - 1 stages at its slowest rank:
 *
 *     last plane = max over paths through the grid of (fill along the path + (K - 1) largest stage on the path)
 *
 * One pass over the grid finds this maximum: `first` is the time at which a rank ends its first plane, `last` the time
 * at which it ends its last plane.
 *
 * A stage is at least as long as the time that all messages of a plane need on a link that messages to the rank cross.
 * If senders wait for their receivers, it is longer by the time of the rank's own messages; the delay that this causes
 * on other ranks is not modelled. */
#include "sweep.h"

#include <math.h>

#define SHARED 0.2 /* of a stage */

/* A rank in the grid. */
typedef struct {
  int64_t rank;
  int64_t before[2]; /* ranks that send to it along x and y; -1: none */
  bool sends[2];     /* it sends along x and y */
} Place;

static Place place_of(int64_t r, int64_t width, int64_t height, int64_t ahead)
{
  int64_t x = r % width, y = r / width;
  bool has_x = x - ahead >= 0 && x - ahead < width, has_y = y - ahead >= 0 && y - ahead < height;
  return (Place){
    .rank = r,
    .before = {has_x ? r - ahead : -1, has_y ? r - ahead * width : -1},
    .sends = {x + ahead >= 0 && x + ahead < width, y + ahead >= 0 && y + ahead < height},
  };
}

/* Computes when a rank ends its first and its last plane.  Its messages compete with those of other planes if their
 * most loaded link is busy for much of a stage.  `met_s` is how long messages have competed before the sweep. */
static void pass(Ranks *ranks, int64_t sweep, const Place *place, int64_t planes, double met_s)
{
  const Schedule *schedule = ranks->schedule;
  const double *first = ranks->first, *last = ranks->last;
  int64_t r = place->rank;
  double work = schedule->plane_flops[sweep * schedule->ranks + r] * ranks->s_per_flop[r];
  double stage = work, load = 0.0, begin = ranks->now[r], begin_last = -INFINITY;
  for (int axis = 0; axis < 2; axis++) {
    int64_t source = place->before[axis], at = (2 * sweep + axis) * schedule->ranks + source;
    if (source < 0)
      continue;
    double took = ranks->shares.plane_s[at];
    load = larger(load, ranks->shares.plane_load_s[at]);
    if (ranks->protocol[schedule->plane_size[at]] == EAGER) {
      begin = larger(begin, first[source] + took);
      begin_last = larger(begin_last, last[source] + took);
    } else {
      begin = larger(begin, first[source]) + took;
      begin_last = larger(begin_last, last[source]) + took;
      stage += took;
    }
  }
  for (int axis = 0; axis < 2; axis++) {
    int64_t at = (2 * sweep + axis) * schedule->ranks + r;
    if (place->sends[axis] && ranks->protocol[schedule->plane_size[at]] == SYNCHRONOUS)
      stage += ranks->shares.plane_s[at];
  }
  if (load > SHARED * stage)
    ranks->met_s = larger(ranks->met_s, met_s + (double)planes * load);
  ranks->first[r] = begin + work;
  ranks->last[r] = larger(begin_last + work, ranks->first[r] + (double)(planes - 1) * larger(stage, load));
}

void sweep_run(Ranks *ranks, int64_t sweep)
{
  const int64_t *shape = &ranks->schedule->shape[4 * sweep];
  int64_t width = shape[0], height = shape[1], forward = shape[2], planes = shape[3];
  double met_s = ranks->met_s;
  for (int64_t i = 0; i < width * height; i++) {
    Place place = place_of(forward ? i : width * height - 1 - i, width, height, forward ? 1 : -1);
    pass(ranks, sweep, &place, planes, met_s);
  }
  for (int64_t i = 0; i < width * height; i++)
    ranks->now[i] = ranks->last[i];
}
