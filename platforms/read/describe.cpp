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
 * With "table", the output has no zones, and routes as print_table writes them.
 * With "connected", the input names hosts instead of pairs, and only the existence of routes is checked: between all pairs
 * of hosts, or with many hosts between some pairs that include every host.  A missing route ends the program with an error.
 *
 * It is compiled at first use, while a user waits.  Hence stdio in place of iostream, C functions of SimGrid in place of
 * those whose headers are long, and few templates.
 */
#include <simgrid/actor.h>
#include <simgrid/disk.h>
#include <simgrid/engine.h>
#include <simgrid/host.h>
#include <simgrid/kernel/routing/NetPoint.hpp>
#include <simgrid/kernel/routing/NetZoneImpl.hpp>
#include <simgrid/s4u/Engine.hpp>
#include <simgrid/s4u/Host.hpp>
#include <simgrid/s4u/Link.hpp>
#include <simgrid/s4u/NetZone.hpp>
#include <simgrid/version.h>

#include <cstdio>
#include <cstdlib>
#include <cxxabi.h>
#include <exception>
#include <map>
#include <string>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <typeinfo>
#include <unistd.h>
#include <vector>

extern "C" void smpi_init_options(); // declares options of MPI programs (smpi/os, ...), which a <config> may set; smpi.h

namespace s4u = simgrid::s4u;

static void put(const char* text)
{
  std::fputs(text, stdout);
}

static void put_text(const char* raw)
{
  std::putchar('"');
  for (; *raw; raw++) {
    const auto c = static_cast<unsigned char>(*raw);
    if (c == '"' || c == '\\')
      std::printf("\\%c", c);
    else if (c < 0x20)
      std::printf("\\u%04x", c);
    else
      std::putchar(c);
  }
  std::putchar('"');
}

static void put_text_or_null(const char* raw)
{
  if (raw)
    put_text(raw);
  else
    put("null");
}

/* Reads the next line of the input without its end.  Returns whether there was one. */
static bool next_line(std::string& line)
{
  static char* buffer = nullptr;
  static size_t room  = 0;
  ssize_t length      = getline(&buffer, &room, stdin);
  if (length < 0)
    return false;
  if (length > 0 && buffer[length - 1] == '\n')
    length--;
  line.assign(buffer, length);
  return true;
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
  put("{\"name\": ");
  put_text(host.get_cname());
  put(", \"speeds_flops\": [");
  for (unsigned long i = 0; i < sg_host_get_nb_pstates(&host); i++)
    std::printf(i ? ", %.17g" : "%.17g", sg_host_get_pstate_speed(&host, i));
  std::printf("], \"pstate\": %lu, \"cores\": %d, \"watts\": ", sg_host_get_pstate(&host), sg_host_core_count(&host));
  put_text_or_null(host.get_property("wattage_per_state"));
  put(", \"memory\": ");
  put_text_or_null(host.get_property("memory_bandwidth"));
  put(", \"efficiencies\": ");
  put_text_or_null(host.get_property("kernel_efficiency"));
  put("}");
}

/* Returns the hosts of a zone without those of its children, in the order of their declaration. */
static std::vector<s4u::Host*> hosts_of(const s4u::NetZone& zone)
{
  std::vector<s4u::Host*> hosts;
  for (const auto* point : zone.get_impl()->get_vertices())
    if (point->is_host())
      if (auto* host = s4u::Host::by_name_or_null(point->get_name()))
        hosts.push_back(host);
  return hosts;
}

/* Prints zones depth first, which is the order of the file. */
static void print_zones(const s4u::NetZone& zone, bool& first)
{
  const auto hosts = hosts_of(zone);
  if (not hosts.empty()) {
    put(first ? "{\"name\": " : ", {\"name\": ");
    put_text(zone.get_cname());
    put(", \"hosts\": [");
    first = false;
    for (size_t i = 0; i < hosts.size(); i++) {
      put(i ? ", " : "");
      print_host(*hosts[i]);
    }
    put("]}");
  }
  for (const auto* child : zone.get_children())
    print_zones(*child, first);
}

