/* Memory of a kernel: for its arithmetic, and for its messages. */
#include <smpi/smpi.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "../../common/checked.h"
#include "run.h"

void *run_array(const Run *run, size_t count, size_t size)
{
  return run->verify ? checked(calloc(count ? count : 1, size)) : NULL;
}

/* --- buffers of a skeleton --- */

static bool holds(const Run *run, const void *buffer)
{
  for (size_t i = 0; i < run->nheld; i++)
    if (run->held[i] == buffer)
      return true;
  return false;
}

static Space *space_make(Shared *shared, size_t bytes)
{
  Space *space = checked(malloc(sizeof *space));
  *space = (Space){checked(smpi_shared_malloc(bytes, "run_buffer", 0)), bytes, 0, shared->spaces};
  madvise(space->start, bytes, MADV_DONTNEED); /* SMPI has touched every page, so all would count as used memory */
  return shared->spaces = space;
}

/* Returns memory shared with other ranks' buffers if enough of it holds no buffer of this rank; else new memory. */
static void *take(Run *run, size_t bytes)
{
  Shared *shared = run_shared(run);
  Space *space = shared->spaces;
  while (space && (space->bytes < bytes || holds(run, space->start)))
    space = space->next;
  if (!space)
    space = space_make(shared, bytes);
  space->users++;
  run->held = checked(realloc(run->held, (run->nheld + 1) * sizeof *run->held));
  return run->held[run->nheld++] = space->start;
}

/* Releases a buffer; does nothing for NULL. */
static void give_back(Run *run, const void *buffer)
{
  for (size_t i = 0; i < run->nheld; i++)
    if (run->held[i] == buffer) {
      run->held[i] = run->held[--run->nheld];
      break;
    }
  for (Space **at = &run_shared(run)->spaces; *at; at = &(*at)->next) {
    Space *space = *at;
    if (space->start != buffer)
      continue;
    if (--space->users > 0)
      return;
    *at = space->next;
    smpi_shared_free(space->start);
    free(space);
    return;
  }
}

/* --- buffers --- */

void *run_bytes(Run *run, size_t count)
{
  size_t bytes = count ? count : 1;
  return run->verify ? checked(calloc(1, bytes)) : take(run, bytes);
}

double *run_buffer(Run *run, size_t count)
{
  return run_bytes(run, count * sizeof(double));
}

void run_buffer_free(Run *run, void *buffer)
{
  if (run->verify)
    free(buffer);
  else
    give_back(run, buffer);
}
