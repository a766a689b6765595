/* The effects of link sharing on the messages of placements. */
#include "planes.h"
#include "tight.h"
#include "work.h"

/* One placement of the ranks. */
typedef struct {
  const Schedule *schedule;
  const Paths *paths;
  const int32_t *host; /* by rank */
  const uint8_t *protocol;
  Shares shares;
} Placed;

/* Reads the messages of an exchange, with the times they would take alone, and the load of the links. */
static void read_messages(const Placed *placed, int64_t exchange, Work *work)
{
  const Schedule *schedule = placed->schedule;
  const Paths *paths = placed->paths;
  int64_t first = schedule->first[exchange];
  work->messages = schedule->first[exchange + 1] - first;
  for (int64_t i = 0; i < work->messages; i++) {
    int64_t m = first + i;
    int32_t a = placed->host[schedule->source[m]], b = placed->host[schedule->destination[m]];
    int64_t row = way_row(paths, a, b), at = row * paths->sizes + schedule->size[m];
    Message *message = &work->message[i];
    message->source = schedule->source[m];
    message->held = placed->protocol[schedule->size[m]] == SYNCHRONOUS && !schedule->at_once[exchange];
    message->amount = paths->amount_bytes[at];
    message->bound = paths->bound_Bps[row];
    message->penalty = paths->penalty[row];
    message->latency = paths->latency_s[at];
    message->time = message->amount / message->bound;
    message->links = way_links(paths, a, b, message->link, message->weight);
    for (int k = 0; k < message->links; k++) {
      work->users[message->link[k]]++;
      work->load[message->link[k]] += message->weight[k] * message->amount;
    }
  }
}

/* Writes the shares of a message on the links that clusters share. */
static void write_links(const Placed *placed, int64_t exchange, int64_t m, const Message *message, const Work *work)
{
  const Shares *shares = &placed->shares;
  int64_t own_links = 2 * placed->paths->hosts; /* the links of the hosts */
  int place = 0;
  for (int k = 0; k < message->links && place < MOST_SHARED; k++) {
    int32_t link = message->link[k];
    if (link < own_links || work->users[link] >= 0)
      continue;
    int64_t at = m * MOST_SHARED + place++, queue = exchange * shares->links + (link - own_links);
    shares->link[at] = (int32_t)(link - own_links);
    shares->own_s[at] = message->weight[k] * message->amount / placed->paths->capacity_Bps[link];
    shares->load_s[queue] += shares->own_s[at];
    shares->flows[queue]++;
  }
}

/* Writes the Shares of an exchange, and removes its load from the links. */
static void write_shares(const Placed *placed, int64_t exchange, Work *work)
{
  int64_t first = placed->schedule->first[exchange];
  for (int64_t i = 0; i < work->messages; i++) {
    const Message *message = &work->message[i];
    placed->shares.latency_s[first + i] = message->latency;
    placed->shares.flow_s[first + i] = message->time;
    write_links(placed, exchange, first + i, message, work);
  }
  for (int64_t i = 0; i < work->messages; i++)
    for (int k = 0; k < work->message[i].links; k++) {
      work->users[work->message[i].link[k]] = 0;
      work->load[work->message[i].link[k]] = 0.0;
    }
}

static void share_placement(const Placed *placed, Work *work, bool times)
{
  for (int64_t e = 0; e < placed->schedule->exchanges; e++) {
    read_messages(placed, e, work);
    tight_find(work, placed->paths->capacity_Bps);
    if (work->tights > 0 && (times || !are_flows(placed->schedule, e)))
      tight_press(work, placed->paths->capacity_Bps);
    write_shares(placed, e, work);
  }
  for (int64_t w = 0; w < placed->schedule->sweeps; w++)
    planes_share(placed->schedule, placed->paths, placed->host, w, &placed->shares, work->plane_load_s);
}

int structural_share(const Schedule *schedule, const Paths *paths, const Placements *placements, const Shares *shares,
                     int64_t first, int64_t end, int64_t times)
{
  Work work;
  if (work_open(&work, schedule, paths) != DONE)
    return NO_MEMORY;
  for (int64_t i = first; i < end; i++) {
    const int32_t *host = &placements->host[i * placements->ranks];
    Placed placed = {schedule, paths, host, placements->protocol, shares_of(shares, i)};
    share_placement(&placed, &work, times != 0);
  }
  work_close(&work);
  return DONE;
}
