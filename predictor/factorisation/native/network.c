#include "network.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double SAME = 1e-12; /* relative: flows that end within it end together */
static const double TIE = 1e-9;   /* relative: messages and polls within it are simultaneous */

double curve_s(const Problem *problem, int curve, double bytes, double *base_s)
{
  int64_t i = problem->first[curve], end = problem->first[curve + 1];
  if (i == end) {
    *base_s = 0;
    return 0;
  }
  while (i + 1 < end && bytes >= problem->from_bytes[i + 1])
    i++;
  *base_s = problem->base_s[i];
  return problem->base_s[i] + bytes * problem->per_byte_s[i];
}

static double total_s(const Problem *problem, int curve, double bytes)
{
  double base_s;
  return curve_s(problem, curve, bytes, &base_s);
}

static bool matches(const Post *post, int64_t partner, int64_t key)
{
  return post->partner == partner && post->key == key;
}

/* Marks one operation of a rank complete, ending at `until`. */
static void arrive(World *world, int64_t me, double until)
{
  Rank *rank = &world->rank[me];
  rank->until = larger(rank->until, until);
  if (--rank->pending == 0 && rank->waits)
    clock_set(world->clock, me, rank->until);
}

static bool seen_early(const World *world) { return world->problem->whole[SEEN_EARLY] != 0; }

/* Returns whether a message visible from `there` on is visible at `now`. */
static bool has_come(const World *world, double there, double now)
{
  return there <= (seen_early(world) ? now * (1 + TIE) : now);
}

/* Schedules the poll that finds a message: after the chunk of work during which it becomes visible.  If messages are
 * visible when sent, a poll misses one sent exactly at the end of a chunk: SMPI ends computations before messages. */
static void look_again(World *world, int64_t me, int64_t from, int64_t key, double there)
{
  const Post *poll = &world->rank[me].poll;
  if (!matches(poll, from, key))
    return;
  double passed = has_come(world, there, poll->at) ? 0 : (there - poll->at) / poll->bytes;
  double chunks = passed > 0 && seen_early(world) ? floor(passed + TIE) + 1 : ceil(passed * (1 - SAME));
  double then = larger(poll->at + chunks * poll->bytes, clock_now(world->clock));
  if (then < clock_of(world->clock, me))
    clock_set(world->clock, me, then);
}

/* --- large messages --- */

/* The rate available to each message from one node to another. */
static double shared_Bps(const World *world, int64_t a, int64_t b)
{
  const double *real = world->problem->real;
  if (a == b)
    return real[MEMORY_BPS] / (double)world->within[a].count;
  double leave = (double)world->leaving[a].count + real[BACK] * (double)world->entering[a].count;
  double enter = (double)world->entering[b].count + real[BACK] * (double)world->leaving[b].count;
  return real[NODE_BPS] / larger(leave, enter);
}

static void set_rate(Flow *flow, double shared, double now)
{
  double rate = smaller(flow->bound, shared);
  flow->left = larger(0, flow->left - flow->rate * (now - flow->since));
  flow->since = now;
  if (rate != flow->rate) {
    flow->rate = rate;
    flow->ends = now + flow->left / rate;
  }
}

static void set_event(World *world, const List *list, int64_t event)
{
  double first = INFINITY;
  for (int64_t i = 0; i < list->count; i++)
    first = smaller(first, world->rank[list->rank[i]].flow.ends);
  int64_t item = world->problem->ranks + event;
  if (clock_of(world->clock, item) != first)
    clock_set(world->clock, item, first);
}

/* Updates the rates of the messages in a list, after one was added or removed. */
static void set_rates(World *world, const List *list, int64_t but_from)
{
  const int64_t *node = world->problem->node;
  double now = clock_now(world->clock), shared = 0;
  int64_t a = -1, b = -1;
  for (int64_t i = 0; i < list->count; i++) {
    int64_t sender = list->rank[i], from = node[sender], to = node[world->rank[sender].flow.to];
    if (from == but_from)
      continue;
    if (from != a || to != b)
      shared = shared_Bps(world, a = from, b = to);
    set_rate(&world->rank[sender].flow, shared, now);
  }
}

/* Updates the messages that enter a node, except those from node `but_from`. */
static void set_entering(World *world, int64_t b, int64_t but_from)
{
  const List *into = &world->entering[b];
  set_rates(world, into, but_from);
  for (int64_t i = 0, latest = but_from; i < into->count; i++) {
    int64_t node = world->problem->node[into->rank[i]];
    if (node != but_from && node != latest)
      set_event(world, &world->leaving[node], node);
    latest = node;
  }
}

/* Updates the rates of all messages that leave one node or enter another, and of those in the opposite directions if
 * acknowledgements use part of these. */
static void share(World *world, int64_t a, int64_t b)
{
  if (a == b) {
    set_rates(world, &world->within[a], -1);
    set_event(world, &world->within[a], world->nodes + a);
    return;
  }
  set_rates(world, &world->leaving[a], -1);
  set_event(world, &world->leaving[a], a);
  set_entering(world, b, a);
  if (world->problem->real[BACK] > 0) {
    set_rates(world, &world->leaving[b], -1);
    set_event(world, &world->leaving[b], b);
    set_entering(world, a, b);
  }
}

