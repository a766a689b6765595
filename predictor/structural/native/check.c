/* Checks of the data passed by Python, so that all other functions stay within their memory. */
#include "structural.h"

/* Returns whether all numbers are at least 0 and below `end`. */
static bool are_below(const int32_t *number, int64_t count, int64_t end)
{
  for (int64_t i = 0; i < count; i++)
    if (number[i] < 0 || number[i] >= end)
      return false;
  return true;
}

/* Returns whether the parts first[i] to first[i + 1] cover 0 to `whole`. */
static bool divide(const int64_t *first, int64_t parts, int64_t whole)
{
  for (int64_t i = 0; i < parts; i++)
    if (first[i] > first[i + 1])
      return false;
  return first[0] == 0 && first[parts] == whole;
}

/* Returns whether every step is known. */
static bool are_steps(const Schedule *schedule)
{
  const int64_t count[] = {schedule->computations, schedule->exchanges, schedule->sweeps};
  for (int64_t i = 0; i < schedule->steps; i++)
    if (schedule->kind[i] > SWEEP || schedule->item[i] < 0 || schedule->item[i] >= count[schedule->kind[i]])
      return false;
  return true;
}

/* Returns whether every exchange has no computation or a known one. */
static bool are_known(const Schedule *schedule)
{
  for (int64_t i = 0; i < schedule->exchanges; i++)
    if (schedule->meanwhile[i] < -1 || schedule->meanwhile[i] >= schedule->computations)
      return false;
  return true;
}

/* Returns whether no grid of a sweep has more places than there are ranks. */
static bool are_grids(const Schedule *schedule)
{
  for (int64_t i = 0; i < schedule->sweeps; i++) {
    int64_t width = schedule->shape[4 * i], height = schedule->shape[4 * i + 1];
    if (width < 1 || height < 1 || width > schedule->ranks || height > schedule->ranks / width)
      return false;
  }
  return true;
}

static bool is_schedule(const Schedule *schedule)
{
  return divide(schedule->segment, SEGMENTS, schedule->steps) &&
         divide(schedule->first, schedule->exchanges, schedule->messages) && are_steps(schedule) &&
         are_known(schedule) &&
         are_grids(schedule) && are_below(schedule->source, schedule->messages, schedule->ranks) &&
         are_below(schedule->destination, schedule->messages, schedule->ranks) &&
         are_below(schedule->size, schedule->messages, schedule->sizes) &&
         are_below(schedule->plane_size, schedule->sweeps * 2 * schedule->ranks, schedule->sizes);
}

static bool are_paths(const Paths *paths)
{
  int64_t clusters = paths->clusters;
  return paths->links == 2 * paths->hosts + 2 * clusters + 2 * clusters * clusters && paths->links <= INT32_MAX &&
         are_below(paths->cluster, paths->hosts, clusters) && are_below(paths->row, clusters * clusters, paths->rows) &&
         are_below(paths->self_row, clusters, paths->rows);
}

static bool is_of_schedule(const Shares *shares, const Schedule *schedule)
{
  return shares->messages == schedule->messages && shares->exchanges == schedule->exchanges &&
         shares->sweeps == schedule->sweeps && shares->ranks == schedule->ranks;
}

/* Returns whether all shared links exist. */
static bool are_links(const Shares *shares)
{
  int64_t count = shares->placements * shares->messages * MOST_SHARED;
  for (int64_t i = 0; i < count; i++)
    if (shares->link[i] < -1 || shares->link[i] >= shares->links)
      return false;
  return true;
}

int structural_check_share(const Schedule *schedule, const Paths *paths, const Placements *placements,
                           const Shares *shares)
{
  bool good = is_schedule(schedule) && are_paths(paths) && is_of_schedule(shares, schedule) &&
              shares->links == paths->links - 2 * paths->hosts && shares->placements == placements->placements &&
              placements->ranks == schedule->ranks && placements->sizes == schedule->sizes &&
              paths->sizes == schedule->sizes &&
              are_below(placements->host, placements->placements * placements->ranks, paths->hosts);
  return good ? DONE : BAD_INPUT;
}

int structural_check_run(const Schedule *schedule, const Shares *shares, const Runs *runs)
{
  bool good = is_schedule(schedule) && is_of_schedule(shares, schedule) && are_links(shares) &&
              shares->placements == runs->placements && runs->ranks == schedule->ranks &&
              runs->sizes == schedule->sizes;
  return good ? DONE : BAD_INPUT;
}
