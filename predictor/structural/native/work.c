#include "work.h"

int work_open(Work *work, const Schedule *schedule, const Paths *paths)
{
  int64_t most = 0;
  for (int64_t e = 0; e < schedule->exchanges; e++) {
    int64_t messages = schedule->first[e + 1] - schedule->first[e];
    if (messages > most)
      most = messages;
  }
  *work = (Work){.ranks = schedule->ranks};
  work->message = zeros(most, sizeof *work->message);
  work->ready = zeros(schedule->ranks, sizeof *work->ready);
  work->users = zeros(paths->links, sizeof *work->users);
  work->load = zeros(paths->links, sizeof *work->load);
  work->tight = zeros(paths->links, sizeof *work->tight);
  work->user = zeros(most * MOST_LINKS, sizeof *work->user);
  work->kind = zeros(most, sizeof *work->kind);
  work->plane_load_s = zeros(paths->links, sizeof *work->plane_load_s);
  if (work->message && work->ready && work->users && work->load && work->tight && work->user &&
      work->kind && work->plane_load_s)
    return DONE;
  work_close(work);
  return NO_MEMORY;
}

void work_close(Work *work)
{
  free(work->message);
  free(work->ready);
  free(work->users);
  free(work->load);
  free(work->tight);
  free(work->user);
  free(work->kind);
  free(work->plane_load_s);
}
