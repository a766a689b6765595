/* Runs an application of blocks, one rank per process: blockprogram FILE
 *
 * The file, written by validation/blocks/blockprogram/instructions.py, has the following, separated by blanks or line ends:
 *   size of the largest buffer, bytes;
 *   number of disks, and for each disk: host, name, seconds before the first byte of a read, and of a write;
 *   number of labels, and for each label the number of its ranks, which follow each other;
 *   number of groups of ranks with collectives, and for each group: its size, and its ranks by place in the group;
 *   number of ranks, and for each rank a line of 12 digits: the offset of its program in the file, bytes.
 * A program is a list of instructions that ends with "end":
 *   compute FLOPS
 *   send FIRST COUNT BYTES      send to COUNT ranks from FIRST on, one after the other; each send waits for the receive
 *   post FIRST COUNT BYTES      send to the same ranks at once, without waiting
 *   receive FIRST COUNT         receive from these ranks, one after the other
 *   begin-send FIRST COUNT BYTES REQUEST, begin-receive FIRST COUNT REQUEST    the same, waited for later
 *   wait COUNT REQUEST...       wait for all messages that have begun with these requests
 *   receive-any LABEL           receive from any rank of the label of this number; -1: of any label
 *   reply|post-reply BYTES      send to the rank that the latest receive-any has received from, as send or post
 *   bcast|scatter|gather|reduce|allreduce|allgather|alltoall|barrier GROUP BYTES ROOT    BYTES: MPI's count; ROOT: place in the group
 *   read|write DISK BYTES
 *   repeat TIMES ... again      do the instructions in between TIMES times
 * The timed section begins at the same moment for all ranks, which act in their order then; it ends for each rank after
 * its last instruction. */
#include <mpi.h>
#include <simgrid/barrier.h>
#include <simgrid/host.h>
#include <simgrid/s4u.hpp>
#include <simgrid/semaphore.h>
#include <smpi/smpi.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

namespace s4u = simgrid::s4u;

struct Disk {
  std::string host, name;
  double read_latency_s, write_latency_s;
};

struct Instruction {
  std::string what;
  double amount = 0;               // flops or bytes
  long first = 0, count = 0;       // ranks; count is also the number of turns of a loop
  int group = 0, root = 0, disk = 0;
  int label = -1, request = -1;    // -1: any label; no request
  std::vector<int> requests;       // to wait for
};

/* Data shared by all ranks, which run in one operating-system process.  The content of the buffers has no meaning: SMPI
 * folds them onto a few pages and copies no message. */
struct Common {
  sg_bar_t all;
  std::vector<sg_sem_t> turn; // by rank: it may go on to the start; and one more
  char *out, *in;
};

static constexpr long NOTE_BYTES = 1; // size of a read request to a disk, and of the acknowledgement of a write
enum Mark { START = 1000, STOP = 1003 };

[[noreturn]] static void fail(const std::string& why)
{
  std::cerr << "blockprogram: " << why << std::endl;
  std::abort();
}

class Program {
public:
  explicit Program(const char* path)
  {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
    std::ifstream file(path);
    if (not file)
      fail(std::string("cannot read ") + path);
    long largest = 0;
    file >> largest;
    read_disks(file);
    read_labels(file);
    read_groups(file);
    read_instructions(file);
    common_  = find_common(static_cast<size_t>(largest) + 1);
    out_     = common_->out;
    in_      = common_->in;
    largest_ = static_cast<int>(largest);
  }

  void run()
  {
    start_together();
    MPI_Pcontrol(START);
    run_until("end", 0);
    MPI_Pcontrol(STOP);
    MPI_Waitall(static_cast<int>(posted_.size()), posted_.data(), MPI_STATUSES_IGNORE);
  }

private:
  int rank_, ranks_, largest_;
  int source_ = MPI_PROC_NULL;    // of the latest receive-any
  std::vector<long> label_ends_;  // number of the first rank after each label
  Common* common_;
  char *out_, *in_;
  std::vector<Disk> disks_;
  std::vector<MPI_Comm> groups_; // MPI_COMM_NULL: this rank is not in the group
  std::vector<Instruction> code_;
  std::vector<MPI_Request> posted_;
  std::map<int, std::vector<MPI_Request>> begun_; // by number of the request

  /* All ranks start at the same moment, without messages.  They come from the making of their communicators in any order,
   * and would begin in that order. */
  void start_together() const
  {
    sg_barrier_wait(common_->all);
    const auto rank = static_cast<size_t>(rank_);
    if (rank > 0)
      sg_sem_acquire(common_->turn[rank]);
    sg_sem_release(common_->turn[rank + 1]); /* the last rank's too: each takes as many steps as the one before it */
    sg_barrier_wait(common_->all);
  }

