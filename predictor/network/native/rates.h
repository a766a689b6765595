/* Max-min fair rates of flows that share links.
 *
 * The graph and structural's recurrence use it; some members are the graph's alone. */
#ifndef PREDICTOR_NETWORK_RATES_H
#define PREDICTOR_NETWORK_RATES_H

#include <stdbool.h>
#include <stdint.h>

#define SLACK (1 + 1e-9) /* relative: tolerance for rounding in sums of bounds */
#define SAME 1e-12       /* relative: rates that differ by less are equal */
#define NOTHING (-1)     /* instead of a slot or an index */

typedef struct {
  double demand;    /* sum over its flows of the most each can use */
  double limit;     /* the capacity, with tolerance */
  int64_t seen;     /* latest step that reached the link */
  int32_t head;     /* entry of its latest flow; NOTHING: none */
  double shares;    /* sum over its flows of weight / penalty; 0 for hubs; for predictor/bundles, as the next */
  double alarm_share; /* share of a bundle above which its flows may exceed the link; the latest one noted */
  int32_t alarm_bundle, alarm_epoch, flows, members; /* bundle of the alarm; number of flows, of bundled flows */
  bool tight;       /* part of the latest solution; after each date: its flows could exceed its capacity */
  bool hub;         /* many paths cross it */
  double capacity;
  double remaining; /* capacity not assigned yet */
  double usage;     /* sum over its flows without a rate of weight / penalty */
} Link;

/* A link on a path. */
typedef struct {
  Link *link;
  double weight; /* capacity that a flow uses, per rate */
  double amount; /* weight * bound: the most a flow can use */
  double share;  /* weight / penalty */
} Crossing;

typedef struct {
  double bound_Bps, penalty;
  double wish; /* bound * penalty */
  Crossing *crossing;
  int32_t crossings;
  int32_t bundle; /* holds those of its flows that only hubs limit; NOTHING: flows are not bundled */
} Path;

/* Entry slot * width + k of the links' lists: the flow of the slot, on the k-th link of its path. */
typedef struct {
  int32_t before, after; /* entries; NOTHING: none */
  int32_t slot;
} Entry;

typedef struct {
  double remaining; /* bytes left at the date `since_s` */
  double since_s;   /* date of the latest rate change */
  double rate;      /* -1 until the solution has set it */
  double factor;    /* progress per rate */
  const Path *path;
  int64_t seen; /* latest step that reached the flow */
  int32_t message; /* its place */
  int32_t place; /* in the heap of ends, or in the heap of its bundle; IN_ORDER; NOTHING: in none */
  int32_t bundle; /* the flow's bundle; NOTHING: it has its own rate */
  int32_t turn;  /* of its latest entry among the ordered ends */
} Flow;

typedef struct {
  int32_t slot;
  double before_Bps; /* the flow's rate before the change */
} Changed;

typedef struct {
  Flow *flow; /* by slot */
  const Entry *entry;
  const Changed *changed; /* the flows whose rates are to be computed */
  int64_t changed_count;
  Link *const *reached; /* the links that may limit them */
  int64_t reached_count;
} Sharing;

/* Computes the rates of the changed flows.  Returns false if no rates solve it. */
bool rates_share(const Sharing *sharing);

#endif
