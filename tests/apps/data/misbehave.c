/* Programs that fail in several ways, chosen by the first argument. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
  int rank, x = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const char *how = argv[1];
  if (!strcmp(how, "deadlock"))
    MPI_Recv(&x, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (!strcmp(how, "abort"))
    MPI_Abort(MPI_COMM_WORLD, 3);
  if (!strcmp(how, "crash"))
    raise(11);
  while (!strcmp(how, "loop"))
    x++;
  while (!strcmp(how, "shout"))
    puts("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
  if (!strcmp(how, "well") && rank == 0)
    printf("a line of its own\n{\"ranks\": 2}\n");
  MPI_Finalize();
  return 0;
}
