/* Bundles: flows with the same rate are treated as one flow.
 *
 * A link that many paths cross is a hub, such as the backbone of a cluster or the node link of the root of a
 * collective. Paths with the same bound, penalty, hubs and weights share a bundle.  Their flows have the same rate
 * while no other link limits them, and together act as one flow with the sum of their weights.  The time for a date
 * then depends on the number of bundles instead of flows.  Flows that another link limits leave their bundle for good.
 *
 * The share of a bundle is its rate times its penalty.  A link whose flows are all in bundles does not limit them while
 * every share is below the link's capacity divided by the sum of weight / penalty of its flows.  Each bundle sorts its
 * links by this bound, so that only the links reached by its share are checked.
 *
 * The progress of a flow with rate r and factor f is measured as service, bytes / f, which grows by r per second.  All
 * flows of a bundle receive the same service, so the order of their ends does not depend on the rate (the virtual time
 * of fair queueing: Demers, Keshav and Shenker, SIGCOMM 1989). */
#ifndef PREDICTOR_BUNDLES_H
#define PREDICTOR_BUNDLES_H

#include "../../dpgraph/native/state.h"

/* The current flows on paths with equal bounds, penalties and hubs. */
struct Bundle {
  Path path;        /* over hubs, with the summed weights of all its flows */
  Crossing *single; /* with the weights of one flow */
  Heap ends;        /* slots of its flows, by the service at which they end */
  Heap alarms;      /* links, by the shares of their alarms */
  int64_t ends_room, alarms_room;
  int32_t epoch;    /* number of times it became empty: earlier alarms are void */
  double service;   /* bytes / factor of each flow since the bundle was last empty, at `since_s` of its slot */
};

/* Makes the bundles of all paths, and room for flows.  Returns DONE or NO_MEMORY. */
int bundles_make(Graph *graph, int64_t hub_paths);

void bundles_free(Graph *graph);

/* Adds a new flow to its links, in a bundle or alone, and to the change.  Returns DONE or NO_MEMORY. */
int bundles_join(Graph *graph, int32_t slot, double now_s);

/* Removes the flow that ends first from the bundle in a slot, and returns its slot. */
int32_t bundles_pop(Graph *graph, int32_t slot);

/* Sets the rate of a bundle from this date on. */
void bundles_reschedule(Graph *graph, Changed changed, double now_s);

/* Removes from their bundles the flows on links that the new rates may overload.  Returns whether there are any: then
 * the rates must be computed again. */
bool bundles_overrun(Graph *graph, double now_s);

/* Removes empty bundles from the change. */
void bundles_forget_empty(Graph *graph);

#endif
