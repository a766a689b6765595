/* Prints SimGrid's view of a platform as one line of JSON: describe PLATFORM [survey | changes | connected] < PAIRS
 *
 * PAIRS: source and destination host in turn, one name per line; may be empty.
 * {"zones": [{"name", "hosts": [{"name", "speeds_flops", "pstate", "cores", "watts", "memory"}]}],
 *  "routes": [{"source", "destination", "latency_s", "links": [{"name", "bandwidth_Bps", "latency_s", "sharing"}]}]}
 * The program prints the names of each pair on standard error before it asks SimGrid for the pair's route.
 * Zones and hosts are in the order of their declaration; zones without direct hosts are left out.
 *
 * With "survey", a pair without a route does not end the program; its entry is {"source", "destination"} alone.  The
 * output also has "tree": {"name", "routing", "routers", "disks", "children": [trees]}, all zones from the root, and
 * "links": the number of links.
 *
 * With "changes", the output also has "changes": [{"kind", "resource", "name", "from_s", "share"}]: the effects of profiles
 * during a simulation in which nothing else happens.  Each resource has one entry per kind, with the time of the first
 * change.
 *
 * With "connected", the input names hosts instead of pairs, and only the existence of routes is checked: between all pairs
 * of hosts, or with many hosts between some pairs that include every host.  A missing route ends the program with an error.
 */
#include <simgrid/kernel/routing/NetPoint.hpp>
#include <simgrid/s4u.hpp>
#include <simgrid/version.h>

#include <cxxabi.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <typeinfo>
#include <unistd.h>

extern "C" void smpi_init_options(); // declares options of MPI programs (smpi/os, ...), which a <config> may set; smpi.h

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <map>
#include <set>
#include <string>
#include <tuple>
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

/* Prints zones depth first, which is the order of the file. */
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

[[noreturn]] static void refuse(const std::string& reason)
{
  std::cerr << "[describe/CRITICAL] " << reason << std::endl;
  std::exit(1);
}

static double find_route(const s4u::Host& source, const s4u::Host& destination, std::vector<s4u::Link*>& links)
{
  double latency_s = 0.0;
  std::cerr << "ROUTE " << source.get_name() << "\t" << destination.get_name() << "\n"; // SimGrid may end the process
  source.route_to(&destination, links, &latency_s);
  if (links.empty() && latency_s <= 0.0) // the condition by which SimGrid refuses a message
    refuse("there is no connecting path");
  return latency_s;
}

static void print_route(const s4u::Host& source, const s4u::Host& destination)
{
  std::vector<s4u::Link*> links;
  const double latency_s = find_route(source, destination, links);
  std::cout << "{\"source\": " << text(source.get_name()) << ", \"destination\": " << text(destination.get_name())
            << ", \"latency_s\": " << number(latency_s) << ", \"links\": [";
  for (size_t i = 0; i < links.size(); i++)
    std::cout << (i ? ", " : "") << "{\"name\": " << text(links[i]->get_name())
              << ", \"bandwidth_Bps\": " << number(links[i]->get_bandwidth())
              << ", \"latency_s\": " << number(links[i]->get_latency()) << ", \"sharing\": \"" << sharing(*links[i])
              << "\"}";
  std::cout << "]}";
}

/* Returns the kind of routing, such as "Floyd" for simgrid::kernel::routing::FloydZone. */
static std::string routing_of(const s4u::NetZone& zone)
{
  int status   = 0;
  char* whole  = abi::__cxa_demangle(typeid(*zone.get_impl()).name(), nullptr, nullptr, &status);
  auto name    = std::string(whole ? whole : "unknown");
  std::free(whole);
  name         = name.substr(name.rfind(':') + 1); // npos + 1 is 0
  auto ending  = name.rfind("Zone");
  return ending == std::string::npos || ending == 0 ? name : name.substr(0, ending);
}

