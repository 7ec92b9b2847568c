#include "tessera/ffi/task_queue.h"

#include <unistd.h>

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "tessera/base/fork.h"
#include "tessera/base/thread_pool.h"

namespace tessera::ffi {
namespace {

class TaskQueue {
 public:
  TaskQueue() {
    for (int t = 0; t < num_threads(); ++t) std::thread([this] { run(); }).detach();
  }

  void add(void (*task)(void*), void* data) {
    {
      const std::lock_guard lock(mutex_);
      tasks_.emplace_back(task, data);
    }
    added_.notify_one();
  }

 private:
  [[noreturn]] void run() {
    for (;;) {
      std::unique_lock lock(mutex_);
      added_.wait(lock, [&] { return !tasks_.empty(); });
      const auto [task, data] = tasks_.front();
      tasks_.pop_front();
      lock.unlock();
      task(data);
    }
  }

  std::mutex mutex_;
  std::condition_variable added_;
  std::deque<std::pair<void (*)(void*), void*>> tasks_;
};

}  // namespace

void schedule(void (*task)(void*), void* data) {
  static ForkSafeMutex& mutex = *new ForkSafeMutex;
  // It is never destroyed, because its threads use it until the process ends. A child of fork() has
  // none of these threads.
  static TaskQueue* queue = nullptr;
  static pid_t owner = 0;
  TaskQueue* all = nullptr;
  {
    const std::lock_guard lock(mutex);
    if (owner != getpid()) {
      queue = new TaskQueue;
      owner = getpid();
    }
    all = queue;
  }
  all->add(task, data);
}

}  // namespace tessera::ffi
