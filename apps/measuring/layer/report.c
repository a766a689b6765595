/* The report of all ranks, which rank 0 writes. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../common/checked.h"
#include "../../common/json.h"
#include "layer.h"

MPI_Comm layer_comm = MPI_COMM_NULL;

static const char *const NAMES[KINDS] = {
    "barrier", "bcast", "reduce", "allreduce", "gather", "gatherv", "scatter", "scatterv", "allgather", "allgatherv",
    "alltoall", "alltoallv", "reduce_scatter", "scan", "exscan", "neighbor_allgather", "neighbor_alltoall", "put", "get",
    "file_read", "file_write",
};

static void write_counts(FILE *file, const Counts *counts)
{
  fprintf(file, "{\"messages\": %ld, \"bytes\": %ld, \"self_messages\": %ld, \"self_bytes\": %ld", counts->messages,
          counts->bytes, counts->self_messages, counts->self_bytes);
  fprintf(file, ", \"collectives\": {");
  for (int kind = 0, written = 0; kind < KINDS; kind++)
    if (counts->calls[kind])
      fprintf(file, "%s\"%s\": [%ld, %ld]", written++ ? ", " : "", NAMES[kind], counts->calls[kind],
              counts->call_bytes[kind]);
  fprintf(file, "}}");
}

static void write_numbers(FILE *file, const double *values, int count)
{
  putc('[', file);
  for (int i = 0; i < count; i++)
    fprintf(file, "%s%.9f", i ? ", " : "", values[i]);
  putc(']', file);
}

static void write_rank(FILE *file, const Measured *one, const double *ends_s, const double *computes_s)
{
  fprintf(file, "{\"host\": ");
  write_text(file, one->host);
  fprintf(file, ", \"elapsed_s\": %.9f, \"mpi_s\": %.9f, \"file_s\": %.9f", one->elapsed_s, one->mpi_s, one->file_s);
  fprintf(file, ", \"load_before\": %.2f, \"load_after\": %.2f", one->load_before, one->load_after);
  fprintf(file, ", \"throttled\": %ld, \"mpi_calls\": %ld, \"section\": ", one->throttled, one->mpi_calls);
  write_counts(file, &one->section);
  fprintf(file, ", \"iteration\": ");
  write_counts(file, &one->iteration);
  fprintf(file, ", \"iteration_end_s\": ");
  write_numbers(file, ends_s, one->iterations);
  fprintf(file, ", \"iteration_compute_s\": ");
  write_numbers(file, computes_s, one->iterations);
  putc('}', file);
}

static void write_all(FILE *file, const Measured *mine, const double *ends_s, const double *computes_s, int nranks)
{
  char version[MPI_MAX_LIBRARY_VERSION_STRING];
  int length;
  PMPI_Get_library_version(version, &length);
  fprintf(file, "{\"mpi\": ");
  write_text(file, version);
  fprintf(file, ", \"ranks\": [");
  write_rank(file, mine, ends_s, computes_s);
  for (int rank = 1; rank < nranks; rank++) {
    Measured one;
    PMPI_Recv(&one, sizeof one, MPI_BYTE, rank, 0, layer_comm, MPI_STATUS_IGNORE);
    size_t count = (size_t)one.iterations;
    double *rows = checked(malloc((2 * count + 1) * sizeof *rows));
    PMPI_Recv(rows, 2 * one.iterations, MPI_DOUBLE, rank, 0, layer_comm, MPI_STATUS_IGNORE);
    fprintf(file, ",\n");
    write_rank(file, &one, rows, rows + count);
    free(rows);
  }
  fprintf(file, "]}\n");
}

static void send_all(const Measured *mine, const double *ends_s, const double *computes_s)
{
  size_t count = (size_t)mine->iterations;
  double *rows = checked(malloc((2 * count + 1) * sizeof *rows));
  for (size_t i = 0; i < count; i++) {
    rows[i] = ends_s[i];
    rows[count + i] = computes_s[i];
  }
  PMPI_Send(mine, sizeof *mine, MPI_BYTE, 0, 0, layer_comm);
  PMPI_Send(rows, 2 * mine->iterations, MPI_DOUBLE, 0, 0, layer_comm);
  free(rows);
}

void layer_report(const Measured *mine, const double *ends_s, const double *computes_s)
{
  int rank, nranks;
  PMPI_Comm_rank(layer_comm, &rank);
  PMPI_Comm_size(layer_comm, &nranks);
  const char *name = getenv("MACHINE_LAYER_FILE");
  if (!name)
    return;
  if (rank != 0) {
    send_all(mine, ends_s, computes_s);
    return;
  }
  FILE *file = fopen(name, "w");
  if (!file) {
    fprintf(stderr, "layer: cannot write %s\n", name);
    PMPI_Abort(MPI_COMM_WORLD, 1);
    return;
  }
  write_all(file, mine, ends_s, computes_s, nranks);
  if (fclose(file)) {
    fprintf(stderr, "layer: cannot write %s\n", name);
    PMPI_Abort(MPI_COMM_WORLD, 1);
  }
}
