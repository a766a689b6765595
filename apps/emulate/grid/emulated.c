/* Runs a command on an emulated grid:
 *
 *   emulated run DESCRIPTION REPORT COMMAND...    file descriptors: of the grid's description, and for the report
 *   emulated enter HOST COMMAND...                runs a command in a node of the caller's grid, like ssh
 *
 * The first process waits for the keeper, which is the first process of a process name space: when the keeper ends, for
 * any reason, the kernel kills all others, and with the last of them the name spaces and devices vanish.  The keeper
 * ends when the command or the router ends, and is killed with the process that waits for it, as that is with its
 * parent.  The report consists of lines of JSON (apps/emulate/report.py). */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "grid.h"
#include "router.h"

/* The name spaces of the nodes.  Their files are in SPACES, a file system that only the processes of the grid see and
 * that vanishes with the last of them; nothing is visible outside. */

#define SPACES "/dev/shm"

static const char *const KINDS[] = {"net", "uts"};
enum { PACKETS_WAITING = 5000 }; /* in a device, for the router */

static void path_of(char path[256], const char *name, const char *kind)
{
  snprintf(path, 256, SPACES "/%s.%s", name, kind);
}

/* Gives the calling process its own /proc and SPACES; returns what failed, or NULL. */
static const char *spaces_begin(void)
{
  if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL))
    return "a file tree of its own";
  if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL))
    return "/proc";
  return mount("tmpfs", SPACES, "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777") ? SPACES : NULL;
}

/* Sets a parameter of the calling process's network name space. */
static bool set(const char *parameter, const char *value)
{
  char path[160];
  snprintf(path, sizeof path, "/proc/sys/net/%s", parameter);
  int file = open(path, O_WRONLY | O_CLOEXEC);
  if (file < 0)
    return false;
  bool done = write(file, value, strlen(value)) == (ssize_t)strlen(value);
  close(file);
  return done;
}

static const char *set_tcp(int window)
{
  char sizes[64];
  snprintf(sizes, sizeof sizes, "4096 %d %d", window, window);
  set("ipv6/conf/all/disable_ipv6", "1"); /* a kernel without IPv6 has no such file */
  set("ipv6/conf/default/disable_ipv6", "1");
  if (!set("ipv4/tcp_congestion_control", "reno"))
    return "tcp_congestion_control";
  if (!set("ipv4/tcp_slow_start_after_idle", "0"))
    return "tcp_slow_start_after_idle";
  if (!set("ipv4/tcp_no_metrics_save", "1"))
    return "tcp_no_metrics_save";
  return set("ipv4/tcp_rmem", sizes) && set("ipv4/tcp_wmem", sizes) ? NULL : "tcp_rmem and tcp_wmem";
}

static bool bring_up(int any, const char *device)
{
  struct ifreq request = {.ifr_flags = IFF_UP | IFF_RUNNING};
  strcpy(request.ifr_name, device);
  return !ioctl(any, SIOCSIFFLAGS, &request);
}

static bool set_address(int any, unsigned long what, uint32_t address)
{
  struct ifreq request = {.ifr_name = "tun0"};
  struct sockaddr_in *value = (struct sockaddr_in *)&request.ifr_addr;
  value->sin_family = AF_INET;
  value->sin_addr.s_addr = address;
  return !ioctl(any, what, &request);
}

static const char *make_device(Grid *grid, Node *node)
{
  node->device = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
  struct ifreq made = {.ifr_name = "tun0", .ifr_flags = IFF_TUN | IFF_NO_PI};
  if (node->device < 0 || ioctl(node->device, TUNSETIFF, &made))
    return "/dev/net/tun";
  int any = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (any < 0)
    return "a socket";
  struct ifreq mtu = {.ifr_name = "tun0", .ifr_mtu = grid->mtu}, queue = {.ifr_name = "tun0", .ifr_qlen = PACKETS_WAITING};
  bool done = !ioctl(any, SIOCSIFMTU, &mtu) && !ioctl(any, SIOCSIFTXQLEN, &queue) &&
              set_address(any, SIOCSIFADDR, node->address) && set_address(any, SIOCSIFNETMASK, htonl(0xffffff00)) &&
              bring_up(any, "tun0") && bring_up(any, "lo");
  close(any);
  return done ? NULL : "device tun0";
}