static void add(List *list, int64_t sender, int64_t *place)
{
  *place = list->count;
  list->rank[list->count++] = sender;
}

static void start_flow(World *world, int64_t sender, int64_t receiver, double bytes)
{
  const Problem *problem = world->problem;
  int64_t a = problem->node[sender], b = problem->node[receiver];
  Flow *flow = &world->rank[sender].flow;
  double base_s, whole_s = curve_s(problem, wire_between(problem, sender, receiver), bytes, &base_s);
  *flow = (Flow){.left = bytes, .since = clock_now(world->clock), .ends = -1, .latency_s = base_s, .to = receiver};
  flow->bound = whole_s > base_s ? bytes / (whole_s - base_s) : INFINITY;
  add(a == b ? &world->within[a] : &world->leaving[a], sender, &flow->leaving);
  if (a != b)
    add(&world->entering[b], sender, &flow->entering);
  share(world, a, b);
}

static void take(World *world, List *list, int64_t sender, bool leaves)
{
  Flow *flow = &world->rank[sender].flow;
  int64_t place = leaves ? flow->leaving : flow->entering, last = list->rank[--list->count];
  list->rank[place] = last;
  *(leaves ? &world->rank[last].flow.leaving : &world->rank[last].flow.entering) = place;
}

/* Ends the due flows of a node: those that leave it, or those within it. */
static void end_flows(void *context, int64_t event)
{
  World *world = context;
  bool inside = event >= world->nodes;
  int64_t a = inside ? event - world->nodes : event;
  List *list = inside ? &world->within[a] : &world->leaving[a];
  double now = clock_now(world->clock);
  int64_t b = -1, ended = 0;
  for (int64_t i = list->count - 1; i >= 0; i--) {
    int64_t sender = list->rank[i];
    Flow *flow = &world->rank[sender].flow;
    if (flow->ends > now * (1 + SAME))
      continue;
    int64_t there = world->problem->node[flow->to], receiver = flow->to;
    if (b >= 0 && b != there)
      share(world, a, b);
    b = there;
    take(world, list, sender, true);
    if (!inside)
      take(world, &world->entering[b], sender, false);
    ended++;
    world->rank[sender].send.partner = -1;
    arrive(world, sender, now + flow->latency_s);
    arrive(world, receiver, now + flow->latency_s);
  }
  if (ended)
    share(world, a, b);
  else
    set_event(world, list, event);
}

/* --- posts --- */

static void keep(World *world, int64_t me, Letter letter)
{
  Rank *rank = &world->rank[me];
  if (rank->letters == rank->room) {
    int64_t room = 2 * rank->room + 8;
    Letter *more = realloc(rank->letter, (size_t)room * sizeof *more);
    if (!more) {
      world->lacks_memory = true;
      return;
    }
    rank->letter = more;
    rank->room = room;
  }
  rank->letter[rank->letters++] = letter;
}

static int64_t letter_of(const Rank *rank, int64_t from, int64_t key)
{
  for (int64_t i = 0; i < rank->letters; i++)
    if (rank->letter[i].source == from && rank->letter[i].key == key)
      return i;
  return -1;
}

void post_send(World *world, int64_t me, int64_t to, int64_t key, double bytes)
{
  const Problem *problem = world->problem;
  Rank *sender = &world->rank[me], *receiver = &world->rank[to];
  double now = clock_now(world->clock), base_s;
  double wire_s = curve_s(problem, wire_between(problem, me, to), bytes, &base_s);
  bool awaited = matches(&receiver->receive, me, key);
  bool early = seen_early(world), eager = bytes < (double)problem->whole[EAGER_BYTES];
  if (eager || bytes < (double)problem->whole[DETACHED_BYTES]) {
    double left = now + total_s(problem, SENDER, bytes), arrival = eager || awaited ? left + wire_s : left;
    sender->until = larger(sender->until, left);
    if (awaited) {
      receiver->receive.partner = -1;
      arrive(world, to, arrival + total_s(problem, RECEIVER, bytes));
    } else {
      keep(world, to, (Letter){me, key, arrival, early ? left : arrival, bytes, eager ? 0 : wire_s});
      look_again(world, to, me, key, early ? left : arrival);
    }
    return;
  }
  sender->pending++;
  sender->send = (Post){to, key, bytes, early ? now : now + base_s};
  if (awaited) {
    receiver->receive.partner = -1;
    start_flow(world, me, to, bytes);
  } else
    look_again(world, to, me, key, sender->send.at);
}

void post_receive(World *world, int64_t me, int64_t from, int64_t key)
{
  Rank *receiver = &world->rank[me], *sender = &world->rank[from];
  int64_t i = letter_of(receiver, from, key);
  if (i >= 0) {
    Letter letter = receiver->letter[i];
    memmove(receiver->letter + i, receiver->letter + i + 1, (size_t)(--receiver->letters - i) * sizeof letter);
    double there = larger(letter.arrival, clock_now(world->clock)) + letter.after_s;
    receiver->until = larger(receiver->until, there + total_s(world->problem, RECEIVER, letter.bytes));
    return;
  }
  receiver->pending++;
  if (matches(&sender->send, me, key)) {
    sender->send.partner = -1; /* it has started and can no longer be matched */
    start_flow(world, from, me, sender->send.bytes);
  } else
    receiver->receive = (Post){from, key, 0, 0};
}

