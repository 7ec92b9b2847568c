#include "tessera/cluster/processes.h"

#include <dlfcn.h>
#include <fmt/ranges.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "tessera/base/format.h"
#include "tessera/base/hash.h"
#include "tessera/cluster/launched.h"

namespace tessera::cluster {
namespace {

using std::chrono::duration;
using std::chrono::milliseconds;
using std::chrono::seconds;

enum Tag : int { kData = 1, kGreeting, kBeat };
constexpr seconds kBeatEvery{2};
constexpr seconds kDeadAfter{15};

struct State {
  std::mutex mutex;
  Cluster cluster;
  Launched launched;
  std::atomic<Processes*> processes{nullptr};
  std::atomic<bool> started{false};
};
State& state() {
  static State& instance = *new State;  // threads may ask while the process ends
  return instance;
}

std::string library_path() {
  if (const char* path = std::getenv("TESSERA_MPI_TRANSPORT")) return path;
#ifdef TESSERA_MPI_TRANSPORT
  return TESSERA_MPI_TRANSPORT;
#else
  return "libtessera_mpi.so";
#endif
}

std::unique_ptr<Transport> open_transport(const Launched& launched) {
  if (!launched.by_open_mpi)
    throw RuntimeError(fmt::format(
        "[initialize] expected {} processes started by Open MPI's mpirun, or by srun --mpi=pmix, "
        "with whose library Tessera is built, got {} of {}; start the program with Open MPI's "
        "mpirun",
        launched.count, launched.count, launched.by));
  const std::string path = library_path();
  // Its own plugins look for MPI's symbols among those of the process.
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (!library)
    throw RuntimeError(fmt::format(
        "[initialize] expected the MPI transport {}, got: {}; install libopenmpi-dev and build "
        "again, or set TESSERA_MPI_TRANSPORT to where it is",
        path, dlerror()));
  auto* open = reinterpret_cast<OpenTransport*>(dlsym(library, kOpenTransport));
  if (!open)
    throw RuntimeError(fmt::format(
        "[initialize] expected {} in {}, got a library without it; set TESSERA_MPI_TRANSPORT to "
        "Tessera's transport",
        kOpenTransport, path));
  std::string error;
  std::unique_ptr<Transport> transport(open(error));
  if (!transport)
    throw RuntimeError(fmt::format("[initialize] expected MPI to start, got: {}", error));
  if (transport->count() != launched.count)
    throw RuntimeError(fmt::format(
        "[initialize] expected {} processes, as {} started, got {} from MPI: it is another MPI "
        "than the one that started them; start the program with Open MPI's mpirun",
        launched.count, launched.by, transport->count()));
  return transport;
}

// The first line in which two texts differ, with its number.
std::string first_difference(const std::string& mine, const std::string& theirs, int index,
                             int other) {
  size_t begin_a = 0, begin_b = 0;
  for (int line = 1;; ++line) {
    const size_t end_a = std::min(mine.find('\n', begin_a), mine.size()),
                 end_b = std::min(theirs.find('\n', begin_b), theirs.size());
    const std::string a = mine.substr(begin_a, end_a - begin_a),
                      b = theirs.substr(begin_b, end_b - begin_b);
    if (a != b)
      return fmt::format("they differ first in line {}: here (process {}) `{}`, in process {} `{}`",
                         line, index, a.empty() ? "nothing more" : a, other,
                         b.empty() ? "nothing more" : b);
    if (end_a == mine.size() && end_b == theirs.size())
      return "their ops are the same, and they are laid out differently";
    begin_a = std::min(end_a + 1, mine.size());
    begin_b = std::min(end_b + 1, theirs.size());
  }
}

std::string processes_text(const std::vector<int>& list) {
  return fmt::format("process{} {}", list.size() == 1 ? "" : "es", fmt::join(list, ", "));
}

}  // namespace

Processes* Processes::current() { return state().processes; }
bool Processes::reproducible() { return state().started; }
const ClusterOptions& Processes::options() { return state().cluster.options(); }
int Processes::local_count() { return current() ? state().launched.local_count : 1; }

void Processes::start(const Cluster& cluster) {
  if (cluster.kind() == Cluster::Kind::kAlone) return;
  State& s = state();
  const std::lock_guard lock(s.mutex);
  if (s.started) {
    if (!(s.cluster == cluster))
      value_error("initialize",
                  "expected the options of the cluster that was started before, got others; a "
                  "process is in one cluster, which it starts once");
    return;
  }
  s.launched = launched();
  if (s.launched.count > 1) {
    s.cluster = cluster;
    s.processes = new Processes(open_transport(s.launched));
    std::atexit([] {
      if (Processes* p = current()) p->finish();
    });
  }
  s.cluster = cluster;
  s.started = true;
}

// Sends signs of life, and hears those of others, until it is destroyed.
class Processes::Heart {
 public:
  explicit Heart(Processes& processes)
      : thread_([this, &processes] {
          std::unique_lock lock(mutex_);
          while (!changed_.wait_for(lock, kBeatEvery, [this] { return ends_; })) processes.beat();
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

void Processes::give_up(const std::string& message) {
  failure_ = message;
  for (int p = 0; p < count_; ++p)
    if (p != index_) tell(p, {0, 0, Kind::kFailed});
  throw RuntimeError(message);
}

void Processes::tell(int process, const Greeting& greeting) {
  Pair& pair = pairs_[static_cast<size_t>(process)];
  // A greeting fits into the buffers of any transport: the one before is long gone.
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

void Processes::wait_until(const std::function<bool()>& finished,
                           const std::function<std::vector<int>()>& waited, const What& what) {
  const Clock::time_point begin = Clock::now();
  for (int64_t round = 0; !finished(); ++round) {
    if (round < 64) continue;
    sched_yield();
    if (round % 64 != 0) continue;
    for (int p : waited()) {
      // What it sent before it left has arrived by now.
      if (!has_left(p) || finished()) continue;
      give_up(fmt::format(
          "[cluster] expected process {} in {}, got {}", p, what(),
          pairs_[static_cast<size_t>(p)].theirs.kind == Kind::kEnded
              ? "its end: it has left the program; processes that run one program call the same "
                "functions in the same order"
              : "its failure; what it says itself is the cause"));
    }
    const Clock::time_point now = Clock::now();
    if (now - begin > milliseconds(2)) std::this_thread::sleep_for(std::chrono::microseconds(20));
    if (now - begin < seconds(1)) continue;
    const std::vector<int> missing = waited();
    for (int p : missing) {
      Clock::time_point heard;
      {
        const std::lock_guard lock(transport_mutex_);
        heard = pairs_[static_cast<size_t>(p)].heard;
      }
      if (now - heard > kDeadAfter)
        give_up(fmt::format(
            "[cluster] expected process {} in {}, got no sign of life from it for {} s: it, or its "
            "machine, has died or stopped; start again from the last checkpoint (tessera launch "
            "does)",
            p, what(), std::chrono::duration_cast<seconds>(now - heard).count()));
    }
    if (duration<double>(now - begin).count() > options().watchdog_seconds)
      give_up(fmt::format(
          "[cluster] expected {} in {}, got nothing for {} s; processes must call the same "
          "functions in the same order, and watchdog_seconds says how long one may take",
          processes_text(missing), what(), options().watchdog_seconds));
  }
}

void Processes::wait(std::vector<Transport::Request>& requests, const std::vector<int>& peers,
                     const What& what) {
  try {
    wait_until(
        [&] {
          bool all = true;
          for (Transport::Request& request : requests) all = done(request) && all;
          return all;
        },
        [&] {
          std::vector<int> out;
          for (size_t i = 0; i < requests.size(); ++i)
            if (requests[i] != 0 && std::find(out.begin(), out.end(), peers[i]) == out.end())
              out.push_back(peers[i]);
          return out;
        },
        what);
  } catch (...) {
    const std::lock_guard lock(transport_mutex_);
    for (Transport::Request request : requests)
      if (request != 0) transport_->forget(request);
    throw;
  }
}

void Processes::wait_for_greetings(const What& what) {
  const auto waited = [&] {
    std::vector<int> out;
    for (int p : call_->members) {
      const Pair& pair = pairs_[static_cast<size_t>(p)];
      if (p != index_ && !(pair.arrived && pair.theirs.kind == Kind::kCall)) out.push_back(p);
    }
    return out;
  };
  wait_until(
      [&] {
        for (int p : call_->members)
          if (p != index_) has_left(p);
        const std::vector<int> missing = waited();
        return missing.empty();
      },
      waited, what);
}

void Processes::greet() {
  if (greeted_ || !call_) return;
  greeted_ = true;
  for (int p : call_->members)
    if (p != index_) tell(p, {++pairs_[static_cast<size_t>(p)].calls, call_->hash, Kind::kCall});
  wait_for_greetings([&] { return call_->name; });
  std::vector<int> others;
  for (int p : call_->members) {
    if (p == index_) continue;
    Pair& pair = pairs_[static_cast<size_t>(p)];
    if (pair.theirs.number != pair.mine.number || pair.theirs.hash != pair.mine.hash)
      others.push_back(p);
    pair.arrived = false;
    const std::lock_guard lock(transport_mutex_);
    pair.next = transport_->receive(p, kGreeting, reinterpret_cast<std::byte*>(&pair.theirs),
                                    sizeof pair.theirs);
  }
  if (!others.empty()) compare_programs(others);
}

// With each process that runs something else: what it is.
void Processes::compare_programs(const std::vector<int>& others) {
  const std::string mine = call_->name + '\n' + call_->text();
  const uint64_t size = mine.size();
  const What what = [] { return std::string("the comparison of two programs"); };
  std::string message;
  for (int p : others) {
    uint64_t their_size = 0;
    const Outgoing size_out{p, reinterpret_cast<const std::byte*>(&size), sizeof size};
    const Incoming size_in{p, reinterpret_cast<std::byte*>(&their_size), sizeof their_size};
    exchange({&size_out, 1}, {&size_in, 1}, what);
    std::string theirs(their_size, '\0');
    const Outgoing out{p, reinterpret_cast<const std::byte*>(mine.data()),
                       static_cast<int64_t>(mine.size())};
    const Incoming in{p, reinterpret_cast<std::byte*>(theirs.data()),
                      static_cast<int64_t>(theirs.size())};
    exchange({&out, 1}, {&in, 1}, what);
    if (!message.empty()) continue;
    const size_t line = theirs.find('\n');
    message = fmt::format(
        "expected one program in all processes, got {} in process {} and {} in process {} (call {} "
        "between them); {}; processes must call the same functions, on arrays of the same shapes, "
        "in the same order",
        call_->name, index_, theirs.substr(0, line), p, pairs_[static_cast<size_t>(p)].calls,
        first_difference(mine.substr(call_->name.size() + 1),
                         line == std::string::npos ? "" : theirs.substr(line + 1), index_, p));
  }
  failure_ = message;
  value_error("cluster", "{}", message);
}

void Processes::exchange(std::span<const Outgoing> out, std::span<const Incoming> in,
                         const What& what, const std::function<void()>& meanwhile) {
  const std::lock_guard lock(calls_);
  expect_usable();
  greet();
  std::vector<Transport::Request> requests;
  std::vector<int> peers;
  {
    const std::lock_guard transport_lock(transport_mutex_);
    for (const Incoming& message : in) {
      requests.push_back(transport_->receive(message.from, kData, message.data, message.bytes));
      peers.push_back(message.from);
    }
    for (const Outgoing& message : out) {
      requests.push_back(transport_->send(message.to, kData, message.data, message.bytes));
      peers.push_back(message.to);
    }
  }
  if (meanwhile) meanwhile();
  wait(requests, peers, what);
}

std::vector<std::string> Processes::all_gather(const std::string& bytes, const What& what) {
  CallIdentity identity{std::hash<std::string>()("all_gather"), what(), what, {}};
  for (int p = 0; p < count_; ++p) identity.members.push_back(p);
  identity.hash = hash_combine(identity.hash, std::hash<std::string>()(identity.name));
  const Call call(*this, identity);
  const auto size = static_cast<int64_t>(bytes.size());
  std::vector<int64_t> sizes(static_cast<size_t>(count_), size);
  std::vector<Outgoing> out;
  std::vector<Incoming> in;
  for (int p = 0; p < count_; ++p) {
    if (p == index_) continue;
    out.push_back({p, reinterpret_cast<const std::byte*>(&size), sizeof size});
    in.push_back({p, reinterpret_cast<std::byte*>(&sizes[static_cast<size_t>(p)]), sizeof size});
  }
  exchange(out, in, what);
  std::vector<std::string> parts(static_cast<size_t>(count_));
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
  return parts;
}

std::string Processes::broadcast(const std::string& bytes, int root, const What& what) {
  return std::move(all_gather(index_ == root ? bytes : "", what)[static_cast<size_t>(root)]);
}

Processes::Call::Call(Processes& processes, const CallIdentity& identity)
    : processes_(processes),
      lock_(processes.calls_),
      outer_(std::exchange(processes.call_, &identity)),
      outer_greeted_(std::exchange(processes.greeted_, false)) {}
Processes::Call::~Call() {
  processes_.call_ = outer_;
  processes_.greeted_ = outer_greeted_;
}

void Processes::finish() {
  const std::lock_guard lock(calls_);
  // Who has given up does not wait for those it no longer understands.
  if (!failure_.empty()) {
    heart_.reset();
    return;
  }
  for (int p = 0; p < count_; ++p)
    if (p != index_) tell(p, {0, 0, Kind::kEnded});
  for (int p = 0; p < count_; ++p)
    if (p != index_)
      while (!done(pairs_[static_cast<size_t>(p)].sent)) sched_yield();
  heart_.reset();
  const std::lock_guard transport_lock(transport_mutex_);
  transport_->finish();
}

}  // namespace tessera::cluster
