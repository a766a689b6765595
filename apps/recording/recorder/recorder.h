/* The recorder records the events of every rank of an MPI program.
 *
 * It is a library that is loaded before that of MPI (LD_PRELOAD) and defines the functions of MPI.  Each function
 * records its call and does the work by its PMPI counterpart.  Under SMPI all ranks live in one process, and the actor
 * identifies the rank; under the MPI of a real machine each rank is a process (under.h).  At MPI_Finalize a rank's
 * events are written to the folder RECORDER_FOLDER; without it nothing is recorded.  RECORDER_EVENTS=no records only
 * the moments that the program marks, with the totals up to each of them; RECORDER_EVENTS=hashes adds one hash per
 * call; RECORDER_EVENTS=polls adds polls for messages as events.  RECORDER_WORK times the computation between calls, or
 * replays it (timing/work.c).  With RECORDER_COMPUTE=none, injected computation takes no time.  RECORDER_ENERGY=hosts,
 * links or hosts+links records their energy and needs SimGrid's plugins.  RECORDER_FLIGHTS=yes records the messages in
 * flight at each event of rank 0.  The binary layouts are those of EVENT in apps/recording/events.py and MOMENT in
 * apps/recording/files.py. */
#ifndef APPS_RECORDER_H
#define APPS_RECORDER_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "network.h"

enum { COMPUTE, SEND, RECV, WAIT, COLLECTIVE, PROBE, MARK, ELAPSE, POLL, DELETED = 255 }; /* Kind */
enum { ON_CORE, ASLEEP, READING };                                         /* op of ELAPSE: Elapse */
enum { STANDARD, BUFFERED, SYNCHRONOUS, READY, PUT, GET };                 /* Mode */
enum { FROM_ANY = 1 };                                                     /* mode of a RECV from any source */
enum { COMMUTES, ORDERED, DERIVED };                                       /* mode of a COLLECTIVE: Reduction */
enum { POLL_EACH, POLL_SOME, POLL_ANY, POLL_FOR };                         /* op of POLL: PollKind */
enum {                                                                     /* Op */
  BARRIER, BCAST, REDUCE, ALLREDUCE, GATHER, GATHERV, SCATTER, SCATTERV, ALLGATHER, ALLGATHERV, ALLTOALL, ALLTOALLV,
  REDUCE_SCATTER, SCAN, EXSCAN, SPLIT, CREATE, OPS
};
/* Tags of messages that SMPI sends for other calls, as in apps/recording/events.py; a program's are not negative. */
enum {
  NONBLOCKING_TAG = -2000, FENCED_TAG = -3000, LOCKED_TAG = -3001, POST_TAG = -3002, COMPLETE_TAG = -3003,
  FETCH_TAG = -3004, LOCKED_FETCH_TAG = -3005
};
/* A Mark is recorded by recorder_mark(mark) and MPI_Pcontrol(FIRST_MARK_LEVEL + mark).  The recorder itself adds BEGIN
 * after MPI_Init and END at MPI_Finalize. */
enum { FIRST_MARK_LEVEL = 1000, BEGIN = 254, END = 255 };
enum { MARK_START, MARK_FIRST_ITERATION, MARK_ITERATION, MARK_STOP, MARKS }; /* Mark */

typedef struct {
  uint8_t kind, mode;
  uint16_t op;
  int32_t comm, peer, tag;
  int64_t request, size_bytes;
  double amount; /* COMPUTE: flops; ELAPSE: s; other events: simulated time spent computing so far, s */
  double clock_s;
  int64_t site; /* number of the call path in the program that leads to this call, from 1 (sites.c); 0: not known */
} Event;

/* Totals of a rank up to a mark. */
typedef struct {
  double clock_s, compute_s, flops;
  int64_t op; /* Mark, BEGIN or END */
  int64_t messages, bytes, self_messages, self_bytes;
  int64_t calls[OPS], call_bytes[OPS]; /* by collective; for all-to-all: all bytes sent by the rank */
  double energy_j; /* energy of the host, as in apps.results.record.IterationEnergy; 0: not counted */
  uint64_t hash;   /* of all calls and injected computation since the previous mark, in order (hashes.c) */
  int64_t timed;   /* observations of the time that may affect the program's course (hashes.c) */
  int64_t clocks;  /* those of them that are clock readings */
  double polled_s; /* simulated time that SMPI charges for polls (polls.c) */
} Moment;

