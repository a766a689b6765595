/* Loaded before SimGrid 4.1 (platforms/simgrid/repairs.py), so that it reads and routes platforms as 3.32 does.
 *
 * Two faults of 4.1 cause segmentation faults:
 * - The search for a route from a zone's gateway (NetZoneImpl::get_interzone_route, new in 4.1) assumes that the gateway
 *   is not in an inner zone.  If it is, one zone is asked for a route between points of another zone.
 * - A <cluster> of topology TORUS, FAT_TREE or DRAGONFLY that is in no <zone> has no parent
 *   (sg_platf_new_cluster_hierarchical calls a member function of a null pointer).
 * SimGrid's library calls these functions by name and therefore finds the ones below. */
#include "repairs41.hpp"

#include <simgrid/kernel/routing/NetPoint.hpp>
#include <simgrid/kernel/routing/NetZoneImpl.hpp>
#include <simgrid/s4u.hpp>
#include <simgrid/version.h>

#include <string>
#include <utility>
#include <vector>

static_assert(SIMGRID_VERSION >= 40100 && SIMGRID_VERSION < 40200, "other versions have other functions, and faults");

namespace simgrid::kernel::routing {

/* The search between any two points, which versions before 4.1 use, finds the gateway in any zone. */
void NetZoneImpl::get_interzone_route(const NetPoint* netpoint, NetPoint* gateway, const bool gateway_to_netpoint,
                                      std::vector<resource::StandardLinkImpl*>& links, double* latency,
                                      std::vector<NetZoneImpl*>* /* the zones around netpoint */)
{
  if (netpoint == gateway)
    return;
  if (gateway_to_netpoint)
    get_global_route(gateway, netpoint, links, latency);
  else
    get_global_route(netpoint, gateway, links, latency);
}

} // namespace simgrid::kernel::routing

namespace simgrid::s4u {

/* Needs -fno-delete-null-pointer-checks: compilers assume that "this" is not null. */
static NetZone* zone_or_root(NetZone* zone)
{
  return zone ? zone : Engine::get_instance()->get_netzone_root();
}

NetZone* NetZone::add_netzone_torus(const std::string& name, const std::vector<unsigned long>& dimensions,
                                    double bandwidth, double latency, Link::SharingPolicy policy)
{
  using Add = NetZone* (NetZone::*)(const std::string&, const std::vector<unsigned long>&, double, double,
                                    Link::SharingPolicy);
  return (zone_or_root(this)->*next<Add>(&NetZone::add_netzone_torus))(name, dimensions, bandwidth, latency, policy);
}

using Counts = std::vector<unsigned int>;

NetZone* NetZone::add_netzone_fatTree(const std::string& name, unsigned int levels, const Counts& down, const Counts& up,
                                      const Counts& links, double bandwidth, double latency, Link::SharingPolicy policy)
{
  using Add = NetZone* (NetZone::*)(const std::string&, unsigned int, const Counts&, const Counts&, const Counts&, double,
                                    double, Link::SharingPolicy);
  return (zone_or_root(this)->*next<Add>(&NetZone::add_netzone_fatTree))(name, levels, down, up, links, bandwidth,
                                                                         latency, policy);
}

using Parts = std::pair<unsigned int, unsigned int>; // number of parts, and of links between each two

NetZone* NetZone::add_netzone_dragonfly(const std::string& name, const Parts& groups, const Parts& chassis,
                                        const Parts& routers, unsigned int nodes, double bandwidth, double latency,
                                        Link::SharingPolicy policy)
{
  using Add = NetZone* (NetZone::*)(const std::string&, const Parts&, const Parts&, const Parts&, unsigned int, double,
                                    double, Link::SharingPolicy);
  return (zone_or_root(this)->*next<Add>(&NetZone::add_netzone_dragonfly))(name, groups, chassis, routers, nodes,
                                                                           bandwidth, latency, policy);
}

} // namespace simgrid::s4u
