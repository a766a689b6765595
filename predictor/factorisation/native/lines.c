#include "lines.h"

/* Returns the place that sends to `place`, both counted from the root; -1 for the root. */
static int64_t sender_of(const Panel *panel, int64_t place)
{
  int64_t places = panel->line.places, half = places / 2, lowest = place & -place;
  if (place == 0)
    return -1;
  switch (panel->kind) {
  case RING: return place - 1;
  case RING_MODIFIED: return place == 2 ? 0 : place - 1;
  case TWO_RING: return place == half && half > 1 ? 0 : place - 1;
  case TWO_RING_MODIFIED: return place == 2 || (place == half && half > 2) ? 0 : place - 1;
  default: return place - lowest;
  }
}

/* Number of members of a long broadcast: all places, or all but the first after the root. */
static int64_t members(const Panel *panel) { return panel->line.places - (panel->kind == LONG_MODIFIED ? 1 : 0); }

static int64_t rank_of(const Panel *panel, int64_t place)
{
  return rank_at(&panel->line, (place + panel->root) % panel->line.places);
}

static int64_t member_rank(const Panel *panel, int64_t member)
{
  return rank_of(panel, panel->kind == LONG_MODIFIED && member > 0 ? member + 1 : member);
}

static int64_t from_root(const Panel *panel)
{
  return (panel->line.place - panel->root + panel->line.places) % panel->line.places;
}

bool panel_is_long(const Panel *panel)
{
  return (panel->kind == LONG || panel->kind == LONG_MODIFIED) && panel->line.places > 2;
}

static int64_t member_of(const Panel *panel)
{
  int64_t place = from_root(panel);
  return panel->kind == LONG_MODIFIED && place > 0 ? place - 1 : place;
}

int64_t panel_source(const Panel *panel)
{
  int64_t place = from_root(panel);
  if (place == 0)
    return -1;
  if (!panel_is_long(panel))
    return rank_of(panel, sender_of(panel, place));
  if (panel->kind == LONG_MODIFIED && place == 1)
    return rank_of(panel, 0);
  int64_t member = member_of(panel);
  return member_rank(panel, member - (member & -member));
}

static void send_now(World *world, int64_t me, int64_t to, int64_t key, double bytes)
{
  post_send(world, me, to, key, bytes);
  complete(world, me);
}

static void receive_now(World *world, int64_t me, int64_t from, int64_t key)
{
  post_receive(world, me, from, key);
  complete(world, me);
}

/* Sends pieces to the places below this one in a binomial tree, the largest part first. */
static void scatter(World *world, int64_t me, int64_t place, int64_t places, int64_t key, double bytes,
                    int64_t (*rank)(const void *, int64_t), const void *of)
{
  int64_t distance = 1;
  while (distance < places && !(place & distance))
    distance <<= 1;
  if (place > 0)
    receive_now(world, me, rank(of, place - distance), key);
  while (distance >>= 1)
    if (place + distance < places) {
      int64_t below = places - place - distance < distance ? places - place - distance : distance;
      send_now(world, me, rank(of, place + distance), key, bytes * (double)below / (double)places);
    }
}

static int64_t member_of_panel(const void *panel, int64_t member) { return member_rank(panel, member); }

static void pass_long(Panel *panel)
{
  World *world = panel->world;
  int64_t me = panel->line.me, count = members(panel), member = member_of(panel), place = from_root(panel);
  if (panel->kind == LONG_MODIFIED && place == 1) {
    receive_now(world, me, rank_of(panel, 0), panel->key);
    return;
  }
  if (panel->kind == LONG_MODIFIED && place == 0)
    send_now(world, me, rank_of(panel, 1), panel->key, panel->bytes);
  scatter(world, me, member, count, panel->key, panel->bytes, member_of_panel, panel);
  int64_t next = member_rank(panel, (member + 1) % count), last = member_rank(panel, (member + count - 1) % count);
  for (int64_t step = 1; step < count; step++) {
    post_receive(world, me, last, panel->key + 1);
    post_send(world, me, next, panel->key + 1, panel->bytes / (double)count);
    complete(world, me);
  }
}

void panel_pass(Panel *panel)
{
  panel->done = true;
  if (panel_is_long(panel)) {
    pass_long(panel);
    return;
  }
  World *world = panel->world;
  int64_t me = panel->line.me, place = from_root(panel);
  if (place > 0)
    receive_now(world, me, panel_source(panel), panel->key);
  if (panel->kind == BINOMIAL || panel->kind >= LONG) {
    int64_t distance = 1;
    while (distance < panel->line.places && !(place & distance))
      distance <<= 1;
    while (distance >>= 1)
      if (place + distance < panel->line.places)
        send_now(world, me, rank_of(panel, place + distance), panel->key, panel->bytes);
    return;
  }
  int64_t last = place == 0 ? panel->line.places - 1 : place + 1;
  for (int64_t to = place + 1; to <= last && to < panel->line.places; to++)
    if (sender_of(panel, to) == place)
      send_now(world, me, rank_of(panel, to), panel->key, panel->bytes);
}

