/* What the steps of the solver work on. */
#ifndef HPL_SYSTEM_H
#define HPL_SYSTEM_H

#include "../common/run.h"
#include "layout.h"
#include "lines.h"

typedef struct {
  Run *run;
  Layout at;
  Topology topology;       /* of the broadcast of panels */
  double operation;        /* flops to charge for one */
  double *elements;        /* this rank's part of the matrix */
  double *panel;           /* as broadcast: see below */
  double *rows;            /* on their way along a process column */
  double *received;        /* the partner's rows */
  double *right_hand_side; /* this rank's rows of it: what it knows of them in back-substitution */
  double *solution;        /* of this rank's columns */
  double *block;           /* nb of the solution */
} System;

/* A panel: the pivots (rows of the matrix); the diagonal block, L below its diagonal and U above, which all process
 * rows have; and this rank's rows of L below it.  Column by column. */
static inline double *panel_pivots(const System *s) { return s->panel; }
static inline double *panel_diagonal(const System *s, const Step *step) { return s->panel + step->width; }
static inline double *panel_below(const System *s, const Step *step)
{
  return s->panel + (size_t)step->width * (size_t)(1 + step->width);
}
static inline int panel_count(const Step *step) { return step->width * (1 + step->width + step->rows); }

static inline double *own_column(const System *s, int own) { return s->elements + (size_t)own * (size_t)s->at.height; }

/* Factorises the panel of a step, in the array and in s->panel.  For the ranks of its process column. */
void panel_factorise(System *s, const Step *step);

/* Interchanges rows right of the panel, solves for the rows of U and updates what is below, s->panel being known. */
void trailing_update(System *s, const Step *step);

/* Back-substitution; s->solution then holds the solution of this rank's columns. */
void back_substitute(System *s);

#endif
