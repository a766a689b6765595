#include "lines.h"

enum { TAG = 1, TAG_ROLL = 3 }; /* solve.c has 2 */

/* --- broadcasts; places count from the root --- */

static int from_root(const Passing *p) { return (p->line->place - p->root + p->line->places) % p->line->places; }

static int rank_of(const Passing *p, int place) { return rank_at(p->line, (place + p->root) % p->line->places); }

/* Returns the place that sends to a place other than the root. */
static int sender_of(const Passing *p, int place)
{
  int middle = p->line->places / 2;
  switch (p->topology) {
  case RING: return place - 1;
  case RING_MODIFIED: return place == 2 ? 0 : place - 1;
  case TWO_RING: return place == middle && middle > 1 ? 0 : place - 1;
  case TWO_RING_MODIFIED: return place == 2 || (place == middle && middle > 2) ? 0 : place - 1;
  default: return place - (place & -place);
  }
}

static bool is_long(const Passing *p)
{
  return (p->topology == LONG || p->topology == LONG_MODIFIED) && p->line->places > 2;
}

/* The members of a long broadcast are all places, or all but place 1. */
static int members(const Passing *p) { return p->line->places - (p->topology == LONG_MODIFIED); }

static int member_rank(const Passing *p, int member)
{
  return rank_of(p, p->topology == LONG_MODIFIED && member > 0 ? member + 1 : member);
}

static int own_member(const Passing *p)
{
  int place = from_root(p);
  return p->topology == LONG_MODIFIED && place > 0 ? place - 1 : place;
}

static int source_rank(const Passing *p)
{
  int place = from_root(p), member = own_member(p);
  if (!is_long(p))
    return rank_of(p, sender_of(p, place));
  if (p->topology == LONG_MODIFIED && place == 1)
    return rank_of(p, 0);
  return member_rank(p, member - (member & -member));
}

/* The first number of a member's piece. */
static int piece(const Passing *p, int member)
{
  return (int)((long)p->count * (member < members(p) ? member : members(p)) / members(p));
}

static void spread(Run *run, const Passing *p)
{
  int count = members(p), member = own_member(p), distance = 1;
  while (distance < count && !(member & distance))
    distance <<= 1;
  if (member > 0)
    run_receive(run, p->data + piece(p, member), piece(p, member + distance) - piece(p, member), source_rank(p), TAG);
  while (distance >>= 1)
    if (member + distance < count) {
      int first = piece(p, member + distance), end = piece(p, member + 2 * distance);
      run_send(run, p->data + first, end - first, member_rank(p, member + distance), TAG);
    }
}

static void roll(Run *run, const Passing *p)
{
  int count = members(p), member = own_member(p);
  int next = member_rank(p, (member + 1) % count), last = member_rank(p, (member + count - 1) % count);
  for (int step = 1; step < count; step++) {
    int out = (member - step + 1 + count) % count, in = (member - step + count) % count;
    MPI_Request request =
        run_start_receive(run, p->data + piece(p, in), piece(p, in + 1) - piece(p, in), last, TAG_ROLL);
    run_send(run, p->data + piece(p, out), piece(p, out + 1) - piece(p, out), next, TAG_ROLL);
    run_wait(run, &request);
  }
}

static void pass_long(Run *run, const Passing *p)
{
  int place = from_root(p);
  if (p->topology == LONG_MODIFIED && place == 1) {
    run_receive(run, p->data, p->count, rank_of(p, 0), TAG);
    return;
  }
  if (p->topology == LONG_MODIFIED && place == 0)
    run_send(run, p->data, p->count, rank_of(p, 1), TAG);
  spread(run, p);
  roll(run, p);
}

static void pass_down_tree(Run *run, const Passing *p)
{
  int place = from_root(p), distance = 1; /* distance to the place that sends to this one: its lowest bit */
  while (distance < p->line->places && !(place & distance))
    distance <<= 1;
  while (distance >>= 1)
    if (place + distance < p->line->places)
      run_send(run, p->data, p->count, rank_of(p, place + distance), TAG);
}

void line_pass(Run *run, Passing *p)
{
  int place = from_root(p), places = p->line->places;
  p->done = true;
  if (is_long(p)) {
    pass_long(run, p);
    return;
  }
  if (place > 0)
    run_receive(run, p->data, p->count, source_rank(p), TAG);
  if (p->topology >= LONG || p->topology == BINOMIAL) {
    pass_down_tree(run, p);
    return;
  }
  for (int to = place + 1; to < places && (place == 0 || to == place + 1); to++)
    if (sender_of(p, to) == place)
      run_send(run, p->data, p->count, rank_of(p, to), TAG);
}

void line_look(Run *run, Passing *p)
{
  if (p->done)
    return;
  int there;
  run_compute(run);
  MPI_Iprobe(source_rank(p), TAG, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
  if (there)
    line_pass(run, p);
}

void line_wait_for_long(Run *run, Passing *p)
{
  if (!p->done && is_long(p))
    line_pass(run, p);
}

void line_broadcast(Run *run, const Line *line, Topology topology, int root, double *data, int count)
{
  Passing all = {line, topology, root, count, data, false};
  line_pass(run, &all);
}

/* --- merging --- */

static void receive_and_merge(Run *run, double *mine, double *theirs, int count, int source, Merge *merge)
{
  run_receive(run, theirs, count, source, TAG);
  if (run->verify)
    merge(mine, theirs, count);
}

void line_merge(Run *run, const Line *line, double *mine, double *theirs, int count, Merge *merge, Passing *meanwhile)
{
  int place = line->place, power = 1;
  while (2 * power <= line->places)
    power *= 2;
  if (place >= power) {
    int helper = rank_at(line, place - power);
    run_send(run, mine, count, helper, TAG);
    run_receive(run, mine, count, helper, TAG);
    return;
  }
  bool helps = place + power < line->places;
  if (helps)
    receive_and_merge(run, mine, theirs, count, rank_at(line, place + power), merge);
  for (int distance = 1; distance < power; distance *= 2) {
    if (meanwhile)
      line_look(run, meanwhile);
    int partner = rank_at(line, place ^ distance);
    MPI_Request request = run_start_receive(run, theirs, count, partner, TAG);
    run_send(run, mine, count, partner, TAG);
    run_wait(run, &request);
    if (run->verify)
      merge(mine, theirs, count);
  }
  if (helps)
    run_send(run, mine, count, rank_at(line, place + power), TAG);
}
