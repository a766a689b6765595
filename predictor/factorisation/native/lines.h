/* Messages along a process row or column. */
#ifndef PREDICTOR_FACTORISATION_LINES_H
#define PREDICTOR_FACTORISATION_LINES_H

#include "network.h"

/* Ranks first + i stride, i < places; `place` is that of the rank that follows the line. */
typedef struct {
  int64_t me, first, stride, places, place;
} Line;

static inline int64_t rank_at(const Line *line, int64_t place) { return line->first + place * line->stride; }

/* Called between the messages of a swap; may receive and forward a panel. */
typedef void Between(void *context);

/* A broadcast of a panel, as one rank sees it. */
typedef struct {
  World *world;
  Line line;
  Broadcast kind;
  int64_t root, key;
  double bytes;
  bool done;
} Panel;

/* Returns the rank from which the panel, or its first piece, comes; -1 on the root. */
int64_t panel_source(const Panel *panel);

/* Returns whether all places must take part at the same time. */
bool panel_is_long(const Panel *panel);

/* Receives the panel, unless this is the root, and forwards it. */
void panel_pass(Panel *panel);

/* HPL's binary exchange: places that lack the rows of U collect their pivot rows, in pairs at distances 1, 2, 4, ...
 * from the root; those that have all rows of U, at first the root, send them instead.  Places beyond a power of two
 * send theirs to a partner first; the first of them gets U at once and passes it down a tree, and all get it again. */
void line_collect(World *world, const Line *line, int64_t root, int64_t key, double bytes, Between *between,
                  void *context);

/* Exchanges in pairs at distances 1, 2, 4, ...; places beyond a power of two pass their data to a partner. */
void line_exchange(World *world, const Line *line, int64_t key, double bytes, Between *between, void *context);

/* Spreads pieces of the data of one place to all, by a binomial tree, then rolls them around until all have all. */
void line_spread(World *world, const Line *line, int64_t root, int64_t key, double bytes, Between *between,
                 void *context);

#endif
