/* Starts several MPI programs in one simulation: an MPI program for smpirun whose ranks become those of the jobs.
 *
 * The only argument is a file of jobs: for each its name, ranks, start and stop date in s (negative: none), the
 * program, and its arguments behind their number, one item per line.
 * The ranks of the jobs follow each other in the host file.  Each job is an instance of SMPI of its own, with its own
 * MPI_COMM_WORLD.  What a job prints goes to the file NAME.out beside the file of jobs, and the dates at which its
 * ranks end go to NAME.ends.
 *
 * Behind the jobs comes the number of events, each as date, "link" or "host", name, and the bandwidth in byte/s or the
 * speed as a share of the host's own.
 */
#include <dlfcn.h>
#include <fstream>
#include <map>
#include <simgrid/kernel/ProfileBuilder.hpp>
#include <simgrid/Exception.hpp>
#include <simgrid/s4u.hpp>
#include <smpi/smpi.h>
#include <stdexcept>
#include <string>
#include <xbt/config.hpp>
#include <unistd.h>
#include <vector>

namespace s4u = simgrid::s4u;

/* SMPI takes it for the communicator of the calling rank's own instance.  smpirun loads this program before it sets
 * MPI_COMM_WORLD to that of its single instance. */
static const MPI_Comm of_each_instance = MPI_COMM_WORLD;

struct Job {
  std::string name, program;
  int ranks, first;
  double start_s, stop_s;
  bool stopped = false;
  std::vector<std::string> arguments;
  std::vector<s4u::ActorPtr> actors;
  int (*loaded)(int, char **) = nullptr;
  FILE *output = nullptr, *ends = nullptr;
};

struct Event {
  double date_s, value;
  std::string kind, name;
};

static std::vector<Job> jobs;
static std::vector<Event> events;
static std::map<long, Job *> job_of; /* by process of SimGrid */

/* Writes what a rank prints to the file of its job.  Ranks change only inside calls of MPI, never inside a write. */
static ssize_t write_to_job(void *, const char *text, size_t length)
{
  auto found = job_of.find(s4u::this_actor::get_pid());
  return static_cast<ssize_t>(fwrite(text, 1, length, found == job_of.end() ? stderr : found->second->output));
}

static FILE *opened(const std::string &name)
{
  FILE *file = fopen(name.c_str(), "w");
  if (!file)
    throw std::runtime_error("cannot write " + name);
  return file;
}

static void read_jobs(const std::string &name)
{
  std::ifstream in(name);
  std::string line;
  auto next = [&in, &line, &name] {
    if (!std::getline(in, line))
      throw std::runtime_error(name + " ends too early");
    return line;
  };
  std::string folder = name.substr(0, name.rfind('/') + 1);
  int first = 0, count = std::stoi(next());
  jobs.resize(static_cast<size_t>(count));
  for (Job &job : jobs) {
    job.name = next();
    job.ranks = std::stoi(next());
    job.first = first;
    job.start_s = std::stod(next());
    job.stop_s = std::stod(next());
    job.program = next();
    job.arguments.resize(std::stoul(next()));
    for (std::string &argument : job.arguments)
      argument = next();
    job.actors.resize(static_cast<size_t>(job.ranks));
    job.output = opened(folder + job.name + ".out");
    job.ends = opened(folder + job.name + ".ends");
    first += job.ranks;
    SMPI_app_instance_register(job.name.c_str(), nullptr, job.ranks);
  }
  events.resize(std::stoul(next()));
  for (Event &event : events) {
    event.date_s = std::stod(next());
    event.kind = next();
    event.name = next();
    event.value = std::stod(next());
  }
}

/* Changes links at the dates of the events.
 *
 * SimGrid gives all flows on a link a new weight when its bandwidth changes, also those that still are in their latency,
 * and loses these.  Without a weight of links meanwhile, flows keep theirs.
 */
static void follow_events()
{
  std::string weight = "network/weight-S:" + std::to_string(simgrid::config::get_value<double>("network/weight-S"));
  for (const Event &event : events) {
    s4u::this_actor::sleep_until(event.date_s);
    if (event.kind == "link") {
      s4u::Engine::set_config("network/weight-S:0");
      s4u::Link::by_name(event.name)->set_bandwidth(event.value);
      s4u::Engine::set_config(weight);
    }
  }
}