  void read_disks(std::istream& file)
  {
    size_t count = 0;
    file >> count;
    disks_.resize(count);
    for (auto& disk : disks_)
      file >> disk.host >> disk.name >> disk.read_latency_s >> disk.write_latency_s;
  }

  void read_labels(std::istream& file)
  {
    size_t count = 0;
    long end = 0, ranks;
    file >> count;
    for (size_t i = 0; i < count && file >> ranks; i++)
      label_ends_.push_back(end += ranks);
  }

  /* The tag of a message is the number of its sender's label, by which receive-any chooses. */
  int label_of(long rank) const
  {
    return static_cast<int>(std::upper_bound(label_ends_.begin(), label_ends_.end(), rank) - label_ends_.begin());
  }

  void read_groups(std::istream& file)
  {
    size_t count = 0;
    file >> count;
    for (size_t i = 0; i < count; i++) {
      int size = 0, mine = -1;
      file >> size;
      for (int place = 0, member; place < size && file >> member; place++)
        mine = member == rank_ ? place : mine;
      MPI_Comm made;
      MPI_Comm_split(MPI_COMM_WORLD, mine < 0 ? MPI_UNDEFINED : 0, mine, &made);
      groups_.push_back(made);
    }
  }

  void read_instructions(std::istream& file)
  {
    int ranks = 0;
    file >> ranks >> std::ws;
    if (ranks != ranks_)
      fail("the file is for " + std::to_string(ranks) + " ranks");
    constexpr int line = 13;
    file.seekg(line * rank_, std::ios::cur);
    long begin = 0;
    file >> begin;
    file.seekg(begin);
    Instruction one;
    while (file >> one.what) {
      read_operands(file, one);
      code_.push_back(one);
      if (one.what == "end")
        return;
    }
    fail("the program has no end");
  }

  static void read_operands(std::istream& file, Instruction& one)
  {
    if (one.what == "compute" || one.what == "reply" || one.what == "post-reply")
      file >> one.amount;
    else if (one.what == "begin-send")
      file >> one.first >> one.count >> one.amount >> one.request;
    else if (one.what == "begin-receive")
      file >> one.first >> one.count >> one.request;
    else if (one.what == "receive-any")
      file >> one.label;
    else if (one.what == "wait") {
      file >> one.count;
      one.requests.assign(static_cast<size_t>(one.count), 0);
      for (auto& request : one.requests)
        file >> request;
    } else if (one.what == "send" || one.what == "post")
      file >> one.first >> one.count >> one.amount;
    else if (one.what == "receive")
      file >> one.first >> one.count;
    else if (one.what == "read" || one.what == "write")
      file >> one.disk >> one.amount;
    else if (one.what == "repeat")
      file >> one.count;
    else if (one.what != "again" && one.what != "end")
      file >> one.group >> one.amount >> one.root;
    if (not file)
      fail("malformed instruction " + one.what);
  }

  /* The shared data are attached to a host, where all ranks find them; the first rank creates them. */
  Common* find_common(size_t bytes) const
  {
    sg_host_t* hosts = sg_host_list();
    auto* common     = static_cast<Common*>(sg_host_get_data(hosts[0]));
    if (common == nullptr) {
      common      = new Common;
      common->all = sg_barrier_init(static_cast<unsigned>(ranks_));
      for (int rank = 0; rank <= ranks_; rank++)
        common->turn.push_back(sg_sem_init(0));
      common->out = static_cast<char*>(SMPI_SHARED_MALLOC(bytes));
      common->in  = static_cast<char*>(SMPI_SHARED_MALLOC(bytes));
      sg_host_set_data(hosts[0], common);
    }
    free(hosts);
    return common;
  }

  /* Runs the instructions from `at` up to the first one named `last`, and returns its index. */
  size_t run_until(const char* last, size_t at)
  {
    while (code_[at].what != last) {
      const Instruction& one = code_[at];
      if (one.what == "repeat") {
        size_t end = at;
        for (long turn = 0; turn < one.count; turn++)
          end = run_until("again", at + 1);
        at = end;
      } else
        run_one(one);
      at++;
    }
    return at;
  }

