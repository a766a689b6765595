/* The plan of blockprobe and realblocks: blocks of computation and communication, one after the other.
 *
 * Its file begins with "groups G experiments E".  Then follow G lines, each with the number of ranks in a group and the
 * ranks in the order of their places in it, and E lines "BLOCK GROUP AMOUNT".  All ranks of a group begin at the same
 * moment, and a block ends when the last of them has ended.  AMOUNT depends on BLOCK, in bytes except where a unit is
 * given:
 *   compute   flop of each rank
 *   idle      seconds in which the ranks do nothing
 *   p2p       size of a message; the time is half the time until an answer of the same size has arrived
 *   send      size of a message; the time is that of MPI_Send, while the partner waits for the message
 *   bcast     size of the vector
 *   scatter, gather, alltoall   size of the block that a rank sends to, or receives from, one other rank
 *   barrier   always 0 */
#ifndef APPS_PROBES_BLOCKS_PLAN_H
#define APPS_PROBES_BLOCKS_PLAN_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

typedef enum { COMPUTE, IDLE, P2P, SEND, BCAST, SCATTER, GATHER, ALLTOALL, BARRIER, BLOCKS } Block;

typedef struct {
  Block block;
  int group;
  double amount;
} Experiment;

typedef struct {
  int groups, experiments;
  int *sizes;      /* number of ranks in each group */
  int **members;   /* the ranks of each group */
  MPI_Comm *comms; /* MPI_COMM_NULL: this rank is not in the group, or the group sends nothing */
  Experiment *experiment;
} Plan;

Plan read_plan(const char *path);
void free_plan(Plan *plan);

/* Makes the communicators of the groups that send messages.  Only their own ranks take part, because ranks that compute
 * may share a host that has no route to itself. */
void make_communicators(Plan *plan, int rank);

/* Returns whether an experiment stays within a node: it sends nothing, and its energy is measured. */
bool is_of_a_node(const Experiment *one);

bool is_member(const Plan *plan, int group, int rank);

/* Returns the size of the largest buffer that a rank needs, bytes. */
size_t largest_buffer(const Plan *plan);

/* Executes this rank's part of an experiment that sends messages; returns its time, s. */
double send_messages(const Experiment *one, MPI_Comm comm, char *out, char *in);

#endif
