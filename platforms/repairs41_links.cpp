/* Loaded before SimGrid 4.1 (platforms/repairs.py): its plugin link_energy then looks at a link when a message over it
 * starts and ends, as that of 3.32 does.
 *
 * In 4.1 the plugin hears of communications by s4u::Comm::on_start and on_completion, which are told of those only that
 * have an s4u::Comm (CommImpl::finish, Comm::do_start).  SMPI's have none, so that its messages take no energy.
 * SimGrid's library calls the functions below by their names. */
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
    if (link->get_sharing_policy() != simgrid::s4u::Link::SharingPolicy::WIFI) // has another plugin
      sg_link_get_consumed_energy(link);                                       // brings it up to date
}

/* SimGrid's headers of these are not installed; of each only the functions that are needed, which are not virtual or
 * called by their names. */
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

/* Called for every message that is sent or received, but starts only when both sides are there. */
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
    look_at(found->second); // its load is still there
    under_way.erase(found);
  }
  (this->*theirs)();
}

} // namespace simgrid::kernel::activity
