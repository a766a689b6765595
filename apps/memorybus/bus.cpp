/* A node's memory bus under SMPI: a disk of the node's host, which all of its ranks read from.
 *
 * SimGrid shares a disk's bandwidth evenly among those that use it at a time, and hosts of a <cluster> cannot be given
 * disks in XML; so the first rank that needs the bus of its host makes it. */
#include <simgrid/s4u.hpp>

#include <string>

namespace s4u = simgrid::s4u;

static const std::string NAME = "memory bus"; /* no disk of a platform file is called so */
static constexpr double ENDLESS_FLOPS = 1e30;

static s4u::Disk* find(const s4u::Host* host)
{
  for (auto* disk : host->get_disks())
    if (disk->get_name() == NAME)
      return disk;
  return nullptr;
}

/* While a rank makes the bus, others of the same date have their turn, and must not make another. */
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

/* The calling rank moves so many bytes over the bus of its host, and is busy meanwhile, as a core is that waits for its
 * memory: it takes its share of the host's cores and of the host's energy.  All ranks give the same bandwidth. */
extern "C" void memory_bus_move(double bytes, double bandwidth_Bps)
{
  auto* host = s4u::this_actor::get_host();
  auto* bus  = bus_of(host, bandwidth_Bps);
  auto busy  = s4u::this_actor::exec_init(ENDLESS_FLOPS);
  busy->start();
  bus->read(static_cast<sg_size_t>(bytes));
  busy->cancel();
}
