/* The calls of MPI in Fortran: mpif.h and the module mpi call mpi_send_, Open MPI's module mpi_f08 calls ompi_send_f.
 * The MPI library's own functions of these names come after this one. */
#define _GNU_SOURCE
#include <dlfcn.h>

#include "layer.h"

typedef MPI_Fint F;

#define ONE(symbol, parameters, arguments, before, after)                                                              \
  void symbol parameters;                                                                                              \
  void symbol parameters                                                                                               \
  {                                                                                                                    \
    static void(*next) parameters;                                                                                     \
    if (!next)                                                                                                         \
      next = (void(*) parameters)dlsym(RTLD_NEXT, #symbol);                                                            \
    layer_enter();                                                                                                     \
    before;                                                                                                            \
    next arguments;                                                                                                    \
    after;                                                                                                             \
    layer_leave();                                                                                                     \
  }
#define BOTH(name, parameters, arguments, before, after)                                                               \
  ONE(mpi_##name##_, parameters, arguments, before, after)                                                             \
  ONE(ompi_##name##_f, parameters, arguments, before, after)
#define CALL(name, parameters, arguments, before) BOTH(name, parameters, arguments, before, NOTHING)
#define NOTHING (void)0

static int in_place(const void *data)
{
  static const void *place;
  static int looked;
  if (!looked) {
    place = dlsym(RTLD_DEFAULT, "mpi_fortran_in_place_");
    looked = 1;
  }
  return place && data == place;
}

static MPI_Datatype type_of(const F *type) { return PMPI_Type_f2c(*type); }
static MPI_Comm comm_of(const F *comm) { return PMPI_Comm_f2c(*comm); }

/* --- between two ranks --- */

static void sent(const F *n, const F *type, const F *to, const F *comm)
{
  layer_sent(*n, type_of(type), *to, comm_of(comm));
}

static void started(int count, const F *requests)
{
  for (int i = 0; i < count; i++)
    layer_started(PMPI_Request_f2c(requests[i]));
}

#define SEND(name) CALL(name, (void *data, F *n, F *t, F *to, F *tag, F *c, F *e), (data, n, t, to, tag, c, e),       \
                        sent(n, t, to, c))
#define START_SEND(name) CALL(name, (void *data, F *n, F *t, F *to, F *tag, F *c, F *r, F *e),                        \
                              (data, n, t, to, tag, c, r, e), sent(n, t, to, c))
#define PREPARE_SEND(name) BOTH(name, (void *data, F *n, F *t, F *to, F *tag, F *c, F *r, F *e),                      \
                                (data, n, t, to, tag, c, r, e), NOTHING,                                              \
                                layer_keep(PMPI_Request_f2c(*r), *n, type_of(t), *to, comm_of(c)))
SEND(send)
SEND(bsend)
SEND(ssend)
SEND(rsend)
START_SEND(isend)
START_SEND(ibsend)
START_SEND(issend)
START_SEND(irsend)
PREPARE_SEND(send_init)
PREPARE_SEND(bsend_init)
PREPARE_SEND(ssend_init)
PREPARE_SEND(rsend_init)
CALL(recv, (void *data, F *n, F *t, F *from, F *tag, F *c, F *s, F *e), (data, n, t, from, tag, c, s, e), NOTHING)
CALL(irecv, (void *data, F *n, F *t, F *from, F *tag, F *c, F *r, F *e), (data, n, t, from, tag, c, r, e), NOTHING)
CALL(sendrecv,
     (void *data, F *n, F *t, F *to, F *tag, void *all, F *m, F *its, F *from, F *itag, F *c, F *s, F *e),
     (data, n, t, to, tag, all, m, its, from, itag, c, s, e), sent(n, t, to, c))
CALL(sendrecv_replace, (void *data, F *n, F *t, F *to, F *tag, F *from, F *itag, F *c, F *s, F *e),
     (data, n, t, to, tag, from, itag, c, s, e), sent(n, t, to, c))
CALL(probe, (F *from, F *tag, F *c, F *s, F *e), (from, tag, c, s, e), NOTHING)
CALL(iprobe, (F *from, F *tag, F *c, F *flag, F *s, F *e), (from, tag, c, flag, s, e), NOTHING)
CALL(wait, (F *r, F *s, F *e), (r, s, e), NOTHING)
CALL(waitall, (F *n, F *r, F *s, F *e), (n, r, s, e), NOTHING)
CALL(waitany, (F *n, F *r, F *which, F *s, F *e), (n, r, which, s, e), NOTHING)
CALL(waitsome, (F *n, F *r, F *m, F *which, F *s, F *e), (n, r, m, which, s, e), NOTHING)
CALL(test, (F *r, F *flag, F *s, F *e), (r, flag, s, e), NOTHING)
CALL(testall, (F *n, F *r, F *flag, F *s, F *e), (n, r, flag, s, e), NOTHING)
CALL(testany, (F *n, F *r, F *which, F *flag, F *s, F *e), (n, r, which, flag, s, e), NOTHING)
CALL(start, (F *r, F *e), (r, e), started(1, r))
CALL(startall, (F *n, F *r, F *e), (n, r, e), started(*n, r))
CALL(request_free, (F *r, F *e), (r, e), layer_forget(PMPI_Request_f2c(*r)))

/* --- collectives --- */

static void collective(Kind kind, const F *n, const F *type) { layer_collective(kind, *n, type_of(type)); }

