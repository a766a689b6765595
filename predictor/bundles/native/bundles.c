#include "bundles.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../dpgraph/native/ends.h"
#include "../../dpgraph/native/links.h"
#include "../../dpgraph/native/room.h"

enum { LEAST_PATHS = 16, FIRST_ROOM = 16 }; /* of a bundle */

/* The paths of a bundle under construction. */
typedef struct {
  const Path *first;
  int64_t paths;
  int32_t number; /* of the bundle; NOTHING: too few paths */
} Likes;

/* Removes a flow from any position of the heap. */
static void ends_remove(Heap *ends, Flow *flow, int32_t slot)
{
  int64_t place = flow[slot].place;
  if (place < --ends->size)
    ends_settle(ends, flow, place, ends->event[ends->size]);
  flow[slot].place = NOTHING;
}

/* Adds the largest demand of a flow to the links of its path. */
static void links_demand(Graph *graph, const Path *path)
{
  bool crowded = false;
  for (int32_t k = 0; k < path->crossings; k++) {
    Link *link = path->crossing[k].link;
    link->demand += path->crossing[k].amount;
    link->shares += path->crossing[k].share;
    link->flows++;
    crowded |= links_over(link) | link->tight;
  }
  graph->crowded |= crowded;
}

static void find_hubs(Graph *graph, int64_t hub_paths)
{
  const Input *input = &graph->input;
  for (int64_t i = 0; i < input->crossings; i++)
    graph->crossing[i].link->flows++;
  for (int64_t l = 0; l < input->links; l++) {
    graph->link[l].hub = graph->link[l].flows >= hub_paths;
    graph->link[l].flows = 0;
    graph->link[l].alarm_bundle = NOTHING;
  }
}

static int64_t hubs_of(const Path *path)
{
  int64_t count = 0;
  for (int32_t k = 0; k < path->crossings; k++)
    count += path->crossing[k].link->hub;
  return count;
}

static uint64_t mixed(uint64_t hash, const void *value)
{
  uint64_t bits;
  memcpy(&bits, value, sizeof bits);
  hash = (hash ^ bits) * 0x9E3779B97F4A7C15u;
  return hash ^ hash >> 29;
}

static uint64_t hash_of(const Graph *graph, const Path *path)
{
  uint64_t hash = mixed(mixed(0, &path->bound_Bps), &path->penalty);
  for (int32_t k = 0; k < path->crossings; k++)
    if (path->crossing[k].link->hub) {
      uint64_t link = (uint64_t)(path->crossing[k].link - graph->link);
      hash = mixed(mixed(hash, &link), &path->crossing[k].weight);
    }
  return hash;
}

/* Returns the index of the next crossing of a hub from k on. */
static int32_t next_hub(const Path *path, int32_t k)
{
  while (k < path->crossings && !path->crossing[k].link->hub)
    k++;
  return k;
}

static bool are_alike(const Path *a, const Path *b)
{
  if (a->bound_Bps != b->bound_Bps || a->penalty != b->penalty)
    return false;
  int32_t i = next_hub(a, 0), k = next_hub(b, 0);
  for (; i < a->crossings && k < b->crossings; i = next_hub(a, i + 1), k = next_hub(b, k + 1))
    if (a->crossing[i].link != b->crossing[k].link || a->crossing[i].weight != b->crossing[k].weight)
      return false;
  return i == a->crossings && k == b->crossings;
}

/* Returns the table entry of the paths like this one, or a free entry. */
static Likes *find(const Graph *graph, Likes *table, uint64_t mask, const Path *path)
{
  uint64_t at = hash_of(graph, path) & mask;
  while (table[at].first && !are_alike(table[at].first, path))
    at = (at + 1) & mask;
  return &table[at];
}

static void make(Graph *graph, int32_t number, const Path *path, Crossing *crossing, Crossing *single)
{
  graph->bundle[number] = (Bundle){
      .path = {path->bound_Bps, path->penalty, path->wish, crossing, 0, NOTHING}, .single = single};
  for (int32_t k = 0; k < path->crossings; k++)
    if (path->crossing[k].link->hub) {
      crossing[graph->bundle[number].path.crossings] = path->crossing[k];
      single[graph->bundle[number].path.crossings++] = path->crossing[k];
    }
  Flow *flow = &graph->flow[number];
  *flow = (Flow){.factor = 1.0, .path = &graph->bundle[number].path, .message = NOTHING, .place = NOTHING, .bundle = NOTHING};
}

