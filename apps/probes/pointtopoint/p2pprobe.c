/* Times calls of point-to-point communication between ranks 0 and 1, as the calibration program of SimGrid's
 * platform-calibration does on a real machine: p2pprobe SIZES
 *
 * The file SIZES has one message size in bytes per line.  Rank 0 prints one line of JSON: for each call the seconds of
 * every size.  "send" is MPI_Send, and "pingpong" the whole round trip, while the other rank waits in MPI_Recv; "isend" is
 * MPI_Isend alone; "recv" is an MPI_Recv long after the other rank has called MPI_Send.  Reading the clock costs nothing. */
#include "../../common/checked.h"
#include <mpi.h>
#include <simgrid/engine.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { TAG = 1, GO = 2 };

typedef struct {
  double send, isend, recv, pingpong; /* s */
} Times;

/* A rank and its buffers, whose content does not matter. */
typedef struct {
  int rank;
  char *out, *in;
} Process;

static void send_to(int other, int bytes, const Process *me)
{
  MPI_Send(me->out, bytes, MPI_BYTE, other, TAG, MPI_COMM_WORLD);
}

static void receive_from(int other, int bytes, const Process *me)
{
  MPI_Recv(me->in, bytes, MPI_BYTE, other, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* The second of two round trips counts: rank 1 is already waiting when it begins. */
static void time_pingpong(int bytes, const Process *me, Times *times)
{
  for (int i = 0; i < 2; i++) {
    if (me->rank == 0) {
      double start = simgrid_get_clock();
      send_to(1, bytes, me);
      times->send = simgrid_get_clock() - start;
      receive_from(1, bytes, me);
      times->pingpong = simgrid_get_clock() - start;
    } else {
      receive_from(0, bytes, me);
      send_to(0, bytes, me);
    }
  }
}

static void time_isend(int bytes, const Process *me, Times *times)
{
  MPI_Request request;
  if (me->rank == 0) {
    double start = simgrid_get_clock();
    MPI_Isend(me->out, bytes, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &request);
    times->isend = simgrid_get_clock() - start;
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    receive_from(1, bytes, me);
  } else {
    receive_from(0, bytes, me);
    send_to(0, bytes, me);
  }
}

static void pause_s(double seconds)
{
  struct timespec pause;
  pause.tv_sec = (time_t)seconds;
  pause.tv_nsec = (long)((seconds - (double)pause.tv_sec) * 1e9);
  nanosleep(&pause, NULL);
}

/* Rank 0 requests a message and receives it long after its arrival. */
static void time_late_recv(int bytes, const Process *me, Times *times)
{
  if (me->rank == 0) {
    MPI_Send(NULL, 0, MPI_BYTE, 1, GO, MPI_COMM_WORLD);
    pause_s(2 * times->pingpong + 1e-3);
    double start = simgrid_get_clock();
    receive_from(1, bytes, me);
    times->recv = simgrid_get_clock() - start;
  } else {
    MPI_Recv(NULL, 0, MPI_BYTE, 0, GO, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    send_to(0, bytes, me);
  }
}

static int *read_sizes(const char *path, int *count)
{
  FILE *file = checked(path ? fopen(path, "r") : NULL);
  int *sizes = NULL, size;
  for (*count = 0; fscanf(file, "%d", &size) == 1; ++*count) {
    sizes = checked(realloc(sizes, ((size_t)*count + 1) * sizeof *sizes));
    sizes[*count] = size;
  }
  fclose(file);
  return sizes;
}

static void print_times(const char *name, const Times *times, int count, size_t offset)
{
  printf("\"%s\": [", name);
  for (int i = 0; i < count; i++)
    printf("%s%.17g", i ? ", " : "", *(const double *)((const char *)(times + i) + offset));
  printf("]");
}

static void print_record(const Times *times, int count)
{
  printf("{");
  print_times("send", times, count, offsetof(Times, send));
  printf(", ");
  print_times("isend", times, count, offsetof(Times, isend));
  printf(", ");
  print_times("recv", times, count, offsetof(Times, recv));
  printf(", ");
  print_times("pingpong", times, count, offsetof(Times, pingpong));
  printf("}\n");
  fflush(stdout);
}

int main(int argc, char **argv)
{
  MPI_Init(&argc, &argv);
  Process me;
  MPI_Comm_rank(MPI_COMM_WORLD, &me.rank);
  int count, largest = 1;
  int *sizes = read_sizes(argc == 2 ? argv[1] : NULL, &count);
  for (int i = 0; i < count; i++)
    largest = sizes[i] > largest ? sizes[i] : largest;
  Times *times = checked(calloc((size_t)count + 1, sizeof *times));
  me.out = checked(SMPI_SHARED_MALLOC((size_t)largest));
  me.in = checked(SMPI_SHARED_MALLOC((size_t)largest));
  for (int i = 0; i < count; i++) {
    time_pingpong(sizes[i], &me, times + i);
    time_isend(sizes[i], &me, times + i);
    time_late_recv(sizes[i], &me, times + i);
  }
  if (me.rank == 0)
    print_record(times, count);
  SMPI_SHARED_FREE(me.out);
  SMPI_SHARED_FREE(me.in);
  free(times);
  free(sizes);
  MPI_Finalize();
  return 0;
}
