/* The messages in flight: what SimGrid's network has left to do, which no call of MPI tells.
 *
 * A message whose receive was posted long before it is waited for moves unseen.  Where such messages pile up, a few
 * iterations look alike although the network has more and more to do. */
#include "../network.h"

#include <simgrid/kernel/resource/Action.hpp>
#include <simgrid/kernel/resource/Model.hpp>
#include <simgrid/kernel/routing/NetZoneImpl.hpp>
#include <simgrid/s4u/Engine.hpp>
#include <simgrid/s4u/NetZone.hpp>

#include <algorithm>

using simgrid::kernel::resource::Action;
using simgrid::kernel::resource::Model;

namespace {

constexpr double DONE = 1e-9; /* share of a message below which the rest is an error of rounding */

/* The class of the network's model is not declared to users of SimGrid; its first base is Model, in 3.32 and in 4.1. */
Model* network_model()
{
  auto* zone = simgrid::s4u::Engine::get_instance()->get_netzone_root()->get_impl();
  return reinterpret_cast<Model*>(zone->get_network_model().get());
}

/* Bytes that a message has left at this date.  SimGrid's own function would also bring the message to this date, which
 * may round what follows in another way. */
double left(const Action& message, bool lazy, double now_s)
{
  double bytes = message.get_remains_no_update();
  return lazy ? bytes - message.get_last_value() * (now_s - message.get_last_update()) : bytes;
}

} // namespace

InFlight in_flight(void)
{
  static Model* const model = network_model();
  const bool lazy           = model->is_update_lazy();
  const double now_s        = simgrid::s4u::Engine::get_clock();
  InFlight sums             = {0, 0, 0};
  for (const Action& message : *model->get_started_action_set()) {
    const double bytes = message.get_cost(), share = bytes > 0 ? left(message, lazy, now_s) / bytes : 0;
    if (share <= DONE)
      continue;
    const double begun = share * bytes * std::max(0.0, now_s - message.get_start_time());
    sums.messages++;
    sums.first += begun;
    sums.second += begun * share;
  }
  return sums;
}
