/* Rates are max-min fair with weights, as in SimGrid: a flow of penalty p gets x / p, where x is the share of its
 * tightest link for each of the link's flows, but never more than its bound.  Rates are recomputed when flows begin or
 * end, but at most STEPS times within the time of the most loaded link: closer events are handled together. */
#include "fluid.h"

#include <math.h>
#include <stdlib.h>

#define STEPS 100
#define SLACK (1 + 1e-9) /* tolerance when a flow's bound is compared with a link's share */

/* The exchange of the flows, and a function for when flows begin that follow others. */
typedef struct {
  int64_t first; /* message */
  Beginning beginning;
  void *data;
} Exchanged;

static void *zeros(int64_t count, size_t size)
{
  return calloc((size_t)count + 1, size); /* never an empty allocation */
}

int fluid_open(Fluid *fluid, const Paths *paths, int64_t messages)
{
  *fluid = (Fluid){.paths = paths};
  fluid->flow = zeros(messages, sizeof *fluid->flow);
  fluid->order = zeros(messages, sizeof *fluid->order);
  fluid->active = zeros(messages, sizeof *fluid->active);
  fluid->pipe = zeros(paths->links, sizeof *fluid->pipe);
  fluid->user = zeros(messages * MOST_LINKS, sizeof *fluid->user);
  fluid->demand = zeros(paths->links, sizeof *fluid->demand);
  fluid->number = zeros(paths->links, sizeof *fluid->number);
  fluid->users = zeros(paths->links, sizeof *fluid->users);
  if (fluid->flow && fluid->order && fluid->active && fluid->pipe && fluid->user && fluid->demand && fluid->number &&
      fluid->users)
    return DONE;
  fluid_close(fluid);
  return NO_MEMORY;
}

void fluid_close(Fluid *fluid)
{
  free(fluid->flow);
  free(fluid->order);
  free(fluid->active);
  free(fluid->pipe);
  free(fluid->user);
  free(fluid->demand);
  free(fluid->number);
  free(fluid->users);
}

/* --- the flows and their links --- */

static void read_flows(Fluid *fluid, const Schedule *schedule, int64_t first, int64_t messages)
{
  const Paths *paths = fluid->paths;
  for (int64_t l = 0; l < paths->links; l++) {
    fluid->demand[l] = 0.0;
    fluid->users[l] = 0;
  }
  for (int64_t i = 0; i < messages; i++) {
    Flow *flow = &fluid->flow[i];
    int32_t a = fluid->host[schedule->source[first + i]], b = fluid->host[schedule->destination[first + i]];
    int64_t row = way_row(paths, a, b);
    flow->left = paths->amount_bytes[row * paths->sizes + schedule->size[first + i]];
    flow->bound = paths->bound_Bps[row];
    flow->penalty = paths->penalty[row];
    flow->links = way_links(paths, a, b, flow->link, flow->weight);
    for (int k = 0; k < flow->links; k++) {
      fluid->demand[flow->link[k]] += flow->weight[k] * flow->bound;
      fluid->users[flow->link[k]]++;
    }
  }
}

/* Numbers the pipes: links that their flows together could fill. */
static void number_pipes(Fluid *fluid)
{
  const Paths *paths = fluid->paths;
  int64_t places = 0;
  fluid->pipes = 0;
  for (int64_t l = 0; l < paths->links; l++) {
    fluid->number[l] = -1;
    if (fluid->demand[l] <= paths->capacity_Bps[l])
      continue;
    fluid->number[l] = (int32_t)fluid->pipes;
    fluid->pipe[fluid->pipes++] = (Pipe){.capacity = paths->capacity_Bps[l], .first = places};
    places += fluid->users[l];
  }
}

/* Reduces the links of each flow to pipes; returns the time of the most loaded pipe, s. */
static double fill_pipes(Fluid *fluid, int64_t messages)
{
  double longest_s = 0.0;
  for (int64_t l = 0; l < fluid->pipes; l++)
    fluid->pipe[l].remaining = 0.0; /* the load, bytes */
  for (int64_t i = 0; i < messages; i++) {
    Flow *flow = &fluid->flow[i];
    int links = 0;
    for (int k = 0; k < flow->links; k++) {
      int32_t number = fluid->number[flow->link[k]];
      if (number < 0 || flow->weight[k] <= 0.0)
        continue;
      Pipe *pipe = &fluid->pipe[number];
      fluid->user[pipe->first + pipe->users++] = (int32_t)i;
      pipe->remaining += flow->weight[k] * flow->left;
      longest_s = larger(longest_s, pipe->remaining / pipe->capacity);
      flow->link[links] = number;
      flow->weight[links++] = flow->weight[k];
    }
    flow->links = links;
  }
  return longest_s;
}

