/* Loaded before SimGrid's library, for programs that share one simulation: each job has the data of hosts for itself,
 * in which the ranks of a kernel keep what they share (apps/kernels/harness/section.c). */
#include <simgrid/actor.h>
#include <simgrid/host.h>
#include <stdlib.h>
#include <string.h>

typedef struct Entry {
  char *job;
  const void *host;
  void *data;
  struct Entry *next;
} Entry;

static Entry *entries;

static Entry *entry_of(const void *host)
{
  const char *job = sg_actor_get_property_value(sg_actor_self(), "instance_id");
  for (Entry *entry = entries; entry; entry = entry->next)
    if (entry->host == host && !strcmp(entry->job, job))
      return entry;
  Entry *entry = calloc(1, sizeof *entry);
  if (!entry)
    abort();
  *entry = (Entry){strdup(job), host, NULL, entries};
  return entries = entry;
}

void *sg_host_get_data(const_sg_host_t host) { return entry_of(host)->data; }

void sg_host_set_data(sg_host_t host, void *data) { entry_of(host)->data = data; }

/* SimGrid ends a program that calls it; a replayed recording marks its sections by it. */
int MPI_Pcontrol(int level, ...)
{
  (void)level;
  return 0;
}
