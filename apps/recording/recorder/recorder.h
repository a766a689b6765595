/* The recorder records the events of every rank of an MPI program.
 *
 * It is a library that is loaded before that of MPI (LD_PRELOAD) and defines the functions of MPI.  Each function records
 * its call and does the work by its PMPI counterpart.  Under SMPI all ranks live in one process, so the state of a rank
 * is found by its actor; under the MPI of a real machine each rank is a process (under.h).  At MPI_Finalize a rank's events are written to the folder RECORDER_FOLDER; if this is not set, nothing
 * is recorded.  RECORDER_EVENTS=no records only the moments that the program marks, with the totals up to each of them;
 * RECORDER_EVENTS=hashes records also one hash per call; RECORDER_EVENTS=looks records looks for messages as events too.
 * RECORDER_WORK times the computation between calls, or replays it (timing/work.c).  RECORDER_COMPUTE=none lets injected computation take no time.  RECORDER_ENERGY=hosts, links or hosts+links, which
 * need SimGrid's plugins, records their energy.  RECORDER_FLIGHTS=yes notes the messages in flight at each event of rank 0.  The binary layouts are those of EVENT in apps/recording/events.py and
 * MOMENT in apps/recording/files.py. */
#ifndef APPS_RECORDER_H
#define APPS_RECORDER_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "network.h"

enum { COMPUTE, SEND, RECV, WAIT, COLLECTIVE, PROBE, MARK, ELAPSE, LOOK, DELETED = 255 }; /* Kind */
enum { ON_CORE, ASLEEP, READING };                                         /* op of ELAPSE: Elapse */
enum { STANDARD, BUFFERED, SYNCHRONOUS, READY, PUT, GET };                 /* Mode */
enum { FROM_ANY = 1 };                                                     /* mode of a RECV from any source */
enum { COMMUTES, ORDERED, DERIVED };                                       /* mode of a COLLECTIVE: Reduction */
enum { LOOK_EACH, LOOK_SOME, LOOK_ANY, LOOK_FOR };                         /* op of LOOK: Look */
enum {                                                                     /* Op */
  BARRIER, BCAST, REDUCE, ALLREDUCE, GATHER, GATHERV, SCATTER, SCATTERV, ALLGATHER, ALLGATHERV, ALLTOALL, ALLTOALLV,
  REDUCE_SCATTER, SCAN, EXSCAN, SPLIT, CREATE, OPS
};
/* Tags of messages that SMPI makes of other calls, as in apps/recording/events.py; a program's tags are not negative. */
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
  int64_t site; /* path of calls from the program to this one, from 1 (sites.c); 0: not known */
} Event;

/* Totals of a rank up to a mark. */
typedef struct {
  double clock_s, compute_s, flops;
  int64_t op; /* Mark, BEGIN or END */
  int64_t messages, bytes, self_messages, self_bytes;
  int64_t calls[OPS], call_bytes[OPS]; /* by collective; for an all-to-all all bytes that the rank sends */
  double energy_j; /* energy of the host, as in apps.results.record.IterationEnergy; 0: not counted */
  uint64_t hash;   /* of all calls and injected computation since the mark before, in their order (hashes.c) */
  int64_t timed;   /* observations of the time on which the program's course may depend (hashes.c) */
  int64_t clocks;  /* those among them that are readings of a clock */
  double looked_s; /* simulated time that looks for messages have taken, which SMPI charges for each (looks.c) */
} Moment;

/* A communicator, described in the same way on all its members. */
typedef struct {
  int id, parent, turn; /* turn: number of earlier ones with the same members and parent */
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
  bool collective; /* it consists of `parts` operations, of which `number` is the first */
  int64_t parts;
  Event start;  /* event of the next operation, for a persistent request */
  struct Resend *resend; /* for a persistent send that is started as sends of their own (messages.c) */
  const Comm *comm;
  struct Operation *later; /* the next one with the same handle: real MPIs share one among sends that are complete */
} Operation;

/* A message that is probed for and still to be received (matched.c). */
typedef struct Reserved {
  MPI_Comm comm;
  int from, tag;
  struct Reserved *next;
} Reserved;