static void block(Kind kind, const void *data, const F *n, const F *type, const F *m, const F *its)
{
  if (in_place(data))
    layer_collective(kind, *m, type_of(its));
  else
    layer_collective(kind, *n, type_of(type));
}

static void own_block(Kind kind, const void *data, const F *n, const F *type)
{
  if (in_place(data))
    layer_collective(kind, 0, MPI_BYTE);
  else
    layer_collective(kind, *n, type_of(type));
}

static void to_each(const void *data, const F *n, const F *type, const F *m, const F *its, const F *comm)
{
  int here = in_place(data);
  layer_collective(ALLTOALL, (long)*(here ? m : n) * layer_members(comm_of(comm)), type_of(here ? its : type));
}

static void to_each_v(const void *data, const F *n, const F *type, const F *m, const F *its, const F *comm)
{
  int here = in_place(data);
  layer_collective(ALLTOALLV, layer_sum(here ? m : n, comm_of(comm)), type_of(here ? its : type));
}

CALL(barrier, (F *c, F *e), (c, e), layer_collective(BARRIER, 0, MPI_BYTE))
CALL(bcast, (void *data, F *n, F *t, F *root, F *c, F *e), (data, n, t, root, c, e), collective(BCAST, n, t))
CALL(reduce, (void *data, void *all, F *n, F *t, F *op, F *root, F *c, F *e), (data, all, n, t, op, root, c, e),
     collective(REDUCE, n, t))
CALL(allreduce, (void *data, void *all, F *n, F *t, F *op, F *c, F *e), (data, all, n, t, op, c, e),
     collective(ALLREDUCE, n, t))
CALL(scan, (void *data, void *all, F *n, F *t, F *op, F *c, F *e), (data, all, n, t, op, c, e), collective(SCAN, n, t))
CALL(exscan, (void *data, void *all, F *n, F *t, F *op, F *c, F *e), (data, all, n, t, op, c, e),
     collective(EXSCAN, n, t))
CALL(gather, (void *data, F *n, F *t, void *all, F *m, F *its, F *root, F *c, F *e),
     (data, n, t, all, m, its, root, c, e), block(GATHER, data, n, t, m, its))
CALL(gatherv, (void *data, F *n, F *t, void *all, F *m, F *at, F *its, F *root, F *c, F *e),
     (data, n, t, all, m, at, its, root, c, e), own_block(GATHERV, data, n, t))
CALL(scatter, (void *data, F *n, F *t, void *all, F *m, F *its, F *root, F *c, F *e),
     (data, n, t, all, m, its, root, c, e), block(SCATTER, all, m, its, n, t))
CALL(scatterv, (void *data, F *n, F *at, F *t, void *all, F *m, F *its, F *root, F *c, F *e),
     (data, n, at, t, all, m, its, root, c, e), own_block(SCATTERV, all, m, its))
CALL(allgather, (void *data, F *n, F *t, void *all, F *m, F *its, F *c, F *e), (data, n, t, all, m, its, c, e),
     block(ALLGATHER, data, n, t, m, its))
CALL(allgatherv, (void *data, F *n, F *t, void *all, F *m, F *at, F *its, F *c, F *e),
     (data, n, t, all, m, at, its, c, e), own_block(ALLGATHERV, data, n, t))
CALL(alltoall, (void *data, F *n, F *t, void *all, F *m, F *its, F *c, F *e), (data, n, t, all, m, its, c, e),
     to_each(data, n, t, m, its, c))
CALL(alltoallv, (void *data, F *n, F *at, F *t, void *all, F *m, F *its_at, F *its, F *c, F *e),
     (data, n, at, t, all, m, its_at, its, c, e), to_each_v(data, n, t, m, its, c))
CALL(reduce_scatter, (void *data, void *mine, F *n, F *t, F *op, F *c, F *e), (data, mine, n, t, op, c, e),
     layer_collective(REDUCE_SCATTER, layer_sum(n, comm_of(c)), type_of(t)))

/* --- communicators, beginning and end --- */

CALL(comm_dup, (F *c, F *made, F *e), (c, made, e), NOTHING)
CALL(comm_split, (F *c, F *colour, F *key, F *made, F *e), (c, colour, key, made, e), NOTHING)
CALL(cart_create, (F *c, F *n, F *sizes, F *periods, F *reorder, F *made, F *e),
     (c, n, sizes, periods, reorder, made, e), NOTHING)

#define BEGIN(symbol, parameters, arguments)                                                                           \
  void symbol parameters;                                                                                              \
  void symbol parameters                                                                                               \
  {                                                                                                                    \
    void(*next) parameters = (void(*) parameters)dlsym(RTLD_NEXT, #symbol);                                            \
    layer_enter();                                                                                                     \
    next arguments;                                                                                                    \
    layer_leave();                                                                                                     \
    layer_begun();                                                                                                     \
  }
BEGIN(mpi_init_, (F *e), (e))
BEGIN(ompi_init_f, (F *e), (e))
BEGIN(mpi_init_thread_, (F *required, F *provided, F *e), (required, provided, e))
BEGIN(ompi_init_thread_f, (F *required, F *provided, F *e), (required, provided, e))

#define END(symbol) ONE(symbol, (F * e), (e), if (layer_depth == 1) layer_ending(), NOTHING)
END(mpi_finalize_)
END(ompi_finalize_f)

void mpi_pcontrol_(const F *level);
void mpi_pcontrol_(const F *level) { recorder_mark(*level - FIRST_MARK); }
void ompi_pcontrol_f(const F *level);
void ompi_pcontrol_f(const F *level) { recorder_mark(*level - FIRST_MARK); }