void complete(World *world, int64_t me)
{
  Rank *rank = &world->rank[me];
  double now = clock_now(world->clock);
  if (rank->pending == 0 && rank->until <= now)
    return;
  if (rank->pending == 0)
    clock_set(world->clock, me, rank->until);
  rank->waits = true;
  clock_wait(world->clock);
  rank->waits = false;
}

void work(World *world, int64_t me, double seconds)
{
  if (seconds <= 0)
    return;
  world->problem->busy_s[me] += seconds;
  clock_set(world->clock, me, clock_now(world->clock) + seconds);
  clock_wait(world->clock);
}

/* Returns the date from which a poll finds a message; infinity if it is not known yet. */
static double there_at(const World *world, int64_t me, int64_t from, int64_t key)
{
  int64_t i = letter_of(&world->rank[me], from, key);
  if (i >= 0)
    return world->rank[me].letter[i].seen;
  const Post *send = &world->rank[from].send;
  return matches(send, me, key) ? send->at : INFINITY;
}

bool is_there(const World *world, int64_t me, int64_t from, int64_t key)
{
  return has_come(world, there_at(world, me, from, key), clock_now(world->clock));
}

int64_t work_until_message(World *world, int64_t me, int64_t from, int64_t key, double chunk_s, int64_t chunks)
{
  double now = clock_now(world->clock), there = there_at(world, me, from, key);
  if (has_come(world, there, now) || chunks <= 0)
    return 0;
  if (chunk_s <= 0)
    return chunks;
  Rank *rank = &world->rank[me];
  rank->poll = (Post){from, key, chunk_s, now};
  clock_set(world->clock, me, now + (double)chunks * chunk_s);
  if (there < INFINITY)
    look_again(world, me, from, key, there);
  clock_wait(world->clock);
  rank->poll.partner = -1;
  double passed_s = clock_now(world->clock) - now;
  world->problem->busy_s[me] += passed_s;
  return (int64_t)(passed_s / chunk_s + 0.5);
}

/* --- the world --- */

static int lists_open(List **lists, int64_t nodes, const int64_t *size)
{
  *lists = calloc((size_t)nodes, sizeof **lists);
  for (int64_t i = 0; *lists && i < nodes; i++)
    if (!((*lists)[i].rank = malloc((size_t)(size[i] + 1) * sizeof(int64_t))))
      return NO_MEMORY;
  return *lists ? DONE : NO_MEMORY;
}

static void lists_close(List *lists, int64_t nodes)
{
  for (int64_t i = 0; lists && i < nodes; i++)
    free(lists[i].rank);
  free(lists);
}

static int columns_open(World *world)
{
  int64_t rows = world->problem->whole[P], columns = world->problem->whole[Q];
  world->column = calloc((size_t)columns, sizeof *world->column);
  for (int64_t i = 0; world->column && i < columns; i++) {
    world->column[i].time = calloc((size_t)(3 * rows), sizeof(double));
    if (!world->column[i].time)
      return NO_MEMORY;
    world->column[i].next = world->column[i].time + rows;
    world->column[i].cost = world->column[i].time + 2 * rows;
  }
  return world->column ? DONE : NO_MEMORY;
}

int world_open(World *world, const Problem *problem, Body *body)
{
  *world = (World){.problem = problem};
  for (int64_t i = 0; i < problem->ranks; i++)
    if (problem->node[i] >= world->nodes)
      world->nodes = problem->node[i] + 1;
  world->rank = calloc((size_t)problem->ranks, sizeof *world->rank);
  int64_t *size = calloc((size_t)world->nodes, sizeof *size);
  for (int64_t i = 0; world->rank && size && i < problem->ranks; i++) {
    world->rank[i].send.partner = world->rank[i].receive.partner = world->rank[i].poll.partner = -1;
    size[problem->node[i]]++;
  }
  world->clock = clock_open(problem->ranks, 2 * world->nodes, body, end_flows, world);
  bool open = world->rank && size && world->clock && columns_open(world) == DONE &&
              lists_open(&world->leaving, world->nodes, size) == DONE &&
              lists_open(&world->entering, world->nodes, size) == DONE &&
              lists_open(&world->within, world->nodes, size) == DONE;
  free(size);
  if (open)
    return DONE;
  world_close(world);
  return NO_MEMORY;
}

void world_close(World *world)
{
  for (int64_t i = 0; world->rank && i < world->problem->ranks; i++)
    free(world->rank[i].letter);
  for (int64_t i = 0; world->column && i < world->problem->whole[Q]; i++)
    free(world->column[i].time);
  free(world->rank);
  free(world->column);
  lists_close(world->leaving, world->nodes);
  lists_close(world->entering, world->nodes);
  lists_close(world->within, world->nodes);
  clock_close(world->clock);
}