/* Numbers the bundles of a table; returns their number of crossings. */
static int64_t number_bundles(Graph *graph, Likes *table, uint64_t mask)
{
  int64_t crossings = 0;
  for (uint64_t at = 0; at <= mask; at++) {
    bool enough = table[at].paths >= LEAST_PATHS;
    table[at].number = enough ? (int32_t)graph->bundles++ : NOTHING;
    crossings += enough ? hubs_of(table[at].first) : 0;
  }
  return crossings;
}

int bundles_make(Graph *graph, int64_t hub_paths)
{
  const Input *input = &graph->input;
  find_hubs(graph, hub_paths);
  uint64_t mask = 15;
  while (mask < 2 * (uint64_t)input->paths)
    mask = 2 * mask + 1;
  Likes *table = calloc(mask + 1, sizeof *table);
  if (!table)
    return NO_MEMORY;
  for (int64_t p = 0; p < input->paths; p++)
    if (hubs_of(&graph->path[p]) > 0) {
      Likes *likes = find(graph, table, mask, &graph->path[p]);
      likes->first = &graph->path[p];
      likes->paths++;
    }
  int64_t crossings = number_bundles(graph, table, mask);
  graph->bundle = calloc((size_t)graph->bundles + 1, sizeof *graph->bundle);
  graph->bundled = calloc(2 * (size_t)crossings + 1, sizeof *graph->bundled);
  int result = graph->bundle && graph->bundled ? DONE : NO_MEMORY;
  while (result == DONE && graph->slots <= graph->bundles)
    result = room_for_flows(graph);
  Crossing *next = graph->bundled;
  for (uint64_t at = 0; at <= mask && result == DONE; at++)
    if (table[at].number != NOTHING && table[at].first) {
      int64_t hubs = hubs_of(table[at].first);
      make(graph, table[at].number, table[at].first, next, next + hubs);
      next += 2 * hubs;
    }
  for (int64_t p = 0; p < input->paths && result == DONE; p++)
    if (hubs_of(&graph->path[p]) > 0)
      graph->path[p].bundle = find(graph, table, mask, &graph->path[p])->number;
  graph->used_slots = graph->bundles;
  free(table);
  return result;
}

void bundles_free(Graph *graph)
{
  for (int64_t b = 0; graph->bundle && b < graph->bundles; b++) {
    free(graph->bundle[b].ends.event);
    free(graph->bundle[b].alarms.event);
  }
  free(graph->bundle);
  free(graph->bundled);
}

/* Adds the service of a bundle up to this date, at a constant rate. */
static void serve(Graph *graph, int32_t number, double rate, double now_s)
{
  graph->bundle[number].service += rate * (now_s - graph->flow[number].since_s);
  graph->flow[number].since_s = now_s;
}

/* Sets the weights of a bundle to the sums over its flows; an empty bundle leaves its links. */
static void resize(Graph *graph, int32_t number)
{
  Bundle *bundle = &graph->bundle[number];
  Flow *flow = &graph->flow[number];
  double flows = (double)bundle->ends.size;
  for (int32_t k = 0; k < bundle->path.crossings; k++) {
    const Crossing *single = &bundle->single[k];
    bundle->path.crossing[k] =
        (Crossing){single->link, flows * single->weight, flows * single->amount, flows * single->share};
  }
  if (bundle->ends.size > 0)
    return;
  for (int32_t k = 0; k < bundle->path.crossings; k++)
    links_exit(graph, bundle->single[k].link, &graph->entry[number * graph->width + k]);
  if (flow->place != NOTHING)
    ends_remove(&graph->ends.heap, graph->flow, number);
  flow->rate = bundle->service = 0.0;
  bundle->alarms.size = 0;
  bundle->epoch++;
}

/* Schedules the end of the bundle's next flow at the current rate. */
static void schedule(Graph *graph, int32_t number)
{
  const Flow *flow = &graph->flow[number];
  double left = graph->bundle[number].ends.event[0].date_s - graph->bundle[number].service;
  ends_schedule(&graph->ends.heap, graph->flow, number, flow->since_s + (left > 0.0 ? left : 0.0) / flow->rate);
}

