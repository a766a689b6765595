/* Changed surroundings of a program: time, process, host, memory layout, random numbers.  A program that behaves the
 * same in all of them depends on none of them (apps/runs/surroundings.py).
 *
 * RECORDER_SURROUNDINGS is set in the compared runs and names what is changed: time, process, random, host, clock (the
 * simulated one), layout.  The system's random numbers are the same in all of them or, if changed, the complements. */
#include "surroundings.h"

#include <stdlib.h>
#include <string.h>

extern char **environ;

static const char *changed(void)
{
  static const char *words;
  static bool asked;
  if (!asked)
    words = getenv("RECORDER_SURROUNDINGS");
  asked = true;
  return words;
}

bool surroundings_set(void) { return changed() != NULL; }

bool is_other(const char *what)
{
  const char *words = changed(), *found = words ? strstr(words, what) : NULL;
  size_t length = strlen(what);
  for (; found; found = strstr(found + length, what))
    if ((found == words || found[-1] == ' ') && (found[length] == ' ' || !found[length]))
      return true;
  return false;
}

void draw(void *to, size_t bytes)
{
  static uint64_t draws;
  unsigned char *place = to;
  for (size_t i = 0; i < bytes; i++) {
    uint64_t value = mixed(++draws);
    place[i] = (unsigned char)(is_other("random") ? ~value : value);
  }
}

double reported_s(Rank *r, double now_s)
{
  if (!r || !is_other("clock"))
    return now_s;
  /* In compared runs a message takes a microsecond; these factors make it 10 s or more, beyond any time limit of a
   * program.  They differ between readings and ranks, so that comparisons of durations change as well. */
  static const double factors[] = {1e7, 3e7, 1e8, 1e9, 1e10};
  uint64_t drawn = mixed((uint64_t)r->rank << 32 ^ (uint64_t)r->readings);
  r->reported_s += (now_s - r->reported_at_s) * factors[drawn % 5];
  r->reported_at_s = now_s;
  return CLOCK_SHIFT_S + r->reported_s;
}

void change_layout(void)
{
  if (!is_other("layout"))
    return;
  size_t count = 0;
  while (environ && environ[count])
    count++;
  for (size_t i = 0; i < count / 2; i++) {
    char *kept = environ[i];
    environ[i] = environ[count - 1 - i];
    environ[count - 1 - i] = kept;
  }
  for (size_t bytes = 24; bytes < 100 << 20; bytes = 2 * bytes + 8) { /* until larger than gaps between mappings */
    void *never_freed = malloc(bytes); /* moves the program's allocations to other addresses */
    if (!never_freed)
      fail("out of memory");
  }
}
