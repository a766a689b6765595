/* The recorder: what every rank of an MPI program does, written down as it happens.
 *
 * A library that is loaded before SimGrid's (LD_PRELOAD) and defines the functions of MPI itself; each notes its call
 * and does the work by its PMPI twin.  All ranks live in one process, so the state of a rank is found by its actor.
 * At MPI_Finalize a rank's events are written to the folder that RECORDER_FOLDER names; without it nothing is noted.
 * With RECORDER_EVENTS=no only the moments that the program marks are, and what was counted until then.  With
 * RECORDER_COMPUTE=none what the program injects takes no time.  With RECORDER_ENERGY=hosts, links or hosts+links,
 * which need SimGrid's plugins, what they consume is noted.  The binary layouts are those of EVENT in apps/recording.py
 * and MOMENT in apps/recording_io.py. */
#ifndef APPS_RECORDER_H
#define APPS_RECORDER_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { COMPUTE, SEND, RECV, WAIT, COLLECTIVE, PROBE, MARK, DELETED = 255 }; /* Kind */
enum { STANDARD, BUFFERED, SYNCHRONOUS, READY };                           /* Mode */
enum {                                                                     /* Op */
  BARRIER, BCAST, REDUCE, ALLREDUCE, GATHER, GATHERV, SCATTER, SCATTERV, ALLGATHER, ALLGATHERV, ALLTOALL, ALLTOALLV,
  REDUCE_SCATTER, SCAN, EXSCAN, OPS
};
/* A Mark is noted by recorder_mark(mark) and MPI_Pcontrol(FIRST_MARK_LEVEL + mark); BEGIN and END, at the ends of MPI,
 * are the recorder's own. */
enum { FIRST_MARK_LEVEL = 1000, BEGIN = 254, END = 255 };
enum { MARK_START, MARK_FIRST_ITERATION, MARK_ITERATION, MARK_STOP, MARKS }; /* Mark */

typedef struct {
  uint8_t kind, mode;
  uint16_t op;
  int32_t comm, peer, tag;
  int64_t request, size_bytes;
  double amount; /* flops of a COMPUTE; of others: simulated time spent computing so far, s */
  double clock_s;
} Event;

/* What a rank has done up to a mark. */
typedef struct {
  double clock_s, compute_s, flops;
  int64_t op; /* Mark, BEGIN or END */
  int64_t messages, bytes, self_messages, self_bytes;
  int64_t calls[OPS], call_bytes[OPS]; /* collectives; all that a rank sends in an all-to-all */
  double energy_j; /* what the host had consumed, as in apps.record.IterationEnergy; 0: not counted */
} Moment;

/* A communicator as all its members know it. */
typedef struct {
  int id, parent, turn; /* turn: how many were made of the same members from the same parent before */
  int size;
  int *world; /* rank in MPI_COMM_WORLD of each member */
} Comm;

/* A request: of one operation, or persistent. */
typedef struct {
  MPI_Request handle; /* NULL: the slot is free */
  bool receive, persistent, active;
  size_t event; /* of the operation that is under way */
  Event start;  /* of the next operation, for a persistent request */
  const Comm *comm;
} Operation;

typedef struct {
  int rank;
  bool inside;   /* a call that is being noted */
  const char *call; /* the latest */
  bool measured; /* computation is timed, and injected by SMPI at the entry of every call */
  bool sampled;  /* so are blocks of it (SMPI_SAMPLE) */
  bool counting; /* events are counted, not kept: all of them pass through events[0] */
  bool unpaid;   /* injected computation takes no time */
  double entry_s, left_s;
  Moment now;
  Moment *moments;
  size_t nmoments, moments_room;
  Event *events;
  size_t nevents, room;
  bool metered;       /* the energy of the host is counted */
  bool computed;      /* since the last iteration ended */
  double *energies_j; /* now.energy_j at each event */
  size_t energies_room;
  int64_t *counts;
  size_t ncounts, counts_room;
  int64_t operations;
  Operation *requests; /* hash table by handle */
  size_t nrequests, request_slots;
  struct { MPI_Comm handle; const Comm *comm; } *comms; /* alive */
  size_t ncomms, comms_room;
  const Comm **made; /* all that this rank was ever a member of */
  size_t nmade, made_room;
} Rank;

/* --- rank.c --- */
Rank *current_rank(void); /* who calls; NULL outside MPI_Init and MPI_Finalize */
#define enter() enter_call(__func__) /* at the entry of a call; NULL when it is not to be noted */
Rank *enter_call(const char *name);
void leave(Rank *r);   /* at its end; r may be NULL */
void begin_rank(void); /* after MPI_Init */
int sure(const Rank *r, int result, const char *name);
#define SURE(call) sure(r, call, __func__) /* its result; ends the program where a call that is noted fails */
Event *note(Rank *r, Event event);
void recorder_mark(int moment); /* for programs; a Mark */
void *grown(void *array, size_t count, size_t *room, size_t size); /* with room for one more */
_Noreturn void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* --- power.c --- */
void power_begin(Rank *r);         /* after MPI_Init */
void power_computed(Rank *r);      /* right after a computation of the rank */
void power_mark(Rank *r, int op);  /* a Mark, or BEGIN or END */
void power_write(const char *path); /* when all ranks have ended; writes nothing where no energy is counted */

/* --- comms.c --- */
const Comm *find_comm(Rank *r, MPI_Comm comm);
int comm_size(int id);
void comm_made(Rank *r, MPI_Comm parent, MPI_Comm made); /* made may be MPI_COMM_NULL */
void comm_freed(Rank *r, MPI_Comm comm);
void write_comms(const char *path);

/* --- requests.c --- */
Operation *find_request(Rank *r, MPI_Request handle); /* NULL: not one of ours */
Operation *new_request(Rank *r, MPI_Request handle);
void drop_request(Rank *r, MPI_Request handle);

int64_t size_of(int count, MPI_Datatype type); /* bytes */

#endif
