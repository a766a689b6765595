/* A node's memory bus under SMPI: a disk of the node's host, from which all of its ranks read.
 *
 * SimGrid shares a disk's bandwidth evenly among its simultaneous users.  XML cannot define disks for the hosts of a
 * <cluster>, so the first rank that needs the bus of its host creates it. */
#include <simgrid/s4u.hpp>

#include <string>

namespace s4u = simgrid::s4u;

static const std::string NAME = "memory bus"; /* no disk of a platform file has this name */
static constexpr double ENDLESS_FLOPS = 1e30;

static s4u::Disk* find(const s4u::Host* host)
{
  for (auto* disk : host->get_disks())
    if (disk->get_name() == NAME)
      return disk;
  return nullptr;
}

/* Returns the bus of a host, created if necessary.  While one rank creates it, other ranks run at the same date and
 * must not create another one; hence the mutex. */
static s4u::Disk* bus_of(s4u::Host* host, double bandwidth_Bps)
{
  static const s4u::MutexPtr making = s4u::Mutex::create();
  if (auto* bus = find(host))
    return bus;
  making->lock();
  auto* bus = find(host);
  if (bus == nullptr) {
    bus = host->create_disk(NAME, bandwidth_Bps, bandwidth_Bps);
    bus->seal();
  }
  making->unlock();
  return bus;
}

/* Moves so many bytes over the bus of the calling rank's host.  Meanwhile the rank is busy, like a core that waits for
 * memory: it takes its share of the host's cores and energy.  All ranks must pass the same bandwidth. */
extern "C" void memory_bus_move(double bytes, double bandwidth_Bps)
{
  auto* host = s4u::this_actor::get_host();
  auto* bus  = bus_of(host, bandwidth_Bps);
  auto busy  = s4u::this_actor::exec_init(ENDLESS_FLOPS);
  busy->start();
  bus->read(static_cast<sg_size_t>(bytes));
  busy->cancel();
}
