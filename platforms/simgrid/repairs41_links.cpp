/* Loaded before SimGrid 4.1 (platforms/simgrid/repairs.py), so that its plugin link_energy updates a link when a message over it
 * starts and ends, as in 3.32.
 *
 * In 4.1 the plugin uses the signals s4u::Comm::on_start and on_completion, which are raised only for communications with
 * an s4u::Comm (CommImpl::finish, Comm::do_start).  Those of SMPI have none, so that its messages take no energy.
 * SimGrid's library calls the functions below by name. */
#include "repairs41.hpp"

#include <simgrid/plugins/energy.h>
#include <simgrid/s4u.hpp>
#include <simgrid/version.h>

#include <string_view>
#include <unordered_map>
#include <vector>

static_assert(SIMGRID_VERSION >= 40100 && SIMGRID_VERSION < 40200, "other versions have other functions, and faults");

using Links = std::vector<simgrid::s4u::Link*>;

static void look_at(const Links& links)
{
  for (auto* link : links)
    if (link->get_sharing_policy() != simgrid::s4u::Link::SharingPolicy::WIFI) // Wi-Fi has another plugin
      sg_link_get_consumed_energy(link);                                       // brings it up to date
}

/* The headers of these classes are not installed.  Only the needed functions are declared; they are not virtual, or are
 * called by name. */
namespace simgrid::kernel::activity {

class ActivityImpl {
public:
  const char* get_state_str() const;
};

class CommImpl {
public:
  CommImpl* start();
  void finish();
  Links get_traversed_links() const;
};

static std::unordered_map<const CommImpl*, Links> under_way;

/* Called by the sender and by the receiver of every message; the message starts only when both have called it. */
CommImpl* CommImpl::start()
{
  static const auto theirs = next(&CommImpl::start);
  CommImpl* result         = (this->*theirs)();
  const auto* activity     = reinterpret_cast<const ActivityImpl*>(this); // its first base
  if (sg_link_energy_is_inited() && std::string_view(activity->get_state_str()) == "RUNNING")
    look_at(under_way[this] = get_traversed_links());
  return result;
}

void CommImpl::finish()
{
  static const auto theirs = next(&CommImpl::finish);
  if (auto found = under_way.find(this); found != under_way.end()) {
    look_at(found->second); // the link still carries the message's load
    under_way.erase(found);
  }
  (this->*theirs)();
}

} // namespace simgrid::kernel::activity
