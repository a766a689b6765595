/* Four hosts of 8 cores in a row, created by a program: an example of docs/platforms/own-platform.md. */
#include <simgrid/s4u.hpp>
#include <simgrid/version.h>
#include <string>

namespace s4u = simgrid::s4u;

/* Returns the outermost zone of the platform; it routes messages along the cables. */
static s4u::NetZone* outermost_zone([[maybe_unused]] const s4u::Engine& engine, const std::string& name)
{
#if SIMGRID_VERSION >= 40000 // the engine creates the root zone
  return engine.get_netzone_root()->add_netzone_floyd(name);
#else
  return s4u::create_floyd_zone(name);
#endif
}

extern "C" void load_platform(const s4u::Engine& engine);
void load_platform(const s4u::Engine& engine)
{
  auto* row        = outermost_zone(engine, "row");
  s4u::Host* left = nullptr;
  for (int i = 0; i < 4; i++) {
    const auto number = std::to_string(i);
    auto* host        = row->create_host("node-" + number, 45e9)->set_core_count(8);
    if (left != nullptr) {
      auto* cable = row->create_split_duplex_link("cable-" + number, 1.25e9)->set_latency(2e-6);
      row->add_route(left->get_netpoint(), host->get_netpoint(), nullptr, nullptr,
                     {{cable, s4u::LinkInRoute::Direction::UP}});
    }
    left = host;
  }
  row->seal();
}