/* Removes a flow from its bundle; it keeps its rate. */
static void separate(Graph *graph, int32_t slot, double now_s)
{
  Flow *flow = &graph->flow[slot];
  int32_t number = flow->bundle;
  Bundle *bundle = &graph->bundle[number];
  double rate = graph->flow[number].rate;
  serve(graph, number, rate, now_s);
  double left = bundle->ends.event[flow->place].date_s - bundle->service;
  ends_remove(&bundle->ends, graph->flow, slot);
  flow->bundle = NOTHING;
  flow->remaining = (left > 0.0 ? left : 0.0) * flow->factor;
  flow->since_s = now_s;
  flow->rate = rate;
  if (rate > 0.0)
    ends_schedule(&graph->ends.heap, graph->flow, slot, now_s + flow->remaining / (rate * flow->factor));
  for (int32_t k = 0; k < flow->path->crossings; k++) {
    Link *link = flow->path->crossing[k].link;
    if (link->hub)
      links_enter(graph, link, (int32_t)(slot * graph->width) + k, slot);
    else
      link->members--;
  }
  resize(graph, number);
  if (bundle->ends.size > 0 && rate > 0.0)
    schedule(graph, number);
  links_note(graph, slot);
}

/* Removes from their bundles the flows on a link, other than a hub, that may limit them from now on. */
static void separate_on(Graph *graph, const Link *link, double now_s)
{
  for (int32_t i = link->head; i != NOTHING && link->members > 0; i = graph->entry[i].after)
    if (graph->flow[graph->entry[i].slot].bundle != NOTHING)
      separate(graph, graph->entry[i].slot, now_s);
}

static void join_alone(Graph *graph, int32_t slot, double now_s)
{
  const Path *path = graph->flow[slot].path;
  int32_t number = (int32_t)(slot * graph->width);
  links_note(graph, slot);
  for (int32_t k = 0; k < path->crossings; k++, number++) {
    Link *link = path->crossing[k].link;
    if (links_over(link))
      separate_on(graph, link, now_s);
    links_enter(graph, link, number, slot);
  }
}

/* Returns whether a link other than a hub limits a new flow, or carries a flow without a bundle. */
static bool is_limited_alone(const Graph *graph, const Path *path)
{
  double found = graph->flow[path->bundle].rate * path->penalty; /* 0: not known yet */
  for (int32_t k = 0; k < path->crossings; k++) {
    const Link *link = path->crossing[k].link;
    if (link->hub || !(links_over(link) || link->tight))
      continue;
    if (link->tight || link->members < link->flows - 1 || found * link->shares > link->capacity)
      return true;
  }
  return false;
}

/* Makes room in a heap for one more event.  Returns DONE or NO_MEMORY. */
static int room_for_one(Heap *heap, int64_t *room)
{
  if (heap->size < *room)
    return DONE;
  int64_t wanted = *room ? 2 * *room : FIRST_ROOM;
  Event *grown = realloc(heap->event, (size_t)wanted * sizeof *grown);
  if (!grown)
    return NO_MEMORY;
  heap->event = grown;
  *room = wanted;
  return DONE;
}

/* Sets the alarm of a link for a bundle.  Returns DONE or NO_MEMORY. */
static int set_alarm(Graph *graph, Link *link, int32_t number)
{
  Bundle *bundle = &graph->bundle[number];
  double share = link->capacity / link->shares;
  if (link->alarm_bundle == number && link->alarm_epoch == bundle->epoch && link->alarm_share <= share)
    return DONE;
  if (room_for_one(&bundle->alarms, &bundle->alarms_room) != DONE)
    return NO_MEMORY;
  link->alarm_share = share;
  link->alarm_bundle = number;
  link->alarm_epoch = bundle->epoch;
  heap_push(&bundle->alarms, (Event){share, (int32_t)(link - graph->link), NOTHING});
  return DONE;
}

/* Sets the alarms of a link for all bundles that have flows on it. */
static int set_alarms(Graph *graph, Link *link)
{
  int result = DONE;
  for (int32_t i = link->head; i != NOTHING && result == DONE; i = graph->entry[i].after)
    result = set_alarm(graph, link, graph->flow[graph->entry[i].slot].bundle);
  return result;
}

/* Adds a flow to the links of its path as a member of its bundle.  Returns DONE or NO_MEMORY. */
static int enter_links(Graph *graph, int32_t slot)
{
  const Path *path = graph->flow[slot].path;
  int result = DONE;
  for (int32_t k = 0; k < path->crossings && result == DONE; k++) {
    Link *link = path->crossing[k].link;
    if (link->hub)
      continue;
    links_enter(graph, link, (int32_t)(slot * graph->width) + k, slot);
    link->members++;
    if (links_over(link))
      result = set_alarms(graph, link);
  }
  return result;
}

