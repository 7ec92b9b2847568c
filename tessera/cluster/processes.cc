#include "tessera/cluster/processes.h"

#include <fmt/ranges.h>
#include <sched.h>
#include <sys/prctl.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <thread>

#include "tessera/base/contains.h"
#include "tessera/base/format.h"
#include "tessera/base/hash.h"
#include "tessera/cluster/joined_rounds.h"
#include "tessera/cluster/rendezvous.h"
#include "tessera/cluster/timeline.h"

namespace tessera::cluster {
namespace {

using std::chrono::duration;
using std::chrono::milliseconds;
using std::chrono::seconds;

enum Tag : int { kGreeting = 1, kBeat, kComparison, kFirstTransfer };
constexpr int kTransferTags = 16384;  // more than ever exist at once; MPI allows at least 32767
constexpr seconds kBeatEvery{2};
constexpr seconds kDeadAfter{15};

// How this process has left its cluster: kTogether if all processes have ended well.
enum class End : uint8_t { kNotYet, kFailed, kTogether };
std::atomic<End> end_of_cluster{End::kNotYet};

thread_local int calls_of_thread = 0;  // calls that have not ended

std::string processes_text(const std::vector<int>& list) {
  return fmt::format("process{} {}", list.size() == 1 ? "" : "es", fmt::join(list, ", "));
}

}  // namespace

thread_local const SourceLocation* CallSite::current_ = nullptr;

// A thread that sends heartbeats, and receives those of others, until it is destroyed.
class Processes::Heart {
 public:
  explicit Heart(Processes& processes)
      : thread_([this, &processes] {
          std::unique_lock lock(mutex_);
          // If heartbeats can no longer be sent, the threads that wait for messages will notice it.
          while (!changed_.wait_for(lock, kBeatEvery, [this] { return ends_; })) try {
              processes.beat();
            } catch (const std::exception&) {
              return;
            }
        }) {}
  ~Heart() {
    {
      const std::lock_guard lock(mutex_);
      ends_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ends_ = false;
  std::thread thread_;
};

// A thread that moves transfers while the thread of their program is in a long step: if none has
// moved them for kQuiet, it does, once every kQuiet. It sleeps if there have been no transfers for
// a while.
class Processes::Mover {
 public:
  explicit Mover(Processes& processes) : processes_(processes), thread_([this] { work(); }) {}
  ~Mover() {
    ends_ = true;
    wake();
    thread_.join();
  }
  void wake() {
    if (!sleeps_.exchange(false)) return;
    { const std::lock_guard lock(mutex_); }
    changed_.notify_all();
  }

 private:
  static constexpr std::chrono::microseconds kQuiet{200};
  static constexpr int kIdleRounds = 50;

  void work() {
    // By default the system wakes threads up to 50 us late.
    prctl(PR_SET_TIMERSLACK, 1000UL, 0UL, 0UL, 0UL);
    for (int idle = 0; !ends_;) {
      if (processes_.active_.load(std::memory_order_relaxed) > 0) {
        idle = 0;
        const auto since =
            Clock::now().time_since_epoch() - std::chrono::nanoseconds(processes_.moved_.load());
        if (since >= kQuiet) processes_.advance_in_mover();
      } else if (++idle > kIdleRounds) {
        std::unique_lock lock(mutex_);
        sleeps_ = true;
        // start() counts a transfer before it checks whether this thread sleeps.
        changed_.wait(lock, [&] { return !sleeps_ || ends_ || processes_.active_ > 0; });
        sleeps_ = false;
        idle = 0;
      }
      std::this_thread::sleep_for(kQuiet);
    }
  }

  Processes& processes_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<bool> ends_{false}, sleeps_{false};
  std::thread thread_;
};

Processes::Processes(std::unique_ptr<Transport> transport)
    : transport_(std::move(transport)),
      index_(transport_->index()),
      count_(transport_->count()),
      pairs_(static_cast<size_t>(count_)) {
  for (int p = 0; p < count_; ++p) {
    if (p == index_) continue;
    Pair& pair = pairs_[static_cast<size_t>(p)];
    pair.heard = Clock::now();
    pair.next = transport_->receive(p, kGreeting, reinterpret_cast<std::byte*>(&pair.theirs),
                                    sizeof pair.theirs);
    pair.beat_next = transport_->receive(p, kBeat, &pair.beat_in, 1);
  }
  heart_ = std::make_unique<Heart>(*this);
  mover_ = std::make_unique<Mover>(*this);
}
Processes::~Processes() = default;

void Processes::beat() {
  const std::lock_guard lock(transport_mutex_);
  for (int p = 0; p < count_; ++p) {
    if (p == index_) continue;
    Pair& pair = pairs_[static_cast<size_t>(p)];
    if (pair.beat_sent == 0 || transport_->test(pair.beat_sent))
      pair.beat_sent = transport_->send(p, kBeat, &pair.beat_out, 1);
    while (transport_->test(pair.beat_next)) {
      pair.heard = Clock::now();
      pair.beat_next = transport_->receive(p, kBeat, &pair.beat_in, 1);
    }
  }
}

bool Processes::done(Transport::Request& request) {
  if (request == 0) return true;
  const std::lock_guard lock(transport_mutex_);
  if (!transport_->test(request)) return false;
  request = 0;
  return true;
}

void Processes::expect_usable() const {
  if (!failure_.empty())
    throw RuntimeError(
        fmt::format("[cluster] expected processes that work together, got a cluster that gave up "
                    "before: {}; end the program",
                    failure_));
}

// Makes all further calls fail, and notifies the other processes.
void Processes::fail(const std::string& message, int cause) {
  failure_ = message;
  // If a process has not received the last greeting, it has stopped, and is not notified.
  for (int p = 0; p < count_; ++p)
    if (p != index_ && done(pairs_[static_cast<size_t>(p)].sent))
      tell(p, {static_cast<uint64_t>(cause + 1), 0, Kind::kFailed});
}

void Processes::end_cluster(const std::string& message, int cause) {
  fail(message, cause);
  throw RuntimeError(message);
}

void Processes::tell(int process, const Greeting& greeting) {
  Pair& pair = pairs_[static_cast<size_t>(process)];
  // This does not wait long: a greeting fits into the buffers of any transport, because the
  // previous one was received long ago.
  while (!done(pair.sent)) sched_yield();
  pair.mine = greeting;
  const std::lock_guard lock(transport_mutex_);
  pair.sent = transport_->send(process, kGreeting, reinterpret_cast<std::byte*>(&pair.mine),
                               sizeof pair.mine);
}

bool Processes::has_left(int process) {
  Pair& pair = pairs_[static_cast<size_t>(process)];
  if (!pair.arrived && done(pair.next)) pair.arrived = true;
  return pair.arrived && pair.theirs.kind != Kind::kCall;
}

// Returns whether a process has stopped sending heartbeats.
bool Processes::is_dead(int process) {
  const auto silent = [&] {
    const std::lock_guard lock(transport_mutex_);
    return Clock::now() - pairs_[static_cast<size_t>(process)].heard > kDeadAfter;
  };
  if (!silent()) return false;
  beat();  // perhaps this process was suspended, and has not received heartbeats
  return silent();
}

// Ends the cluster because a process has left it. If that process waited in vain for a third one,
// the error names the third one, as that of the process does.
void Processes::end_for(int process, const What& what) {
  const Greeting& last = pairs_[static_cast<size_t>(process)].theirs;
  const int cause = last.kind == Kind::kFailed ? static_cast<int>(last.number) - 1 : -1;
  const bool third = cause >= 0 && cause != process && cause != index_;
  const int named = third ? cause : process;
  const std::string got =
      third ? fmt::format("the failure of process {}, which has waited for it in vain", process)
      : last.kind == Kind::kFailed ? "its failure; what it says itself is the cause"
                                   : "its end: it has left the program; processes that run one "
                                     "program call the same functions in the same order";
  end_cluster(fmt::format("[cluster] expected process {} in {}, got {}", named, what(), got),
              named);
}

void Processes::wait_until(const std::function<bool()>& finished,
                           const std::function<std::vector<int>()>& waited, const What& what) {
  const Clock::time_point begin = Clock::now();
  for (int64_t round = 0; !finished(); ++round) {
    if (round < 64) continue;
    sched_yield();
    if (round % 64 != 0) continue;
    const std::unique_lock lock(transfers_mutex_);
    for (int p : waited()) {
      // All that the process sent before it left has arrived by now.
      if (!has_left(p) || finished()) continue;
      end_for(p, what);
    }
    const Clock::time_point now = Clock::now();
    if (now - begin > milliseconds(2)) std::this_thread::sleep_for(std::chrono::microseconds(20));
    if (now - begin < seconds(1)) continue;
    const std::vector<int> missing = waited();
    for (int p : missing)
      if (is_dead(p))
        end_cluster(fmt::format("[cluster] expected process {} in {}, got no sign of life from it "
                                "for {} s: it, or its "
                                "machine, has died or stopped; start again from the last "
                                "checkpoint (tessera launch "
                                "does)",
                                p, what(), kDeadAfter.count()),
                    p);
    if (duration<double>(now - begin).count() > options().watchdog_seconds)
      end_cluster(
          fmt::format(
              "[cluster] expected {} in {}, got nothing for {} s; processes must call the same "
              "functions in the same order, and watchdog_seconds says how long one may take",
              processes_text(missing), what(), options().watchdog_seconds),
          missing.empty() ? -1 : missing[0]);
  }
}

void Processes::say_greetings() {
  if (greeted_ != Greeted::kNo || !call_) return;
  greeted_ = Greeted::kSaid;
  for (int p : call_->members)
    if (p != index_) tell(p, {++pairs_[static_cast<size_t>(p)].calls, call_->hash, Kind::kCall});
}

// Returns whether all members have announced their calls, which are then known to be the same.
bool Processes::hear_greetings(bool may_compare) {
  if (greeted_ != Greeted::kSaid) return true;
  std::vector<int> others;
  for (int p : call_->members) {
    if (p == index_) continue;
    Pair& pair = pairs_[static_cast<size_t>(p)];
    if (has_left(p) || !pair.arrived) return false;
    if (pair.theirs.number != pair.mine.number || pair.theirs.hash != pair.mine.hash)
      others.push_back(p);
  }
  if (!others.empty() && !may_compare) return false;
  greeted_ = Greeted::kHeard;
  for (int p : call_->members) {
    if (p == index_) continue;
    Pair& pair = pairs_[static_cast<size_t>(p)];
    pair.arrived = false;
    const std::lock_guard lock(transport_mutex_);
    pair.next = transport_->receive(p, kGreeting, reinterpret_cast<std::byte*>(&pair.theirs),
                                    sizeof pair.theirs);
  }
  if (!others.empty()) compare_programs(others);
  return true;
}

void Processes::post(Transfer& transfer, const Round& round) {
  transfer.requests.clear();
  transfer.peers.clear();
  const std::lock_guard lock(transport_mutex_);
  for (const Incoming& message : round.in) {
    transfer.requests.push_back(
        transport_->receive(message.from, transfer.tag, message.data, message.bytes));
    transfer.peers.push_back(message.from);
  }
  for (const Outgoing& message : round.out) {
    transfer.requests.push_back(
        transport_->send(message.to, transfer.tag, message.data, message.bytes));
    transfer.peers.push_back(message.to);
  }
}

bool Processes::advance(Transfer& transfer) {
  while (true) {
    bool all = true;
    for (Transport::Request& request : transfer.requests) all = done(request) && all;
    if (!all) return false;
    std::optional<Round> round = transfer.rounds();
    if (!round) return true;
    post(transfer, *round);
  }
}

void Processes::advance_transfers() {
  moved_.store(Clock::now().time_since_epoch().count(), std::memory_order_relaxed);
  // A transfer that has ended is kept until its finish().
  for (Transfer& transfer : transfers_)
    if (transfer.rounds && advance(transfer)) {
      transfer.rounds = {};
      active_.fetch_sub(1, std::memory_order_relaxed);
      if (Timeline* timeline = Timeline::current())
        timeline->add(Timeline::Kind::kTransfer, transfer.what(), transfer.begun, Timeline::now());
    }
}

void Processes::advance_all() {
  // If this thread is in no call, errors do not concern its program.
  if (calls_of_thread == 0) return advance_in_mover();
  const std::lock_guard lock(transfers_mutex_);
  if (mover_error_) std::rethrow_exception(std::exchange(mover_error_, nullptr));
  if (hear_greetings()) advance_transfers();
}

void Processes::advance_in_mover() {
  const std::unique_lock lock(transfers_mutex_, std::try_to_lock);
  if (!lock || mover_error_) return;
  try {
    // If programs differ, the thread in the call throws, not this one.
    if (hear_greetings(false)) advance_transfers();
  } catch (...) {
    mover_error_ = std::current_exception();
  }
}

std::vector<int> Processes::waited_for(const Transfer& transfer) const {
  std::vector<int> out;
  if (greeted_ == Greeted::kSaid) {
    for (int p : call_->members) {
      const Pair& pair = pairs_[static_cast<size_t>(p)];
      if (p != index_ && !(pair.arrived && pair.theirs.kind == Kind::kCall)) out.push_back(p);
    }
    return out;
  }
  for (size_t i = 0; i < transfer.requests.size(); ++i)
    if (transfer.requests[i] != 0 &&
        std::find(out.begin(), out.end(), transfer.peers[i]) == out.end())
      out.push_back(transfer.peers[i]);
  return out;
}

void Processes::start(const void* key, Rounds rounds, What what, bool with_next) {
  const std::lock_guard lock(calls_);
  const std::lock_guard transfers_lock(transfers_mutex_);
  expect_usable();
  std::vector<const void*> keys{key};
  if (with_next || !joining_.empty()) {
    joining_.push_back({key, std::move(rounds), std::move(what)});
    if (with_next) return;
    what = [first = joining_[0].what, others = joining_.size() - 1] {
      return fmt::format("{} and {} more", first(), others);
    };
    keys.clear();
    std::vector<Rounds> members;
    for (Joining& joining : joining_) {
      keys.push_back(joining.key);
      members.push_back(std::move(joining.rounds));
    }
    joining_.clear();
    rounds = joined_rounds(std::move(members));
  }
  say_greetings();
  const int tag = kFirstTransfer + static_cast<int>(started_++ % kTransferTags);
  transfers_.push_back({std::move(keys),
                        std::move(rounds),
                        std::move(what),
                        tag,
                        {},
                        {},
                        Timeline::current() ? Timeline::now() : 0});
  active_.fetch_add(1);
  mover_->wake();
  advance_all();
}

void Processes::finish(const void* key) {
  const std::lock_guard lock(calls_);
  const auto found = [&] {
    const std::lock_guard transfers_lock(transfers_mutex_);
    return std::find_if(transfers_.begin(), transfers_.end(),
                        [&](const Transfer& t) { return contains(t.keys, key); });
  }();
  TESSERA_CHECK(found != transfers_.end(), "a transfer that was not started");
  const int64_t begin = Timeline::current() ? Timeline::now() : 0;
  wait_until(
      [&] {
        const std::lock_guard transfers_lock(transfers_mutex_);
        if (!found->rounds) return true;
        advance_all();
        return !found->rounds;
      },
      [&] { return waited_for(*found); },
      [&] { return fmt::format("{} of {}", found->what(), call_text()); });
  if (Timeline* timeline = Timeline::current())
    timeline->add(Timeline::Kind::kWait, found->what(), begin, Timeline::now());
  const std::lock_guard transfers_lock(transfers_mutex_);
  std::erase(found->keys, key);
  if (found->keys.empty()) transfers_.erase(found);
}

// Sends one message to a process, and receives one from it.
void Processes::swap_bytes(int process, std::span<const std::byte> out, std::span<std::byte> in,
                           const What& what) {
  Transport::Request sent, received;
  {
    const std::lock_guard lock(transport_mutex_);
    received =
        transport_->receive(process, kComparison, in.data(), static_cast<int64_t>(in.size()));
    sent = transport_->send(process, kComparison, out.data(), static_cast<int64_t>(out.size()));
  }
  wait_until(
      [&] {
        const bool has_sent = done(sent);
        return done(received) && has_sent;
      },
      [&] { return std::vector<int>{process}; }, what);
}

void Processes::exchange(std::span<const Outgoing> out, std::span<const Incoming> in,
                         const What& what, const std::function<void()>& meanwhile) {
  std::optional<Round> round = Round{{out.begin(), out.end()}, {in.begin(), in.end()}};
  const char key = 0;
  // If this function throws, its transfers continue until the call ends.
  start(
      &key, [round]() mutable { return std::exchange(round, std::nullopt); }, what);
  if (meanwhile) meanwhile();
  finish(&key);
}

std::vector<std::string> Processes::all_gather(const std::string& bytes, const What& what) {
  CallIdentity identity{std::hash<std::string>()("all_gather"), what(), what, {}};
  for (int p = 0; p < count_; ++p) identity.members.push_back(p);
  identity.hash = hash_combine(identity.hash, std::hash<std::string>()(identity.name));
  const auto size = static_cast<int64_t>(bytes.size());
  std::vector<int64_t> sizes(static_cast<size_t>(count_), size);
  std::vector<std::string> parts(static_cast<size_t>(count_));
  Call call(*this, identity);  // ends before the memory that transfers use is freed
  std::vector<Outgoing> out;
  std::vector<Incoming> in;
  for (int p = 0; p < count_; ++p) {
    if (p == index_) continue;
    out.push_back({p, reinterpret_cast<const std::byte*>(&size), sizeof size});
    in.push_back({p, reinterpret_cast<std::byte*>(&sizes[static_cast<size_t>(p)]), sizeof size});
  }
  exchange(out, in, what);
  out.clear();
  in.clear();
  for (int p = 0; p < count_; ++p) {
    std::string& part = parts[static_cast<size_t>(p)];
    if (p == index_) {
      part = bytes;
      continue;
    }
    part.resize(static_cast<size_t>(sizes[static_cast<size_t>(p)]));
    out.push_back({p, reinterpret_cast<const std::byte*>(bytes.data()), size});
    in.push_back({p, reinterpret_cast<std::byte*>(part.data()), static_cast<int64_t>(part.size())});
  }
  exchange(out, in, what);
  call.complete();
  return parts;
}

Processes::Call::Call(Processes& processes, const CallIdentity& identity)
    : processes_(processes),
      lock_(processes.calls_),
      outer_(processes.call_),
      outer_site_(processes.call_site_),
      outer_greeted_(processes.greeted_),
      outer_transfers_(processes.started_),
      exceptions_(std::uncaught_exceptions()) {
  const std::lock_guard lock(processes.transfers_mutex_);
  processes.call_ = &identity;
  processes.call_site_ = CallSite::current();
  processes.greeted_ = Greeted::kNo;
  // A call inside of another one uses the tags that follow.
  if (!outer_) processes.started_ = 0;
  processes.expect_usable();
  processes.say_greetings();
  ++calls_of_thread;
}
void Processes::Call::complete() {
  if (processes_.greeted_ != Greeted::kSaid) return;
  const Transfer nothing{};
  processes_.wait_until(
      [&] {
        const std::lock_guard lock(processes_.transfers_mutex_);
        return processes_.hear_greetings();
      },
      [&] { return processes_.waited_for(nothing); }, [&] { return processes_.call_text(); });
}
Processes::Call::~Call() {
  const std::lock_guard lock(processes_.transfers_mutex_);
  --calls_of_thread;
  if (std::uncaught_exceptions() > exceptions_) processes_.leave_call();
  processes_.call_ = outer_;
  processes_.call_site_ = outer_site_;
  processes_.greeted_ = outer_greeted_;
  if (!outer_) processes_.started_ = outer_transfers_;
}

// Leaves a call that throws: the memory of its messages is about to be freed.
void Processes::leave_call() {
  const std::lock_guard transfers_lock(transfers_mutex_);
  {
    const std::lock_guard lock(transport_mutex_);
    for (const Transfer& transfer : transfers_)
      for (Transport::Request request : transfer.requests)
        if (request != 0) transport_->forget(request);
  }
  transfers_.clear();
  joining_.clear();
  active_ = 0;
  if (!failure_.empty()) return;
  fail(fmt::format("an exception in {}", call_text()));
}

bool leave() {
  if (Processes* processes = Processes::current()) processes->shut_down();
  return !Processes::current() || end_of_cluster == End::kTogether;
}

void Processes::shut_down() {
  // A process that exits while another thread is in a call can neither end the call nor wait for
  // it.
  const std::unique_lock lock(calls_, std::try_to_lock);
  if (!lock || end_of_cluster != End::kNotYet) return;
  end_of_cluster = End::kFailed;
  mover_.reset();
  const bool together = failure_.empty() && all_end();
  heart_.reset();
  // A process whose cluster has failed does not wait for the others.
  if (!together) return;
  end_of_cluster = End::kTogether;
  const std::lock_guard transport_lock(transport_mutex_);
  transport_->finish();
}

// Announces that this process ends, and waits for the other processes to end as long as they live.
// (MPI's own function would also wait for dead processes.) Returns whether all have ended well.
bool Processes::all_end() {
  for (int p = 0; p < count_; ++p)
    if (p != index_) tell(p, {0, 0, Kind::kEnded});
  bool together = true;
  for (int p = 0; p < count_; ++p) {
    Pair& pair = pairs_[static_cast<size_t>(p)];
    while (p != index_ && !(has_left(p) && done(pair.sent))) {
      if (pair.arrived && pair.theirs.kind == Kind::kCall) {
        // That process makes a call in which this one takes no part. It will notice, and then end.
        pair.arrived = false;
        const std::lock_guard lock(transport_mutex_);
        pair.next = transport_->receive(p, kGreeting, reinterpret_cast<std::byte*>(&pair.theirs),
                                        sizeof pair.theirs);
      }
      if (is_dead(p)) {
        fmt::print(stderr,
                   "[cluster] expected the end of process {}, got no sign of life from it for {} "
                   "s: it, or its machine, has died or stopped\n",
                   p, kDeadAfter.count());
        transport_->abort(1);
      }
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
    together = together && (p == index_ || pair.theirs.kind == Kind::kEnded);
  }
  return together;
}

}  // namespace tessera::cluster