/* Makes the name spaces of a node, and its network device tun0; returns what failed (see errno), or NULL. */
static const char *spaces_make(Grid *grid, Node *node)
{
  if (unshare(CLONE_NEWNET | CLONE_NEWUTS) || sethostname(node->name, strlen(node->name)))
    return "name spaces";
  for (int i = 0; i < 2; i++) {
    char file[256], own[64];
    path_of(file, node->name, KINDS[i]);
    snprintf(own, sizeof own, "/proc/self/ns/%s", KINDS[i]);
    int made = open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (made < 0 || close(made) || mount(own, file, NULL, MS_BIND, NULL))
      return "files of the name spaces";
  }
  const char *problem = make_device(grid, node);
  return problem ? problem : set_tcp(grid->window);
}

/* Moves the calling process into a node; returns whether a node of that name exists. */
static bool spaces_enter(const char *name)
{
  for (int i = 0; i < 2; i++) {
    char path[256];
    path_of(path, name, KINDS[i]);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0 || setns(file, 0))
      return false;
    close(file);
  }
  return true;
}

enum { FAILED = 125 };

static Grid grid;
static int report;

static _Noreturn void fail(const char *what, const char *where)
{
  char text[512];
  snprintf(text, sizeof text, "%s%s%s: %s", what, *where ? " of node " : "", where, strerror(errno));
  for (char *one = text; *one; one++) /* a name may contain characters that JSON escapes */
    if (*one == '"' || *one == '\\' || (unsigned char)*one < ' ')
      *one = '?';
  dprintf(report, "{\"error\": \"%s\"}\n", text);
  exit(FAILED);
}

/* Kills the calling process when its parent ends, or at once if `parent` has ended already. */
static void end_with_parent(int parent)
{
  struct pollfd hung_up = {.fd = parent};
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (poll(&hung_up, 1, 0) != 0)
    exit(FAILED);
}

static void make_nodes(void)
{
  int own = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC), own_name = open("/proc/self/ns/uts", O_RDONLY | O_CLOEXEC);
  for (int i = 0; i < grid.nnodes; i++) {
    const char *problem = spaces_make(&grid, &grid.nodes[i]);
    if (problem)
      fail(problem, grid.nodes[i].name);
  }
  if (setns(own, 0) || setns(own_name, 0))
    fail("name spaces", "");
  close(own);
  close(own_name);
}

/* Writes the host file for mpirun, and an /etc/hosts that only the grid sees. */
static void write_hosts(void)
{
  FILE *hosts = fopen(SPACES "/hosts", "we"), *names = fopen(SPACES "/names", "we");
  if (!hosts || !names)
    fail("file of hosts", "");
  fprintf(names, "127.0.0.1 localhost\n");
  for (int i = 0; i < grid.nnodes; i++) {
    char address[INET_ADDRSTRLEN];
    inet_ntop(AF_INET, &grid.nodes[i].address, address, sizeof address);
    fprintf(names, "%s %s\n", address, grid.nodes[i].name);
    if (grid.nodes[i].slots)
      fprintf(hosts, "%s slots=%d\n", grid.nodes[i].name, grid.nodes[i].slots);
  }
  if (fclose(hosts) || fclose(names) || mount(SPACES "/names", "/etc/hosts", NULL, MS_BIND, NULL))
    fail("file of hosts", "");
}

/* Mounts a file under a fixed name inside the grid, independent of the cache folder. */
static void show_as(const char *path, const char *name)
{
  int made = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (made < 0 || close(made) || mount(path, name, NULL, MS_BIND, NULL))
    fail(name, "");
}

static void show_programs(void)
{
  char own[4096];
  ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
  if (length < 0)
    fail("/proc/self/exe", "");
  own[length] = 0;
  show_as(own, SPACES "/emulated");
  show_as(grid.pacer, SPACES "/pacer.so");
}

