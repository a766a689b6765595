/* The links, each with a doubly linked list of its flows, the latest first. */
#ifndef PREDICTOR_DPGRAPH_LINKS_H
#define PREDICTOR_DPGRAPH_LINKS_H

#include "state.h"

/* Returns whether the flows of a link together could exceed its capacity. */
static inline bool links_over(const Link *link)
{
  return link->demand > link->limit;
}

/* Adds a link to those that the change of this date has reached. */
static inline void links_reach(Graph *graph, Link *link)
{
  link->seen = graph->step;
  graph->reached[graph->reached_count++] = link;
}

/* Adds a flow to the links of its path. */
static inline void links_join(Graph *graph, int32_t slot)
{
  const Path *path = graph->flow[slot].path;
  int32_t number = (int32_t)(slot * graph->width);
  Entry *entry = graph->entry;
  bool crowded = false;
  for (int32_t k = 0; k < path->crossings; k++, number++) {
    Link *link = path->crossing[k].link;
    link->demand += path->crossing[k].amount;
    crowded |= links_over(link) | link->tight;
    entry[number] = (Entry){NOTHING, link->head, slot};
    if (link->head != NOTHING)
      entry[link->head].before = number;
    link->head = number;
  }
  graph->crowded |= crowded;
}

/* Removes a flow from the links of its path, and adds the tight ones to the change. */
static inline void links_leave(Graph *graph, int32_t slot)
{
  const Path *path = graph->flow[slot].path;
  Entry *entry = graph->entry;
  const Entry *own = &entry[slot * graph->width];
  for (int32_t k = 0; k < path->crossings; k++, own++) {
    Link *link = path->crossing[k].link;
    if (own->after != NOTHING)
      entry[own->after].before = own->before;
    if (own->before != NOTHING)
      entry[own->before].after = own->after;
    else
      link->head = own->after;
    link->demand = link->head != NOTHING ? link->demand - path->crossing[k].amount : 0.0;
    if (link->tight && link->seen != graph->step)
      links_reach(graph, link);
  }
}

/* Adds those links of a path to the change of this date that limit their flows now or did so before. */
static inline void links_of_path(Graph *graph, const Path *path)
{
  for (int32_t k = 0; k < path->crossings; k++) {
    Link *link = path->crossing[k].link;
    bool over = links_over(link);
    if ((over || link->tight) && link->seen != graph->step) {
      link->tight = over;
      links_reach(graph, link);
    }
  }
}

#endif