static void slow_hosts()
{
  std::map<std::string, std::string> profiles;
  for (const Event &event : events)
    if (event.kind == "host") {
      char row[80];
      snprintf(row, sizeof row, "%.17g %.17g\n", event.date_s, event.value);
      profiles[event.name] += row;
    }
  for (const auto &[name, rows] : profiles)
    s4u::Host::by_name(name)->set_speed_profile(
        simgrid::kernel::profile::ProfileBuilder::from_string("speed of " + name, rows, -1));
}

/* Kills the ranks of a job at its stop date. */
static void stop_job(Job *job)
{
  s4u::this_actor::sleep_until(job->stop_s);
  job->stopped = true;
  for (const s4u::ActorPtr &actor : job->actors)
    actor->kill();
}

static void prepare(const char *name)
{
  read_jobs(name);
  MPI_COMM_WORLD = of_each_instance;
  fflush(stdout);
  cookie_io_functions_t functions = {nullptr, write_to_job, nullptr, nullptr};
  stdout = fopencookie(nullptr, "w", functions);
  setvbuf(stdout, nullptr, _IOLBF, 1 << 16);
  slow_hosts();
  s4u::Host *here = s4u::this_actor::get_host();
  auto start = [here](const std::string &called, const std::function<void()> &code) {
    s4u::ActorPtr actor = s4u::Actor::create(called, here, code);
    actor->daemonize();
  };
  bool links = false;
  for (const Event &event : events)
    links |= event.kind == "link";
  if (links)
    start("events", follow_events);
  for (Job &job : jobs)
    if (job.stop_s >= 0)
      start("stop " + job.name, [&job] { stop_job(&job); });
}

/* Returns the main function of a copy of a job's program, so that jobs share no variables. */
static int (*entry(Job &job))(int, char **)
{
  static int copied = 0;
  if (!job.loaded) {
    std::string program = std::string(getenv("TMPDIR")) + "/copy-" + std::to_string(copied++) + ".so";
    std::ofstream(program, std::ios::binary) << std::ifstream(job.program, std::ios::binary).rdbuf();
    void *handle = dlopen(program.c_str(), RTLD_LAZY | RTLD_LOCAL);
    unlink(program.c_str());
    if (!handle)
      throw std::runtime_error(dlerror());
    job.loaded = reinterpret_cast<int (*)(int, char **)>(dlsym(handle, "main"));
    if (!job.loaded)
      throw std::runtime_error(job.program + " has no main function");
  }
  return job.loaded;
}

int main(int, char **argv)
{
  if (jobs.empty())
    prepare(argv[1]);
  s4u::ActorPtr self = s4u::Actor::self();
  int number = std::stoi(self->get_property("rank"));
  size_t at = 0;
  while (number >= jobs[at].first + jobs[at].ranks)
    at++;
  Job &job = jobs[at];
  int rank = number - job.first;
  job.actors[static_cast<size_t>(rank)] = self;
  job_of[self->get_pid()] = &job;
  if (job.start_s > s4u::Engine::get_clock())
    s4u::this_actor::sleep_until(job.start_s);
  self->set_property("instance_id", job.name);
  self->set_property("rank", std::to_string(rank));
  std::vector<std::string> words = {job.program};
  words.insert(words.end(), job.arguments.begin(), job.arguments.end());
  std::vector<char *> arguments;
  for (std::string &word : words)
    arguments.push_back(word.data());
  arguments.push_back(nullptr);
  int status;
  try {
    status = entry(job)(static_cast<int>(words.size()), arguments.data());
  } catch (const simgrid::Exception &) { /* a rank waits for a message of one that was killed just before it */
    if (!job.stopped)
      throw;
    return 0;
  }
  fprintf(job.ends, "%d %.17g %d\n", rank, s4u::Engine::get_clock(), status);
  fflush(job.ends);
  fflush(job.output);
  return 0;
}
