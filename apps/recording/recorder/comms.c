/* Communicators: all members use the same number for a communicator, although their handles may differ. */
#include "recorder.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static Comm **all; /* by id */
static size_t nall, all_room;

static int *world_ranks(MPI_Comm comm, int *size)
{
  MPI_Group group, world;
  PMPI_Comm_group(comm, &group);
  PMPI_Comm_group(MPI_COMM_WORLD, &world);
  PMPI_Group_size(group, size);
  size_t bytes = (size_t)*size * sizeof(int);
  int *members = malloc(bytes), *translated = malloc(bytes);
  if (!members || !translated)
    fail("out of memory");
  for (int i = 0; i < *size; i++)
    members[i] = i;
  PMPI_Group_translate_ranks(group, *size, members, world, translated);
  free(members);
  PMPI_Group_free(&group);
  PMPI_Group_free(&world);
  return translated;
}

static bool same(const Comm *comm, int parent, int size, const int *world)
{
  return comm->parent == parent && comm->size == size && !memcmp(comm->world, world, (size_t)size * sizeof *world);
}

/* Returns the description shared by all members.  Communicators with the same members and parent are distinguished by
 * their order of creation, which is the same on all members. */
static const Comm *shared(Rank *r, int parent, MPI_Comm handle)
{
  int size, turn = 0;
  int *world = world_ranks(handle, &size);
  for (size_t i = 0; i < r->nmade; i++)
    turn += same(r->made[i], parent, size, world);
  Comm *comm = NULL;
  for (size_t i = nall; i-- > 0 && !comm;)
    if (all[i]->turn == turn && same(all[i], parent, size, world))
      comm = all[i];
  if (comm) {
    free(world);
  } else {
    comm = malloc(sizeof *comm);
    if (!comm)
      fail("out of memory");
    uint64_t hash = mixed((uint64_t)turn ^ (parent < 0 ? 0 : mixed(all[parent]->hash)));
    for (int i = 0; i < size; i++)
      hash = mixed(hash ^ (uint64_t)world[i]);
    *comm = (Comm){.id = (int)nall, .parent = parent, .turn = turn, .size = size, .world = world, .hash = hash};
    all = grown(all, nall, &all_room, sizeof(Comm *));
    all[nall++] = comm;
  }
  r->made = grown(r->made, r->nmade, &r->made_room, sizeof(Comm *));
  r->made[r->nmade++] = comm;
  return comm;
}

/* Forgets a handle; returns its communicator, or NULL. */
static const Comm *forget(Rank *r, MPI_Comm handle)
{
  for (size_t i = 0; i < r->ncomms; i++)
    if (r->comms[i].handle == handle) {
      const Comm *comm = r->comms[i].comm;
      memmove(r->comms + i, r->comms + i + 1, (--r->ncomms - i) * sizeof *r->comms);
      return comm;
    }
  return NULL;
}

static const Comm *add(Rank *r, int parent, MPI_Comm handle)
{
  const Comm *comm = shared(r, parent, handle);
  forget(r, handle); /* the communicator was freed inside another call, as mpi4py does with copies */
  r->comms = grown(r->comms, r->ncomms, &r->comms_room, sizeof *r->comms);
  r->comms[r->ncomms].handle = handle;
  r->comms[r->ncomms++].comm = comm;
  return comm;
}

const Comm *find_comm(Rank *r, MPI_Comm comm)
{
  for (size_t i = 0; i < r->ncomms; i++)
    if (r->comms[i].handle == comm)
      return r->comms[i].comm;
  return add(r, -1, comm); /* MPI_COMM_SELF at its first use */
}

Event collective_event(Rank *r, int op, MPI_Comm comm, int root, int64_t size_bytes)
{
  const Comm *among = find_comm(r, comm);
  return (Event){.kind = COLLECTIVE, .op = (uint16_t)op, .comm = among->id, .tag = -1, .request = -1,
                 .peer = root >= 0 ? among->world[root] : -1, .size_bytes = size_bytes};
}

int comm_size(int id)
{
  return all[id]->size;
}

uint64_t comm_hash(int id)
{
  return all[id]->hash;
}

void comm_made(Rank *r, MPI_Comm parent, MPI_Comm made)
{
  uint64_t hash = 0;
  if (made != MPI_COMM_NULL)
    hash = add(r, parent == MPI_COMM_NULL ? -1 : find_comm(r, parent)->id, made)->hash;
  hash_item(r, COMM_MADE, hash);
}

void comm_freed(Rank *r, MPI_Comm comm)
{
  const Comm *freed = forget(r, comm);
  if (freed)
    hash_item(r, COMM_FREED, freed->hash);
}

void write_comms(const char *path, bool hashes)
{
  FILE *file = fopen(path, "w");
  if (!file)
    fail("cannot write %s: %s", path, strerror(errno));
  for (size_t i = 0; i < nall; i++) {
    if (hashes)
      fprintf(file, "%" PRIu64 " ", all[i]->hash);
    for (int member = 0; member < all[i]->size; member++)
      fprintf(file, "%d%c", all[i]->world[member], member + 1 < all[i]->size ? ' ' : '\n');
  }
  if (fclose(file))
    fail("cannot write %s: %s", path, strerror(errno));
}
