/* The messages of an exchange and the links they share, in arrays reused for all exchanges. */
#ifndef PREDICTOR_STRUCTURAL_WORK_H
#define PREDICTOR_STRUCTURAL_WORK_H

#include "way.h"

typedef struct {
  int32_t link[MOST_LINKS];  /* the links of its path */
  double weight[MOST_LINKS]; /* use of each link, as a share of its rate */
  int links;                 /* number of these links */
  int32_t source;            /* sending rank */
  bool held;                 /* the sender's next message waits for it */
  double amount, bound;      /* bytes, bytes/s */
  double penalty;
  double latency, begin; /* s, and the time it begins to use the links */
  double time;           /* s for which it uses the links */
} Message;

/* The use of a link by a message. */
typedef struct {
  int32_t message;
  int32_t kind; /* among the link's users: messages of equal amount and beginning */
  double part;  /* the message's weight on the link */
} User;

/* A kind of the users of one link. */
typedef struct {
  int32_t one;     /* a message of the kind */
  double number;   /* of its messages */
  double together; /* sum of their weights */
  double mean_s;   /* mean of their times */
} Kind;

/* A link that may lengthen a message. */
typedef struct {
  int32_t link;
  int32_t kinds;        /* number of kinds of users */
  int64_t first, users; /* its users are entries first to first + users - 1 */
} Tight;

typedef struct {
  Message *message;
  int64_t messages;
  double *ready; /* by rank: earliest time of its next send */
  int64_t ranks;
  /* By link.  The tight link numbered t has users -1 - t, once it is numbered. */
  int32_t *users; /* number of messages that use the link */
  double *load;   /* bytes of all messages on it */
  Tight *tight;
  int64_t tights;
  User *user;
  Kind *kind;
  double *plane_load_s; /* by link: time that all messages of a plane need on it */
} Work;

/* Allocates memory for exchanges of any size in the schedule.  Returns DONE or NO_MEMORY. */
int work_open(Work *work, const Schedule *schedule, const Paths *paths);

void work_close(Work *work);

#endif
