#include <stdlib.h>
#include <string.h>

#include "../../common/checked.h"
#include "../harness/split.h"
#include "transpose.h"

Part layout_part(int n, int places, int place)
{
  return (Part){split_start(n, places, place), split_count(n, places, place)};
}

/* Returns the shares of the rank in a place. */
static Layout place_in(Grid grid, int px, int pz, int ix, int iz)
{
  Layout at = {.grid = grid, .px = px, .pz = pz, .ix = ix, .iz = iz};
  at.y = layout_part(grid.ny, px, ix);
  at.x = layout_part(grid.nx, px, ix);
  at.z = layout_part(grid.nz, pz, iz);
  at.columns = layout_part(at.x.count * grid.ny, pz, iz);
  return at;
}

size_t layout_most_points(const Layout *at)
{
  size_t x = points_along_x(at), y = points_along_y(at), z = points_along_z(at);
  size_t most = x > y ? x : y;
  return most > z ? most : z;
}

/* Returns px, or 0 if no grid gives every rank points in every distribution. */
static int ranks_along_x(Grid grid, int nranks)
{
  if (nranks <= grid.nz)
    return 1;
  int best = 0, narrow = grid.nx < grid.ny ? grid.nx : grid.ny;
  size_t best_most = 0;
  for (int px = 1; px <= narrow && px <= nranks; px++) {
    int pz = nranks / px;
    if (px * pz != nranks || pz > grid.nz)
      continue;
    Layout first = place_in(grid, px, pz, 0, 0); /* no rank owns more */
    size_t most = layout_most_points(&first);
    if (!best || most < best_most || (most == best_most && abs(px - grid.nz) < abs(best - grid.nz))) {
      best = px;
      best_most = most;
    }
  }
  return best;
}

Layout layout_make(Grid grid, int rank, int nranks)
{
  int px = ranks_along_x(grid, nranks);
  if (px == 0)
    return (Layout){.grid = grid};
  int pz = nranks / px;
  return place_in(grid, px, pz, rank / pz, rank % pz);
}

/* --- blocks --- */

/* Copies n points to the blocks (pack) or back. */
static void move(bool pack, Complex *points, Complex *blocks, size_t n)
{
  memcpy(pack ? blocks : points, pack ? points : blocks, n * sizeof *points);
}

/* Copies between lines along x and blocks [member][y][z][x of the member]. */
static void move_x_blocks(Transpose *t, bool pack)
{
  const Layout *at = t->at;
  Complex *block = t->blocks;
  for (int member = 0; member < at->px; member++) {
    Part x = layout_part(at->grid.nx, at->px, member);
    for (size_t y = 0; y < (size_t)at->y.count; y++)
      for (size_t z = 0; z < (size_t)at->z.count; z++, block += x.count)
        move(pack, t->points + (z * (size_t)at->y.count + y) * (size_t)at->grid.nx + x.start, block, (size_t)x.count);
  }
}

/* Copies between lines along y and blocks [member][z][column of the member]. */
static void move_columns(Transpose *t, bool pack)
{
  const Layout *at = t->at;
  Complex *block = t->blocks;
  int width = at->x.count;
  for (int member = 0; member < at->pz; member++) {
    Part columns = layout_part(width * at->grid.ny, at->pz, member);
    int end = columns.start + columns.count;
    for (size_t z = 0; z < (size_t)at->z.count; z++)
      for (int column = columns.start, n; column < end; column += n, block += n) {
        int y = column / width, x = column % width;
        n = end - column < width - x ? end - column : width - x; /* to the end of the row */
        move(pack, t->points + (size_t)y * t->y_stride + z * t->z_stride + x, block, (size_t)n);
      }
  }
}

/* --- messages --- */

