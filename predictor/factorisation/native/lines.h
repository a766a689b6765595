/* Messages along a process row or column. */
#ifndef PREDICTOR_FACTORISATION_LINES_H
#define PREDICTOR_FACTORISATION_LINES_H

#include "network.h"

/* Ranks first + i stride, i < places; `place` is the place of the executing rank. */
typedef struct {
  int64_t me, first, stride, places, place;
} Line;

static inline int64_t rank_at(const Line *line, int64_t place) { return line->first + place * line->stride; }

/* Called between the messages of a swap; may receive and forward a panel. */
typedef void Between(void *context);

/* A panel broadcast from the perspective of one rank. */
typedef struct {
  World *world;
  Line line;
  Broadcast kind;
  int64_t root, key;
  double bytes;
  bool done;
} Panel;

/* Returns the rank that sends the panel, or its first piece; -1 on the root. */
int64_t panel_source(const Panel *panel);

/* Returns whether all places must take part at the same time. */
bool panel_is_long(const Panel *panel);

/* Receives the panel, unless this is the root, and forwards it. */
void panel_pass(Panel *panel);

/* HPL's binary exchange, in pairs at distances 1, 2, 4, ... from the root.  Places without the rows of U collect their
 * pivot rows; places with all rows of U, at first only the root, send them.  Places beyond a power of two first send
 * their rows to a partner.  The first of them receives U early and passes it down a tree; later all of them receive it
 * again. */
void line_collect(World *world, const Line *line, int64_t root, int64_t key, double bytes, Between *between,
                  void *context);

/* Exchanges in pairs at distances 1, 2, 4, ...; places beyond a power of two pass their data to a partner. */
void line_exchange(World *world, const Line *line, int64_t key, double bytes, Between *between, void *context);

/* Scatters the data of one place by a binomial tree, then rolls the pieces around until every place has all of them. */
void line_spread(World *world, const Line *line, int64_t root, int64_t key, double bytes, Between *between,
                 void *context);

#endif
