/* Simulation of the hierarchical model's assumptions: world L_C B_M NODES CORES [S4U options] < CASES
 *
 * There are NODES nodes of CORES cores of L_C flop/s each.  A node has a memory behind a bus of B_M byte/s that its cores
 * share, and a network card to a network that all nodes share.  A case is a line of numbers:
 *   q p rounds overlap card_Bps network_Bps op b x
 * q cores of each of the first p nodes share op flops and b bytes of memory access equally.  In each round a core computes
 * its flops and fetches its bytes, one after the other or, with overlap = 1, at the same time; then it sends x / rounds
 * bytes to the next node.  A bandwidth of 0 means no limit.  The output is one line of JSON: {"times_s": [...]}. */
#include <simgrid/s4u.hpp>
#include <simgrid/version.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

namespace s4u = simgrid::s4u;

static constexpr double NO_LIMIT_BPS = 1e21;

struct Case {
  int q, p, rounds, overlap;
  double card_Bps, network_Bps, op, b, x;
};

struct World {
  std::vector<s4u::Host*> nodes, memories;
  std::vector<s4u::Link*> cards;
  s4u::Link* network;
};

static s4u::NetZone* outermost_zone()
{
#if SIMGRID_VERSION >= 40000 // the engine creates the root zone
  return s4u::Engine::get_instance()->get_netzone_root();
#else
  return s4u::create_full_zone("world");
#endif
}

static World build(double core_flops, double memory_Bps, int nodes, int cores)
{
  auto* zone = outermost_zone();
  World world;
  world.network = zone->create_link("network", NO_LIMIT_BPS)->set_latency(0)->seal();
  for (int i = 0; i < nodes; i++) {
    const std::string number = std::to_string(i);
    world.nodes.push_back(zone->create_host("node-" + number, core_flops)->set_core_count(cores)->seal());
    world.memories.push_back(zone->create_host("memory-" + number, core_flops)->seal());
    world.cards.push_back(zone->create_link("card-" + number, NO_LIMIT_BPS)->set_latency(0)->seal());
    const auto* bus = zone->create_link("bus-" + number, memory_Bps)->set_latency(0)->seal();
    zone->add_route(world.nodes[i]->get_netpoint(), world.memories[i]->get_netpoint(), nullptr, nullptr,
                    {s4u::LinkInRoute(bus)});
  }
  for (int i = 0; i < nodes && nodes > 1; i++)
    zone->add_route(world.nodes[i]->get_netpoint(), world.nodes[(i + 1) % nodes]->get_netpoint(), nullptr, nullptr,
                    {s4u::LinkInRoute(world.cards[i]), s4u::LinkInRoute(world.network)}, false);
  zone->seal();
  return world;
}

static void move(s4u::Host* from, s4u::Host* to, double bytes)
{
  s4u::Comm::sendto(from, to, static_cast<uint64_t>(bytes + 0.5));
}

static void core(const World& world, const Case& one, int node)
{
  const double parts = static_cast<double>(one.q) * one.p * one.rounds;
  const auto bytes   = static_cast<uint64_t>(one.b / parts + 0.5);
  auto* here         = world.nodes[node];
  for (int round = 0; round < one.rounds; round++) {
    if (one.overlap && bytes > 0) {
      auto computing = s4u::this_actor::exec_async(one.op / parts);
      auto fetching  = s4u::Comm::sendto_async(here, world.memories[node], bytes);
      computing->wait();
      fetching->wait();
    } else {
      s4u::this_actor::execute(one.op / parts);
      if (bytes > 0)
        s4u::Comm::sendto(here, world.memories[node], bytes);
    }
    if (one.x > 0)
      move(here, world.nodes[(node + 1) % static_cast<int>(world.nodes.size())], one.x / one.rounds);
  }
}

static void conduct(const World& world, const std::vector<Case>& cases, std::vector<double>& times_s)
{
  for (const auto& one : cases) {
    world.network->set_bandwidth(one.network_Bps > 0 ? one.network_Bps : NO_LIMIT_BPS);
    for (int node = 0; node < one.p; node++)
      world.cards[node]->set_bandwidth(one.card_Bps > 0 ? one.card_Bps : NO_LIMIT_BPS);
    const double start_s = s4u::Engine::get_clock();
    std::vector<s4u::ActorPtr> cores;
    for (int node = 0; node < one.p; node++)
      for (int i = 0; i < one.q; i++)
        cores.push_back(s4u::Actor::create("core", world.nodes[node],
                                           [&world, &one, node] { core(world, one, node); }));
    for (const auto& actor : cores)
      actor->join();
    times_s.push_back(s4u::Engine::get_clock() - start_s);
  }
}

int main(int argc, char** argv)
{
  s4u::Engine engine(&argc, argv);
  if (argc != 5) {
    std::cerr << "usage: world L_C B_M NODES CORES" << std::endl;
    return 1;
  }
  const World world = build(std::atof(argv[1]), std::atof(argv[2]), std::atoi(argv[3]), std::atoi(argv[4]));
  std::vector<Case> cases;
  for (Case one; std::cin >> one.q >> one.p >> one.rounds >> one.overlap >> one.card_Bps >> one.network_Bps >> one.op >>
                 one.b >> one.x;)
    cases.push_back(one);
  std::vector<double> times_s;
  s4u::Actor::create("conductor", world.memories.front(), conduct, std::cref(world), std::cref(cases), std::ref(times_s));
  engine.run();
  std::printf("{\"times_s\": [");
  for (size_t i = 0; i < times_s.size(); i++)
    std::printf("%s%.17g", i ? ", " : "", times_s[i]);
  std::printf("]}\n");
  return 0;
}
