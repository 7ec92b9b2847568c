// Processes: the processes of a cluster, and their communication. It uses mesh/, which lists their
// devices, and transports/, which carries bytes.
//
// Every process runs the same program. Before the first message of a call they compare their
// programs (Call below): processes that run different programs, or the same ones in another order,
// get an error about it instead of hanging. Every wait has a limit; its error names the message and
// the processes for which the process was waiting. After such an error the processes can no longer
// know what the others do, and every further call is refused.
//
// Transfers proceed while their process computes: start() begins one, progress() moves all that
// have begun, finish() waits for one. Each has tags of its own, so they do not wait for each other.
// During long steps a thread moves them (Mover).
//
// Another thread (Heart) sends a heartbeat every two seconds, even while the process computes. A
// process for which others wait counts as dead if it has sent none for fifteen seconds.
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
// Returns the next round when the previous one is done, or nullopt after the last one. Data
// received in one round may determine the messages of the next.
using Rounds = std::function<std::optional<Round>()>;

// As long as one exists, errors of this thread name the location at which the user jitted the
// function that is called.
class CallSite {
 public:
  explicit CallSite(const SourceLocation& where) : outer_(std::exchange(current_, &where)) {}
  ~CallSite() { current_ = outer_; }
  CallSite(const CallSite&) = delete;
  CallSite& operator=(const CallSite&) = delete;

  // Returns the location, or null if there is none.
  static const SourceLocation* current() { return current_; }

 private:
  static thread_local const SourceLocation* current_;
  const SourceLocation* outer_;
};

// Describes the program that all members run, as this process sees it.
struct CallIdentity {
  uint64_t hash = 0;
  std::string name;  // the program's name: "sum"
  // Returns one line for each op, with its source. It is called if programs differ.
  std::function<std::string()> text;
  std::vector<int> members;  // the processes, ascending, including this one
};

class Processes {
 public:
  // Returns the processes of the cluster, or null if this process is alone.
  static Processes* current();
  // Returns whether initialize() was given a cluster, even one of one process: then results must
  // not depend on how many processes share the work.
  static bool reproducible();
  // Starts the cluster unless it has been started. Throws RuntimeError if the processes cannot
  // communicate, UserError if it was started with other options.
  static void start(const Cluster& cluster);
  static const ClusterOptions& options();
  // Returns how many processes on this machine share its cores.
  static int local_count();

  explicit Processes(std::unique_ptr<Transport> transport);
  ~Processes();
  Processes(const Processes&) = delete;
  Processes& operator=(const Processes&) = delete;

  int index() const { return index_; }
  int count() const { return count_; }

  // Sends and receives all messages, and waits until this is done. `what` appears in the error if
  // other processes do not take part: "all_reduce over ('x') for dot_general (step.cc:12)".
  // `meanwhile` is work of this process that is done during the transfers.
  using What = std::function<std::string()>;
  void exchange(std::span<const Outgoing> out, std::span<const Incoming> in, const What& what,
                const std::function<void()>& meanwhile = {});

  // Begins an exchange in rounds. finish() identifies it by `key`. It may only be called in a Call,
  // and by all members in the same order. If `with_next`, it begins together with the next
  // exchange, and both send one joint message to each process.
  void start(const void* key, Rounds rounds, What what, bool with_next = false);
  void finish(const void* key);
  // Moves the transfers that have begun. It is cheap if there are none.
  void progress() {
    if (active_.load(std::memory_order_relaxed) > 0) advance_all();
  }

  // Returns the bytes of each process, in their order. All processes call it, with bytes of any
  // length.
  std::vector<std::string> all_gather(const std::string& bytes, const What& what);