[[noreturn]] static void refuse(const std::string& reason)
{
  std::fprintf(stderr, "[describe/CRITICAL] %s\n", reason.c_str());
  std::exit(1);
}

using Links = std::vector<s4u::Link*>;

static void say_route(const s4u::Host& source, const s4u::Host& destination) // SimGrid may end the process
{
  std::fprintf(stderr, "ROUTE %s\t%s\n", source.get_cname(), destination.get_cname());
}

static double find_route(const s4u::Host& source, const s4u::Host& destination, Links& links)
{
  double latency_s = 0.0;
  say_route(source, destination);
  source.route_to(&destination, links, &latency_s);
  if (links.empty() && latency_s <= 0.0) // the condition by which SimGrid refuses a message
    refuse("there is no connecting path");
  return latency_s;
}

static void print_ends(const char* source, const char* destination)
{
  put("{\"source\": ");
  put_text(source);
  put(", \"destination\": ");
  put_text(destination);
}

static void print_link(const s4u::Link& link)
{
  put("{\"name\": ");
  put_text(link.get_cname());
  std::printf(", \"bandwidth_Bps\": %.17g, \"latency_s\": %.17g, \"sharing\": \"%s\"}", link.get_bandwidth(),
              link.get_latency(), sharing(link));
}

static void print_route(const s4u::Host& source, const s4u::Host& destination)
{
  Links links;
  const double latency_s = find_route(source, destination, links);
  print_ends(source.get_cname(), destination.get_cname());
  std::printf(", \"latency_s\": %.17g, \"links\": [", latency_s);
  for (size_t i = 0; i < links.size(); i++) {
    put(i ? ", " : "");
    print_link(*links[i]);
  }
  put("]}");
}

