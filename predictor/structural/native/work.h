/* The messages of an exchange and the links that they share, in arrays that serve for all exchanges. */
#ifndef PREDICTOR_STRUCTURAL_WORK_H
#define PREDICTOR_STRUCTURAL_WORK_H

#include "way.h"

typedef struct {
  int32_t link[MOST_LINKS];  /* the links on its way */
  double weight[MOST_LINKS]; /* share of its rate that it uses of each */
  int links;                 /* number of these links */
  int32_t source;            /* rank that sends */
  bool held;                 /* the next message of its sender waits for it */
  double amount, bound;      /* bytes, bytes/s */
  double penalty;
  double latency, begin; /* s, and the time at which it begins to use the links */
  double time;           /* s that it uses the links */
} Message;

/* A use of a link by a message. */
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
  int32_t kinds;        /* number of different kinds of users */
  int64_t first, users; /* its users are at the places first to before first + users */
} Tight;

typedef struct {
  Message *message;
  int64_t messages;
  double *ready; /* by rank: time at which it can send its next message */
  int64_t ranks;
  /* By link.  Link number t among the tight ones has users -1 - t, once it is known. */
  int32_t *users; /* number of messages that use the link */
  double *load;   /* bytes that all messages together take of it */
  Tight *tight;
  int64_t tights;
  User *user;
  Kind *kind;
  double *plane_load_s; /* by link: time that all messages of a plane take of it */
} Work;

/* Makes room for exchanges of up to so many messages.  Returns DONE or NO_MEMORY. */
int work_open(Work *work, const Schedule *schedule, const Paths *paths);

void work_close(Work *work);

#endif
