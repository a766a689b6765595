/* The links, each with a doubly linked list of its flows, the latest first; a hub lists bundles instead. */
#ifndef PREDICTOR_DPGRAPH_LINKS_H
#define PREDICTOR_DPGRAPH_LINKS_H

#include "state.h"

/* Returns whether the flows of a link together could exceed its capacity. */
static inline bool links_over(const Link *link)
{
  return link->demand > link->limit;
}

/* Adds a flow to the change. */
static inline void links_note(Graph *graph, int32_t slot)
{
  Flow *flow = &graph->flow[slot];
  flow->seen = graph->step;
  graph->changed[graph->changed_count++] = (Changed){slot, flow->rate};
}

/* Adds a link to those affected by this date's change. */
static inline void links_reach(Graph *graph, Link *link)
{
  link->seen = graph->step;
  graph->reached[graph->reached_count++] = link;
}

/* Adds entry `number`, which belongs to the flow in `slot`, to the list of a link. */
static inline void links_enter(Graph *graph, Link *link, int32_t number, int32_t slot)
{
  Entry *entry = graph->entry;
  entry[number] = (Entry){NOTHING, link->head, slot};
  if (link->head != NOTHING)
    entry[link->head].before = number;
  link->head = number;
}

/* Removes an entry from the list of a link. */
static inline void links_exit(Graph *graph, Link *link, const Entry *leaving)
{
  Entry *entry = graph->entry;
  if (leaving->after != NOTHING)
    entry[leaving->after].before = leaving->before;
  if (leaving->before != NOTHING)
    entry[leaving->before].after = leaving->after;
  else
    link->head = leaving->after;
}

/* Adds a flow to the links of its path, where there are no bundles. */
static inline void links_join(Graph *graph, int32_t slot)
{
  const Path *path = graph->flow[slot].path;
  int32_t number = (int32_t)(slot * graph->width);
  bool crowded = false;
  for (int32_t k = 0; k < path->crossings; k++, number++) {
    Link *link = path->crossing[k].link;
    link->demand += path->crossing[k].amount;
    crowded |= links_over(link) | link->tight;
    links_enter(graph, link, number, slot);
  }
  graph->crowded |= crowded;
}

/* Removes a flow from the links of its path, and adds the tight ones to the change; `member`: it was in a bundle. */
static inline void links_leave(Graph *graph, int32_t slot, bool member)
{
  const Path *path = graph->flow[slot].path;
  const Entry *leaving = &graph->entry[slot * graph->width];
  for (int32_t k = 0; k < path->crossings; k++, leaving++) {
    Link *link = path->crossing[k].link;
    if (!(member & link->hub))
      links_exit(graph, link, leaving);
    link->flows--;
    link->members -= member & !link->hub;
    link->demand = link->head != NOTHING ? link->demand - path->crossing[k].amount : 0.0;
    link->shares = link->head != NOTHING ? link->shares - path->crossing[k].share : 0.0;
    if (link->tight && link->seen != graph->step)
      links_reach(graph, link);
  }
}

/* Adds the links of a path that limit their flows, now or before, to the change of this date.  A link with bundled
 * flows does not count. */
static inline void links_of_path(Graph *graph, const Path *path)
{
  for (int32_t k = 0; k < path->crossings; k++) {
    Link *link = path->crossing[k].link;
    bool over = links_over(link) && link->members == 0;
    if ((over || link->tight) && link->seen != graph->step) {
      link->tight = over;
      links_reach(graph, link);
    }
  }
}

#endif