void line_exchange(World *world, const Line *line, int64_t key, double bytes, Between *between, void *context)
{
  int64_t place = line->place, power = 1;
  while (2 * power <= line->places)
    power *= 2;
  if (place >= power) {
    send_now(world, line->me, rank_at(line, place - power), key, bytes);
    receive_now(world, line->me, rank_at(line, place - power), key);
    return;
  }
  bool helps = place + power < line->places;
  if (helps)
    receive_now(world, line->me, rank_at(line, place + power), key);
  for (int64_t distance = 1; distance < power; distance *= 2) {
    between(context);
    int64_t partner = rank_at(line, place ^ distance);
    post_receive(world, line->me, partner, key);
    post_send(world, line->me, partner, key, bytes);
    complete(world, line->me);
  }
  if (helps)
    send_now(world, line->me, rank_at(line, place + power), key, bytes);
}

typedef struct {
  const Line *line;
  int64_t root;
} Rooted;

static int64_t rank_from(const void *rooted, int64_t place)
{
  const Rooted *from = rooted;
  return rank_at(from->line, (place + from->root) % from->line->places);
}

/* Number of places with pivot rows (all but the root) among those whose rows a place has collected before this
 * distance. */
static int64_t collected(int64_t places, int64_t power, int64_t place, int64_t distance)
{
  int64_t first = place / distance * distance, beyond = places - power - first;
  if (beyond < 0)
    beyond = 0;
  return distance + (beyond < distance ? beyond : distance) - (first == 0);
}

/* Passes all rows of U down a tree of the places beyond the power of two, counted from the first of them. */
static void pass_beyond(World *world, const Rooted *from, int64_t power, int64_t key, double bytes, Between *between,
                        void *context)
{
  const Line *line = from->line;
  int64_t places = line->places - power, distance = 1;
  int64_t place = (line->place - from->root + line->places) % line->places - power;
  while (distance < places)
    distance <<= 1;
  while (distance >>= 1) {
    if (place % (2 * distance) == distance)
      receive_now(world, line->me, rank_from(from, power + place - distance), key);
    else if (place % (2 * distance) == 0 && place + distance < places)
      send_now(world, line->me, rank_from(from, power + place + distance), key, bytes);
    between(context);
  }
}

void line_collect(World *world, const Line *line, int64_t root, int64_t key, double bytes, Between *between,
                  void *context)
{
  if (line->places == 1)
    return;
  Rooted from = {line, root};
  int64_t places = line->places, place = (line->place - root + places) % places, power = 1;
  while (2 * power <= places)
    power *= 2;
  double own = bytes / (double)places;
  bool folds = (place ^ power) < places && places > power;
  int64_t beyond = folds ? rank_from(&from, place ^ power) : -1;
  between(context);
  if (folds && (place == 0 || place >= power))
    post_send(world, line->me, beyond, key, place == 0 ? bytes : own);
  if (folds && place <= power)
    post_receive(world, line->me, beyond, key);
  complete(world, line->me);
  between(context);
  if (place >= power)
    pass_beyond(world, &from, power, key, bytes, between, context);
  for (int64_t distance = 1; place < power && distance < power; distance *= 2) {
    int64_t partner = rank_from(&from, place ^ distance);
    post_receive(world, line->me, partner, key);
    post_send(world, line->me, partner, key,
              place < distance ? bytes : own * (double)collected(places, power, place, distance));
    complete(world, line->me);
    between(context);
  }
  if (folds && place >= power)
    receive_now(world, line->me, beyond, key);
  else if (folds)
    send_now(world, line->me, beyond, key, bytes);
  between(context);
}

void line_spread(World *world, const Line *line, int64_t root, int64_t key, double bytes, Between *between,
                 void *context)
{
  if (line->places == 1)
    return;
  Rooted from = {line, root};
  int64_t places = line->places, place = (line->place - root + places) % places;
  between(context);
  scatter(world, line->me, place, places, key, bytes, rank_from, &from);
  int64_t next = rank_from(&from, (place + 1) % places), last = rank_from(&from, (place + places - 1) % places);
  for (int64_t step = 1; step < places; step++) {
    between(context);
    post_receive(world, line->me, last, key + 1);
    post_send(world, line->me, next, key + 1, bytes / (double)places);
    complete(world, line->me);
  }
}
