/* Rates are max-min fair, as in SimGrid (predictor/network/native/rates.c).  They are recomputed when flows begin or
 * end, but at most STEPS times within the time of the most loaded link: closer events are handled together. */
#include "fluid.h"

#include <math.h>

#define STEPS 100

/* The exchange of the flows, and a function for when flows begin that follow others. */
typedef struct {
  int64_t first; /* message */
  Beginning beginning;
  void *data;
} Exchanged;

int fluid_open(Fluid *fluid, const Paths *paths, int64_t messages)
{
  *fluid = (Fluid){.paths = paths};
  fluid->transfer = zeros(messages, sizeof *fluid->transfer);
  fluid->flow = zeros(messages, sizeof *fluid->flow);
  fluid->path = zeros(messages, sizeof *fluid->path);
  fluid->crossing = zeros(messages * MOST_LINKS, sizeof *fluid->crossing);
  fluid->entry = zeros(messages * MOST_LINKS, sizeof *fluid->entry);
  fluid->order = zeros(messages, sizeof *fluid->order);
  fluid->active = zeros(messages, sizeof *fluid->active);
  fluid->link = zeros(paths->links, sizeof *fluid->link);
  fluid->tight = zeros(paths->links, sizeof *fluid->tight);
  if (fluid->transfer && fluid->flow && fluid->path && fluid->crossing && fluid->entry && fluid->order &&
      fluid->active && fluid->link && fluid->tight)
    return DONE;
  fluid_close(fluid);
  return NO_MEMORY;
}

void fluid_close(Fluid *fluid)
{
  free(fluid->transfer);
  free(fluid->flow);
  free(fluid->path);
  free(fluid->crossing);
  free(fluid->entry);
  free(fluid->order);
  free(fluid->active);
  free(fluid->link);
  free(fluid->tight);
}

/* --- the flows and their links --- */

/* Finds the tight links: those that the flows together could fill. */
static void find_tight(Fluid *fluid, const Schedule *schedule, int64_t first, int64_t messages)
{
  const Paths *paths = fluid->paths;
  int32_t crossed[MOST_LINKS];
  double weight[MOST_LINKS];
  for (int64_t l = 0; l < paths->links; l++)
    fluid->link[l].demand = 0.0;
  for (int64_t i = 0; i < messages; i++) {
    int32_t a = fluid->host[schedule->source[first + i]], b = fluid->host[schedule->destination[first + i]];
    double bound = paths->bound_Bps[way_row(paths, a, b)];
    int links = way_links(paths, a, b, crossed, weight);
    for (int k = 0; k < links; k++)
      fluid->link[crossed[k]].demand += weight[k] * bound;
  }
  fluid->tights = 0;
  for (int64_t l = 0; l < paths->links; l++) {
    Link *link = &fluid->link[l];
    link->tight = link->demand > paths->capacity_Bps[l];
    if (!link->tight)
      continue;
    link->capacity = paths->capacity_Bps[l];
    link->remaining = 0.0;
    fluid->tight[fluid->tights++] = link;
  }
}

/* Reads the flows and the tight links on their paths; returns the time of the most loaded link, s. */
static double read_flows(Fluid *fluid, const Schedule *schedule, int64_t first, int64_t messages)
{
  const Paths *paths = fluid->paths;
  int32_t link[MOST_LINKS];
  double weight[MOST_LINKS], longest_s = 0.0;
  Crossing *crossing = fluid->crossing;
  for (int64_t i = 0; i < messages; i++) {
    int32_t a = fluid->host[schedule->source[first + i]], b = fluid->host[schedule->destination[first + i]];
    int64_t row = way_row(paths, a, b);
    double bound = paths->bound_Bps[row], penalty = paths->penalty[row];
    Path *path = &fluid->path[i];
    *path = (Path){bound, penalty, bound * penalty, crossing, 0, NOTHING};
    fluid->flow[i].path = path;
    fluid->flow[i].remaining = paths->amount_bytes[row * paths->sizes + schedule->size[first + i]];
    int links = fluid->tights > 0 ? way_links(paths, a, b, link, weight) : 0;
    for (int k = 0; k < links; k++) {
      Link *crossed = &fluid->link[link[k]];
      if (!crossed->tight || weight[k] <= 0.0)
        continue;
      crossed->remaining += weight[k] * fluid->flow[i].remaining; /* the load, bytes */
      longest_s = larger(longest_s, crossed->remaining / crossed->capacity);
      *crossing++ = (Crossing){crossed, weight[k], weight[k] * bound, weight[k] / penalty};
    }
    path->crossings = (int32_t)(crossing - path->crossing);
  }
  return longest_s;
}

/* Computes the rates of the active flows; only these are in the lists of the links. */
static void find_rates(Fluid *fluid)
{
  for (int64_t l = 0; l < fluid->tights; l++)
    fluid->tight[l]->head = NOTHING;
  for (int64_t i = fluid->actives - 1; i >= 0; i--) { /* a list begins with the flow entered last */
    int32_t slot = fluid->active[i].slot;
    const Path *path = &fluid->path[slot];
    int32_t number = (int32_t)(path->crossing - fluid->crossing);
    for (int32_t k = 0; k < path->crossings; k++, number++) {
      fluid->entry[number] = (Entry){NOTHING, path->crossing[k].link->head, slot};
      path->crossing[k].link->head = number;
    }
  }
  rates_share(&(Sharing){fluid->flow, fluid->entry, fluid->active, fluid->actives, fluid->tight, fluid->tights});
}

