/* Waiting for many requests at once, as at the end of an epoch of puts.
 *
 * SMPI's waitall of n requests checks all remaining requests n times, with all their activities, so its time grows with
 * n^2 to n^3: 1,000 receives and as many sends on each of 4 ranks took 42 s.  A rank continues when the last request is
 * complete, in whatever order; so the requests are waited for in turn.  The order matters only if completing a message
 * takes time (smpi/or). */
#include <dlfcn.h>
#include <mpi.h>
#include <xbt/config.hpp>

#include <vector>

namespace simgrid::smpi {

/* What is used of SMPI's class, which its headers do not define; the same in 3.32 and in 4.1. */
class Request {
public:
  static int waitall(int count, Request** requests, MPI_Status* statuses);
  static int waitany(int count, Request** requests, MPI_Status* status);
};

namespace {

constexpr int MANY = 64; /* requests, from which on SMPI's way takes longer */

int waitall_of_smpi(int count, Request** requests, MPI_Status* statuses)
{
  static const auto waitall = reinterpret_cast<int (*)(int, Request**, MPI_Status*)>(
      dlsym(RTLD_NEXT, "_ZN7simgrid4smpi7Request7waitallEiPPS1_P10MPI_Status"));
  return waitall(count, requests, statuses);
}

} // namespace

/* Takes the place of SMPI's function, which all of its library calls by its name. */
int Request::waitall(int count, Request** requests, MPI_Status* statuses)
{
  static const bool order_counts = not config::is_default("smpi/or");
  if (count < MANY || order_counts)
    return waitall_of_smpi(count, requests, statuses);
  int result = MPI_SUCCESS;
  std::vector<Request*> left; /* persistent ones, which stay, and accumulates, which SMPI applies in its own order */
  for (int i = 0; i < count; i++) {
    MPI_Status status;
    waitany(1, requests + i, statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &status);
    if (statuses != MPI_STATUSES_IGNORE) {
      statuses[i] = status;
      if (status.MPI_ERROR == MPI_ERR_TRUNCATE)
        result = MPI_ERR_IN_STATUS;
    }
    if (requests[i] != nullptr)
      left.push_back(requests[i]);
  }
  if (not left.empty())
    waitall_of_smpi(static_cast<int>(left.size()), left.data(), MPI_STATUSES_IGNORE);
  return result;
}

} // namespace simgrid::smpi