  enum class Greeted { kNo, kSaid, kHeard };
  // As long as one exists, this process is in a call in which others take part; only one thread at
  // a time can be. The processes compare their calls; if these differ, the first wait throws. If a
  // call ends by an exception, the cluster ends too, because the others would wait in vain.
  class Call {
   public:
    Call(Processes& processes, const CallIdentity& identity);
    ~Call();
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;
    // Returns when all messages are sent and received, and all members have begun the same call. It
    // waits for them even if there was nothing to send.
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

  // Ends the cluster when the process ends: it notifies the others, and waits for them.
  void shut_down();

 private:
  using Clock = std::chrono::steady_clock;
  enum class Kind : uint64_t { kCall, kEnded, kFailed };
  struct Greeting {
    uint64_t number, hash;  // of a failure: the process that is its cause + 1, or 0; and 0
    Kind kind;
  };
  // The greetings and heartbeats between this process and another one.
  struct Pair {
    uint64_t calls = 0;
    Greeting mine{}, theirs{};
    Transport::Request sent = 0, next = 0;
    bool arrived = false;  // whether `theirs` has arrived
    std::byte beat_out{}, beat_in{};
    Transport::Request beat_sent = 0, beat_next = 0;
    Clock::time_point heard;
  };
  class Heart;
  class Mover;

  struct Transfer {
    std::vector<const void*> keys;  // keys of exchanges without a finish() so far
    Rounds rounds;
    What what;
    int tag = 0;
    std::vector<Transport::Request> requests;
    std::vector<int> peers;
    int64_t begun = 0;  // its time on the timeline
  };

  void say_greetings();
  bool hear_greetings(bool may_compare = true);
  void advance_all();
  void advance_transfers();
  // Moves transfers in the Mover's thread.
  void advance_in_mover();
  // Moves a transfer, and returns whether it has ended.
  bool advance(Transfer& transfer);
  void post(Transfer& transfer, const Round& round);
  std::vector<int> waited_for(const Transfer& transfer) const;
  std::string call_text() const;
  void compare_programs(const std::vector<int>& others);
  void swap_bytes(int process, std::span<const std::byte> out, std::span<std::byte> in,
                  const What& what);
  void leave_call();
  void expect_usable() const;
  // `cause`: the process that this one has waited for in vain, or -1 if the failure is its own.
  void fail(const std::string& message, int cause = -1);
  [[noreturn]] void end_cluster(const std::string& message, int cause);
  [[noreturn]] void end_for(int process, const What& what);
  bool is_dead(int process);
  bool all_end();
  void tell(int process, const Greeting& greeting);
  bool done(Transport::Request& request);
  // Returns whether a process has announced its end.
  bool has_left(int process);
  // Waits until `finished` returns true. `waited` returns the processes for which it waits.
  void wait_until(const std::function<bool()>& finished,
                  const std::function<std::vector<int>()>& waited, const What& what);
  void beat();

  std::unique_ptr<Transport> transport_;
  const int index_, count_;
  std::recursive_mutex calls_;
  // Protects the members below, which the thread in a call and the mover use. It is locked before
  // transport_mutex_.
  std::recursive_mutex transfers_mutex_;
  std::mutex transport_mutex_;  // admits one call of the transport at a time
  std::vector<Pair> pairs_;
  const CallIdentity* call_ = nullptr;
  const SourceLocation* call_site_ = nullptr;
  Greeted greeted_ = Greeted::kNo;
  std::list<Transfer> transfers_;
  // An exchange that begins together with the next one.
  struct Joining {
    const void* key = nullptr;
    Rounds rounds;
    What what;
  };
  std::vector<Joining> joining_;
  std::atomic<int> active_{0};
  uint64_t started_ = 0;            // transfers in this call
  std::string failure_;             // why no further call is possible
  std::exception_ptr mover_error_;  // the exception that ended the mover's work
  // The time when transfers were last moved, in nanoseconds of Clock.
  std::atomic<int64_t> moved_{0};
  std::unique_ptr<Heart> heart_;
  std::unique_ptr<Mover> mover_;
};

}  // namespace tessera::cluster
