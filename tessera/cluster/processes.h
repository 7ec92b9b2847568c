// Processes: the processes of a cluster, and how they talk. Between mesh/, which lists their
// devices, and transports/, which carries bytes.
//
// Every process runs the same program. Before the first message of a call they tell each other
// which program it is (Call below): processes that run different programs, or the same ones in
// another order, get an error that says so where others hang. Every wait has an end: what a process
// waits for, and whom, is in the error. After such an error the processes can no longer know what
// the others do, and every further call is refused.
//
// Transfers go on while their process computes: start() begins one, progress() moves all that are on
// their way, finish() waits for one. Each has tags of its own, so they do not wait for each other.
// Where a step takes long, a thread moves them (Mover).
//
// A thread of its own sends a sign of life every two seconds, also while the process computes; who
// is waited for and has given none for fifteen seconds is taken for dead.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tessera/base/source_location.h"
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

// One round of a transfer.
struct Round {
  std::vector<Outgoing> out;
  std::vector<Incoming> in;
};
// Gives round after round, the next one when the last is done (what came with it may decide what is
// sent now); nothing where that was the last.
using Rounds = std::function<std::optional<Round>()>;

// While one lives, this thread calls a function that the user jitted there: what errors name.
class CallSite {
 public:
  explicit CallSite(const SourceLocation& where) : outer_(std::exchange(current_, &where)) {}
  ~CallSite() { current_ = outer_; }
  CallSite(const CallSite&) = delete;
  CallSite& operator=(const CallSite&) = delete;

  // Null where none lives.
  static const SourceLocation* current() { return current_; }

 private:
  static thread_local const SourceLocation* current_;
  const SourceLocation* outer_;
};

// What all members run, as each of them sees it.
struct CallIdentity {
  uint64_t hash = 0;
  std::string name;                   // of the program: "sum"
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

  // The same in rounds, begun and waited for. `key`: by which finish() knows it. In a call only, and
  // by all members in the same order. `more`: it begins with the next one, and what both tell a
  // process goes in one message.
  void start(const void* key, Rounds rounds, What what, bool with_next = false);
  void finish(const void* key);
  // Moves what is on its way. Cheap where nothing is.
  void progress() {
    if (active_.load(std::memory_order_relaxed) > 0) advance_all();
  }

  // Of all processes, which all call it: bytes of any length, by process.
  std::vector<std::string> all_gather(const std::string& bytes, const What& what);

  enum class Greeted { kNo, kSaid, kHeard };
  // While one lives, this process is in a call that others take part in; of several threads one at
  // a time. The processes tell each other what they call; where it is not the same, the first wait
  // is an error. What ends by an exception, ends the cluster: the others wait for it in vain.
  class Call {
   public:
    Call(Processes& processes, const CallIdentity& identity);
    ~Call();
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;
    // Once all is sent and received: also where nothing was, all members have begun the same call.
    void complete();

   private:
    Processes& processes_;
    std::unique_lock<std::recursive_mutex> lock_;
    const CallIdentity* outer_;
    const SourceLocation* outer_site_;
    Greeted outer_greeted_;
    uint64_t outer_transfers_;
    int exceptions_;
  };

  // At the end of the process: the others are told, and waited for.
  void shut_down();

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
  class Mover;

  struct Transfer {
    std::vector<const void*> keys;  // that finish() was not called with
    Rounds rounds;
    What what;
    int tag = 0;
    std::vector<Transport::Request> requests;
    std::vector<int> peers;
    int64_t begun = 0;  // on the timeline, if there is one
  };

  void say_greetings();
  bool hear_greetings(bool may_compare = true);
  void advance_all();
  void advance_transfers();
  // What the thread beside the program does.
  void advance_beside();
  // Whether it is over.
  bool advance(Transfer& transfer);
  void post(Transfer& transfer, const Round& round);
  std::vector<int> waited_for(const Transfer& transfer) const;
  std::string call_text() const;
  void compare_programs(const std::vector<int>& others);
  void swap_bytes(int process, std::span<const std::byte> out, std::span<std::byte> in,
                  const What& what);
  void leave_call();
  void expect_usable() const;
  void fail(const std::string& message);
  [[noreturn]] void end_cluster(const std::string& message);
  bool is_dead(int process);
  bool all_end();
  void tell(int process, const Greeting& greeting);
  bool done(Transport::Request& request);
  // Whether a process has said that it goes no further.
  bool has_left(int process);
  // Until `finished` holds. `waited`: those that have not come yet.
  void wait_until(const std::function<bool()>& finished,
                  const std::function<std::vector<int>()>& waited, const What& what);
  void beat();

  std::unique_ptr<Transport> transport_;
  const int index_, count_;
  std::recursive_mutex calls_;
  // What follows is of the thread in a call, or of the mover. Before transport_mutex_.
  std::recursive_mutex transfers_mutex_;
  std::mutex transport_mutex_;  // a call of MPI at a time
  std::vector<Pair> pairs_;
  const CallIdentity* call_ = nullptr;
  const SourceLocation* call_site_ = nullptr;
  Greeted greeted_ = Greeted::kNo;
  std::list<Transfer> transfers_;
  // That are to begin with the next one.
  struct Joining {
    const void* key = nullptr;
    Rounds rounds;
    What what;
  };
  std::vector<Joining> joining_;
  std::atomic<int> active_{0};
  uint64_t started_ = 0;       // in this call
  std::string failure_;        // why nothing more is possible
  std::exception_ptr beside_;  // what ended the work of the mover
  // When transfers were moved last, in nanoseconds of Clock.
  std::atomic<int64_t> moved_{0};
  std::unique_ptr<Heart> heart_;
  std::unique_ptr<Mover> mover_;
};

}  // namespace tessera::cluster
