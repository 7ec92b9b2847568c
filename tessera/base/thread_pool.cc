#include "tessera/base/thread_pool.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/base/fork.h"
#include "tessera/base/format.h"
#include "tessera/base/warning.h"

namespace tessera {
namespace {

thread_local bool inside_task = false;

struct InsideTask {
  bool before = std::exchange(inside_task, true);
  ~InsideTask() { inside_task = before; }
};

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Threads spin during the gaps between steps of one program (microseconds), and sleep in longer
// gaps. A pause takes about 40 cycles.
constexpr int kWorkerSpins = 2000;
constexpr int kCallerSpins = 4000;

int default_threads() {
  if (const char* text = std::getenv("TESSERA_NUM_THREADS"); text && *text) {
    char* end = nullptr;
    const long threads = std::strtol(text, &end, 10);
    if (*end != '\0' || threads < 1 || threads > ThreadPool::kMaxThreads)
      value_error("TESSERA_NUM_THREADS", "expected a number of threads from 1 to {}, got '{}'",
                  ThreadPool::kMaxThreads, text);
    return static_cast<int>(threads);
  }
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

}  // namespace

// The state of the pool, which runs one call at a time. The protocol uses only `word`: bit 0 says
// whether workers may join the call, bits 1 to 31 count the workers inside, and the bits from 32 on
// number the calls. A worker joins by a compare-and-swap on `word`, so it can neither join a call
// that has closed nor mistake one call for the next. The caller closes the call and waits for the
// count to fall to zero.
struct ThreadPool::State {
  // The most tasks of a call: with more, the counts of `begun` could overflow.
  static constexpr int64_t kMostTasks = int64_t{1} << 31;
  static constexpr uint64_t kFromLast = uint64_t{1} << 32;
  static constexpr uint64_t kOpen = 1, kOne = 2, kCall = uint64_t{1} << 32, kCount = kCall - kOne;

  alignas(64) std::atomic<uint64_t> word{0};
  // Bits 0 to 31 count the tasks that were begun from the first one on, bits 32 to 63 those from
  // the last one back.
  alignas(64) std::atomic<uint64_t> begun{0};
  // The caller writes these before it opens the call; the threads that join read them.
  alignas(64) const TaskRef* fn = nullptr;
  int64_t tasks = 0;

  std::atomic<int> sleepers{0}, started{0};
  std::atomic<bool> caller_waits{false}, stop{false};
  std::mutex sleep_mutex, done_mutex, error_mutex;
  std::condition_variable wake, done;
  std::exception_ptr error;

  std::mutex call_mutex;  // locked during a call
  std::atomic<int> threads{1};
  std::vector<std::thread> workers;

  // Returns the next task from the first one on or from the last one back, or -1 if all have begun.
  // So of two threads each has its end in every call, and often finds in its core's cache what it
  // computed there in the last one.
  int64_t begin_task(bool from_last) {
    const uint64_t before = begun.fetch_add(from_last ? kFromLast : 1, std::memory_order_relaxed);
    const auto first = static_cast<int64_t>(before % kFromLast),
               last = static_cast<int64_t>(before / kFromLast);
    if (first + last >= tasks) return -1;
    return from_last ? tasks - 1 - last : first;
  }

  void run_tasks(bool from_last) {
    const InsideTask mark;
    for (int64_t task; (task = begin_task(from_last)) >= 0;) {
      try {
        (*fn)(task);
      } catch (...) {
        const std::lock_guard lock(error_mutex);
        if (!error) error = std::current_exception();
        begun.store(static_cast<uint64_t>(tasks), std::memory_order_relaxed);
      }
    }
  }

  // Sleeps until a call is open whose number is not `seen`.
  void wait_for_call(uint64_t seen) {
    auto ready = [&] {
      const uint64_t w = word.load();
      return stop.load() || ((w & kOpen) && (w >> 32) != seen);
    };
    for (int i = 0; i < kWorkerSpins; ++i) {
      if (ready()) return;
      pause();
    }
    std::unique_lock lock(sleep_mutex);
    sleepers.fetch_add(1);
    wake.wait(lock, ready);
    sleepers.fetch_sub(1);
  }

  void work(bool from_last) {
    uint64_t seen = ~uint64_t{0};
    while (!stop.load()) {
      uint64_t w = word.load();
      if (!(w & kOpen) || (w >> 32) == seen) {
        wait_for_call(seen);
        continue;
      }
      if (!word.compare_exchange_weak(w, w + kOne)) continue;
      seen = w >> 32;
      run_tasks(from_last);
      const uint64_t left = word.fetch_sub(kOne) - kOne;
      if ((left & kCount) == 0 && caller_waits.load()) {
        const std::lock_guard lock(done_mutex);
        done.notify_all();
      }
    }
  }