typedef struct {
  int rank;
  int threads;   /* the level of threads that is granted */
  bool inside;   /* within a call that is recorded */
  const char *call; /* name of the latest call */
  int64_t entered;  /* number of recorded calls so far */
  int64_t sited;    /* the call whose path is `site` (sites.c) */
  int64_t site;
  struct Stack *stacks; /* those of the latest different paths (sites.c) */
  int last_stack, next_stack;
  uintptr_t program_loaded, program_begin, program_end; /* the code of the rank's copy of the program */
  bool measured; /* computation is timed, and injected by SMPI at the entry of every call */
  bool sampled;  /* the same for sampled blocks (SMPI_SAMPLE) */
  bool looking;  /* looks for messages are events */
  bool looked;   /* in this call: what it completes has been found by a look */
  bool counting; /* events are counted, not kept: all of them pass through events[0] */
  bool free_compute;   /* injected computation takes no time */
  struct Work *work;   /* the computation between calls, timed or replayed (timing/work.c); NULL: neither */
  struct Bus *bus;     /* the memory bus of its node (timing/bus.c); NULL: memory never limits */
  uint64_t step;       /* hash of what the latest call has done */
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
  bool listing;       /* hashes of calls are kept */
  uint64_t *hashes;
  size_t nhashes, hashes_room;
  int64_t *hashed;    /* number of hashes before those of each event */
  size_t hashed_room;
  int64_t attributed; /* number of hashes that belong to events so far */
  int64_t *counts;
  size_t ncounts, counts_room;
  struct Window *windows; /* those that exist (windows/onesided.c) */
  Reserved *reserved;
  int64_t operations;
  int64_t readings;   /* of the simulated clock */
  double reading_s;   /* that those since the last event have taken */
  int64_t timer_readings; /* of any clock, where the program's own timer counts (timer.c) */
  int64_t world_collectives; /* of all ranks, so far */
  int timer_marks;
  double timer_s;
  void *readings_told;
  size_t readings_room;
  double told_s, told_of_s; /* time given in other surroundings, and the simulated time then (surroundings.c) */
  Operation *requests; /* hash table by handle */
  size_t nrequests, request_slots;
  struct { MPI_Comm handle; const Comm *comm; } *comms; /* communicators that exist */
  size_t ncomms, comms_room;
  const Comm **made; /* all communicators that ever had this rank as a member */
  size_t nmade, made_room;
} Rank;

/* A function of an add-on, a folder in this one: NULL where it is not there. */
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
void set_current_rank(Rank *r); /* NULL: the calling actor is no rank any more */
#define enter() enter_call(__func__) /* at the entry of a call; returns NULL if the call is not to be recorded */
Rank *enter_call(const char *name);
void leave(Rank *r); /* at the end of a call; r may be NULL */
Event *note(Rank *r, Event event);
void mark(Rank *r, int op);     /* op: a Mark, BEGIN or END */
void mark_unless_nothing(Rank *r, int op);
void recorder_mark(int moment); /* called by programs, with a Mark */

/* --- timing/work.c: in simulation only --- */
ADD_ON void work_begin(Rank *r);
ADD_ON int64_t work_stops(void); /* at the entry of a call: the time now, ns; 0 where computation is not timed */
/* At the entry of a call: flops since the last one. */
ADD_ON double work_done(Rank *r, const char *name, int64_t stopped_ns);
ADD_ON void work_restarts(Rank *r); /* at the end of a call */
ADD_ON void work_end(Rank *r);

/* --- timer.c: functions that return a Mark return the one that is to be made, or NOTHING --- */
enum { NOTHING = -1 };
bool timer_given(void);  /* the program's own timer counts */
bool timer_probes(void); /* readings are answered otherwise */
int timer_reading(Rank *r, double *told_s, bool simulated); /* in a call that reads a clock; told_s: what it answers, s */
int timer_left(Rank *r);       /* at the end of a call, and after MPI_Init */
int timer_collective(Rank *r); /* at the beginning of a collective of all ranks */
int timer_ends(Rank *r);

enum { MOST_TRIALS = 301 };
bool trials_wanted(const Rank *r); /* what an empty computation takes is not known yet */
void trials_begin(int apart);      /* of empty computations, of which the first `apart` are timed apart */
int64_t trials_end(Rank *r);       /* returns their median time, ns */
void trials_known(Rank *r, int64_t steady_ns, int64_t apart_ns); /* what timing takes: not computation from now on */

/* --- timing/trials.c: in simulation only --- */
ADD_ON void work_trials(Rank *r); /* once in a timed run */

/* --- timing/apart.c: in simulation only --- */
bool apart_begins(void); /* at the end of a call: the next computation finds in the caches what it uses */
double apart_ends(double time_s); /* at the end of every computation; returns its time, s; not in a copy of the process */

/* --- timing/bus.c: in simulation only; after bus_begin where a rank has a bus --- */
ADD_ON void bus_begin(Rank *r);
ADD_ON double bus_core_flops(const Rank *r, double flops); /* that the core computes besides moving data */
ADD_ON void bus_move(Rank *r, double flops);                /* lets the data of a computation pass over the bus */
ADD_ON void bus_end(Rank *r);

