/* Runs a command and ends all of its processes:
 *
 *   keeper PARENT REPORT OUT LIMIT ERR LIMIT COMMAND...
 *
 * The keeper adopts all orphans among the command's descendants (PR_SET_CHILD_SUBREAPER), so it can also kill processes
 * that have begun their own sessions.  It kills all of them when the command ends, on a signal, and when its PARENT
 * process dies.  A guard above the keeper adopts the orphans and kills them if the keeper itself is killed; the keeper
 * ends all of them if the guard is killed.  The command's output passes through the keeper into the files OUT and ERR:
 * the first HEAD_BYTES, then a ring of the last LIMIT bytes; the bytes between them are lost.  At the end the keeper
 * writes one line to the file descriptor REPORT:
 *
 *   the command's wait status; bytes of standard output, and errno of writing them; the same for standard error;
 *   peak memory of the largest process, KiB
 *
 * or, if the command could not be started, "cannot" and errno.  apps/child/process.py reads the line and the files. */
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

constexpr long long HEAD_BYTES = 65536; /* as in apps/child/process.py */
constexpr double PATIENCE_S = 5.0;      /* wait for killed processes; one in a system call may take long */
constexpr int MORE_KILLABLE = 500;      /* if memory runs out, the system ends the command first */

/* An output stream of the command, copied to a file. */
struct Stream {
  int from, to;
  long long limit, total = 0;
  int problem = 0; /* errno of the first write that failed; nothing is written after it */

  Stream(int from, const char *path, const char *limit)
      : from(from), to(open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)), limit(atoll(limit))
  {
    if (to < 0)
      problem = errno;
  }

  void keep(const char *data, long long count)
  {
    while (count > 0) {
      bool in_head = total < HEAD_BYTES;
      long long place = in_head ? total : HEAD_BYTES + (total - HEAD_BYTES) % limit;
      long long part = std::min(count, (in_head ? HEAD_BYTES : HEAD_BYTES + limit) - place);
      if (!problem) {
        ssize_t done = pwrite(to, data, static_cast<size_t>(part), place);
        if (done > 0)
          part = done;
        else if (done < 0 && errno == EINTR)
          continue;
        else
          problem = done < 0 ? errno : ENOSPC;
      }
      data += part;
      count -= part;
      total += part;
    }
  }

  /* Reads once; returns whether more may come. */
  bool pass_on()
  {
    static char data[1 << 18];
    ssize_t count = read(from, data, sizeof data);
    if (count > 0)
      keep(data, count);
    return count > 0 || (count < 0 && (errno == EAGAIN || errno == EINTR));
  }

  void drain()
  {
    for (long long before = -1; from >= 0 && before != total;) {
      before = total;
      pass_on();
    }
  }
};

double now_s()
{
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

[[noreturn]] void become(char **command, pid_t keeper, int out, int err)
{
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  signal(SIGPIPE, SIG_DFL);
  setpgid(0, 0); /* a signal of the command to its group must not reach the keeper */
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != keeper)
    _exit(127);
  int score = 0;
  if (FILE *file = fopen("/proc/self/oom_score_adj", "r+")) {
    if (fscanf(file, "%d", &score) == 1) {
      rewind(file);
      fprintf(file, "%d", std::min(1000, score + MORE_KILLABLE));
    }
    fclose(file);
  }
  dup2(out, 1);
  dup2(err, 2);
  execvp(command[0], command);
  fprintf(stderr, "cannot start %s: %s\n", command[0], strerror(errno));
  _exit(127);
}

/* The command, and its wait status once it has ended. */
struct Command {
  pid_t number;
  int status = 0;
  bool ended = false;

  /* Reaps all ended processes; returns false if none are left. */
  bool reap()
  {
    for (;;) {
      int one = 0;
      pid_t who = waitpid(-1, &one, WNOHANG);
      if (who == number) {
        status = one;
        ended = true;
      }
      if (who == 0 || (who < 0 && errno != EINTR))
        return who == 0;
    }
  }
};

void kill_children()
{
  FILE *file = fopen("/proc/thread-self/children", "r");
  if (!file)
    return;
  for (int child; fscanf(file, "%d", &child) == 1;)
    kill(child, SIGKILL);
  fclose(file);
}