/* Prints routes with each link once: {"latency_s": by route, "first": of each route in "link", "link": indices in "links"}. */
static void print_table()
{
  std::map<const s4u::Link*, size_t> number;
  std::vector<const s4u::Link*> every;
  std::vector<size_t> first, crossed;
  std::vector<double> latencies_s;
  std::string source;
  std::string destination;
  while (next_line(source) && next_line(destination)) {
    Links links;
    latencies_s.push_back(find_route(*s4u::Host::by_name(source), *s4u::Host::by_name(destination), links));
    first.push_back(crossed.size());
    for (const auto* link : links) {
      const auto [at, is_new] = number.emplace(link, every.size());
      if (is_new)
        every.push_back(link);
      crossed.push_back(at->second);
    }
  }
  first.push_back(crossed.size());
  put("\"latency_s\": [");
  for (size_t i = 0; i < latencies_s.size(); i++)
    std::printf(i ? ",%.17g" : "%.17g", latencies_s[i]);
  put("], \"first\": [");
  for (size_t i = 0; i < first.size(); i++)
    std::printf(i ? ",%zu" : "%zu", first[i]);
  put("], \"link\": [");
  for (size_t i = 0; i < crossed.size(); i++)
    std::printf(i ? ",%zu" : "%zu", crossed[i]);
  put("], \"links\": [");
  for (size_t i = 0; i < every.size(); i++) {
    put(i ? ", " : "");
    print_link(*every[i]);
  }
  put("]}\n");
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

/* Returns the number of a host's own disks.  SimGrid 4.1 includes other hosts' disks named by remote_disk. */
static size_t own_disks(const s4u::Host& host)
{
  size_t own = 0;
  for (const auto* disk : host.get_disks())
    own += sg_disk_get_host(disk) == &host;
  return own;
}

static void print_tree(const s4u::NetZone& zone)
{
  size_t routers = 0, disks = 0;
  for (const auto* point : zone.get_impl()->get_vertices())
    routers += point->is_router();
  for (const auto* host : hosts_of(zone))
    disks += own_disks(*host);
  put("{\"name\": ");
  put_text(zone.get_cname());
  put(", \"routing\": ");
  put_text(routing_of(zone).c_str());
  std::printf(", \"routers\": %zu, \"disks\": %zu, \"children\": [", routers, disks);
  bool first = true;
  for (const auto* child : zone.get_children()) {
    put(first ? "" : ", ");
    print_tree(*child);
    first = false;
  }
  put("]}");
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
  Links links;
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

[[noreturn]] static void refuse_value(const char* owner, const std::string& name, const char* quantity, double value,
                                      const char* unit)
{
  char shown[40];
  std::snprintf(shown, sizeof shown, "%.17g", value);
  refuse(std::string(owner) + " '" + name + "' has a " + quantity + " of " + shown + " " + unit);
}

/* Ends the process if the platform has values that SimGrid loads but cannot compute with, or names that do not fit on one
 * line of the input. */
static void check_usable(const s4u::Engine& engine)
{
  for (const auto* host : engine.get_all_hosts()) {
    const auto& name = host->get_name();
    for (unsigned char c : name)
      if (c < 0x20)
        refuse("a host has a line break, a tab or the like in its name");
    for (unsigned long i = 0; i < sg_host_get_nb_pstates(host); i++)
      if (const double speed = sg_host_get_pstate_speed(host, i); speed != 0 && not is_usable(speed))
        refuse_value("host", name, "speed", speed, "flop/s");
  }
  for (const auto* link : engine.get_all_links()) {
    const double bandwidth_Bps = link->get_bandwidth();
    const double latency_s     = link->get_latency();
    if (link->get_sharing_policy() == s4u::Link::SharingPolicy::WIFI) // its bandwidth depends on the station
      continue;
    if (not is_usable(bandwidth_Bps))
      refuse_value("link", link->get_name(), "bandwidth", bandwidth_Bps, "byte/s");
    if (latency_s != 0 && not is_usable(latency_s))
      refuse_value("link", link->get_name(), "latency", latency_s, "s");
  }
}

static void print_if_routed(const std::string& from, const std::string& to)
{
  const auto& source      = *s4u::Host::by_name(from);
  const auto& destination = *s4u::Host::by_name(to);
  bool routed             = false;
  try {
    routed = has_route(source, destination);
  } catch (const std::exception&) { // includes failed assertions of SimGrid
  }
  if (routed)
    print_route(source, destination);
  else {
    print_ends(from.c_str(), to.c_str());
    put("}");
  }
}

/* Prints the routes between names 0 and 1, 2 and 3, and so on.  SimGrid may end the process for a pair without a route;
 * therefore child processes do the work one after the other, each starting where the previous one ended. */
static void survey_routes(const std::vector<std::string>& names)
{
  const size_t pairs = names.size() / 2;
  auto* at = static_cast<size_t*>(mmap(nullptr, sizeof(size_t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  for (*at = 0; *at < pairs;) {
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
      const rlimit none{0, 0};
      setrlimit(RLIMIT_CORE, &none);
      for (; *at < pairs; ++*at) {
        print_if_routed(names[2 * *at], names[2 * *at + 1]);
        put(*at + 1 < pairs ? ", " : "");
        std::fflush(stdout);
      }
      _exit(0);
    }
    int status = 1;
    if (child < 0 || waitpid(child, &status, 0) < 0)
      std::exit(1);
    if (status != 0 && *at < pairs) {
      print_ends(names[2 * *at].c_str(), names[2 * *at + 1].c_str());
      put(++*at < pairs ? "}, " : "}");
    }
  }
}

constexpr size_t MOST_PAIRWISE = 512; // hosts up to which all pairs are checked, which takes about 0.25 s

static std::vector<s4u::Host*> wireless; // ends of routes with Wi-Fi: source and destination in turn

static void send_bytes(int, char**)
{
  for (size_t i = 0; i < wireless.size(); i += 2) {
    say_route(*wireless[i], *wireless[i + 1]);
    sg_host_sendto(wireless[i], wireless[i + 1], 1);
  }
}

/* Sends one byte between each pair: SimGrid checks Wi-Fi stations only when a message is sent. */
static void try_wireless(const s4u::Engine& engine)
{
  if (wireless.empty())
    return;
  sg_actor_create_("sender", engine.get_all_hosts().front(), send_bytes, 0, nullptr);
  engine.run();
}

static void check_route(s4u::Host* source, s4u::Host* destination)
{
  Links links;
  find_route(*source, *destination, links);
  for (const auto* link : links)
    if (link->get_sharing_policy() == s4u::Link::SharingPolicy::WIFI) {
      wireless.push_back(source);
      wireless.push_back(destination);
      return;
    }
}

static void check_connected(const s4u::Engine& engine, const std::vector<s4u::Host*>& hosts)
{
  for (size_t i = 0; i < hosts.size(); i++) {
    for (size_t j = 0; j < i; j++)
      if (hosts.size() <= MOST_PAIRWISE || j == 0 || j == i - 1) {
        check_route(hosts[j], hosts[i]);
        check_route(hosts[i], hosts[j]);
      }
  }
  try_wireless(engine);
}

static double wall_s()
{
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/* Observes the effects of profiles on hosts and links, because SimGrid does not give access to the profiles. */
class Changes {
  static constexpr double FIRST_LOOK_S = 1.0, LAST_LOOK_S = 1e9; // simulated time; each look is at ten times the previous
  static constexpr double MOST_WALL_S  = 1.0;                    // limit for profiles that repeat forever
  static constexpr int MOST_EVENTS     = 20000;
  static constexpr size_t MOST_LISTED  = 1000;

  enum Kind { SPEED, STATE, BANDWIDTH, LATENCY, KINDS };
  struct Seen {
    double value = 0; // share of the speed, 1 if on and 0 if off, byte/s, s
    bool known = false, listed = false;
  };
  struct Resource {
    Seen of[KINDS];
  };
  std::map<const void*, Resource> resources_;
  size_t listed_  = 0;
  int events_     = 0;
  double begin_s_ = 0; // wall time

  bool enough() const
  {
    return events_ > MOST_EVENTS || listed_ >= MOST_LISTED || wall_s() - begin_s_ > MOST_WALL_S;
  }

  void print_entry(Kind kind, const char* resource, const char* name, double value)
  {
    static const char* const NAMES[] = {"speed", "state", "bandwidth", "latency"};
    const double now_s               = simgrid_get_clock();
    std::printf("%s{\"kind\": \"%s\", \"resource\": \"%s\", \"name\": ", listed_ > 1 ? ", " : "", NAMES[kind], resource);
    put_text(name);
    std::printf(", \"from_s\": %.17g, \"share\": ", now_s);
    if (now_s <= 0 && kind == SPEED)
      std::printf("%.17g}", value);
    else
      put("null}");
  }

  void look(Kind kind, const void* of, const char* resource, const char* name, double value)
  {
    events_++;
    Seen& seen         = resources_[of].of[kind];
    const bool changed = seen.known && seen.value != value;
    seen.value         = value;
    seen.known         = true;
    if (changed && listed_ < MOST_LISTED && not seen.listed) {
      seen.listed = true;
      listed_++;
      print_entry(kind, resource, name, value);
    }
    if (simgrid_get_clock() > 0 && enough())
      end();
  }
  void look(Kind kind, const s4u::Host& host, double value) { look(kind, &host, "host", host.get_cname(), value); }
  void look(Kind kind, const s4u::Link& link, double value) { look(kind, &link, "link", link.get_cname(), value); }

  void assume(Kind kind, const void* of) // the value without profiles: on, at full speed
  {
    Seen& seen = resources_[of].of[kind];
    seen.value = 1;
    seen.known = true;
  }

  /* SimGrid has no signal for changes of latency. */
  void look_at_latencies(const Links& links)
  {
    for (const auto* link : links)
      look(LATENCY, *link, link->get_latency());
  }

  [[noreturn]] static void end() // a simulation cannot be left in another way
  {
    put("]}\n");
    std::fflush(stdout);
    std::_Exit(0);
  }

  static Changes only; // the callbacks are plain functions, which compile faster than those with a state
  static void speed(const s4u::Host& host) { only.look(SPEED, host, host.get_available_speed()); }
  static void host_state(const s4u::Host& host) { only.look(STATE, host, host.is_on() ? 1 : 0); }
  static void link_state(const s4u::Link& link) { only.look(STATE, link, link.is_on() ? 1 : 0); }
  static void bandwidth(const s4u::Link& link) { only.look(BANDWIDTH, link, link.get_bandwidth()); }

  [[noreturn]] void run(const s4u::Engine& engine)
  {
    begin_s_         = wall_s();
    const auto links = engine.get_all_links();
    for (const auto* host : engine.get_all_hosts()) {
      assume(SPEED, host);
      assume(STATE, host);
      speed(*host);
      host_state(*host);
    }
    for (const auto* link : links) {
      assume(STATE, link);
      link_state(*link);
      bandwidth(*link);
    }
    s4u::Host::on_speed_change_cb(speed);
    s4u::Link::on_bandwidth_change_cb(bandwidth);
#if SIMGRID_VERSION >= 33400
    s4u::Host::on_onoff_cb(host_state);
    s4u::Link::on_onoff_cb(link_state);
#else
    s4u::Host::on_state_change_cb(host_state);
    s4u::Link::on_state_change_cb(link_state);
#endif
    look_at_latencies(links);
    events_ = 0;
    for (double until_s = FIRST_LOOK_S; until_s <= LAST_LOOK_S && not enough(); until_s *= 10) {
      engine.run_until(until_s);
      const int before = events_;
      look_at_latencies(links);
      events_ = before;
    }
    end();
  }

public:
  /* Completes the line of JSON and ends the process. */
  [[noreturn]] static void print(const s4u::Engine& engine) { only.run(engine); }
};

Changes Changes::only;

/* Limits memory to 8 GiB.  A platform that needs more could not be simulated: a million hosts take 4 GiB. */
static void bound_memory()
{
  const rlimit memory{8UL << 30, 8UL << 30};
  const rlimit none{0, 0};
  setrlimit(RLIMIT_AS, &memory);
  setrlimit(RLIMIT_CORE, &none);
}

static void print_survey(const s4u::Engine& engine)
{
  std::printf("], \"links\": %zu, \"tree\": ", declared_links(engine));
  print_tree(outermost(engine));
  put(", \"routes\": [");
  std::vector<std::string> names;
  for (std::string name; next_line(name);)
    names.push_back(name);
  survey_routes(names);
  put("]}\n");
}

int main(int argc, char** argv)
{
  bound_memory();
  const std::string mode = argc > 2 ? argv[2] : "";
  s4u::Engine engine(&argc, argv);
  smpi_init_options();
  engine.load_platform(argv[1]);
  engine.seal_platform(); // as a run does: computes loopbacks and the routing tables of Floyd and Dijkstra zones
  check_usable(engine);

  if (mode == "connected") {
    std::vector<s4u::Host*> asked;
    for (std::string name; next_line(name);)
      asked.push_back(s4u::Host::by_name(name));
    check_connected(engine, asked);
    put("{\"zones\": []}\n");
    return 0;
  }

  if (mode == "table") {
    put("{\"zones\": [], ");
    print_table();
    return 0;
  }

  bool first = true;
  put("{\"zones\": [");
  print_zones(outermost(engine), first);
  if (mode == "survey") {
    print_survey(engine);
    return 0;
  }
  if (mode == "changes") {
    put("], \"changes\": [");
    Changes::print(engine);
  }
  put("], \"routes\": [");
  std::string source;
  std::string destination;
  for (first = true; next_line(source) && next_line(destination); first = false) {
    put(first ? "" : ", ");
    print_route(*s4u::Host::by_name(source), *s4u::Host::by_name(destination));
  }
  put("]}\n");
  return 0;
}
