// ThreadPool: fork-join parallelism on the host's cores, for all parallel work in Tessera.
//
// The calling thread takes part, so a pool of n threads has n - 1 workers. A call that is made from
// inside a task runs inline, and so does one made while another thread's call uses the pool: no
// call waits for a free worker, so there are no deadlocks. The caller divides the work into tasks,
// so results do not depend on the number of threads. If the system starts fewer threads than
// requested, the pool continues with those and warns. After fork() the child's pools start workers
// of their own.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

namespace tessera {

// A reference to a callable void(int64_t task). It is valid as long as the callable is.
class TaskRef {
 public:
  template <class F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, TaskRef>)
      TaskRef(F&& fn)  // NOLINT: converts as std::function does
      : object_(const_cast<void*>(static_cast<const void*>(std::addressof(fn)))),
        call_([](void* object, int64_t task) {
          (*static_cast<std::remove_reference_t<F>*>(object))(task);
        }) {}
  void operator()(int64_t task) const { call_(object_, task); }

 private:
  void* object_;
  void (*call_)(void*, int64_t);
};

class ThreadPool {
 public:
  static constexpr int kMaxThreads = 4096;
  // `threads` is at least one. The first call that needs workers starts them.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const;
  // Changes the number of threads. Waits for the call in progress, if there is one.
  void resize(int threads);
  // Calls fn(0), ..., fn(tasks - 1), each once, in any order and on any thread, and returns when
  // all have ended. If one throws, the tasks that have not begun are dropped and one of the
  // exceptions is rethrown here.
  void parallel_for(int64_t tasks, TaskRef fn);
  // Returns whether workers wait for the next call without sleeping, as they do for some
  // microseconds after a call. They begin the tasks of a call at once, so short tasks pay. Always
  // returns false inside a task.
  bool awake() const;
  // Is parallel_for(), but lets workers that sleep go on sleeping.
  void parallel_for_awake(int64_t tasks, TaskRef fn);

 private:
  struct State;
  class Fork;
  void run(int64_t tasks, TaskRef fn, bool wakes);
  std::unique_ptr<State> state_;
  std::unique_ptr<Fork> fork_;
};

// Returns the pool of the process. It has as many threads as the machine has cores, or as many as
// the environment variable TESSERA_NUM_THREADS says.
ThreadPool& thread_pool();
int num_threads();
// Sets the number of threads of the pool. Throws UserError unless it is from 1 to
// ThreadPool::kMaxThreads.
void set_num_threads(int threads);
// Returns whether the calling thread runs a task, in which parallel_for runs inline.
bool in_parallel_task();

// Runs `work` here and on up to count - 1 other threads, no more than there are cores, and returns
// when all have ended. Use it for work that blocks, or takes too long for the pool. `work` must not
// throw.
void run_on_threads(int64_t count, const std::function<void()>& work);

inline void parallel_for(int64_t tasks, TaskRef fn) { thread_pool().parallel_for(tasks, fn); }

// Calls fn(begin, end) over consecutive ranges of [0, n), each of length `grain` except the last.
template <class F>
void parallel_for_ranges(int64_t n, int64_t grain, F&& fn) {
  if (n <= 0) return;
  if (grain >= n) return fn(int64_t{0}, n);
  parallel_for((n + grain - 1) / grain,
               [&](int64_t task) { fn(task * grain, std::min(n, (task + 1) * grain)); });
}

}  // namespace tessera