static void print_tree(const s4u::NetZone& zone, const HostsByZone& hosts)
{
  const auto points = zone.get_impl()->get_vertices();
  size_t disks      = 0;
  if (auto found = hosts.find(&zone); found != hosts.end())
    for (const auto* host : found->second) {
      const auto known = host->get_disks(); // 4.1 includes other hosts' disks named by remote_disk
      disks += std::count_if(known.begin(), known.end(), [host](const auto* disk) { return disk->get_host() == host; });
    }
  std::cout << "{\"name\": " << text(zone.get_name()) << ", \"routing\": " << text(routing_of(zone)) << ", \"routers\": "
            << std::count_if(points.begin(), points.end(), [](const auto* point) { return point->is_router(); })
            << ", \"disks\": " << disks << ", \"children\": [";
  bool first = true;
  for (const auto* child : zone.get_children()) {
    std::cout << (first ? "" : ", ");
    print_tree(*child, hosts);
    first = false;
  }
  std::cout << "]}";
}

/* Returns the platform's root zone.  From 4.0 on, SimGrid's own root zone contains it; that zone is returned only if it
 * contains more than the one zone. */
static const s4u::NetZone& outermost(const s4u::Engine& engine)
{
  const auto& root = *engine.get_netzone_root();
#if SIMGRID_VERSION >= 40000
  const auto points = root.get_impl()->get_vertices();
  if (points.size() == 1 && points.front()->is_netzone())
    return *root.get_children().front();
#endif
  return root;
}

/* Returns the number of links without the loopback that SimGrid itself creates. */
static size_t declared_links(const s4u::Engine& engine)
{
  return engine.get_link_count() - (s4u::Link::by_name_or_null("__loopback__") ? 1 : 0);
}

/* Returns whether a message could be sent.  Throws or ends the process if SimGrid does. */
static bool has_route(const s4u::Host& source, const s4u::Host& destination)
{
  std::vector<s4u::Link*> links;
  double latency_s = 0.0;
  source.route_to(&destination, links, &latency_s);
  return not links.empty() || latency_s > 0.0;
}

/* Returns whether times can be computed with a value: from 1e-100 to 1e100, so that no quotient or product of a few such
 * values is infinite or zero. */
static bool is_usable(double value)
{
  return value >= 1e-100 && value <= 1e100;
}

/* Ends the process if the platform has values that SimGrid loads but cannot compute with, or names that do not fit on one
 * line of the input. */
static void check_usable(const s4u::Engine& engine)
{
  for (const auto* host : engine.get_all_hosts()) {
    const auto& name = host->get_name();
    if (std::any_of(name.begin(), name.end(), [](unsigned char c) { return c < 0x20; }))
      refuse("a host has a line break, a tab or the like in its name");
    for (unsigned long i = 0; i < host->get_pstate_count(); i++)
      if (const double speed = host->get_pstate_speed(i); speed != 0 && not is_usable(speed))
        refuse("host '" + name + "' has a speed of " + number(host->get_pstate_speed(i)) + " flop/s");
  }
  for (const auto* link : engine.get_all_links()) {
    const double bandwidth_Bps = link->get_bandwidth();
    const double latency_s     = link->get_latency();
    if (link->get_sharing_policy() == s4u::Link::SharingPolicy::WIFI) // its bandwidth depends on the station
      continue;
    if (not is_usable(bandwidth_Bps))
      refuse("link '" + link->get_name() + "' has a bandwidth of " + number(bandwidth_Bps) + " byte/s");
    if (latency_s != 0 && not is_usable(latency_s))
      refuse("link '" + link->get_name() + "' has a latency of " + number(latency_s) + " s");
  }
}

using Pair = std::pair<std::string, std::string>;

static void print_if_routed(const Pair& pair)
{
  const auto& source      = *s4u::Host::by_name(pair.first);
  const auto& destination = *s4u::Host::by_name(pair.second);
  bool routed             = false;
  try {
    routed = has_route(source, destination);
  } catch (const std::exception&) { // includes failed assertions of SimGrid
  }
  if (routed)
    print_route(source, destination);
  else
    std::cout << "{\"source\": " << text(pair.first) << ", \"destination\": " << text(pair.second) << "}";
}

/* Prints the routes of all pairs.  SimGrid may end the process for a pair without a route; therefore child processes do
 * the work one after the other, each starting where the previous one ended. */