/* A communicator, described in the same way on all its members. */
typedef struct {
  int id, parent, turn; /* turn: number of earlier communicators with the same members and parent */
  int size;
  int *world; /* rank in MPI_COMM_WORLD of each member */
  uint64_t hash; /* of parent, turn and members */
} Comm;

/* A request of one operation, or a persistent request. */
typedef struct Operation {
  MPI_Request handle; /* NULL: the slot is free */
  bool receive, persistent, active;
  size_t event; /* index of the active operation's event */
  int64_t number; /* of the active operation */
  bool collective; /* it consists of `parts` operations from `number` on */
  int64_t parts;
  Event start;  /* event of the next operation, for a persistent request */
  struct Resend *resend; /* for a persistent send whose starts are separate sends (messages.c) */
  const Comm *comm;
  struct Operation *later; /* the next one with the same handle: real MPIs share a handle among completed sends */
} Operation;

/* A message that was probed but not received yet (matched.c). */
typedef struct Reserved {
  MPI_Comm comm;
  int from, tag;
  struct Reserved *next;
} Reserved;

typedef struct {
  int rank;
  int threads;   /* granted level of thread support */
  bool inside;   /* inside a recorded call */
  const char *call; /* name of the latest call */
  int64_t entered;  /* number of recorded calls so far */
  int64_t sited;    /* the call with the path `site` (sites.c) */
  int64_t site;
  struct Stack *stacks; /* stacks of the latest distinct paths (sites.c) */
  int last_stack, next_stack;
  uintptr_t program_loaded, program_begin, program_end; /* code of the rank's copy of the program */
  bool measured; /* computation is timed, and injected by SMPI at the entry of every call */
  bool sampled;  /* the same for sampled blocks (SMPI_SAMPLE) */
  bool with_polls; /* polls for messages are events */
  bool polled;   /* in this call: a poll has found the operation it completes */
  bool counting; /* events are counted, not stored: each of them uses events[0] */
  bool free_compute;   /* injected computation takes no time */
  struct Work *work;   /* timed or replayed computation between calls (timing/work.c); NULL: neither */
  struct Bus *bus;     /* the memory bus of its node (timing/bus.c); NULL: memory never limits */
  uint64_t step;       /* hash of the effects of the latest call */
  double entry_s, left_s;
  Moment now;
  Moment *moments;
  size_t nmoments, moments_room;
  Event *events;
  size_t nevents, room;
  bool metered;       /* the energy of the host is counted */
  bool computed;      /* the rank has computed since its last iteration ended */
  double *energies_j; /* now.energy_j at each event */
  size_t energies_room;
  bool watching;      /* the messages in flight are noted at each event of rank 0 */
  InFlight *flights;  /* at each event */
  size_t flights_room;
  bool listing;       /* hashes of calls are stored */
  uint64_t *hashes;
  size_t nhashes, hashes_room;
  int64_t *hashed;    /* number of hashes before those of each event */
  size_t hashed_room;
  int64_t attributed; /* number of hashes that belong to events so far */
  int64_t *counts;
  size_t ncounts, counts_room;
  struct Window *windows; /* existing windows (windows/onesided.c) */
  Reserved *reserved;
  int64_t operations;
  int64_t readings;   /* of the simulated clock */
  double reading_s;   /* duration of those since the last event */
  int64_t timer_readings; /* of any clock, if the program's own timer is used (timer.c) */
  int64_t world_collectives; /* of all ranks, so far */
  int timer_marks;
  double timer_s;
  void *readings_shown;
  size_t readings_room;
  double reported_s, reported_at_s; /* time reported in changed surroundings, simulated time (surroundings.c) */
  Operation *requests; /* hash table by handle */
  size_t nrequests, request_slots;
  struct { MPI_Comm handle; const Comm *comm; } *comms; /* communicators that exist */
  size_t ncomms, comms_room;
  const Comm **made; /* all communicators this rank was ever a member of */
  size_t nmade, made_room;
} Rank;