/* --- rates --- */

/* Sets the rate of a flow and subtracts it from its pipes. */
static void grant(Fluid *fluid, Flow *flow, double rate)
{
  flow->rate = rate;
  for (int k = 0; k < flow->links; k++) {
    Pipe *pipe = &fluid->pipe[flow->link[k]];
    pipe->remaining = larger(0.0, pipe->remaining - flow->weight[k] * rate);
    pipe->usage -= flow->weight[k] / flow->penalty;
    pipe->open--;
  }
}

static void forget_rates(Fluid *fluid)
{
  for (int64_t l = 0; l < fluid->pipes; l++) {
    fluid->pipe[l].remaining = fluid->pipe[l].capacity;
    fluid->pipe[l].usage = 0.0;
    fluid->pipe[l].open = 0;
  }
  for (int64_t i = 0; i < fluid->actives; i++) {
    Flow *flow = &fluid->flow[fluid->active[i]];
    flow->rate = -1.0;
    for (int k = 0; k < flow->links; k++) {
      fluid->pipe[flow->link[k]].usage += flow->weight[k] / flow->penalty;
      fluid->pipe[flow->link[k]].open++;
    }
  }
}

/* Returns the pipe with the smallest share for a flow of penalty 1, or NULL if no pipe has a flow without a rate. */
static Pipe *tightest(const Fluid *fluid, double *fair)
{
  Pipe *found = NULL;
  *fair = INFINITY;
  for (int64_t l = 0; l < fluid->pipes; l++) {
    Pipe *pipe = &fluid->pipe[l];
    if (pipe->open > 0 && pipe->usage > 0.0 && pipe->remaining / pipe->usage < *fair) {
      *fair = pipe->remaining / pipe->usage;
      found = pipe;
    }
  }
  return found;
}

/* Sets flows whose bounds are within their fair share to their bounds; returns whether there were any. */
static bool grant_bounds(Fluid *fluid, double fair)
{
  bool any = false;
  for (int64_t i = 0; i < fluid->actives; i++) {
    Flow *flow = &fluid->flow[fluid->active[i]];
    if (flow->rate < 0.0 && flow->bound * flow->penalty <= fair * SLACK) {
      grant(fluid, flow, flow->bound);
      any = true;
    }
  }
  return any;
}

static void find_rates(Fluid *fluid)
{
  double fair, asked = INFINITY; /* asked: the least bound, as a share, among the active flows */
  forget_rates(fluid);
  for (int64_t i = 0; i < fluid->actives; i++) {
    const Flow *flow = &fluid->flow[fluid->active[i]];
    asked = smaller(asked, flow->bound * flow->penalty);
  }
  for (Pipe *pipe = tightest(fluid, &fair); pipe; pipe = tightest(fluid, &fair)) {
    if (asked <= fair * SLACK && grant_bounds(fluid, fair))
      continue;
    for (int64_t x = pipe->first; x < pipe->first + pipe->users; x++) {
      Flow *flow = &fluid->flow[fluid->user[x]];
      if (flow->rate < 0.0)
        grant(fluid, flow, fair / flow->penalty);
    }
    pipe->open = 0;
  }
  grant_bounds(fluid, INFINITY); /* for flows of pipes that rounding has emptied */
}

/* --- time --- */

static int earlier(const void *a, const void *b)
{
  double x = ((const Begin *)a)->time, y = ((const Begin *)b)->time;
  return (x > y) - (x < y);
}

/* Inserts a flow that uses pipes into the order. */
static void insert(Fluid *fluid, int32_t number)
{
  int64_t at = fluid->end++;
  double time = fluid->flow[number].begin;
  for (; at > fluid->next && fluid->order[at - 1].time > time; at--)
    fluid->order[at] = fluid->order[at - 1];
  fluid->order[at] = (Begin){time, number};
}