static pid_t start_router(void)
{
  int ready[2];
  if (pipe2(ready, O_CLOEXEC))
    fail("a pipe", "");
  pid_t child = fork();
  if (child == 0) {
    close(ready[0]);
    _exit(router(&grid, ready[1], report));
  }
  close(ready[1]);
  char byte;
  if (child < 0 || read(ready[0], &byte, 1) != 1)
    fail("the router", "");
  close(ready[0]);
  for (int i = 0; i < grid.nnodes; i++)
    close(grid.nodes[i].device);
  return child;
}

static pid_t start_command(char **command)
{
  pid_t child = fork();
  if (child)
    return child;
  const char *pacer = getenv("GRIDVAL_PACER");
  if (!spaces_enter(grid.nodes[0].name) || !pacer || setenv("LD_PRELOAD", pacer, 1))
    fail("name spaces", grid.nodes[0].name);
  execvp(command[0], command);
  fail(command[0], "");
}

/* Waits for the command and returns its exit status; ends if the router ends. */
static int wait_for(pid_t command, pid_t carrier)
{
  for (;;) {
    int status;
    pid_t ended = wait(&status); /* also reaps orphans of the command */
    if (ended == carrier) {
      dprintf(report, "{\"error\": \"the router has ended\"}\n");
      exit(FAILED);
    }
    if (ended == command)
      return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  }
}

/* Copies the lines written by the pacers to the report. */
static void pass_on_pacers(void)
{
  FILE *file = fopen(SPACES "/pacers", "re");
  char line[1024];
  while (file && fgets(line, sizeof line, file))
    dprintf(report, "%s", line);
  if (file)
    fclose(file);
}

static int keep(char **command)
{
  const char *problem = spaces_begin();
  if (problem)
    fail(problem, "");
  make_nodes();
  write_hosts();
  show_programs();
  pid_t carrier = start_router(), runs = start_command(command);
  int status = wait_for(runs, carrier);
  kill(carrier, SIGTERM);
  while (waitpid(carrier, NULL, 0) < 0 && errno == EINTR)
    ;
  pass_on_pacers();
  dprintf(report, "{\"status\": %d}\n", status);
  return status;
}

static int run(int description, char **command)
{
  int alive[2], status;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  fcntl(report, F_SETFD, FD_CLOEXEC);
  const char *problem = grid_read(&grid, description);
  if (problem)
    fail(problem, "");
  if (unshare(CLONE_NEWPID) || pipe2(alive, O_CLOEXEC))
    fail("a process name space", "");
  pid_t keeper = fork();
  if (keeper == 0) {
    close(alive[1]);
    end_with_parent(alive[0]);
    exit(keep(command));
  }
  if (keeper < 0)
    fail("a process", "");
  signal(SIGINT, SIG_IGN); /* the command gets it too, and decides */
  signal(SIGQUIT, SIG_IGN);
  while (waitpid(keeper, &status, 0) < 0 && errno == EINTR)
    ;
  return WIFSIGNALED(status) ? FAILED : WEXITSTATUS(status);
}

/* The words of the command form one shell line, as for ssh. */
static int enter(const char *host, char **words)
{
  char line[1 << 17] = "";
  size_t length = 0;
  for (; *words; words++) {
    length += (size_t)snprintf(line + length, sizeof line - length, "%s%s", length ? " " : "", *words);
    if (length >= sizeof line) {
      fprintf(stderr, "emulated: the command is too long\n");
      return FAILED;
    }
  }
  if (!spaces_enter(host)) {
    fprintf(stderr, "emulated: the grid has no node %s\n", host);
    return FAILED;
  }
  execl("/bin/sh", "sh", "-c", line, (char *)NULL);
  perror("emulated: sh");
  return FAILED;
}

int main(int argc, char **argv)
{
  if (argc > 4 && !strcmp(argv[1], "run")) {
    report = atoi(argv[3]);
    return run(atoi(argv[2]), argv + 4);
  }
  if (argc > 3 && !strcmp(argv[1], "enter"))
    return enter(argv[2], argv + 3);
  fprintf(stderr, "usage: emulated run DESCRIPTION REPORT COMMAND... | emulated enter HOST COMMAND...\n");
  return 2;
}