  void call(const TaskRef& task_fn, int64_t n, bool wakes) {
    fn = &task_fn;
    tasks = n;
    error = nullptr;
    begun.store(0, std::memory_order_relaxed);
    word.store(((word.load(std::memory_order_relaxed) >> 32) + 1) * kCall + kOpen);
    if (wakes && sleepers.load() > 0) {
      { const std::lock_guard lock(sleep_mutex); }
      wake.notify_all();
    }
    run_tasks(false);
    word.fetch_and(~kOpen);
    auto left = [&] { return (word.load() & kCount) == 0; };
    for (int i = 0; i < kCallerSpins && !left(); ++i) pause();
    if (!left()) {
      std::unique_lock lock(done_mutex);
      caller_waits.store(true);
      done.wait(lock, left);
      caller_waits.store(false);
    }
    if (error) std::rethrow_exception(std::exchange(error, nullptr));
  }

  void start_workers() {
    while (static_cast<int>(workers.size()) < threads.load() - 1) {
      try {
        workers.emplace_back([this, from_last = workers.size() % 2 == 0] { work(from_last); });
        started.store(static_cast<int>(workers.size()));
      } catch (const std::system_error& error) {
        const int wanted = threads.exchange(static_cast<int>(workers.size()) + 1);
        warn(
            fmt::format("[thread_pool] expected to start {} threads, the system starts {} ({}); "
                        "work goes on with these. Raise the limit on threads (ulimit -u), or set "
                        "TESSERA_NUM_THREADS",
                        wanted, threads.load(), error.code().message()));
      }
    }
  }
  void stop_workers() {
    {
      const std::lock_guard lock(sleep_mutex);
      stop.store(true);
    }
    wake.notify_all();
    for (std::thread& worker : workers) worker.join();
    workers.clear();
    started.store(0);
    stop.store(false);
  }
};

// The child has no workers, and a call that was in progress is never finished there. So the child
// gets a fresh state, and leaves the old one alone.
class ThreadPool::Fork final : public ForkParticipant {
 public:
  explicit Fork(ThreadPool& pool) : ForkParticipant(Level::kLeaves), pool_(pool) { join(); }
  ~Fork() { leave(); }
  void before_fork() override {}
  void after_fork(bool child) override {
    if (!child) return;
    State* old = pool_.state_.release();
    pool_.state_ = std::make_unique<State>();
    pool_.state_->threads = old->threads.load();
  }

 private:
  ThreadPool& pool_;
};

ThreadPool::ThreadPool(int threads)
    : state_(std::make_unique<State>()), fork_(std::make_unique<Fork>(*this)) {
  TESSERA_CHECK(threads >= 1);
  state_->threads = threads;
}
ThreadPool::~ThreadPool() {
  fork_.reset();
  state_->stop_workers();
}

int ThreadPool::threads() const { return state_->threads.load(std::memory_order_relaxed); }

void ThreadPool::resize(int threads) {
  TESSERA_CHECK(threads >= 1 && !inside_task, "resize to {} threads", threads);
  const std::lock_guard lock(state_->call_mutex);
  state_->stop_workers();
  state_->threads = threads;
}

bool ThreadPool::awake() const {
  return !inside_task && state_->started.load(std::memory_order_relaxed) >
                             state_->sleepers.load(std::memory_order_relaxed);
}

void ThreadPool::parallel_for(int64_t tasks, TaskRef fn) { run(tasks, fn, true); }
void ThreadPool::parallel_for_awake(int64_t tasks, TaskRef fn) { run(tasks, fn, false); }

void ThreadPool::run(int64_t tasks, TaskRef fn, bool wakes) {
  if (tasks > 1 && threads() > 1 && !inside_task) {
    std::unique_lock lock(state_->call_mutex, std::try_to_lock);
    if (lock) {
      state_->start_workers();
      for (int64_t first = 0; first < tasks; first += State::kMostTasks) {
        const auto shifted = [&](int64_t task) { fn(first + task); };
        const int64_t count = std::min(tasks - first, State::kMostTasks);
        state_->call(first == 0 ? fn : TaskRef(shifted), count, wakes);
      }
      return;
    }
  }
  const InsideTask mark;
  for (int64_t task = 0; task < tasks; ++task) fn(task);
}

ThreadPool& thread_pool() {
  // It is never destroyed: tasks may outlive static destructors.
  static ThreadPool& pool = *new ThreadPool(default_threads());
  return pool;
}
int num_threads() { return thread_pool().threads(); }
void set_num_threads(int threads) {
  if (threads < 1 || threads > ThreadPool::kMaxThreads)
    value_error("set_num_threads", "expected a number of threads from 1 to {}, got {}",
                ThreadPool::kMaxThreads, threads);
  thread_pool().resize(threads);
}
void run_on_threads(int64_t count, const std::function<void()>& work) {
  const int64_t cores = std::max<int64_t>(1, std::thread::hardware_concurrency());
  std::vector<std::thread> threads;
  try {
    for (int64_t t = 1; t < std::min(cores, count); ++t) threads.emplace_back(work);
  } catch (const std::system_error&) {
    // If the system starts fewer threads, these do all of the work.
  }
  work();
  for (std::thread& thread : threads) thread.join();
}
bool in_parallel_task() { return inside_task; }

}  // namespace tessera