/* --- time --- */

static int earlier(const void *a, const void *b)
{
  double x = ((const Begin *)a)->time, y = ((const Begin *)b)->time;
  return (x > y) - (x < y);
}

/* Inserts a flow that uses tight links into the order. */
static void insert(Fluid *fluid, int32_t number)
{
  int64_t at = fluid->end++;
  double time = fluid->transfer[number].begin;
  for (; at > fluid->next && fluid->order[at - 1].time > time; at--)
    fluid->order[at] = fluid->order[at - 1];
  fluid->order[at] = (Begin){time, number};
}

/* Sets the end of a flow on idle links; it is final if it uses no tight link. */
static void start(Fluid *fluid, int64_t number)
{
  Transfer *transfer = &fluid->transfer[number];
  const Path *path = &fluid->path[number];
  double left = fluid->flow[number].remaining;
  transfer->end = transfer->begin + left / path->bound_Bps;
  transfer->ended = path->crossings == 0 || left <= 0.0;
}

/* Starts the followers of a flow that has ended.  Only the last follower of a flow may have followers itself. */
static void follow(Fluid *fluid, const Exchanged *exchanged, const Transfer *ended)
{
  for (int32_t number = ended->follower; number >= 0;) {
    Transfer *next = &fluid->transfer[number];
    next->begin = exchanged->beginning(exchanged->data, exchanged->first + number, fluid->transfer[next->after].end);
    start(fluid, number);
    if (!next->ended)
      insert(fluid, number);
    number = next->sibling >= 0 || !next->ended ? next->sibling : next->follower;
  }
}

/* Starts the flows that do not wait for flows that use tight links. */
static void start_first(Fluid *fluid, const Exchanged *exchanged, int64_t messages)
{
  fluid->next = fluid->end = 0;
  for (int64_t i = 0; i < messages; i++) {
    Transfer *transfer = &fluid->transfer[i];
    if (transfer->after >= 0 && !fluid->transfer[transfer->after].ended)
      continue;
    if (transfer->after >= 0)
      transfer->begin =
          exchanged->beginning(exchanged->data, exchanged->first + i, fluid->transfer[transfer->after].end);
    start(fluid, i);
    if (!transfer->ended)
      fluid->order[fluid->end++] = (Begin){transfer->begin, (int32_t)i};
  }
  qsort(fluid->order, (size_t)fluid->end, sizeof *fluid->order, earlier);
}

/* Advances the active flows; returns the time that has passed. */
static double advance(Fluid *fluid, const Exchanged *exchanged, double now, double least_s, double until)
{
  double passes_s = INFINITY;
  for (int64_t i = 0; i < fluid->actives; i++) {
    const Flow *flow = &fluid->flow[fluid->active[i].slot];
    passes_s = smaller(passes_s, flow->remaining / flow->rate);
  }
  passes_s = smaller(larger(passes_s, least_s), until - now);
  int64_t left = 0;
  for (int64_t i = 0; i < fluid->actives; i++) {
    Changed active = fluid->active[i];
    Flow *flow = &fluid->flow[active.slot];
    double end = now + flow->remaining / flow->rate;
    flow->remaining -= flow->rate * passes_s;
    if (end > now + passes_s) {
      fluid->active[left++] = active;
      continue;
    }
    Transfer *transfer = &fluid->transfer[active.slot];
    transfer->end = end;
    transfer->ended = true;
    follow(fluid, exchanged, transfer);
  }
  fluid->actives = left;
  return passes_s;
}

/* Links every flow to its followers. */
static void link_followers(Fluid *fluid, int64_t messages)
{
  for (int64_t i = 0; i < messages; i++)
    fluid->transfer[i].follower = fluid->transfer[i].sibling = -1;
  for (int64_t i = messages - 1; i >= 0; i--) {
    Transfer *transfer = &fluid->transfer[i];
    transfer->ended = false;
    if (transfer->after >= 0) {
      transfer->sibling = fluid->transfer[transfer->after].follower;
      fluid->transfer[transfer->after].follower = (int32_t)i;
    }
  }
}

void fluid_run(Fluid *fluid, const Schedule *schedule, int64_t exchange, Beginning beginning, void *data)
{
  int64_t first = schedule->first[exchange], messages = schedule->first[exchange + 1] - first;
  Exchanged exchanged = {first, beginning, data};
  find_tight(fluid, schedule, first, messages);
  double step_s = read_flows(fluid, schedule, first, messages) / STEPS, now = 0.0;
  link_followers(fluid, messages);
  start_first(fluid, &exchanged, messages);
  fluid->actives = 0;
  while (fluid->next < fluid->end || fluid->actives > 0) {
    if (fluid->actives == 0)
      now = fluid->order[fluid->next].time;
    while (fluid->next < fluid->end && fluid->order[fluid->next].time <= now + step_s / 2)
      fluid->active[fluid->actives++].slot = fluid->order[fluid->next++].flow;
    find_rates(fluid);
    double until = fluid->next < fluid->end ? fluid->order[fluid->next].time : INFINITY;
    now += advance(fluid, &exchanged, now, step_s, until);
  }
}
