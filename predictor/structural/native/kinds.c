#include "kinds.h"

#include <math.h>

void kinds_sort(Work *work, Tight *tight)
{
  const Message *message = work->message;
  tight->kinds = 0;
  for (int64_t x = tight->first; x < tight->first + tight->users; x++) {
    User *user = &work->user[x];
    const Message *own = &message[user->message];
    int32_t known = 0;
    while (known < tight->kinds && (message[work->kind[known].one].amount != own->amount ||
                                    message[work->kind[known].one].begin != own->begin))
      known++;
    user->kind = known;
    if (known == tight->kinds)
      work->kind[tight->kinds++].one = user->message;
  }
}

double kinds_shortest_s(const Work *work, const Tight *tight)
{
  double shortest_s = INFINITY;
  for (int64_t x = tight->first; x < tight->first + tight->users; x++)
    shortest_s = smaller(shortest_s, work->message[work->user[x].message].time);
  return shortest_s;
}

/* Computes the number, weight and mean time of each kind. */
static void sum(Work *work, const Tight *tight)
{
  Kind *kind = work->kind;
  for (int32_t x = 0; x < tight->kinds; x++)
    kind[x] = (Kind){0};
  for (int64_t x = tight->first; x < tight->first + tight->users; x++) {
    const User *user = &work->user[x];
    Kind *own = &kind[user->kind];
    own->number += 1;
    own->together += user->part;
    own->mean_s += work->message[user->message].time;
    own->one = user->message;
  }
  for (int32_t x = 0; x < tight->kinds; x++)
    kind[x].mean_s /= kind[x].number;
}

/* Returns the bytes that a link moves during a message of a kind: the sum over w_j m_ij in sharing.py. */
static double moved(const Work *work, const Tight *tight, int32_t x)
{
  const Kind *own = &work->kind[x];
  const Message *message = &work->message[own->one];
  double bytes = own->together * message->amount;
  double share = message->penalty * message->amount / own->mean_s;
  double until = message->begin + own->mean_s;
  for (int32_t y = 0; y < tight->kinds; y++) {
    const Kind *kind = &work->kind[y];
    const Message *other = &work->message[kind->one];
    double meets = smaller(until, other->begin + kind->mean_s) - larger(message->begin, other->begin);
    if (x != y && meets > 0) {
      double rate = smaller(smaller(other->amount / kind->mean_s, other->bound), share / other->penalty);
      bytes += kind->together * meets * rate;
    }
  }
  return bytes;
}

double kinds_lengthen(Work *work, const Tight *tight, double capacity)
{
  sum(work, tight);
  for (int32_t x = 0; x < tight->kinds; x++) {
    Kind *kind = &work->kind[x];
    if (work->message[kind->one].amount != 0.0)
      kind->mean_s = larger(kind->mean_s, moved(work, tight, x) / capacity);
  }
  double change = 0.0;
  for (int64_t x = tight->first; x < tight->first + tight->users; x++) {
    Message *message = &work->message[work->user[x].message];
    double mean_s = work->kind[work->user[x].kind].mean_s;
    if (mean_s > message->time * (1 + SAME)) {
      change = larger(change, mean_s / message->time - 1);
      message->time = mean_s;
    }
  }
  return change;
}