/* --- sites.c --- */
int64_t call_site(Rank *r); /* of the latest call */
void forget_stacks(Rank *r);
void write_sites(const char *path); /* the addresses of each path, one path per line */

/* --- refuse.c --- */
void unrecorded(Rank *r, const char *name); /* a call that a recording has no event for; ends a program that is recorded */

/* --- messages.c --- */
Event message_event(int kind, int mode, const Comm *comm, int partner, int tag, int64_t size_bytes);
size_t begin_operation(Rank *r, Event event); /* of an operation, which gets a number; returns the event's index */
void wait_for(Rank *r, size_t event, int64_t number, const Event *received);
Operation *remember_operation(Rank *r, MPI_Request handle, Event event, const Comm *comm, size_t place, bool persistent);
void arrived(Rank *r, size_t event, const Comm *comm, int asked, MPI_Status *status); /* completes the event of a receive */
void probed(Rank *r, MPI_Comm comm, const MPI_Status *status); /* this message can be received */

/* --- persistent.c --- */
MPI_Request *acting(Rank *r, MPI_Request *handle); /* the request that does the work of a handle */

/* --- collectives.c --- */
void note_split(Rank *r, MPI_Comm comm, int color, int key); /* its counts: the color, -1 for none, then the key */
void note_create(Rank *r, MPI_Comm made); /* a communicator, which may be MPI_COMM_NULL */

/* --- nonblocking.c --- */
void parts_completed(Rank *r, const Operation *operation);

/* --- windows/onesided.c, graphs.c: in simulation only --- */
ADD_ON void windows_synchronised(Rank *r, MPI_Comm comm); /* after a barrier, in which SMPI completes one-sided calls too */
ADD_ON void windows_end(Rank *r);
void graph_copied(MPI_Comm from, MPI_Comm to); /* one communicator is a copy of the other */
void graph_freed(MPI_Comm comm);

/* --- hashes.c --- */
void hash_item(Rank *r, int kind, uint64_t value);  /* kind: a Kind or one of those below */
void hash_event(Rank *r, const Event *event, uint64_t comm); /* the beginning of a call, of this communicator's hash */
void hash_completed(Rank *r, int64_t number, const Event *received); /* received: NULL for a send */
void observe_time(Rank *r);                         /* the program asks in vain, or time passes otherwise */
void observe_clock(Rank *r);                        /* the program reads a clock */
uint64_t mixed(uint64_t value);
enum { SECONDS = 16, FLOPS, SLEEP, VECTOR, CANCEL, COMM_MADE, COMM_FREED, CLOCK, CHOICE, UNRECORDED, PASSED };
/* Calls whose result depends on the order in which messages come: an iteration with one is like no iteration without. */
enum { TEST, TESTALL, TESTANY, TESTSOME, WAITANY, WAITSOME, PROBE_ANY, IPROBE };

/* --- init_finalize.c --- */
void begin_rank(void); /* after MPI_Init */

/* --- power.c --- */
void power_begin(Rank *r);         /* after MPI_Init */
void power_computed(Rank *r);      /* right after a computation of the rank */
void power_mark(Rank *r, int op);  /* op: a Mark, BEGIN or END */
void power_write(const char *path); /* when all ranks have ended; writes nothing if energy is not counted */

/* --- comms.c --- */
const Comm *find_comm(Rank *r, MPI_Comm comm);
Event collective_event(Rank *r, int op, MPI_Comm comm, int root, int64_t size_bytes);
int comm_size(int id);
uint64_t comm_hash(int id);
void comm_made(Rank *r, MPI_Comm parent, MPI_Comm made); /* made may be MPI_COMM_NULL */
void comm_freed(Rank *r, MPI_Comm comm);
void write_comms(const char *path, bool hashes); /* one per line, with hashes: each after its hash */

/* --- looks.c --- */
#define SITE __builtin_return_address(0)
void looked_at(Rank *r, int style, bool found, int count, const MPI_Request *handles, const void *site);
#define WILD(from, tag) ((from == MPI_ANY_SOURCE) + 2 * (tag == MPI_ANY_TAG))
void charged_look(Rank *r); /* after a look that does not wait, in its call */
void looked_for(Rank *r, bool found, int wild, const Comm *comm, const MPI_Status *status, const void *site);

/* --- requests.c --- */
Operation *find_request(Rank *r, MPI_Request handle); /* NULL: not recorded */
Operation *new_request(Rank *r, MPI_Request handle); /* found after those that the handle has already */
void drop_request(Rank *r, MPI_Request handle);

#endif
