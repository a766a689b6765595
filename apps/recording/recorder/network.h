/* The messages in flight (waiting/network.cpp). */
#ifndef APPS_RECORDER_NETWORK_H
#define APPS_RECORDER_NETWORK_H

#ifdef __cplusplus
extern "C" {
#endif

/* Sums over all messages that SimGrid moves at this date, of functions that are zero when a message begins and when it
 * ends: so messages that begin or end right now do not matter. */
typedef struct {
  double messages;
  double first;  /* bytes left x time since the message began, s */
  double second; /* the same x share of its bytes that is left */
} InFlight;

__attribute__((weak)) InFlight in_flight(void); /* an add-on: NULL where it is not there */

#ifdef __cplusplus
}
#endif

#endif