/* A function of an add-on, a subfolder of this folder; NULL if it is not installed. */
#define ADD_ON __attribute__((weak))
#define IF_THERE(function, ...) ((function) ? (function)(__VA_ARGS__) : (void)0)

/* --- util.c --- */
_Noreturn void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
void *grown(void *array, size_t count, size_t *room, size_t size); /* returns the array with room for one more item */
int sure(const Rank *r, int result, const char *name);
#define SURE(call) sure(r, call, __func__) /* returns the result; ends the program if a recorded call fails */
int64_t size_of(int count, MPI_Datatype type); /* bytes */

/* --- rank.c --- */
Rank *current_rank(void);       /* the calling rank; NULL before MPI_Init and after MPI_Finalize */
void set_current_rank(Rank *r); /* NULL: the calling actor is not a rank any more */
#define enter() enter_call(__func__) /* at the entry of a call; returns NULL if the call must not be recorded */
Rank *enter_call(const char *name);
void leave(Rank *r); /* at the end of a call; r may be NULL */
Event *note(Rank *r, Event event);
void mark(Rank *r, int op);     /* op: a Mark, BEGIN or END */
void mark_unless_nothing(Rank *r, int op);
void recorder_mark(int moment); /* called by programs, with a Mark */

/* --- timing/work.c: in simulation only --- */
ADD_ON void work_begin(Rank *r);
ADD_ON int64_t work_stops(void); /* at the entry of a call: the current time, ns; 0 if computation is not timed */
/* At the entry of a call: flops since the last one. */
ADD_ON double work_done(Rank *r, const char *name, int64_t stopped_ns);
ADD_ON void work_restarts(Rank *r); /* at the end of a call */
ADD_ON void work_end(Rank *r);

/* --- timer.c: functions that return a Mark return the one to record, or NOTHING --- */
enum { NOTHING = -1 };
bool timer_given(void);  /* the program's own timer is used */
bool timer_probes(void); /* readings return invented times */
int timer_reading(Rank *r, double *reported_s, bool simulated); /* in a call that reads a clock, whose result it is */
int timer_left(Rank *r);       /* at the end of a call, and after MPI_Init */
int timer_collective(Rank *r); /* at the beginning of a collective of all ranks */
int timer_ends(Rank *r);

enum { MOST_TRIALS = 301 };
bool trials_wanted(const Rank *r); /* the time of an empty computation is not known yet */
void trials_begin(int apart);      /* of empty computations; the first `apart` are timed apart */
int64_t trials_end(Rank *r);       /* returns their median time, ns */
void trials_known(Rank *r, int64_t steady_ns, int64_t apart_ns); /* overhead of timing, subtracted from now on */

/* --- timing/trials.c: in simulation only --- */
ADD_ON void work_trials(Rank *r); /* once in a timed run */

/* --- timing/apart.c: in simulation only --- */
bool apart_begins(void); /* at the end of a call: the next computation starts with warm caches */
double apart_ends(double time_s); /* at the end of every computation; returns its time, s; not in a copy of the process */

/* --- timing/bus.c: in simulation only; after bus_begin, for ranks with a bus --- */
ADD_ON void bus_begin(Rank *r);
ADD_ON double bus_core_flops(const Rank *r, double flops); /* computed by the core in addition to moving data */
ADD_ON void bus_move(Rank *r, double flops);                /* simulates the transfer of its data over the bus */
ADD_ON void bus_end(Rank *r);

/* --- sites.c --- */
int64_t call_site(Rank *r); /* of the latest call */
void forget_stacks(Rank *r);
void write_sites(const char *path); /* the addresses of each path, one path per line */

/* --- refuse.c --- */
void unrecorded(Rank *r, const char *name); /* a call without an event; ends the program if events are recorded */

