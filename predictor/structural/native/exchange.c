/* A message begins at max(sent, posted).  Its sender continues at once if the message is buffered, otherwise when the
 * message has arrived.
 *
 * Links shared by clusters are queues (Lindley's recursion): the load an exchange adds to a link begins when its first
 * message arrives, or when the link's earlier load is served.  A message that arrives before then is delayed.  The
 * delay is at most the time the message would need next to as many messages of its size as have arrived since the link
 * was idle. */
#include "exchange.h"

#include <math.h>

#define ROUNDING 1e-9 /* relative */

static void post_receives(Ranks *ranks)
{
  for (int64_t r = 0; r < ranks->schedule->ranks; r++)
    ranks->posted[r] = ranks->arrived[r] = ranks->now[r];
  for (int64_t l = 0; l < ranks->shares.links; l++)
    ranks->comes[l] = INFINITY;
}

/* Returns how long a message waits for links, and registers its arrival at them. */
static double held_s(Ranks *ranks, int64_t m, double begin)
{
  double held = 0.0;
  for (int64_t at = m * MOST_SHARED; at < (m + 1) * MOST_SHARED && ranks->shares.link[at] >= 0; at++) {
    int32_t link = ranks->shares.link[at];
    ranks->comes[link] = smaller(ranks->comes[link], begin);
    held = larger(held, smaller(ranks->free[link] - begin, ranks->others[link] * ranks->shares.own_s[at]));
  }
  return held;
}

/* Returns when a message begins to use the links if its sender reaches it at the time `sent`. */
static double begins(Ranks *ranks, int64_t m, double sent)
{
  const Schedule *schedule = ranks->schedule;
  int mode = ranks->protocol[schedule->size[m]];
  double posted = mode == EAGER ? sent : larger(sent, ranks->posted[schedule->destination[m]]);
  double begin = posted + ranks->shares.latency_s[m];
  return begin + held_s(ranks, m, begin);
}

static double begins_after(void *ranks, int64_t m, double sent)
{
  return begins(ranks, m, sent);
}

/* Completes a message at its receiver, and at its sender if that waits for it. */
static void arrive(Ranks *ranks, int64_t m, bool at_once, double end)
{
  const Schedule *schedule = ranks->schedule;
  int32_t s = schedule->source[m], d = schedule->destination[m];
  int mode = ranks->protocol[schedule->size[m]];
  if (mode == SYNCHRONOUS && at_once)
    ranks->arrived[s] = larger(ranks->arrived[s], end);
  else if (mode == SYNCHRONOUS)
    ranks->now[s] = end;
  ranks->arrived[d] = larger(ranks->arrived[d], end);
}

/* Returns how long a flow competes for a link with flows of earlier steps, if the link cannot serve all of them. */
static double beside_s(const Ranks *ranks, const Transfer *flow, double bound, const int32_t *link,
                       const double *weight, int links)
{
  const double *capacity = ranks->fluid->paths->capacity_Bps;
  double found = 0.0;
  for (int k = 0; k < links; k++) {
    double asked = ranks->asked[link[k]] + weight[k] * bound;
    if (weight[k] > 0.0 && asked > capacity[link[k]] * (1 + ROUNDING))
      found = larger(found, smaller(ranks->until[link[k]], flow->end) - flow->begin);
  }
  return found;
}

/* Records how long the flows of an exchange compete with those of earlier steps, and when they leave their links. */
static void meet(Ranks *ranks, int64_t first, int64_t end)
{
  const Schedule *schedule = ranks->schedule;
  const Fluid *fluid = ranks->fluid;
  double longest_s = 0.0;
  int32_t link[MOST_LINKS];
  double weight[MOST_LINKS];
  for (int pass = 0; pass < 2; pass++)
    for (int64_t m = first; m < end; m++) {
      const Transfer *flow = &fluid->transfer[m - first];
      int32_t a = fluid->host[schedule->source[m]], b = fluid->host[schedule->destination[m]];
      int links = way_links(fluid->paths, a, b, link, weight);
      if (pass == 0)
        longest_s = larger(longest_s, beside_s(ranks, flow, fluid->path[m - first].bound_Bps, link, weight, links));
      for (int k = 0; pass == 1 && k < links; k++) {
        ranks->until[link[k]] = larger(ranks->until[link[k]], flow->end);
        ranks->asked[link[k]] = fluid->link[link[k]].demand;
      }
    }
  ranks->met_s += longest_s;
}

static void send_as_flows(Ranks *ranks, int64_t exchange)
{
  const Schedule *schedule = ranks->schedule;
  int64_t first = schedule->first[exchange], end = schedule->first[exchange + 1];
  bool at_once = schedule->at_once[exchange];
  for (int64_t r = 0; r < schedule->ranks; r++)
    ranks->waits[r] = -1;
  for (int64_t m = first; m < end; m++) {
    Transfer *flow = &ranks->fluid->transfer[m - first];
    int32_t s = schedule->source[m];
    flow->after = ranks->waits[s];
    if (flow->after < 0)
      flow->begin = begins(ranks, m, ranks->now[s]);
    if (!at_once && ranks->protocol[schedule->size[m]] == SYNCHRONOUS)
      ranks->waits[s] = (int32_t)(m - first);
  }
  fluid_run(ranks->fluid, schedule, exchange, begins_after, ranks);
  meet(ranks, first, end);
  for (int64_t m = first; m < end; m++)
    arrive(ranks, m, at_once, ranks->fluid->transfer[m - first].end);
}

static void load_links(Ranks *ranks, int64_t exchange)
{
  const Shares *shares = &ranks->shares;
  for (int64_t l = 0; l < shares->links; l++) {
    int64_t at = exchange * shares->links + l;
    if (shares->flows[at] == 0)
      continue;
    if (ranks->comes[l] >= ranks->free[l]) {
      ranks->free[l] = ranks->comes[l];
      ranks->others[l] = 0;
    }
    ranks->free[l] += shares->load_s[at];
    ranks->others[l] += shares->flows[at];
  }
}

void exchange_run(Ranks *ranks, int64_t exchange)
{
  const Schedule *schedule = ranks->schedule;
  post_receives(ranks);
  if (ranks->fluid && are_flows(schedule, exchange))
    send_as_flows(ranks, exchange);
  else
    for (int64_t m = schedule->first[exchange]; m < schedule->first[exchange + 1]; m++) {
      double begin = begins(ranks, m, ranks->now[schedule->source[m]]);
      arrive(ranks, m, schedule->at_once[exchange], begin + ranks->shares.flow_s[m]);
    }
  if (schedule->meanwhile[exchange] >= 0)
    for (int64_t r = 0, at = schedule->meanwhile[exchange] * schedule->ranks; r < schedule->ranks; r++)
      ranks->now[r] += schedule->flops[at + r] * ranks->s_per_flop[r];
  for (int64_t r = 0; r < schedule->ranks; r++)
    ranks->now[r] = larger(ranks->now[r], ranks->arrived[r]);
  load_links(ranks, exchange);
}
