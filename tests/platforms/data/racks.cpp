/* A platform as a program: two racks of dual-core hosts behind switches, 1 ms apart. */
#include <simgrid/s4u.hpp>
#include <simgrid/version.h>
#include <string>

namespace sg4 = simgrid::s4u;

static sg4::NetZone* make_rack(const sg4::NetZone* site, const std::string& name, int hosts, double speed_flops)
{
  auto* rack = sg4::create_star_zone(name);
  rack->set_parent(site);
  for (int i = 0; i < hosts; i++) {
    const auto* host = rack->create_host(name + std::to_string(i), speed_flops)->set_core_count(2)->seal();
    auto* link = rack->create_split_duplex_link("link-" + host->get_name(), 125e6)->set_latency(30e-6)->seal();
    rack->add_route(host->get_netpoint(), nullptr, nullptr, nullptr, {{link, sg4::LinkInRoute::Direction::UP}}, true);
  }
  rack->create_router(name + "-switch");
  rack->seal();
  return rack;
}

extern "C" void load_platform(const sg4::Engine& engine);
void load_platform(const sg4::Engine& engine)
{
#if SIMGRID_VERSION >= 40000 // the engine already has a root zone
  auto* site = engine.get_netzone_root()->add_netzone_full("site");
#else
  auto* site = sg4::create_full_zone("site");
#endif
  auto* left  = make_rack(site, "left", 3, 4e9);
  auto* right = make_rack(site, "right", 2, 6e9);
  auto* wan   = site->create_link("wan", 250e6)->set_latency(1e-3)->seal();
  site->add_route(left->get_netpoint(), right->get_netpoint(), engine.netpoint_by_name_or_null("left-switch"),
                  engine.netpoint_by_name_or_null("right-switch"), {sg4::LinkInRoute(wan)});
  site->seal();
}
