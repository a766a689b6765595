/* Two processes with sequential code before and after one message in one of MPI's four send modes. */
#include "message.h"

typedef struct {
  int mode, bytes;
  double before, after;  /* flops of the sequential code of each process */
  double send, receive;  /* flops that a process spends on sending or receiving, besides the network's time */
} Problem;

static double charge_of(Run *run, const char *name)
{
  double flops = run_number(run, name);
  if (flops < 0)
    run_refuse(run, "%s=%g is negative", name, flops);
  return flops;
}

static Problem read_problem(Run *run)
{
  Problem problem = {run_integer(run, "send_mode"),  run_integer(run, "size_bytes"), charge_of(run, "before_flops"),
                     charge_of(run, "after_flops"),  charge_of(run, "send_flops"),   charge_of(run, "receive_flops")};
  if (problem.mode < 0 || problem.mode >= SEND_MODES)
    run_refuse(run, "send_mode=%d is not 0 to %d", problem.mode, SEND_MODES - 1);
  if (problem.bytes < 0 || problem.bytes > 1 << 30)
    run_refuse(run, "size_bytes=%d is not 0 to 1 GiB", problem.bytes);
  if (run->nranks != 2)
    run_refuse(run, "needs exactly 2 ranks");
  return problem;
}

/* The sender handles the message before sending it, the receiver after its arrival. */
static void exchange(Run *run, const Problem *problem, Message *message)
{
  if (run->rank == 0) {
    charge_flops(run, problem->send);
    message_send(run, message);
  } else {
    message_receive(run, message);
    charge_flops(run, problem->receive);
  }
}

/* Returns rank 1's checksum with rank 0's as its reference. */
static Check check(Run *run, const Message *message)
{
  double sums[2] = {0, 0};
  if (run->verify)
    sums[run->rank] = message_checksum(message);
  run_sum(run, sums, 2);
  return (Check){"checksum", sums[1], sums[0], false};
}

int main(int argc, char **argv)
{
  Run run = run_begin(argc, argv);
  Problem problem = read_problem(&run);
  if (!run_ready(&run))
    return run_end(&run);

  Message message = message_open(&run, problem.mode, problem.bytes);
  if (run.verify && run.rank == 0)
    message_fill(&message);

  run_start(&run);
  message_align(&run);
  charge_flops(&run, problem.before);
  run_first_iteration(&run);
  exchange(&run, &problem, &message);
  run_iteration(&run);
  charge_flops(&run, problem.after);
  run_stop(&run);

  Traffic sent = run.sent; /* the messages of the check do not count */
  Check arrived = check(&run, &message);
  run.sent = sent;
  run_report(&run, &arrived, 1, 0, true);
  message_close(&run, &message);
  return run_end(&run);
}
