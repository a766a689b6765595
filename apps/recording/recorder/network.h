/* The messages in flight (waiting/network.cpp). */
#ifndef APPS_RECORDER_NETWORK_H
#define APPS_RECORDER_NETWORK_H

#ifdef __cplusplus
extern "C" {
#endif

/* Sums over all messages in flight of functions that are zero when a message begins and when it ends, so that messages
 * that begin or end at this date do not matter. */
typedef struct {
  double messages;
  double first;  /* bytes left x time since the message began */
  double second; /* the same x remaining share of its bytes */
} InFlight;

__attribute__((weak)) InFlight in_flight(void); /* an add-on; NULL if not installed */

#ifdef __cplusplus
}
#endif

#endif