/* Sets the end of a flow on idle links; it is final if the flow uses no pipe. */
static void start(Flow *flow)
{
  flow->end = flow->begin + flow->left / flow->bound;
  flow->rate = 0.0;
  flow->ended = flow->links == 0 || flow->left <= 0.0;
}

/* Starts the followers of a flow that has ended.  Only the last follower of a flow may have followers itself. */
static void follow(Fluid *fluid, const Exchanged *exchanged, const Flow *ended)
{
  for (int32_t number = ended->follower; number >= 0;) {
    Flow *flow = &fluid->flow[number];
    flow->begin = exchanged->beginning(exchanged->data, exchanged->first + number, fluid->flow[flow->after].end);
    start(flow);
    if (!flow->ended)
      insert(fluid, number);
    number = flow->sibling >= 0 || !flow->ended ? flow->sibling : flow->follower;
  }
}

/* Starts the flows that do not wait for flows that use pipes. */
static void start_first(Fluid *fluid, const Exchanged *exchanged, int64_t messages)
{
  fluid->next = fluid->end = 0;
  for (int64_t i = 0; i < messages; i++) {
    Flow *flow = &fluid->flow[i];
    if (flow->after >= 0 && !fluid->flow[flow->after].ended)
      continue;
    if (flow->after >= 0)
      flow->begin = exchanged->beginning(exchanged->data, exchanged->first + i, fluid->flow[flow->after].end);
    start(flow);
    if (!flow->ended)
      fluid->order[fluid->end++] = (Begin){flow->begin, (int32_t)i};
  }
  qsort(fluid->order, (size_t)fluid->end, sizeof *fluid->order, earlier);
}

/* Advances the active flows; returns the time that has passed. */
static double advance(Fluid *fluid, const Exchanged *exchanged, double now, double least_s, double until)
{
  double passes_s = INFINITY;
  for (int64_t i = 0; i < fluid->actives; i++) {
    const Flow *flow = &fluid->flow[fluid->active[i]];
    passes_s = smaller(passes_s, flow->left / flow->rate);
  }
  passes_s = smaller(larger(passes_s, least_s), until - now);
  int64_t left = 0;
  for (int64_t i = 0; i < fluid->actives; i++) {
    int32_t number = fluid->active[i];
    Flow *flow = &fluid->flow[number];
    flow->end = now + flow->left / flow->rate;
    flow->left -= flow->rate * passes_s;
    if (flow->end > now + passes_s) {
      fluid->active[left++] = number;
      continue;
    }
    flow->rate = 0.0; /* known: it uses nothing any more */
    flow->ended = true;
    follow(fluid, exchanged, flow);
  }
  fluid->actives = left;
  return passes_s;
}

/* Links every flow to its followers. */
static void link_followers(Fluid *fluid, int64_t messages)
{
  for (int64_t i = 0; i < messages; i++)
    fluid->flow[i].follower = fluid->flow[i].sibling = -1;
  for (int64_t i = messages - 1; i >= 0; i--) {
    Flow *flow = &fluid->flow[i];
    flow->ended = false;
    if (flow->after >= 0) {
      flow->sibling = fluid->flow[flow->after].follower;
      fluid->flow[flow->after].follower = (int32_t)i;
    }
  }
}

void fluid_run(Fluid *fluid, const Schedule *schedule, int64_t exchange, Beginning beginning, void *data)
{
  int64_t first = schedule->first[exchange], messages = schedule->first[exchange + 1] - first;
  Exchanged exchanged = {first, beginning, data};
  read_flows(fluid, schedule, first, messages);
  number_pipes(fluid);
  double step_s = fill_pipes(fluid, messages) / STEPS, now = 0.0;
  link_followers(fluid, messages);
  start_first(fluid, &exchanged, messages);
  fluid->actives = 0;
  while (fluid->next < fluid->end || fluid->actives > 0) {
    if (fluid->actives == 0)
      now = fluid->order[fluid->next].time;
    while (fluid->next < fluid->end && fluid->order[fluid->next].time <= now + step_s / 2)
      fluid->active[fluid->actives++] = fluid->order[fluid->next++].flow;
    find_rates(fluid);
    double until = fluid->next < fluid->end ? fluid->order[fluid->next].time : INFINITY;
    now += advance(fluid, &exchanged, now, step_s, until);
  }
}
