/* Times reads and writes of network disks: diskprobe PLATFORM [S4U options] < PLAN
 *
 * Every line of the plan is "read|write HOST DISK-HOST DISK BYTES".  In a read, HOST sends a request, the disk is read,
 * and the bytes come over the network.  In a write, the bytes go to the disk's host and are written, and an answer
 * comes back.  Request and answer are messages of one byte.  On the disk's own host only the disk takes time.  The
 * experiments run one after the other.  SimGrid's disks have only bandwidths: the time to the first byte is the disk's
 * property read_latency_s or write_latency_s, 0 without the property, and the program waits for this time.  The output
 * is one line of JSON with all disks of the platform: {"times_s": [...], "disks": [{"host", "disk", "read_Bps",
 * "write_Bps"}]}. */
#include <simgrid/s4u.hpp>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

namespace s4u = simgrid::s4u;

struct Experiment {
  bool read;
  s4u::Host* host;
  s4u::Host* server;
  s4u::Disk* disk;
  double latency_s;
  double bytes;
};

static constexpr double NOTE_BYTES = 1;

static s4u::Disk* disk_named(const s4u::Host* host, const std::string& name)
{
  for (auto* disk : host->get_disks())
    if (disk->get_name() == name)
      return disk;
  std::cerr << "no disk " << name << " on " << host->get_name() << std::endl;
  std::exit(1);
}

/* Returns the property of a disk that gives its time to the first byte, s. */
static double latency_s(const s4u::Disk* disk, const std::string& property)
{
  const char* text = disk->get_property(property);
  if (!text)
    return 0;
  char* end;
  double value = std::strtod(text, &end);
  if (end != text && !*end && std::isfinite(value) && value >= 0)
    return value;
  std::cerr << "disk " << disk->get_name() << ": its property " << property << ", " << text << ", is no time in seconds"
            << std::endl;
  std::exit(1);
}

static std::vector<Experiment> read_plan()
{
  std::vector<Experiment> plan;
  std::string what, host, server, disk;
  double bytes;
  while (std::cin >> what >> host >> server >> disk >> bytes) {
    auto* there = s4u::Host::by_name(server);
    auto* used  = disk_named(there, disk);
    auto* user  = s4u::Host::by_name(host);
    plan.push_back({what == "read", user, there, used, latency_s(used, what + "_latency_s"), bytes});
  }
  return plan;
}

/* Sends bytes over the network; within a host they stay in memory. */
static void move(s4u::Host* from, s4u::Host* to, double bytes)
{
  if (from != to)
    s4u::Comm::sendto(from, to, static_cast<uint64_t>(bytes));
}

static void take_times(const std::vector<Experiment>& plan, std::vector<double>& times_s)
{
  for (const auto& one : plan) {
    double start_s = s4u::Engine::get_clock();
    move(one.host, one.server, one.read ? NOTE_BYTES : one.bytes);
    s4u::this_actor::sleep_for(one.latency_s);
    if (one.read)
      one.disk->read(static_cast<sg_size_t>(one.bytes));
    else
      one.disk->write(static_cast<sg_size_t>(one.bytes));
    move(one.server, one.host, one.read ? one.bytes : NOTE_BYTES);
    times_s.push_back(s4u::Engine::get_clock() - start_s);
  }
}

static std::string text(const std::string& raw)
{
  std::string out = "\"";
  for (char c : raw) {
    if (c == '"' || c == '\\')
      out += '\\';
    out += c;
  }
  return out + "\"";
}

int main(int argc, char** argv)
{
  s4u::Engine engine(&argc, argv);
  engine.load_platform(argv[1]);
  const auto plan = read_plan();
  std::vector<double> times_s;
  if (!plan.empty()) {
    s4u::Actor::create("times", plan.front().host, take_times, std::cref(plan), std::ref(times_s));
    engine.run();
  }
  std::printf("{\"times_s\": [");
  for (size_t i = 0; i < times_s.size(); i++)
    std::printf("%s%.17g", i ? ", " : "", times_s[i]);
  std::printf("], \"disks\": [");
  bool first = true;
  for (const auto* host : engine.get_all_hosts())
    for (const auto* disk : host->get_disks()) {
      if (disk->get_host() != host) // SimGrid 4.1 also lists disks of other hosts, named by the property remote_disk
        continue;
      std::printf("%s{\"host\": %s, \"disk\": %s, \"read_Bps\": %.17g, \"write_Bps\": %.17g}", first ? "" : ", ",
                  text(host->get_name()).c_str(), text(disk->get_name()).c_str(), disk->get_read_bandwidth(),
                  disk->get_write_bandwidth());
      first = false;
    }
  std::printf("]}\n");
  return 0;
}
