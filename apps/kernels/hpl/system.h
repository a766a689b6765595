/* The data of the solver's steps. */
#ifndef HPL_SYSTEM_H
#define HPL_SYSTEM_H

#include "../harness/run.h"
#include "layout.h"
#include "lines.h"

typedef struct {
  Run *run;
  Layout at;
  Topology topology;       /* for the broadcast of panels */
  double operation;        /* flops to charge per operation */
  double *elements;        /* this rank's part of the matrix */
  double *panel;           /* the panel in use: see below */
  double *arriving;        /* the next panel, with look-ahead */
  Passing passing;         /* the broadcast that is looked for during an update; done: none */
  double *rows;            /* rows exchanged along a process column */
  double *received;        /* the partner's rows */
  double *right_hand_side; /* this rank's rows, in back-substitution as far as this rank knows them */
  double *solution;        /* for this rank's columns */
  double *block;           /* a block of nb elements of the solution */
} System;

/* A panel has, column by column, the pivots (rows of the matrix); the diagonal block, with L below its diagonal and U
 * above, on all process rows; and this rank's rows of L below the diagonal block. */
static inline double *panel_pivots(const System *s) { return s->panel; }
static inline double *panel_diagonal(const System *s, const Step *step) { return s->panel + step->width; }
static inline double *panel_below(const System *s, const Step *step)
{
  return s->panel + (size_t)step->width * (size_t)(1 + step->width);
}
static inline int panel_count(const Step *step) { return step->width * (1 + step->width + step->rows); }

static inline double *own_column(const System *s, int own) { return s->elements + (size_t)own * (size_t)s->at.height; }

/* Factorises the panel of a step, in the array and in s->panel.  All ranks of its process column must call it. */
void panel_factorise(System *s, const Step *step);

/* Interchanges rows in the step's columns, solves for the rows of U and updates the rows below; s->panel must be known.
 * Unless s->passing is done, polls for that panel between messages and after every nb columns, and passes it on. */
void trailing_update(System *s, const Step *step);

/* Does the back-substitution; s->solution then holds the solution for this rank's columns. */
void back_substitute(System *s);

#endif