  void run_one(const Instruction& one)
  {
    const int bytes = static_cast<int>(one.amount);
    if (one.what == "compute")
      smpi_execute_flops_benched(one.amount);
    else if (one.what == "read" || one.what == "write")
      use_disk(disks_.at(static_cast<size_t>(one.disk)), one.what == "read", one.amount);
    else if (one.what == "wait")
      wait(one.requests);
    else if (one.what == "receive-any") {
      MPI_Status status;
      const int tag = one.label < 0 ? MPI_ANY_TAG : one.label;
      MPI_Recv(in_, largest_, MPI_BYTE, MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &status);
      source_ = status.MPI_SOURCE;
    } else if (one.what == "reply" || one.what == "post-reply") {
      if (source_ == MPI_PROC_NULL)
        fail("a reply before the first receive from any");
      send(one.what == "reply" ? "send" : "post", source_, bytes, -1);
    } else if (one.what == "receive" || one.what == "begin-receive")
      for (long from = one.first; from < one.first + one.count; from++)
        receive(one, from);
    else if (one.what == "send" || one.what == "post" || one.what == "begin-send")
      for (long to = one.first; to < one.first + one.count; to++)
        send(one.what, to, bytes, one.request);
    else
      run_collective(one, groups_.at(static_cast<size_t>(one.group)), bytes);
  }

  void send(const std::string& what, long to, int bytes, int request)
  {
    const int tag = label_of(rank_), there = static_cast<int>(to);
    if (what == "send")
      MPI_Ssend(out_, bytes, MPI_BYTE, there, tag, MPI_COMM_WORLD);
    else if (what == "post") {
      posted_.emplace_back();
      MPI_Isend(out_, bytes, MPI_BYTE, there, tag, MPI_COMM_WORLD, &posted_.back());
    } else {
      begun_[request].emplace_back();
      MPI_Issend(out_, bytes, MPI_BYTE, there, tag, MPI_COMM_WORLD, &begun_[request].back());
    }
  }

  void receive(const Instruction& one, long from)
  {
    const int tag = label_of(from), there = static_cast<int>(from);
    if (one.what == "receive")
      MPI_Recv(in_, largest_, MPI_BYTE, there, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else {
      begun_[one.request].emplace_back();
      MPI_Irecv(in_, largest_, MPI_BYTE, there, tag, MPI_COMM_WORLD, &begun_[one.request].back());
    }
  }

  void wait(const std::vector<int>& requests)
  {
    std::vector<MPI_Request> all;
    for (int request : requests) {
      auto& begun = begun_[request];
      all.insert(all.end(), begun.begin(), begun.end());
      begun.clear();
    }
    MPI_Waitall(static_cast<int>(all.size()), all.data(), MPI_STATUSES_IGNORE);
  }

  void run_collective(const Instruction& one, MPI_Comm group, int bytes)
  {
    if (one.what == "bcast")
      MPI_Bcast(out_, bytes, MPI_BYTE, one.root, group);
    else if (one.what == "scatter")
      MPI_Scatter(out_, bytes, MPI_BYTE, in_, bytes, MPI_BYTE, one.root, group);
    else if (one.what == "gather")
      MPI_Gather(out_, bytes, MPI_BYTE, in_, bytes, MPI_BYTE, one.root, group);
    else if (one.what == "reduce")
      MPI_Reduce(out_, in_, bytes, MPI_BYTE, MPI_BOR, one.root, group);
    else if (one.what == "allreduce")
      MPI_Allreduce(out_, in_, bytes, MPI_BYTE, MPI_BOR, group);
    else if (one.what == "allgather")
      MPI_Allgather(out_, bytes, MPI_BYTE, in_, bytes, MPI_BYTE, group);
    else if (one.what == "alltoall")
      MPI_Alltoall(out_, bytes, MPI_BYTE, in_, bytes, MPI_BYTE, group);
    else if (one.what == "barrier")
      MPI_Barrier(group);
    else
      fail("unknown instruction " + one.what);
  }

  /* Reads or writes a block.  If the disk is on another host, requests and data cross the network. */
  void use_disk(const Disk& disk, bool read, double bytes) const
  {
    auto* mine  = s4u::Host::current();
    auto* there = s4u::Host::by_name(disk.host);
    if (there != mine)
      s4u::Comm::sendto(mine, there, read ? NOTE_BYTES : static_cast<uint64_t>(bytes));
    s4u::this_actor::sleep_for(read ? disk.read_latency_s : disk.write_latency_s);
    for (auto* one : there->get_disks())
      if (one->get_name() == disk.name) {
        if (read)
          one->read(static_cast<sg_size_t>(bytes));
        else
          one->write(static_cast<sg_size_t>(bytes));
        if (there != mine)
          s4u::Comm::sendto(there, mine, read ? static_cast<uint64_t>(bytes) : NOTE_BYTES);
        return;
      }
    fail("no disk " + disk.name + " on " + disk.host);
  }
};

int main(int argc, char** argv)
{
  MPI_Init(&argc, &argv);
  if (argc != 2)
    fail("give a file of instructions");
  Program(argv[1]).run();
  MPI_Finalize();
  return 0;
}
