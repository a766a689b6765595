/* Replays a recording under SMPI: every rank computes, sends, receives and waits as its events say (the layout is that of
 * Event in apps/recording/recorder/recorder.h, the files are those of apps/replay/engine.py).
 *
 * All ranks share the memory of one process, and no message has a content: they share the buffers too. */
#define _GNU_SOURCE
#include "../recording/recorder/recorder.h"

#include <limits.h>
#include <simgrid/barrier.h>
#include <smpi/smpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { MOST_TAG = 1000000 }; /* tags of calls that SMPI makes of others are negative: they come below this one */

typedef struct {
  int size, *world, *place; /* ranks of the members; the place of every rank among them, -1 for others */
} Members;

static int ncomms, nranks;
static Members *all_members;
static char *buffer[2]; /* what is sent, and what is received */
static int64_t buffer_bytes;
static sg_bar_t everybody;

typedef struct {
  Event *events;
  int64_t nevents, noperations, *counts, ncounts;
  MPI_Request *requests;
  unsigned char *posted; /* by event: a receive that was posted when the rank probed for its message */
  MPI_Comm *comms;
  MPI_Op operation[2];   /* by whether they commute */
  MPI_Datatype derived;  /* of 8 bytes */
  int made;              /* communicators that were made by splits, whose creation is still among the events */
} Replay;

static void *read_all(const char *folder, const char *name, size_t size, int64_t *count)
{
  char path[PATH_MAX];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *file = fopen(path, "rb");
  if (!file || fseek(file, 0, SEEK_END)) {
    fprintf(stderr, "replay: cannot read %s\n", path);
    exit(1);
  }
  long bytes = ftell(file);
  rewind(file);
  void *items = malloc((size_t)bytes + 1);
  if (!items || fread(items, 1, (size_t)bytes, file) != (size_t)bytes) {
    fprintf(stderr, "replay: cannot read %s\n", path);
    exit(1);
  }
  fclose(file);
  *count = bytes / (long)size;
  return items;
}

static void *of_memory(size_t count, size_t size)
{
  void *items = calloc(count ? count : 1, size);
  if (!items) {
    fprintf(stderr, "replay: out of memory\n");
    exit(1);
  }
  return items;
}

