/* The add-on predictor/bundles; without it there are no bundles and no open messages, and loops
   are executed completely. */
#ifndef PREDICTOR_DPGRAPH_BUNDLED_H
#define PREDICTOR_DPGRAPH_BUNDLED_H

#if __has_include("../../bundles/native/bundles.h")
#include "../../bundles/native/bundles.h"
#include "../../bundles/native/choices.h"
#include "../../bundles/native/repeats.h"
#else
#define bundles_make(graph, hub_paths) ((void)(hub_paths), DONE)
#define bundles_free(graph) ((void)0)
#define bundles_join(graph, slot, now_s) DONE
#define bundles_pop(graph, slot) (slot)
#define bundles_reschedule(graph, changed, now_s) ((void)0)
#define bundles_overrun(graph, now_s) false
#define bundles_forget_empty(graph) ((void)0)
#define repeats_note(graph, rank) DONE
#define repeats_order(graph) ((void)0)
#define repeats_free(graph) ((void)0)
#define choices_allocate(graph) BAD_INPUT
#define choices_free(graph) ((void)0)
#define choices_role(graph, number) ROLE_NONE
#define choices_address(graph, rank, number) false
#define choices_sent(graph, number) NOTHING
#define choices_received(graph, rank, number) NOTHING
#endif

#endif
