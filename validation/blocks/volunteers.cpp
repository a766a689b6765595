/* Volunteers of SimGrid that join and leave: volunteers [S4U options] < PROJECT
 *
 * PROJECT has numbers: units, operations of a unit, timeout (0: none), time after which a volunteer that waits hears of a
 * unit, whether a unit is lost (2), begins again (1) or
 * continues (0) where its volunteer leaves, the number of volunteers, and for each its speed in flop/s, the number of its
 * periods, and their begins and ends.  A host is turned off between its periods by a profile of its state, so that
 * SimGrid kills its actor and starts it again; where units continue, a profile of its speed stops it instead.
 * The output is one line of JSON: {"time_s": ..., "handed_out": ...}; the time is that of the last unit's first result. */
#include <simgrid/kernel/ProfileBuilder.hpp>
#include <simgrid/s4u.hpp>
#include <simgrid/version.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <iostream>
#include <set>
#include <string>
#include <vector>

namespace s4u = simgrid::s4u;

static constexpr int CONTINUES = 0, LOST = 2, NONE = -1;
static constexpr double TIE_S   = 1e-6; // a unit that ends when its volunteer leaves has ended
static constexpr double STOPPED = 1e-9; // share of its speed; with 0 SimGrid goes on at full speed

struct Volunteer {
  double speed;
  std::vector<double> from, until;
  int unit = NONE;
  bool waits   = false;
  double start = 0; // of its computation at the earliest

  bool is_there(double now) const
  {
    for (size_t i = 0; i < from.size() && from[i] <= now; i++)
      if (now < until[i])
        return true;
    return false;
  }
  double next_join(double now) const
  {
    for (double begin : from)
      if (begin > now)
        return begin;
    return 1e300;
  }
};

static double operations, timeout, contact_s, last_s = 0;
static int leave, handed_out = 0, open_units;
static std::deque<int> queue;
static std::vector<bool> has_result;
static std::vector<Volunteer> volunteers;
static std::multiset<std::pair<double, int>> deadlines; // with their units

static bool take(Volunteer& volunteer)
{
  while (!queue.empty() && has_result[queue.front()])
    queue.pop_front();
  volunteer.waits = queue.empty();
  if (volunteer.waits)
    return false;
  volunteer.unit = queue.front();
  queue.pop_front();
  handed_out++;
  if (timeout > 0)
    deadlines.insert({s4u::Engine::get_clock() + timeout, volunteer.unit});
  return true;
}

static void master()
{
  // It stays until the last period ends, so that the simulation goes on while all volunteers are absent.
  while (s4u::Engine::get_clock() < last_s) {
    double next = deadlines.empty() ? s4u::Engine::get_clock() + timeout : deadlines.begin()->first;
    s4u::this_actor::sleep_until(timeout > 0 ? next : last_s);
    while (!deadlines.empty() && deadlines.begin()->first <= s4u::Engine::get_clock() + 1e-9) {
      int unit = deadlines.begin()->second;
      deadlines.erase(deadlines.begin());
      if (has_result[unit])
        continue;
      queue.push_back(unit);
      for (auto& volunteer : volunteers)
        if (volunteer.waits && volunteer.is_there(s4u::Engine::get_clock())) {
          take(volunteer);
          volunteer.start = s4u::Engine::get_clock() + contact_s;
          break;
        }
    }
  }
}

static void work(int number)
{
  Volunteer& volunteer = volunteers[number];
  volunteer.waits      = false;
  if (leave == LOST)
    volunteer.unit = NONE;
  while (true) {
    double now = s4u::Engine::get_clock();
    if (!volunteer.is_there(now)) {
      s4u::this_actor::sleep_until(volunteer.next_join(now));
      continue;
    }
    if (volunteer.unit == NONE && !take(volunteer)) {
      s4u::this_actor::sleep_until((deadlines.empty() ? now + 1e9 : deadlines.begin()->first) + contact_s);
      continue;
    }
    if (volunteer.start > s4u::Engine::get_clock())
      s4u::this_actor::sleep_until(volunteer.start);
    s4u::this_actor::execute(operations);
    int unit       = volunteer.unit;
    volunteer.unit = NONE;
    if (has_result[unit])
      continue;
    has_result[unit] = true;
    if (--open_units == 0) {
      std::printf("{\"time_s\": %.17g, \"handed_out\": %d}\n", s4u::Engine::get_clock(), handed_out);
      std::fflush(stdout);
      std::_Exit(0);
    }
  }
}

int main(int argc, char* argv[])
{
  s4u::Engine engine(&argc, argv);
  int units, count;
  std::cin >> units >> operations >> timeout >> contact_s >> leave >> count;
  open_units = units;
  has_result.resize(units);
  for (int unit = 0; unit < units; unit++)
    queue.push_back(unit);
#if SIMGRID_VERSION >= 40000 // the engine creates the root zone
  auto* zone = engine.get_netzone_root();
#else
  auto* zone = s4u::create_full_zone("world");
#endif
  std::vector<s4u::Host*> hosts;
  volunteers.resize(count);
  for (int i = 0; i < count; i++) {
    size_t periods;
    std::cin >> volunteers[i].speed >> periods;
    std::string text;
    char line[80];
    for (size_t k = 0; k < periods; k++) {
      double from, until;
      std::cin >> from >> until;
      volunteers[i].from.push_back(from);
      volunteers[i].until.push_back(until);
      last_s = std::max(last_s, until);
      // Before its first period a host is on, and its actor sleeps: SimGrid starts that of a host that is off at 0 twice.
      std::snprintf(line, sizeof line, "%.17g 1\n", from);
      text += k == 0 ? "" : line;
      std::snprintf(line, sizeof line, "%.17g %g\n", until + TIE_S, leave == CONTINUES ? STOPPED : 0);
      text += line;
    }
    const std::string name = "volunteer-" + std::to_string(i);
    auto* profile          = simgrid::kernel::profile::ProfileBuilder::from_string(name, text, -1);
    auto* host             = zone->create_host(name, volunteers[i].speed);
    if (leave == CONTINUES)
      host->set_speed_profile(profile);
    else
      host->set_state_profile(profile);
    hosts.push_back(host->seal());
  }
  auto* home = zone->create_host("master", 1e9)->seal();
  zone->seal();
  s4u::Actor::create("master", home, master);
  for (int i = 0; i < count; i++)
    s4u::Actor::create("work", hosts[i], work, i)->set_auto_restart(true);
  engine.run();
  std::fprintf(stderr, "%d units without a result at the end\n", open_units);
  return 1;
}
