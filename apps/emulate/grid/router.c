#define _GNU_SOURCE
#include "router.h"

#include "turns.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { PRIORITY = 50, HEADER = 20 };
static const double QUIET = 5e-3;  /* s without a packet until the router blocks instead of polling */
static const double VERY_LATE = 5e-4; /* s */

typedef struct Packet {
  struct Packet *next; /* next unused packet */
  const Path *path;
  int hop, flow, to, bytes;
  Span span;
  unsigned char data[]; /* up to the MTU of the devices */
} Packet;

/* The statistics of the router. */
typedef struct {
  long delivered, refused, very_late;
  double late_sum, late_most;
} Tally;

static Grid *grid;
static Events events, turns; /* of packets, and of links that serve flows in turn */
static Packet *unused;
static Tally tally;
static volatile sig_atomic_t stop;

static double now(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void release(Packet *packet)
{
  packet->next = unused;
  unused = packet;
}

static void deliver(Packet *packet)
{
  double late = now() - packet->span.last;
  if (late > 0) {
    tally.late_sum += late;
    tally.very_late += late > VERY_LATE;
    tally.late_most = late > tally.late_most ? late : tally.late_most;
  }
  ssize_t written = write(grid->nodes[packet->to].device, packet->data, (size_t)packet->bytes);
  *(written == packet->bytes ? &tally.delivered : &tally.refused) += 1;
  release(packet);
}

static void add(Events *to, double time, void *what)
{
  if (!events_add(to, time, what)) {
    perror("router");
    exit(1);
  }
}

/* Sends the packet whose turn it is, and schedules the link's next turn for the end of its transmission. */
static void take_turn(Link *link)
{
  Packet *packet = turns_next(link);
  link->turns->busy = packet != NULL;
  if (!packet)
    return;
  link->turns->waiting_bytes -= packet->bytes;
  fifo_pass(link, &packet->span, packet->bytes);
  add(&events, packet->span.first, packet);
  add(&turns, link->free_at, link);
}

static void wait_for_turn(Link *link, Packet *packet)
{
  double arrives = packet->span.first;
  if (!turns_join(link, packet->flow, packet->bytes, grid->queue, packet)) {
    release(packet);
    return;
  }
  if (!link->turns->busy)
    add(&turns, arrives > link->free_at ? arrives : link->free_at, link);
  link->turns->busy = true;
}

/* Handles the arrival of a packet's first bit at its next link, or of its last bit at its node. */
static void advance(Packet *packet)
{
  if (packet->hop > packet->path->count)
    deliver(packet);
  else if (packet->hop == packet->path->count) {
    packet->hop++;
    add(&events, packet->span.last, packet);
  } else {
    Link *link = packet->path->links[packet->hop++];
    if (link->turns)
      wait_for_turn(link, packet);
    else if (fifo_carry(link, &packet->span, packet->bytes, grid->queue))
      add(&events, packet->span.first, packet);
    else
      release(packet);
  }
}

/* Handles all events up to a time, in order. */
static void go_on(double until)
{
  for (;;) {
    bool turn = turns.size && (!events.size || turns.heap[0].time < events.heap[0].time);
    Events *first = turn ? &turns : &events;
    if (!first->size || first->heap[0].time > until)
      return;
    void *what = events_take(first).what;
    if (turn)
      take_turn(what);
    else
      advance(what);
  }
}

static int node_of(uint32_t address)
{
  int node = 0;
  while (node < grid->nnodes && grid->nodes[node].address != address)
    node++;
  return node;
}

static Packet *fresh(void)
{
  Packet *packet = unused;
  if (packet) {
    unused = packet->next;
    return packet;
  }
  packet = malloc(sizeof *packet + (size_t)grid->mtu);
  if (!packet) {
    perror("router");
    exit(1);
  }
  return packet;
}

/* Reads all packets sent by a node; `sent` is the assumed sending time. */
static void take_in(int from, double sent)
{
  for (;;) {
    Packet *packet = fresh();
    ssize_t bytes = read(grid->nodes[from].device, packet->data, (size_t)grid->mtu);
    if (bytes <= 0) {
      release(packet);
      return;
    }
    uint32_t address;
    memcpy(&address, packet->data + 16, sizeof address);
    int to = bytes >= HEADER && packet->data[0] >> 4 == 4 ? node_of(address) : grid->nnodes;
    if (to == grid->nnodes || !grid->paths[from][to].count) {
      release(packet); /* not for any node, such as a broadcast */
      continue;
    }
    packet->path = &grid->paths[from][to];
    packet->hop = 0;
    packet->to = to;
    packet->flow = from * NODES + to;
    packet->bytes = (int)bytes;
    packet->span = (Span){sent, sent};
    advance(packet);
  }
}

static void on_stop(int signal)
{
  (void)signal;
  stop = 1;
}

/* Waits for a packet if none is under way, otherwise for the next poll; returns the time of the latest poll. */
static int wait_for_packets(int poller, struct epoll_event *found, bool idle, double *next)
{
  if (idle)
    return epoll_wait(poller, found, NODES, 200);
  double t = now();
  *next = *next + grid->tick > t ? *next + grid->tick : t;
  struct timespec until = {.tv_sec = (time_t)*next};
  until.tv_nsec = (long)((*next - (double)until.tv_sec) * 1e9);
  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
  return epoll_wait(poller, found, NODES, 0);
}

static void carry(int poller)
{
  double next = now(), active = next, looked = next;
  while (!stop) {
    struct epoll_event found[NODES];
    bool idle = !events.size && !turns.size && looked > active + QUIET;
    int count = wait_for_packets(poller, found, idle, &next);
    double t = now();
    /* A packet arrived at some time since the last poll: on average, half of that time ago. */
    double sent = idle ? t : t - 0.5 * (t - looked < grid->tick ? t - looked : grid->tick);
    for (int i = 0; i < count; i++)
      take_in((int)found[i].data.u32, sent);
    if (count > 0 || events.size || turns.size)
      active = t;
    if (idle)
      next = t;
    looked = t;
    go_on(t + 0.5 * grid->tick);
  }
}

/* The ranks are pinned to the same processor; the router has priority over them. */
static bool take_priority(void)
{
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  CPU_SET((size_t)grid->cpu, &cpus);
  struct sched_param priority = {.sched_priority = PRIORITY};
  prctl(PR_SET_TIMERSLACK, 1UL);
  return !mlockall(MCL_CURRENT | MCL_FUTURE) && !sched_setaffinity(0, sizeof cpus, &cpus) &&
         !sched_setscheduler(0, SCHED_FIFO, &priority);
}

static void write_report(int report, double wall)
{
  struct rusage used;
  getrusage(RUSAGE_SELF, &used);
  double cpu = (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
               1e-6 * (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
  long dropped = 0;
  double most_waiting = 0;
  for (int i = 0; i < grid->nlinks; i++) {
    dropped += grid->links[i].dropped;
    most_waiting = grid->links[i].most_waiting > most_waiting ? grid->links[i].most_waiting : most_waiting;
  }
  dprintf(report,
          "{\"router\": {\"wall_s\": %.3f, \"cpu_s\": %.3f, \"delivered\": %ld, \"lost\": %ld, \"very_late\": %ld, "
          "\"mean_late_s\": %.3g, \"most_late_s\": %.3g, \"most_waiting_bytes\": %.0f}}\n",
          wall, cpu, tally.delivered, dropped + tally.refused, tally.very_late,
          tally.late_sum / (double)(tally.delivered ? tally.delivered : 1), tally.late_most, most_waiting);
}

int router(Grid *described, int ready, int report)
{
  grid = described;
  struct sigaction action = {.sa_handler = on_stop};
  sigaction(SIGTERM, &action, NULL);
  int poller = epoll_create1(EPOLL_CLOEXEC);
  for (int i = 0; i < grid->nnodes; i++) {
    struct epoll_event event = {.events = EPOLLIN, .data.u32 = (uint32_t)i};
    if (epoll_ctl(poller, EPOLL_CTL_ADD, grid->nodes[i].device, &event))
      return 1;
  }
  if (!take_priority()) {
    dprintf(report, "{\"error\": \"the router gets no real-time priority: %s\"}\n", strerror(errno));
    return 1;
  }
  double started = now();
  if (write(ready, "", 1) != 1)
    return 1;
  carry(poller);
  write_report(report, now() - started);
  return 0;
}
