// Processes: the processes of a cluster, and how they talk. Between mesh/, which lists their
// devices, and transports/, which carries bytes.
//
// Every process runs the same program. Before the first message of a call they tell each other
// which program it is (Call below): processes that run different programs, or the same ones in
// another order, get an error that says so where others hang. Every wait has an end: what a process
// waits for, and whom, is in the error. After such an error the processes can no longer know what
// the others do, and every further call is refused.
//
// A thread of its own sends a sign of life every two seconds, also while the process computes; who
// is waited for and has given none for fifteen seconds is taken for dead.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "tessera/cluster/cluster.h"
#include "tessera/cluster/transport.h"

namespace tessera::cluster {

struct Outgoing {
  int to;
  const std::byte* data;
  int64_t bytes;
};
struct Incoming {
  int from;
  std::byte* data;
  int64_t bytes;
};

// What all members run, as each of them sees it.
struct CallIdentity {
  uint64_t hash = 0;
  std::string name;                   // of the program: "jit(step)"
  std::function<std::string()> text;  // a line an op, with its source; asked for where they differ
  std::vector<int> members;           // processes, ascending, this one among them
};

class Processes {
 public:
  // Null where this process is alone.
  static Processes* current();
  // Whether initialize() was told of a cluster, though it may have one process: then what a program
  // computes does not depend on how many share the work.
  static bool reproducible();
  // Starts the cluster, or finds it started. RuntimeError where processes were started that cannot
  // talk to each other, UserError where it was started with other options.
  static void start(const Cluster& cluster);
  static const ClusterOptions& options();
  // Of those on this machine, how many share its cores.
  static int local_count();

  explicit Processes(std::unique_ptr<Transport> transport);
  ~Processes();
  Processes(const Processes&) = delete;
  Processes& operator=(const Processes&) = delete;

  int index() const { return index_; }
  int count() const { return count_; }

  // Sends and receives all of this, and waits until it is done. `what` is said where the others do
  // not come: "all_reduce over ('x') for dot_general (step.cc:12)". `meanwhile`: work of this
  // process, done while the messages are on their way.
  using What = std::function<std::string()>;
  void exchange(std::span<const Outgoing> out, std::span<const Incoming> in, const What& what,
                const std::function<void()>& meanwhile = {});

  // Of all processes, which all call it: bytes of any length, by process.
  std::vector<std::string> all_gather(const std::string& bytes, const What& what);
  // `bytes` of process `root`, which others leave empty.
  std::string broadcast(const std::string& bytes, int root, const What& what);

  // While one lives, this process is in a call that others take part in; of several threads one at
  // a time. The processes compare what they call with the first exchange.
  class Call {
   public:
    Call(Processes& processes, const CallIdentity& identity);
    ~Call();
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

   private:
    Processes& processes_;
    std::unique_lock<std::recursive_mutex> lock_;
    const CallIdentity* outer_;
    bool outer_greeted_;
  };

  // At the end of the process: the others are told, and waited for.
  void finish();

 private:
  using Clock = std::chrono::steady_clock;
  enum class Kind : uint64_t { kCall, kEnded, kFailed };
  struct Greeting {
    uint64_t number, hash;
    Kind kind;
  };
  // What is between this process and another one.
  struct Pair {
    uint64_t calls = 0;
    Greeting mine{}, theirs{};
    Transport::Request sent = 0, next = 0;
    bool arrived = false;  // theirs
    std::byte beat_out{}, beat_in{};
    Transport::Request beat_sent = 0, beat_next = 0;
    Clock::time_point heard;
  };
  class Heart;

  void greet();
  void compare_programs(const std::vector<int>& others);
  void expect_usable() const;
  [[noreturn]] void give_up(const std::string& message);
  void tell(int process, const Greeting& greeting);
  bool done(Transport::Request& request);
  // Whether a process has said that it goes no further.
  bool has_left(int process);
  void wait(std::vector<Transport::Request>& requests, const std::vector<int>& peers,
            const What& what);
  void wait_for_greetings(const What& what);
  // Until `finished` holds. `waited`: those that have not come yet.
  void wait_until(const std::function<bool()>& finished,
                  const std::function<std::vector<int>()>& waited, const What& what);
  void beat();

  std::unique_ptr<Transport> transport_;
  const int index_, count_;
  std::recursive_mutex calls_;
  std::mutex transport_mutex_;  // a call of MPI at a time
  std::vector<Pair> pairs_;
  const CallIdentity* call_ = nullptr;
  bool greeted_ = false;
  std::string failure_;  // why nothing more is possible
  std::unique_ptr<Heart> heart_;
};

}  // namespace tessera::cluster