/* Exchanges blocks with the members of the group: from blocks into points, or from points into blocks. */
static void exchange(Transpose *t, const Swap *swap, bool there)
{
  Complex *from = there ? t->blocks : t->points, *to = there ? t->points : t->blocks;
  if (swap->members == 1) {
    t->blocks = there ? to : from;
    t->points = there ? from : to;
  } else if (swap->even)
    run_all_to_all_in(t->run, swap->group, from, to, swap->there[0], MPI_C_DOUBLE_COMPLEX);
  else if (there)
    run_all_to_all_v_in(t->run, swap->group, from, swap->there, swap->there_start, to, swap->back, swap->back_start,
                        MPI_C_DOUBLE_COMPLEX);
  else
    run_all_to_all_v_in(t->run, swap->group, from, swap->back, swap->back_start, to, swap->there, swap->there_start,
                        MPI_C_DOUBLE_COMPLEX);
}

void transpose_x_to_y(Transpose *t)
{
  if (t->at->px == 1)
    return;
  if (t->run->verify)
    move_x_blocks(t, true);
  exchange(t, &t->xy, true);
}

void transpose_y_to_z(Transpose *t)
{
  if (t->run->nranks == 1)
    return;
  if (t->run->verify)
    move_columns(t, true);
  exchange(t, &t->yz, true);
}

void transpose_z_to_y(Transpose *t)
{
  if (t->run->nranks == 1)
    return;
  exchange(t, &t->yz, false);
  if (t->run->verify)
    move_columns(t, false);
}

void transpose_y_to_x(Transpose *t)
{
  if (t->at->px == 1)
    return;
  exchange(t, &t->xy, false);
  if (t->run->verify)
    move_x_blocks(t, false);
}

/* --- partners of the exchanges --- */

/* Makes a swap.  The members divide n items, of each of which the sender owns `unit` points; on the way back they
 * divide m items of `back_unit` points. */
static Swap swap_make(MPI_Comm group, int members, int n, int unit, int m, int back_unit)
{
  Swap swap = {.group = group, .members = members, .even = n % members == 0 && m % members == 0};
  int **lists[] = {&swap.there, &swap.there_start, &swap.back, &swap.back_start};
  for (int i = 0; i < 4; i++)
    *lists[i] = checked(calloc((size_t)members, sizeof(int)));
  for (int member = 0; member < members; member++) {
    Part there = layout_part(n, members, member), back = layout_part(m, members, member);
    swap.there[member] = there.count * unit;
    swap.there_start[member] = there.start * unit;
    swap.back[member] = back.count * back_unit;
    swap.back_start[member] = back.start * back_unit;
  }
  return swap;
}

static void swap_free(Swap *swap)
{
  MPI_Comm_free(&swap->group);
  free(swap->there);
  free(swap->there_start);
  free(swap->back);
  free(swap->back_start);
}

Transpose transpose_make(Run *run, const Layout *at)
{
  Transpose t = {.run = run, .at = at};
  MPI_Comm same_z, same_x;
  MPI_Comm_split(MPI_COMM_WORLD, at->iz, at->ix, &same_z);
  MPI_Comm_split(MPI_COMM_WORLD, at->ix, at->iz, &same_x);
  const Grid *grid = &at->grid;
  int y = at->y.count, x = at->x.count, z = at->z.count;
  t.xy = swap_make(same_z, at->px, grid->nx, y * z, grid->ny, x * z);
  t.yz = swap_make(same_x, at->pz, x * grid->ny, z, grid->nz, at->columns.count);
  t.y_stride = (size_t)x * (size_t)(at->px == 1 ? 1 : z);
  t.z_stride = (size_t)x * (size_t)(at->px == 1 ? grid->ny : 1);
  size_t numbers = 2 * layout_most_points(at), sent = run->nranks > 1 ? numbers : 0;
  t.points = (Complex *)run_buffer(run, run->verify ? numbers : sent);
  t.blocks = (Complex *)run_buffer(run, sent);
  return t;
}

void transpose_free(Transpose *t)
{
  swap_free(&t->xy);
  swap_free(&t->yz);
  run_buffer_free(t->run, (double *)t->points);
  run_buffer_free(t->run, (double *)t->blocks);
}
