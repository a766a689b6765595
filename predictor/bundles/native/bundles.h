/* Bundles: flows that get the same rate count as one flow.
 *
 * A link that many paths cross is a hub, such as the backbone of a cluster or the node link of the root of a collective.
 * Paths that agree in bound, penalty, and hubs with their weights have a bundle.  Their flows get the same rate while no
 * other link limits them, and are together one flow with the weights of all, so that a date takes time for bundles and
 * not for flows.  When another link limits flows, they leave their bundle for good.
 *
 * A link with flows of bundles alone does not limit them while the share of each bundle, which is its rate times its
 * penalty, is below the link's capacity over the sum of weight / penalty of all its flows.  Each bundle has its links in
 * order of this bound, so that only those are looked at that its share has reached.
 *
 * What a flow of rate r and factor f has still to move is counted as service, bytes over f, which grows by r: all flows
 * of a bundle get the same service, so that the order of their ends does not change with the rate (the virtual time of
 * fair queueing: Demers, Keshav and Shenker, SIGCOMM 1989). */
#ifndef PREDICTOR_BUNDLES_H
#define PREDICTOR_BUNDLES_H

#include "../../dpgraph/native/state.h"

/* The flows at this moment whose paths agree in all that decides their rates. */
struct Bundle {
  Path path;        /* over hubs, with the weights of all its flows together */
  Crossing *single; /* with those of one flow */
  Heap ends;        /* slots of its flows by the service at which they end */
  Heap alarms;      /* links by the shares of their alarms */
  int64_t ends_room, alarms_room;
  int32_t epoch;    /* how often it was empty: alarms of before are forgotten */
  double service;   /* bytes over factor that each flow has got since the bundle was empty, at `since_s` of its slot */
};

/* Makes the bundles of all paths, and room for flows.  Returns DONE or NO_MEMORY. */
int bundles_make(Graph *graph, int64_t hub_paths);

void bundles_free(Graph *graph);

/* Adds a flow that starts to its links, in a bundle or on its own, and to the change.  Returns DONE or NO_MEMORY. */
int bundles_join(Graph *graph, int32_t slot, double now_s);

/* Takes the flow that ends first out of the bundle in a slot, and returns its slot. */
int32_t bundles_pop(Graph *graph, int32_t slot);

/* Gives a bundle its new rate from this date on. */
void bundles_reschedule(Graph *graph, Changed changed, double now_s);

/* Separates the flows on links that the rates just found may overrun.  Returns whether there are any: then their rates
 * have to be found again. */
bool bundles_overrun(Graph *graph, double now_s);

/* Leaves bundles out of the change that have lost all their flows. */
void bundles_forget_empty(Graph *graph);

#endif
