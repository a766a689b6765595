#include "grid.h"

#include "turns.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *read_node(Grid *grid, const char *line)
{
  char address[32];
  if (grid->nnodes == NODES)
    return "too many nodes";
  Node *node = &grid->nodes[grid->nnodes++];
  if (sscanf(line, "node %159s %31s %d", node->name, address, &node->slots) != 3)
    return "a wrong node";
  return inet_pton(AF_INET, address, &node->address) == 1 ? NULL : "a wrong address";
}

static const char *read_link(Grid *grid, const char *line)
{
  if (grid->nlinks == LINKS)
    return "too many links";
  Link *link = &grid->links[grid->nlinks++];
  char order[16];
  bool whole = sscanf(line, "link %159s %lf %lf %15s", link->name, &link->rate, &link->delay, order) == 4;
  if (!whole || link->rate <= 0 || link->delay < 0 || (strcmp(order, "fifo") && strcmp(order, "turns")))
    return "a wrong link";
  if (!strcmp(order, "fifo"))
    return NULL;
  link->turns = calloc(1, sizeof *link->turns);
  if (!link->turns)
    return "no memory";
  return NULL;
}

static const char *read_path(Grid *grid, const char *line)
{
  int from, to, used, link;
  if (sscanf(line, "path %d %d%n", &from, &to, &used) != 2 || from < 0 || from >= grid->nnodes || to < 0 ||
      to >= grid->nnodes)
    return "a wrong path";
  Path *path = &grid->paths[from][to];
  for (line += used; sscanf(line, "%d%n", &link, &used) == 1; line += used) {
    if (link < 0 || link >= grid->nlinks || path->count == HOPS)
      return "a wrong path";
    path->links[path->count++] = &grid->links[link];
  }
  return NULL;
}

static const char *read_line(Grid *grid, const char *line)
{
  if (!strncmp(line, "node ", 5))
    return read_node(grid, line);
  if (!strncmp(line, "link ", 5))
    return read_link(grid, line);
  if (!strncmp(line, "path ", 5))
    return read_path(grid, line);
  bool known = sscanf(line, "mtu %d", &grid->mtu) == 1 || sscanf(line, "window %d", &grid->window) == 1 ||
               sscanf(line, "queue %lf", &grid->queue) == 1 || sscanf(line, "tick %lf", &grid->tick) == 1 ||
               sscanf(line, "cpu %d", &grid->cpu) == 1 || sscanf(line, "pacer %4095[^\n]", grid->pacer) == 1;
  return known ? NULL : "an unknown line";
}

const char *grid_read(Grid *grid, int from)
{
  FILE *file = fdopen(from, "r");
  if (!file)
    return "no description";
  char line[4352];
  const char *problem = NULL;
  while (!problem && fgets(line, sizeof line, file))
    problem = read_line(grid, line);
  fclose(file);
  return problem ? problem : grid->nnodes && grid->tick > 0 ? NULL : "an incomplete description";
}
