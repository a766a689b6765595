#include "tight.h"

#include <math.h>

#include "kinds.h"

#define ROUNDS 3     /* iterations to find when messages begin whose senders wait for earlier ones */
#define PASSES 3     /* iterations of the equation in sharing.py: a flow delayed by one link frees capacity of others */
#define NOTHING 0.02 /* relative to the latency: loads that lengthen a message by less are ignored */

/* Numbers the links whose whole load, applied at once, could lengthen a message. */
static void number_links(Work *work, const double *capacity_Bps)
{
  int64_t places = 0;
  work->tights = 0;
  for (int64_t i = 0; i < work->messages; i++) {
    const Message *message = &work->message[i];
    double limit_s = message->time + NOTHING * message->latency;
    for (int k = 0; k < message->links; k++) {
      int32_t link = message->link[k];
      if (work->users[link] > 0 && work->load[link] > capacity_Bps[link] * limit_s) {
        work->tight[work->tights] = (Tight){.link = link, .first = places};
        places += work->users[link];
        work->users[link] = (int32_t)(-1 - work->tights++);
      }
    }
  }
}

void tight_find(Work *work, const double *capacity_Bps)
{
  number_links(work, capacity_Bps);
  if (work->tights == 0)
    return;
  for (int64_t i = 0; i < work->messages; i++) {
    const Message *message = &work->message[i];
    for (int k = 0; k < message->links; k++) {
      int32_t users = work->users[message->link[k]];
      if (users < 0) {
        Tight *tight = &work->tight[-1 - users];
        work->user[tight->first + tight->users++] = (User){.message = (int32_t)i, .part = message->weight[k]};
      }
    }
  }
}

static bool is_any_held(const Work *work)
{
  for (int64_t i = 0; i < work->messages; i++)
    if (work->message[i].held)
      return true;
  return false;
}

/* Computes when the messages begin from their current times, then resets these to the times on an idle network. */
static void begin(Work *work)
{
  for (int64_t r = 0; r < work->ranks; r++)
    work->ready[r] = 0.0;
  for (int64_t i = 0; i < work->messages; i++) {
    Message *message = &work->message[i];
    message->begin = work->ready[message->source] + message->latency;
    if (message->held)
      work->ready[message->source] = message->begin + message->time;
  }
  for (int64_t i = 0; i < work->messages; i++)
    work->message[i].time = work->message[i].amount / work->message[i].bound;
}

void tight_press(Work *work, const double *capacity_Bps)
{
  int rounds = is_any_held(work) ? ROUNDS : 1;
  for (int round = 0; round < rounds; round++) {
    begin(work);
    for (int64_t t = 0; t < work->tights; t++)
      kinds_sort(work, &work->tight[t]);
    double change = INFINITY;
    for (int pass = 0; pass < PASSES && change >= SAME; pass++) {
      change = 0.0;
      for (int64_t t = 0; t < work->tights; t++) {
        const Tight *tight = &work->tight[t];
        double capacity = capacity_Bps[tight->link];
        if (work->load[tight->link] > capacity * kinds_shortest_s(work, tight) * (1 + SAME)) /* else it lengthens none */
          change = larger(change, kinds_lengthen(work, tight, capacity));
      }
    }
  }
}
