// A program of which no predictor has a description: messages around a ring, computation, and a sum.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include <smpi/smpi.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    double sent[1000] = {rank}, got[1000], sum;
    for (int i = 0; i < atoi(argv[1]); i++) {
        SMPI_SAMPLE_FLOPS(1e6);
        MPI_Sendrecv(sent, 1000, MPI_DOUBLE, (rank + 1) % ranks, 0, got, 1000, MPI_DOUBLE, (rank + ranks - 1) % ranks,
                     0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Allreduce(got, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
