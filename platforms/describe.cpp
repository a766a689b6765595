/* Says as one line of JSON what SimGrid makes of a platform: describe PLATFORM < PAIRS
 *
 * PAIRS: source and destination host in turn, one name per line; may be empty.
 * {"zones": [{"name", "hosts": [{"name", "speeds_flops", "pstate", "cores", "watts", "memory"}]}],
 *  "routes": [{"source", "destination", "latency_s", "links": [{"name", "bandwidth_Bps", "latency_s", "sharing"}]}]}
 * Names each pair on standard error before its route is asked for.
 * Zones and hosts come in the order of their declaration; zones without hosts of their own are left out.
 */
#include <simgrid/kernel/routing/NetPoint.hpp>
#include <simgrid/s4u.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <map>
#include <string>
#include <vector>

namespace s4u = simgrid::s4u;

static std::string text(const std::string& raw)
{
  std::string out = "\"";
  for (unsigned char c : raw) {
    char code[8];
    if (c == '"' || c == '\\') {
      out += '\\';
      out += static_cast<char>(c);
    } else if (c < 0x20) {
      std::snprintf(code, sizeof code, "\\u%04x", c);
      out += code;
    } else
      out += static_cast<char>(c);
  }
  return out + "\"";
}

static std::string number(double value)
{
  char out[40];
  std::snprintf(out, sizeof out, "%.17g", value);
  return out;
}

static const char* sharing(const s4u::Link& link)
{
  switch (link.get_sharing_policy()) {
    case s4u::Link::SharingPolicy::SHARED:
      return "shared";
    case s4u::Link::SharingPolicy::FATPIPE:
      return "fatpipe";
    case s4u::Link::SharingPolicy::SPLITDUPLEX:
      return "splitduplex";
    case s4u::Link::SharingPolicy::WIFI:
      return "wifi";
    default:
      return "nonlinear";
  }
}

static void print_host(const s4u::Host& host)
{
  const char* watts  = host.get_property("wattage_per_state");
  const char* memory = host.get_property("memory_bandwidth");
  std::cout << "{\"name\": " << text(host.get_name()) << ", \"speeds_flops\": [";
  for (unsigned long i = 0; i < host.get_pstate_count(); i++) // the number's type differs between versions
    std::cout << (i ? ", " : "") << number(host.get_pstate_speed(i));
  std::cout << "], \"pstate\": " << host.get_pstate() << ", \"cores\": " << host.get_core_count() << ", \"watts\": " << (watts ? text(watts) : "null")
            << ", \"memory\": " << (memory ? text(memory) : "null") << "}";
}

using HostsByZone = std::map<const s4u::NetZone*, std::vector<const s4u::Host*>>;

/* Depth first, so that the order is that of the file. */
static void print_zones(const s4u::NetZone& zone, HostsByZone& hosts, bool& first)
{
  auto found = hosts.find(&zone);
  if (found != hosts.end()) {
    std::cout << (first ? "" : ", ") << "{\"name\": " << text(zone.get_name()) << ", \"hosts\": [";
    first          = false;
    bool none_yet = true;
    for (const auto* host : found->second) {
      std::cout << (none_yet ? "" : ", ");
      print_host(*host);
      none_yet = false;
    }
    std::cout << "]}";
  }
  for (const auto* child : zone.get_children())
    print_zones(*child, hosts, first);
}

static void print_route(const s4u::Host& source, const s4u::Host& destination)
{
  std::vector<s4u::Link*> links;
  double latency_s = 0.0;
  std::cerr << "ROUTE " << source.get_name() << " " << destination.get_name() << std::endl; // SimGrid may die of it
  source.route_to(&destination, links, &latency_s);
  if (links.empty() && latency_s <= 0.0) { // the condition by which SimGrid refuses a message
    std::cerr << "[describe/CRITICAL] there is no connecting path" << std::endl;
    std::exit(1);
  }
  std::cout << "{\"source\": " << text(source.get_name()) << ", \"destination\": " << text(destination.get_name())
            << ", \"latency_s\": " << number(latency_s) << ", \"links\": [";
  for (size_t i = 0; i < links.size(); i++)
    std::cout << (i ? ", " : "") << "{\"name\": " << text(links[i]->get_name())
              << ", \"bandwidth_Bps\": " << number(links[i]->get_bandwidth())
              << ", \"latency_s\": " << number(links[i]->get_latency()) << ", \"sharing\": \"" << sharing(*links[i])
              << "\"}";
  std::cout << "]}";
}

int main(int argc, char** argv)
{
  s4u::Engine engine(&argc, argv);
  engine.load_platform(argv[1]);
  engine.seal_platform(); // as a run would: it computes what Floyd and Dijkstra zones route by, and loopbacks

  HostsByZone hosts;
  for (const auto* host : engine.get_all_hosts())
    hosts[host->get_englobing_zone()].push_back(host);
  for (auto& [zone, members] : hosts)
    std::stable_sort(members.begin(), members.end(), [](const s4u::Host* a, const s4u::Host* b) {
      return a->get_netpoint()->id() < b->get_netpoint()->id();
    });

  bool first = true;
  std::cout << "{\"zones\": [";
  print_zones(*engine.get_netzone_root(), hosts, first);
  std::cout << "], \"routes\": [";
  std::string source;
  std::string destination;
  for (first = true; std::getline(std::cin, source) && std::getline(std::cin, destination); first = false) {
    std::cout << (first ? "" : ", ");
    print_route(*s4u::Host::by_name(source), *s4u::Host::by_name(destination));
  }
  std::cout << "]}" << std::endl;
  return 0;
}