int bundles_join(Graph *graph, int32_t slot, double now_s)
{
  Flow *flow = &graph->flow[slot];
  int32_t number = flow->path->bundle;
  links_demand(graph, flow->path);
  if (number == NOTHING || is_limited_alone(graph, flow->path)) {
    join_alone(graph, slot, now_s);
    return DONE;
  }
  Bundle *bundle = &graph->bundle[number];
  if (room_for_one(&bundle->ends, &bundle->ends_room) != DONE)
    return NO_MEMORY;
  serve(graph, number, graph->flow[number].rate, now_s);
  flow->bundle = number;
  ends_schedule(&bundle->ends, graph->flow, slot, bundle->service + flow->remaining / flow->factor);
  if (bundle->ends.size == 1)
    for (int32_t k = 0; k < bundle->path.crossings; k++)
      links_enter(graph, bundle->single[k].link, (int32_t)(number * graph->width) + k, number);
  resize(graph, number);
  if (graph->flow[number].rate > 0.0)
    schedule(graph, number);
  if (graph->flow[number].seen != graph->step)
    links_note(graph, number);
  return enter_links(graph, slot);
}

/* Removes from their bundles the flows on links whose limits a bundle's share has reached.  Returns whether there are
 * any. */
static bool overrun(Graph *graph, int32_t number, double now_s)
{
  Bundle *bundle = &graph->bundle[number];
  double share = graph->flow[number].rate * bundle->path.penalty;
  bool any = false;
  while (bundle->alarms.size > 0 && bundle->alarms.event[0].date_s < share * (1 - SAME)) {
    Link *link = &graph->link[heap_pop(&bundle->alarms).what];
    link->alarm_bundle = NOTHING;
    if (link->members == 0 || !links_over(link))
      continue;
    if (link->capacity / link->shares < share * (1 - SAME)) {
      separate_on(graph, link, now_s);
      any = true;
    } else {
      set_alarm(graph, link, number); /* the heap has room for it: flows have left the link since */
    }
  }
  return any;
}

/* If a flow without a bundle overloads links, removes their flows from bundles.  Returns whether it overloads any. */
static bool overrun_alone(Graph *graph, int32_t slot, double now_s)
{
  const Flow *flow = &graph->flow[slot];
  double share = flow->rate * flow->path->penalty;
  bool any = false;
  for (int32_t k = 0; k < flow->path->crossings; k++) {
    Link *link = flow->path->crossing[k].link;
    if (link->members > 0 && links_over(link) && link->capacity / link->shares < share * (1 - SAME)) {
      separate_on(graph, link, now_s);
      any = true;
    }
  }
  return any;
}

bool bundles_overrun(Graph *graph, double now_s)
{
  bool any = false;
  int64_t count = graph->changed_count;
  for (int64_t i = 0; i < count && graph->bundles > 0; i++)
    if (graph->changed[i].slot < graph->bundles)
      serve(graph, graph->changed[i].slot, graph->changed[i].before_Bps, now_s);
  for (int64_t i = 0; i < count && graph->bundles > 0; i++)
    if (graph->changed[i].slot >= graph->bundles)
      any |= overrun_alone(graph, graph->changed[i].slot, now_s);
  for (int32_t number = 0; number < graph->bundles; number++)
    if (graph->bundle[number].ends.size > 0)
      any |= overrun(graph, number, now_s);
  return any;
}

int32_t bundles_pop(Graph *graph, int32_t slot)
{
  Bundle *bundle = &graph->bundle[slot];
  int32_t ended = ends_pop(&bundle->ends, graph->flow);
  graph->flow[ended].bundle = NOTHING;
  resize(graph, slot);
  if (bundle->ends.size > 0)
    schedule(graph, slot);
  return ended;
}

void bundles_reschedule(Graph *graph, Changed changed, double now_s)
{
  serve(graph, changed.slot, changed.before_Bps, now_s);
  schedule(graph, changed.slot);
}

void bundles_forget_empty(Graph *graph)
{
  int64_t kept = 0;
  for (int64_t i = 0; i < graph->changed_count && graph->bundles > 0; i++)
    if (graph->changed[i].slot >= graph->bundles || graph->bundle[graph->changed[i].slot].ends.size > 0)
      graph->changed[kept++] = graph->changed[i];
  if (graph->bundles > 0)
    graph->changed_count = kept;
}