/* --- messages.c --- */
Event message_event(int kind, int mode, const Comm *comm, int partner, int tag, int64_t size_bytes);
size_t begin_operation(Rank *r, Event event); /* begins an operation and numbers it; returns the event's index */
void wait_for(Rank *r, size_t event, int64_t number, const Event *received);
Operation *remember_operation(Rank *r, MPI_Request handle, Event event, const Comm *comm, size_t place, bool persistent);
void arrived(Rank *r, size_t event, const Comm *comm, int asked, MPI_Status *status); /* completes the event of a receive */
void probed(Rank *r, MPI_Comm comm, const MPI_Status *status); /* a probe has found this message */

/* --- persistent.c --- */
MPI_Request *acting(Rank *r, MPI_Request *handle); /* the request that acts for a handle */

/* --- collectives.c --- */
void note_split(Rank *r, MPI_Comm comm, int color, int key); /* counts: the color (-1: none), then the key */
void note_create(Rank *r, MPI_Comm made); /* `made` may be MPI_COMM_NULL */

/* --- nonblocking.c --- */
void parts_completed(Rank *r, const Operation *operation);

/* --- windows/onesided.c, graphs.c: in simulation only --- */
ADD_ON void windows_synchronised(Rank *r, MPI_Comm comm); /* after a barrier, which completes one-sided calls in SMPI */
ADD_ON void windows_end(Rank *r);
void graph_copied(MPI_Comm from, MPI_Comm to); /* `to` is a copy of `from` */
void graph_freed(MPI_Comm comm);

/* --- hashes.c --- */
void hash_item(Rank *r, int kind, uint64_t value);  /* kind: a Kind or one of those below */
void hash_event(Rank *r, const Event *event, uint64_t comm); /* start of a call; `comm` is the communicator's hash */
void hash_completed(Rank *r, int64_t number, const Event *received); /* received: NULL for a send */
void observe_time(Rank *r);                         /* a poll of the program fails, or time passes otherwise */
void observe_clock(Rank *r);                        /* the program reads a clock */
uint64_t mixed(uint64_t value);
enum { SECONDS = 16, FLOPS, SLEEP, VECTOR, CANCEL, COMM_MADE, COMM_FREED, CLOCK, CHOICE, UNRECORDED, PASSED };
/* Calls whose result depends on the arrival order of messages: an iteration with one differs from all without. */
enum { TEST, TESTALL, TESTANY, TESTSOME, WAITANY, WAITSOME, PROBE_ANY, IPROBE };

/* --- init_finalize.c --- */
void begin_rank(void); /* after MPI_Init */

/* --- power.c --- */
void power_begin(Rank *r);         /* after MPI_Init */
void power_computed(Rank *r);      /* right after a computation of the rank */
void power_mark(Rank *r, int op);  /* op: a Mark, BEGIN or END */
void power_write(const char *path); /* when all ranks have ended; writes nothing if energy is not measured */

/* --- comms.c --- */
const Comm *find_comm(Rank *r, MPI_Comm comm);
Event collective_event(Rank *r, int op, MPI_Comm comm, int root, int64_t size_bytes);
int comm_size(int id);
uint64_t comm_hash(int id);
void comm_made(Rank *r, MPI_Comm parent, MPI_Comm made); /* made may be MPI_COMM_NULL */
void comm_freed(Rank *r, MPI_Comm comm);
void write_comms(const char *path, bool hashes); /* one per line, with hashes: each after its hash */

/* --- polls.c --- */
#define SITE __builtin_return_address(0)
void note_test(Rank *r, int style, bool found, int count, const MPI_Request *handles, const void *site);
#define WILD(from, tag) ((from == MPI_ANY_SOURCE) + 2 * (tag == MPI_ANY_TAG))
void charge_poll(Rank *r); /* after a non-blocking poll, in its call */
void note_probe(Rank *r, bool found, int wild, const Comm *comm, const MPI_Status *status, const void *site);

/* --- requests.c --- */
Operation *find_request(Rank *r, MPI_Request handle); /* NULL: not recorded */
Operation *new_request(Rank *r, MPI_Request handle); /* searched after the existing ones of the handle */
void drop_request(Rank *r, MPI_Request handle);

#endif