/* Kills and reaps all children, and the orphans among their descendants. */
void end_children()
{
  const double begun_s = now_s();
  for (pid_t who; ((who = waitpid(-1, nullptr, WNOHANG)) >= 0 || errno == EINTR) && now_s() - begun_s < PATIENCE_S;)
    if (who <= 0) {
      kill_children();
      usleep(500);
    }
}

/* Waits for the keeper, passes signals on to it, and returns the exit status.  No orphan is left if it was killed. */
int guard(pid_t keeper, const sigset_t &watched)
{
  for (;;) {
    siginfo_t told;
    if (sigwaitinfo(&watched, &told) < 0)
      continue;
    if (told.si_signo != SIGCHLD) {
      kill(keeper, SIGTERM);
      continue;
    }
    int status = 0;
    for (pid_t who; (who = waitpid(-1, &status, WNOHANG)) > 0;)
      if (who == keeper) {
        end_children();
        return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
      }
  }
}

int not_started(int report)
{
  dprintf(report, "cannot %d\n", errno);
  return 2;
}

int keep(int report, pid_t parent, char **argv, const sigset_t &watched);

} // namespace

int main(int argc, char **argv)
{
  if (argc < 8)
    return 2;
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  const pid_t parent = atoi(argv[1]), self = getpid();
  const int report = atoi(argv[2]);
  signal(SIGPIPE, SIG_IGN);
  sigset_t watched;
  sigemptyset(&watched);
  for (int one : {SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGQUIT})
    sigaddset(&watched, one);
  sigprocmask(SIG_BLOCK, &watched, nullptr);
  const pid_t keeper = fork();
  if (keeper < 0)
    return not_started(report);
  if (keeper == 0)
    return keep(report, self, argv, watched);
  close(report);
  if (getppid() != parent) /* it died before PR_SET_PDEATHSIG */
    kill(keeper, SIGTERM);
  return guard(keeper, watched);
}

namespace {

int keep(const int report, const pid_t parent, char **argv, const sigset_t &watched)
{
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  const pid_t self = getpid();
  rlimit cores{};
  getrlimit(RLIMIT_CORE, &cores);
  cores.rlim_cur = 0; /* no core file of gigabytes after a crash */
  setrlimit(RLIMIT_CORE, &cores);
  int signals = signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK), out[2], err[2];
  if (signals < 0 || pipe2(out, O_CLOEXEC) || pipe2(err, O_CLOEXEC))
    return not_started(report);
  fcntl(report, F_SETFD, FD_CLOEXEC);
  Command command{fork()};
  if (command.number == 0)
    become(argv + 7, self, out[1], err[1]);
  if (command.number < 0)
    return not_started(report);
  close(out[1]);
  close(err[1]);
  Stream streams[2] = {{out[0], argv[3], argv[4]}, {err[0], argv[5], argv[6]}};
  for (Stream &stream : streams)
    fcntl(stream.from, F_SETFL, O_NONBLOCK);

  bool unwanted = getppid() != parent;
  while (!unwanted && !command.ended) {
    pollfd ready[3] = {{signals, POLLIN, 0}, {streams[0].from, POLLIN, 0}, {streams[1].from, POLLIN, 0}};
    if (poll(ready, 3, -1) < 0)
      continue;
    for (int i = 0; i < 2; i++)
      if (ready[i + 1].revents && !streams[i].pass_on()) {
        close(streams[i].from);
        streams[i].from = -1; /* poll ignores it */
      }
    for (signalfd_siginfo one; read(signals, &one, sizeof one) == static_cast<ssize_t>(sizeof one);)
      unwanted |= one.ssi_signo != SIGCHLD;
    command.reap();
  }

  const double begun_s = now_s();
  if (!command.ended)
    kill(-command.number, SIGKILL);
  while (command.reap() && now_s() - begun_s < PATIENCE_S) {
    kill_children(); /* their children become children of the keeper */
    for (Stream &stream : streams)
      stream.drain();
    usleep(500);
  }
  for (Stream &stream : streams)
    stream.drain();
  rusage used{};
  getrusage(RUSAGE_CHILDREN, &used);
  dprintf(report, "%d %lld %d %lld %d %ld\n", command.ended ? command.status : SIGKILL, streams[0].total,
          streams[0].problem, streams[1].total, streams[1].problem, used.ru_maxrss);
  return 0;
}

} // namespace
