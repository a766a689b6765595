/* A program with one fault, which the first argument selects. */
#include <fcntl.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *how;
static int is(const char *name) { return !strcmp(how, name); }

static void hold(size_t bytes)
{
  char *memory = malloc(bytes);
  memset(memory, 1, bytes);
}

/* Starts a child in a session of its own that survives the end of its parent and ignores SIGTERM. */
static void leave_a_child(void)
{
  if (fork() == 0) {
    setsid();
    signal(SIGTERM, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    if (fork() == 0)
      for (;;)
        pause();
    _exit(0);
  }
}

int main(int argc, char **argv)
{
  MPI_Init(&argc, &argv);
  int rank, size, x = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  how = argv[1];
  if (is("receive") && rank == 1)
    MPI_Recv(&x, 1, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (is("barrier") && rank != 2)
    MPI_Barrier(MPI_COMM_WORLD);
  if (is("synchronous"))
    MPI_Ssend(&x, 1, MPI_INT, (rank + 1) % size, 3, MPI_COMM_WORLD);
  if (is("abort") && rank == 2)
    MPI_Abort(MPI_COMM_WORLD, 42);
  if (is("exit") && rank == 2)
    exit(7);
  if (is("return") && rank == 1) {
    MPI_Finalize();
    return 5;
  }
  if (is("crash") && rank == 1)
    raise(SIGSEGV);
  if (is("divide") && rank == 1)
    raise(SIGFPE);
  if (is("kill") && rank == 1)
    raise(SIGKILL);
  if (is("give-up") && rank == 1)
    abort();
  if (is("grow"))
    for (;;)
      hold(1 << 24);
  if (is("loop") && rank == 1)
    for (;;)
      MPI_Iprobe(0, 9, MPI_COMM_WORLD, &x, MPI_STATUS_IGNORE);
  if (is("spin") && rank == 1)
    for (;;)
      __asm__ volatile("");
  if (is("shout") && rank == 0) {
    puts("the first line");
    for (long i = 0; i < atol(argv[2]); i++) {
      puts("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
      fputs("bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb\n", stderr);
    }
  }
  if (is("fork") && rank == 0)
    leave_a_child();
  if (is("fork-and-loop") && rank == 0) {
    leave_a_child();
    for (;;)
      pause();
  }
  if (is("files") && rank == size - 1) {
    char text[64] = "";
    int given = open("input.txt", O_RDONLY);
    if (read(0, text, 1) != 0 || given < 0 || read(given, text, 5) != 5 || strcmp(text, "given"))
      return 9;
    close(open("made-here", O_WRONLY | O_CREAT, 0666));
    if (access("made-here", F_OK) || chdir("/") || close(1))
      return 10;
  }
  MPI_Finalize();
  return 0;
}