/* The first rank that comes reads what all share. */
static void read_shared(const char *folder, const char *bytes)
{
  if (everybody)
    return;
  everybody = sg_barrier_init((unsigned)nranks);
  int64_t count, at = 0;
  int *numbers = read_all(folder, "communicators", sizeof *numbers, &count);
  for (int64_t i = 0; i < count; i += 1 + numbers[i])
    ncomms++;
  all_members = of_memory((size_t)ncomms, sizeof *all_members);
  for (int c = 0; c < ncomms; c++) {
    Members *m = &all_members[c];
    *m = (Members){.size = numbers[at], .world = numbers + at + 1, .place = of_memory((size_t)nranks, sizeof(int))};
    memset(m->place, -1, (size_t)nranks * sizeof(int));
    for (int i = 0; i < m->size; i++)
      m->place[m->world[i]] = i;
    at += 1 + m->size;
  }
  buffer_bytes = strtoll(bytes, NULL, 10);
  for (int i = 0; i < 2; i++) { /* untouched pages take no memory */
    buffer[i] = mmap(NULL, (size_t)buffer_bytes + 8, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (buffer[i] == MAP_FAILED) {
      fprintf(stderr, "replay: out of memory\n");
      exit(1);
    }
  }
}

static void nothing(void *in, void *inout, int *count, MPI_Datatype *type) { (void)in, (void)inout, (void)count, (void)type; }

static void make_comms(Replay *r, int rank)
{
  MPI_Group world;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  r->comms = of_memory((size_t)ncomms, sizeof *r->comms);
  r->comms[0] = MPI_COMM_WORLD;
  for (int c = 1; c < ncomms; c++) {
    const Members *m = &all_members[c];
    if (m->place[rank] < 0)
      continue;
    MPI_Group group;
    MPI_Group_incl(world, m->size, m->world, &group);
    MPI_Comm_create_group(MPI_COMM_WORLD, group, c, &r->comms[c]);
    MPI_Group_free(&group);
  }
  MPI_Group_free(&world);
}

/* --- messages --- */

/* A number of bytes as elements: those of a large message do not fit into an int. */
typedef struct {
  int count;
  MPI_Datatype type;
} Elements;

static Elements elements(int64_t size_bytes)
{
  if (size_bytes % 8 == 0)
    return (Elements){(int)(size_bytes / 8), MPI_DOUBLE};
  return size_bytes % 4 == 0 ? (Elements){(int)(size_bytes / 4), MPI_INT} : (Elements){(int)size_bytes, MPI_BYTE};
}

static int place_of(const Event *e) { return all_members[e->comm].place[e->peer]; }

static int tag_of(const Event *e) { return e->tag >= 0 ? e->tag : MOST_TAG + e->tag; }

static void send(Replay *r, const Event *e)
{
  Elements of = elements(e->size_bytes);
  int (*begin)(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *) =
      e->mode == BUFFERED ? MPI_Ibsend : e->mode == SYNCHRONOUS ? MPI_Issend : e->mode == READY ? MPI_Irsend : MPI_Isend;
  begin(buffer[0], of.count, of.type, place_of(e), tag_of(e), r->comms[e->comm], &r->requests[e->request]);
}

static void receive(Replay *r, const Event *e)
{
  Elements of = elements(e->tag >= 0 ? e->size_bytes : (buffer_bytes + 8) / 8 * 8); /* a part of a call has no size */
  MPI_Irecv(buffer[1], of.count, of.type, place_of(e), tag_of(e), r->comms[e->comm], &r->requests[e->request]);
}

/* A rank that probes for a message waits for it: the receive that will get it is posted here.  SMPI's own probes look
 * again and again, and are charged for it. */
static void probe(Replay *r, int64_t at)
{
  const Event *wanted = &r->events[at];
  for (int64_t i = at + 1; i < r->nevents; i++) {
    const Event *e = &r->events[i];
    if (e->kind != RECV || r->posted[i] || e->peer != wanted->peer || e->tag != wanted->tag || e->comm != wanted->comm)
      continue;
    receive(r, e);
    r->posted[i] = 1;
    MPI_Wait(&r->requests[e->request], MPI_STATUS_IGNORE);
    return;
  }
}

/* --- collectives --- */

typedef struct {
  int *counts, *starts;
} Blocks;

static Blocks blocks_of(const Replay *r, const Event *e, int64_t first)
{
  int size = all_members[e->comm].size;
  Blocks b = {of_memory((size_t)size, sizeof(int)), of_memory((size_t)size, sizeof(int))};
  int64_t sum = 0;
  for (int i = 0; i < size && e->request >= 0 && first + i < r->ncounts; i++) {
    b.counts[i] = (int)r->counts[first + i];
    b.starts[i] = (int)sum;
    sum += b.counts[i];
  }
  return b;
}

static void free_blocks(Blocks b)
{
  free(b.counts);
  free(b.starts);
}

static void with_blocks(Replay *r, const Event *e, int rank, MPI_Comm comm, int root)
{
  Blocks b = blocks_of(r, e, e->request);
  int own = (int)e->size_bytes;
  if (e->op == GATHERV)
    MPI_Gatherv(buffer[0], own, MPI_BYTE, buffer[1], b.counts, b.starts, MPI_BYTE, root, comm);
  else if (e->op == SCATTERV)
    MPI_Scatterv(buffer[0], b.counts, b.starts, MPI_BYTE, buffer[1], own, MPI_BYTE, root, comm);
  else if (e->op == ALLGATHERV)
    MPI_Allgatherv(buffer[0], b.counts[rank], MPI_BYTE, buffer[1], b.counts, b.starts, MPI_BYTE, comm);
  else if (e->op == REDUCE_SCATTER)
    MPI_Reduce_scatter(buffer[0], buffer[1], b.counts, MPI_BYTE, r->operation[e->mode != ORDERED], comm);
  free_blocks(b);
}

static void split(Replay *r, const Event *e, MPI_Comm comm)
{
  MPI_Comm made;
  int64_t color = r->counts[e->request];
  MPI_Comm_split(comm, color < 0 ? MPI_UNDEFINED : (int)color, (int)r->counts[e->request + 1], &made);
  if (made == MPI_COMM_NULL)
    return;
  int members;
  MPI_Comm_size(made, &members);
  r->made += members > 1;
  MPI_Comm_free(&made);
}

/* A communicator is made with the same messages as its copy; a split has done it already. */
static void create(Replay *r, MPI_Comm comm)
{
  if (r->made) {
    r->made--;
    return;
  }
  MPI_Comm made;
  MPI_Comm_dup(comm, &made);
  MPI_Comm_free(&made);
}

static void reduce(Replay *r, const Event *e, MPI_Comm comm, int root)
{
  Elements of = e->mode == DERIVED && e->size_bytes % 8 == 0 ? (Elements){(int)(e->size_bytes / 8), r->derived}
                                                              : elements(e->size_bytes);
  MPI_Op op = r->operation[e->mode != ORDERED];
  if (e->op == REDUCE)
    MPI_Reduce(buffer[0], buffer[1], of.count, of.type, op, root, comm);
  else if (e->op == ALLREDUCE)
    MPI_Allreduce(buffer[0], buffer[1], of.count, of.type, op, comm);
  else if (e->op == SCAN)
    MPI_Scan(buffer[0], buffer[1], of.count, of.type, op, comm);
  else
    MPI_Exscan(buffer[0], buffer[1], of.count, of.type, op, comm);
}

/* The counts of received elements follow those of sent elements. */
static void to_all(Replay *r, const Event *e, MPI_Comm comm)
{
  Blocks mine = blocks_of(r, e, e->request), theirs = blocks_of(r, e, e->request + all_members[e->comm].size);
  MPI_Alltoallv(buffer[0], mine.counts, mine.starts, MPI_BYTE, buffer[1], theirs.counts, theirs.starts, MPI_BYTE, comm);
  free_blocks(mine);
  free_blocks(theirs);
}

static void collective(Replay *r, const Event *e, int rank)
{
  MPI_Comm comm = r->comms[e->comm];
  int root = e->peer >= 0 ? place_of(e) : 0;
  Elements of = elements(e->size_bytes);
  switch (e->op) {
  case BARRIER: MPI_Barrier(comm); break;
  case BCAST: MPI_Bcast(buffer[0], of.count, of.type, root, comm); break;
  case REDUCE: case ALLREDUCE: case SCAN: case EXSCAN: reduce(r, e, comm, root); break;
  case GATHER: MPI_Gather(buffer[0], of.count, of.type, buffer[1], of.count, of.type, root, comm); break;
  case SCATTER: MPI_Scatter(buffer[0], of.count, of.type, buffer[1], of.count, of.type, root, comm); break;
  case ALLGATHER: MPI_Allgather(buffer[0], of.count, of.type, buffer[1], of.count, of.type, comm); break;
  case ALLTOALL: MPI_Alltoall(buffer[0], of.count, of.type, buffer[1], of.count, of.type, comm); break;
  case ALLTOALLV: to_all(r, e, comm); break;
  case SPLIT: split(r, e, comm); break;
  case CREATE: create(r, comm); break;
  default: with_blocks(r, e, rank, comm, root);
  }
}

/* --- the rank --- */

static void replay(Replay *r, int rank)
{
  for (int64_t i = 0; i < r->nevents; i++) {
    const Event *e = &r->events[i];
    switch (e->kind) {
    case COMPUTE: smpi_execute_flops_benched(e->amount); break;
    case ELAPSE:
      if (e->op == ON_CORE)
        smpi_execute_benched(e->amount);
      else
        smpi_usleep((useconds_t)(e->amount * 1e6));
      break;
    case SEND: send(r, e); break;
    case RECV:
      if (!r->posted[i])
        receive(r, e);
      break;
    case WAIT: MPI_Wait(&r->requests[e->request], MPI_STATUS_IGNORE); break;
    case PROBE: probe(r, i); break;
    case COLLECTIVE: collective(r, e, rank); break;
    case MARK: MPI_Pcontrol(FIRST_MARK_LEVEL + e->op); break;
    default: break;
    }
  }
}

int main(int argc, char **argv)
{
  if (argc != 3)
    return 2;
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &nranks);
  read_shared(argv[1], argv[2]);
  Replay r = {0};
  char name[64];
  snprintf(name, sizeof name, "%d.events", rank);
  r.events = read_all(argv[1], name, sizeof *r.events, &r.nevents);
  snprintf(name, sizeof name, "%d.counts", rank);
  r.counts = read_all(argv[1], name, sizeof *r.counts, &r.ncounts);
  for (int64_t i = 0; i < r.nevents; i++)
    if ((r.events[i].kind == SEND || r.events[i].kind == RECV) && r.events[i].request >= r.noperations)
      r.noperations = r.events[i].request + 1;
  r.requests = of_memory((size_t)r.noperations, sizeof *r.requests);
  for (int64_t i = 0; i < r.noperations; i++)
    r.requests[i] = MPI_REQUEST_NULL;
  r.posted = of_memory((size_t)r.nevents, 1);
  for (int commutes = 0; commutes < 2; commutes++)
    MPI_Op_create(nothing, commutes, &r.operation[commutes]);
  MPI_Type_contiguous(8, MPI_BYTE, &r.derived);
  MPI_Type_commit(&r.derived);
  MPI_Buffer_attach(of_memory(1, 1), INT_MAX);
  make_comms(&r, rank);
  MPI_Barrier(MPI_COMM_WORLD);
  sg_barrier_wait(everybody); /* all begin at once */
  replay(&r, rank);
  for (int64_t i = 0; i < r.noperations; i++) /* sends that the program has not waited for */
    MPI_Wait(&r.requests[i], MPI_STATUS_IGNORE);
  MPI_Finalize();
  return 0;
}
