/* State that each rank has to itself on a real machine, where it is a process, but would share in a simulation: the C library's
 * random number generator, the environment, and the current folder.  Calls of the program and its own libraries are
 * bound to these functions (attach.c), even before MPI_Init, because a rank is identified by its actor. */
#define _GNU_SOURCE
#include "../own.h"
#include "../recorder.h"
#include "../under.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct Variable {
  char *name, *value; /* value NULL: not set */
  struct Variable *next;
} Variable;

typedef struct {
  struct random_data random; /* state NULL: not used yet */
  char state[128];           /* same size as the state of random() */
  struct drand48_data drand48;
  Variable *variables;       /* those changed by the rank */
  char *folder;              /* NULL: the folder where the run began */
} Own;

static Own **owns; /* by slot */
static size_t nowns;
static char *begun_in, *now_in; /* folders of the process; NULL: no rank has changed its folder */

static Own *own(void)
{
  size_t slot = own_slot();
  if (slot >= nowns) {
    size_t room = 2 * slot + 64;
    owns = realloc(owns, room * sizeof *owns);
    if (!owns)
      fail("out of memory");
    memset(owns + nowns, 0, (room - nowns) * sizeof *owns);
    nowns = room;
  }
  if (owns[slot])
    return owns[slot];
  owns[slot] = calloc(1, sizeof **owns);
  if (!owns[slot])
    fail("out of memory");
  return owns[slot];
}

/* --- random numbers: the same sequences as those of the C library --- */

static struct random_data *random_state(unsigned seed, bool again)
{
  Own *mine = own();
  if (!mine->random.state || again) {
    memset(&mine->random, 0, sizeof mine->random);
    initstate_r(seed, mine->state, sizeof mine->state, &mine->random);
  }
  return &mine->random;
}

static long own_random(void)
{
  int32_t drawn;
  random_r(random_state(1, false), &drawn);
  return drawn;
}

static int own_rand(void) { return (int)own_random(); }

static void own_srandom(unsigned seed) { random_state(seed, true); }

static double own_drand48(void)
{
  double drawn;
  drand48_r(&own()->drand48, &drawn);
  return drawn;
}

static long own_lrand48(void)
{
  long drawn;
  lrand48_r(&own()->drand48, &drawn);
  return drawn;
}

static long own_mrand48(void)
{
  long drawn;
  mrand48_r(&own()->drand48, &drawn);
  return drawn;
}

static void own_srand48(long seed) { srand48_r(seed, &own()->drand48); }

static unsigned short *own_seed48(unsigned short seed[3])
{
  seed48_r(seed, &own()->drand48);
  return own()->drand48.__old_x;
}

static void own_lcong48(unsigned short parameters[7]) { lcong48_r(parameters, &own()->drand48); }

/* --- the environment --- */

static Variable *changed(const char *name)
{
  for (Variable *variable = own()->variables; variable; variable = variable->next)
    if (!strcmp(variable->name, name))
      return variable;
  return NULL;
}

bool variable_of_rank(const char *name, char **value)
{
  const Variable *variable = nowns ? changed(name) : NULL;
  if (variable)
    *value = variable->value;
  return variable != NULL;
}

static char *of_process(const char *name)
{
  static char *(*real)(const char *);
  if (!real)
    real = (char *(*)(const char *))dlsym(RTLD_NEXT, "getenv");
  return real(name);
}

static int set(const char *name, const char *value, bool overwrite)
{
  if (!name || !*name || strchr(name, '=')) {
    errno = EINVAL;
    return -1;
  }
  Variable *variable = changed(name);
  if (!overwrite && (variable ? variable->value : of_process(name)))
    return 0;
  if (!variable) {
    variable = calloc(1, sizeof *variable);
    if (!variable || !(variable->name = strdup(name)))
      fail("out of memory");
    variable->next = own()->variables;
    own()->variables = variable;
  }
  char *kept = value ? strdup(value) : NULL; /* the old value is not freed: the program may still use it */
  if (value && !kept)
    fail("out of memory");
  variable->value = kept;
  return 0;
}

static int own_setenv(const char *name, const char *value, int overwrite) { return set(name, value, overwrite); }

static int own_unsetenv(const char *name) { return set(name, NULL, true); }

static int own_clearenv(void)
{
  for (char **entry = environ; entry && *entry; entry++) {
    char *name = strndup(*entry, strcspn(*entry, "="));
    if (!name)
      fail("out of memory");
    set(name, NULL, true);
    free(name);
  }
  for (Variable *variable = own()->variables; variable; variable = variable->next)
    variable->value = NULL;
  return 0;
}

static int own_putenv(char *text)
{
  char *end = strchr(text, '=');
  if (!end)
    return set(text, NULL, true);
  char *name = strndup(text, (size_t)(end - text));
  if (!name)
    fail("out of memory");
  int result = set(name, end + 1, true);
  free(name);
  return result;
}

/* --- the current folder: the process changes to that of the running rank --- */

static int go_to(const char *folder)
{
  static int (*real)(const char *);
  if (!real)
    real = (int (*)(const char *))dlsym(RTLD_NEXT, "chdir");
  return real(folder);
}

static void take_folder(void)
{
  free(now_in);
  now_in = getcwd(NULL, 0);
  if (!now_in)
    fail("the current folder has no name: %s", strerror(errno));
}

static int moved(int result)
{
  if (result)
    return result;
  take_folder();
  Own *mine = own();
  free(mine->folder);
  mine->folder = strdup(now_in);
  return mine->folder ? 0 : (fail("out of memory"), -1);
}

static void remember_begin(void)
{
  if (!begun_in && !(begun_in = getcwd(NULL, 0)))
    fail("the current folder has no name: %s", strerror(errno));
}

static int own_chdir(const char *folder)
{
  remember_begin();
  return moved(go_to(folder));
}

static int own_fchdir(int folder)
{
  static int (*real)(int);
  if (!real)
    real = (int (*)(int))dlsym(RTLD_NEXT, "fchdir");
  remember_begin();
  return moved(real(folder));
}

void folder_of_rank(void)
{
  if (!now_in)
    return;
  const char *wanted = own()->folder ? own()->folder : begun_in;
  if (!strcmp(wanted, now_in))
    return;
  if (go_to(wanted))
    fail("cannot go back to the folder %s: %s", wanted, strerror(errno));
  take_folder();
}

void *own_function(const char *name)
{
  static const struct {
    const char *name;
    void *function;
  } all[] = {{"rand", (void *)own_rand},         {"srand", (void *)own_srandom},     {"random", (void *)own_random},
             {"srandom", (void *)own_srandom},   {"drand48", (void *)own_drand48},   {"lrand48", (void *)own_lrand48},
             {"mrand48", (void *)own_mrand48},   {"srand48", (void *)own_srand48},   {"seed48", (void *)own_seed48},
             {"lcong48", (void *)own_lcong48},   {"setenv", (void *)own_setenv},     {"unsetenv", (void *)own_unsetenv},
             {"clearenv", (void *)own_clearenv},
             {"putenv", (void *)own_putenv},     {"chdir", (void *)own_chdir},       {"fchdir", (void *)own_fchdir}};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if (!strcmp(name, all[i].name))
      return all[i].function;
  return NULL;
}
