/* FEM: displacements of a block of elastic material that is pulled at its upper face, by conjugate gradients with
 * incomplete Cholesky factors within each rank (GeoFEM's benchmark: K. Nakajima, OpenMP/MPI hybrid vs. flat MPI on the
 * Earth Simulator, ISHPC 2003).  slab.h describes the distribution. */
#include <limits.h>
#include <math.h>

#include "../harness/run.h"
#include "matrix.h"
#include "solver.h"

enum { ERROR_PER_TOLERANCE = 100 };

typedef struct {
  int n, layers, niter;
  double young, poisson, tolerance;
} Problem;

/* For each axis, the displacement of the corner farthest from the held faces, and the root mean square over all
 * nodes. */
typedef struct {
  double corner[3], mean[3];
} Displacements;

static Problem read_problem(Run *run)
{
  Problem problem = {.n = run_integer(run, "n"), .layers = run_integer(run, "layers"),
                     .niter = run_integer(run, "niter"), .young = run_number(run, "young"),
                     .poisson = run_number(run, "poisson"), .tolerance = run_number(run, "tolerance")};
  if (problem.n < 1 || problem.n % run->nranks)
    run_refuse(run, "n is %d, not a multiple of the number of ranks, %d", problem.n, run->nranks);
  if (problem.layers < 1)
    run_refuse(run, "layers is %d, not positive", problem.layers);
  if (!(problem.young > 0))
    run_refuse(run, "young is %g, not positive", problem.young);
  if (!(problem.poisson > -1 && problem.poisson < 0.5))
    run_refuse(run, "poisson is %g, not between -1 and 0.5", problem.poisson);
  if (!(problem.tolerance > 0 && problem.tolerance < 1))
    run_refuse(run, "tolerance is %g, not between 0 and 1", problem.tolerance);
  /* Message sizes and matrix columns are ints. */
  double plane = 3 * (problem.n + 1.0) * (problem.layers + 1.0), planes = run->verify ? problem.n / run->nranks + 3 : 1;
  if (plane * planes > INT_MAX)
    run_refuse(run, "%d x %d x %d elements are too many for %s", problem.n, problem.n, problem.layers,
               run->ranks);
  return problem;
}

/* Reads the reference values (reference.py), which only runs with arithmetic get. */
static Displacements read_references(Run *run)
{
  if (!run->verify)
    return (Displacements){0};
  return (Displacements){
      {run_number(run, "corner_ux"), run_number(run, "corner_uy"), run_number(run, "corner_uz")},
      {run_number(run, "mean_ux"), run_number(run, "mean_uy"), run_number(run, "mean_uz")}};
}

static Displacements displacements(Solver *solver)
{
  const Slab *slab = &solver->slab;
  double sums[6] = {0};
  for (long i = 0; solver->run->verify && i < 3 * slab->nodes; i++)
    sums[i % 3] += solver->solution[i] * solver->solution[i];
  for (int axis = 0; solver->run->verify && slab->above == NONE && axis < 3; axis++)
    sums[3 + axis] = solver->solution[3 * (slab->nodes - 1) + axis];
  run_sum(solver->run, sums, 6);
  double nodes = (slab->n + 1.0) * (double)slab->per_plane;
  return (Displacements){{sums[3], sums[4], sums[5]},
                         {sqrt(sums[0] / nodes), sqrt(sums[1] / nodes), sqrt(sums[2] / nodes)}};
}

/* Returns the error of the displacements along an axis, relative to the `stretch` of a rod of that length under the
 * load. */
static double error(const Displacements *found, const Displacements *expected, int axis, double stretch)
{
  return fmax(fabs(found->corner[axis] - expected->corner[axis]), fabs(found->mean[axis] - expected->mean[axis])) /
         stretch;
}

/* Tells every rank if any rank has bad factors, with which the method may not converge. */
static void check_factors(Solver *solver)
{
  double count = (double)solver->factors.not_positive;
  run_sum(solver->run, &count, 1);
  if (count > 0)
    run_refuse(solver->run, "the incomplete factorisation breaks down: %g blocks are not positive definite", count);
}

/* Returns the same value on all ranks, because they have the same sums. */
static bool converged(const Solver *solver, const Problem *problem)
{
  return solver->residual_norm <= problem->tolerance * solver->load_norm;
}

int main(int argc, char **argv)
{
  Run run = run_begin(argc, argv);
  Problem problem = read_problem(&run);
  Displacements expected = read_references(&run);
  if (!run_ready(&run))
    return run_end(&run);

  Solver solver = solver_make(&run, slab_make(problem.n, problem.layers, run.rank, run.nranks), problem.young,
                              problem.poisson);
  check_factors(&solver);
  if (!run_ready(&run)) {
    solver_free(&solver);
    return run_end(&run);
  }

  bool until_converged = run.verify && problem.niter == 0; /* within at most run.iterations */
  run_start(&run);
  solver_start(&solver);
  run_first_iteration(&run);
  do {
    solver_iterate(&solver);
    run_iteration(&run);
  } while (run.iterations_done < run.iterations && !(until_converged && converged(&solver, &problem)));
  run_stop(&run);

  Displacements found = displacements(&solver);
  double limit = ERROR_PER_TOLERANCE * problem.tolerance;
  Check checks[] = {
      {"iterations", run.iterations_done, run.iterations, true},
      {"residual", solver.residual_norm / solver.load_norm, problem.tolerance, true},
      {"error_ux", error(&found, &expected, 0, problem.n / problem.young), limit, true},
      {"error_uy", error(&found, &expected, 1, problem.n / problem.young), limit, true},
      {"error_uz", error(&found, &expected, 2, problem.layers / problem.young), limit, true},
  };
  bool whole = until_converged || run.iterations == problem.niter;
  run_report(&run, checks, sizeof checks / sizeof *checks, 0, whole);
  solver_free(&solver);
  return run_end(&run);
}