static void survey_routes(const std::vector<Pair>& pairs)
{
  auto* at = static_cast<size_t*>(mmap(nullptr, sizeof(size_t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  for (*at = 0; *at < pairs.size();) {
    std::cout.flush();
    const pid_t child = fork();
    if (child == 0) {
      const rlimit none{0, 0};
      setrlimit(RLIMIT_CORE, &none);
      for (; *at < pairs.size(); ++*at) {
        print_if_routed(pairs[*at]);
        std::cout << (*at + 1 < pairs.size() ? ", " : "") << std::flush;
      }
      _exit(0);
    }
    int status = 1;
    if (child < 0 || waitpid(child, &status, 0) < 0)
      std::exit(1);
    if (status != 0 && *at < pairs.size()) {
      std::cout << "{\"source\": " << text(pairs[*at].first) << ", \"destination\": " << text(pairs[*at].second) << "}";
      std::cout << (++*at < pairs.size() ? ", " : "");
    }
  }
}

constexpr size_t MOST_PAIRWISE = 512; // hosts up to which all pairs are checked, which takes about 0.25 s

/* Sends one byte between each pair: SimGrid checks Wi-Fi stations only when a message is sent. */
static void try_pairs(s4u::Engine& engine, const std::vector<std::pair<s4u::Host*, s4u::Host*>>& pairs)
{
  if (pairs.empty())
    return;
  s4u::Actor::create("sender", engine.get_all_hosts().front(), [pairs] {
    for (auto [one, other] : pairs) {
      std::cerr << "ROUTE " << one->get_name() << "\t" << other->get_name() << "\n";
      s4u::Comm::sendto(one, other, 1);
    }
  });
  engine.run();
}

static void check_connected(s4u::Engine& engine, const std::vector<s4u::Host*>& hosts)
{
  std::vector<std::pair<s4u::Host*, s4u::Host*>> wireless;
  const auto check = [&wireless](s4u::Host* one, s4u::Host* other) {
    std::vector<s4u::Link*> links;
    find_route(*one, *other, links);
    if (std::any_of(links.begin(), links.end(), [](const s4u::Link* link) {
          return link->get_sharing_policy() == s4u::Link::SharingPolicy::WIFI;
        }))
      wireless.emplace_back(one, other);
  };
  for (size_t i = 0; i < hosts.size(); i++) {
    for (size_t j = 0; j < i; j++)
      if (hosts.size() <= MOST_PAIRWISE || j == 0 || j == i - 1) {
        check(hosts[j], hosts[i]);
        check(hosts[i], hosts[j]);
      }
  }
  try_pairs(engine, wireless);
}

/* Observes the effects of profiles on hosts and links, because SimGrid does not give access to the profiles. */
class Changes {
  static constexpr double FIRST_LOOK_S = 1.0, LAST_LOOK_S = 1e9; // simulated time; each look is at ten times the previous
  static constexpr double MOST_WALL_S  = 1.0;                    // limit for profiles that repeat forever
  static constexpr int MOST_EVENTS     = 20000;
  static constexpr size_t MOST_LISTED  = 1000;

  using Key = std::tuple<std::string, std::string, std::string>; // kind, resource, name
  const s4u::Engine& engine_;
  std::map<Key, double> values_; // share of the speed, byte/s, s, or 1 if on and 0 if off
  std::set<Key> listed_;
  int events_ = 0;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();

  bool enough() const
  {
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin_;
    return events_ > MOST_EVENTS || listed_.size() >= MOST_LISTED || wall.count() > MOST_WALL_S;
  }

  void look(const char* kind, const char* resource, const std::string& name, double value)
  {
    events_++;
    const Key key(kind, resource, name);
    auto [known, is_new] = values_.try_emplace(key, value);
    const bool changed   = not is_new && known->second != value;
    known->second        = value;
    if (changed && listed_.size() < MOST_LISTED && listed_.insert(key).second) {
      const double now_s = s4u::Engine::get_clock();
      const bool at_once = now_s <= 0 && std::string(kind) == "speed";
      std::cout << (listed_.size() > 1 ? ", " : "") << "{\"kind\": \"" << kind << "\", \"resource\": \"" << resource
                << "\", \"name\": " << text(name) << ", \"from_s\": " << number(now_s)
                << ", \"share\": " << (at_once ? number(value) : "null") << "}";
    }
    if (s4u::Engine::get_clock() > 0 && enough())
      end();
  }

  void speed(const s4u::Host& host) { look("speed", "host", host.get_name(), host.get_available_speed()); }
  void state(const s4u::Host& host) { look("state", "host", host.get_name(), host.is_on() ? 1 : 0); }
  void state(const s4u::Link& link) { look("state", "link", link.get_name(), link.is_on() ? 1 : 0); }
  void bandwidth(const s4u::Link& link) { look("bandwidth", "link", link.get_name(), link.get_bandwidth()); }

  [[noreturn]] static void end() // a simulation cannot be left in another way
  {
    std::cout << "]}" << std::endl;
    std::_Exit(0);
  }

public:
  explicit Changes(const s4u::Engine& engine) : engine_(engine) {}

  /* Completes the line of JSON and ends the process. */
  [[noreturn]] void print()
  {
    const auto hosts = engine_.get_all_hosts();
    const auto links = engine_.get_all_links();
    for (const auto* host : hosts) { // the values without profiles: on, at full speed
      values_[{"speed", "host", host->get_name()}] = 1.0;
      values_[{"state", "host", host->get_name()}] = 1.0;
      speed(*host);
      state(*host);
    }
    for (const auto* link : links) {
      values_[{"state", "link", link->get_name()}] = 1.0;
      state(*link);
      bandwidth(*link);
    }
    s4u::Host::on_speed_change_cb([this](const s4u::Host& host) { speed(host); });
    s4u::Link::on_bandwidth_change_cb([this](const s4u::Link& link) { bandwidth(link); });
#if SIMGRID_VERSION >= 33400
    s4u::Host::on_onoff_cb([this](const s4u::Host& host) { state(host); });
    s4u::Link::on_onoff_cb([this](const s4u::Link& link) { state(link); });
#else
    s4u::Host::on_state_change_cb([this](const s4u::Host& host) { state(host); });
    s4u::Link::on_state_change_cb([this](const s4u::Link& link) { state(link); });
#endif
    const auto latencies = [this, &links] { // SimGrid has no signal for changes of latency
      for (const auto* link : links)
        look("latency", "link", link->get_name(), link->get_latency());
    };
    latencies();
    events_ = 0;
    for (double until_s = FIRST_LOOK_S; until_s <= LAST_LOOK_S && not enough(); until_s *= 10) {
      engine_.run_until(until_s);
      const int before = events_;
      latencies();
      events_ = before;
    }
    end();
  }
};

/* Limits memory to 8 GiB.  A platform that needs more could not be simulated: a million hosts take 4 GiB. */
static void bound_memory()
{
  const rlimit memory{8UL << 30, 8UL << 30};
  const rlimit none{0, 0};
  setrlimit(RLIMIT_AS, &memory);
  setrlimit(RLIMIT_CORE, &none);
}

int main(int argc, char** argv)
{
  bound_memory();
  const std::string mode = argc > 2 ? argv[2] : "";
  const bool survey = mode == "survey";
  s4u::Engine engine(&argc, argv);
  smpi_init_options();
  engine.load_platform(argv[1]);
  engine.seal_platform(); // as a run does: computes loopbacks and the routing tables of Floyd and Dijkstra zones
  check_usable(engine);

  if (mode == "connected") {
    std::vector<s4u::Host*> asked;
    for (std::string name; std::getline(std::cin, name);)
      asked.push_back(s4u::Host::by_name(name));
    check_connected(engine, asked);
    std::cout << "{\"zones\": []}" << std::endl;
    return 0;
  }

  HostsByZone hosts;
  for (const auto* host : engine.get_all_hosts())
    hosts[host->get_englobing_zone()].push_back(host);
  for (auto& [zone, members] : hosts)
    std::stable_sort(members.begin(), members.end(), [](const s4u::Host* a, const s4u::Host* b) {
      return a->get_netpoint()->id() < b->get_netpoint()->id();
    });

  bool first = true;
  std::cout << "{\"zones\": [";
  print_zones(outermost(engine), hosts, first);
  if (survey) {
    std::cout << "], \"links\": " << declared_links(engine) << ", \"tree\": ";
    print_tree(outermost(engine), hosts);
    std::cout << ", \"routes\": [";
    std::vector<Pair> pairs;
    for (std::string a, b; std::getline(std::cin, a) && std::getline(std::cin, b);)
      pairs.emplace_back(a, b);
    survey_routes(pairs);
    std::cout << "]}" << std::endl;
    return 0;
  }
  if (mode == "changes") {
    std::cout << "], \"changes\": [";
    Changes(engine).print();
  }
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
