#include "tessera/codegen/machine_code/library_gate.h"

#include <cstdlib>
#include <new>

#include "tessera/base/error.h"
#include "tessera/base/thread_pool.h"

namespace tessera::codegen {
namespace {

thread_local int passes = 0;

// exit() first destroys the thread_locals of its thread, then runs its handlers, the latest first.
// LLVM creates statics whenever it needs them, so only a handler that is added during exit() runs
// before all of them are destroyed. The handler of a thread that ends in another way does no harm.
struct ClosesAtExit {
  ~ClosesAtExit() {
    constexpr int kMostHandlers = 1024;
    static std::atomic<int> handlers{0};
    if (handlers.fetch_add(1) < kMostHandlers) std::atexit([] { LibraryGate::process().close(); });
  }
};
void close_at_exit_of_this_thread() {
  static thread_local const ClosesAtExit closes;
  static_cast<void>(closes);
}
// The main thread may be the one that exits, even if only others compile.
[[maybe_unused]] const bool main_thread_closes = (close_at_exit_of_this_thread(), true);

}  // namespace

LibraryGate& LibraryGate::process() {
  static LibraryGate& gate = *new LibraryGate;  // threads may wait at it while the process ends
  return gate;
}

LibraryGate::Pass::Pass() {
  thread_pool();  // the pool takes part in forks, so it is made before a fork may wait for the gate
  close_at_exit_of_this_thread();
  if (passes == 0) process().enter();
  ++passes;
}
LibraryGate::Pass::~Pass() {
  if (--passes == 0) process().exit();
}

void LibraryGate::enter() {
  ++inside_;
  while (shut_) {
    exit();
    wait_at_shut_gate();
    ++inside_;
  }
}
void LibraryGate::exit() {
  --inside_;
  if (!shut_) return;
  { const std::lock_guard lock(mutex_); }
  changed_.notify_all();
}

void LibraryGate::wait_at_shut_gate() {
  std::unique_lock lock(mutex_);
  if (closed_ && closer_ == std::this_thread::get_id())
    throw RuntimeError(
        "[exit] expected to compile and to call libraries before exit(), got a call from the "
        "destructor of a static; destroy the object in main()");
  changed_.wait(lock, [&] { return !shut_; });
}

// Waits until no thread is inside except, perhaps, this one.
void LibraryGate::shut(std::unique_lock<std::mutex>& lock) {
  shut_ = true;
  const int mine = passes > 0 ? 1 : 0;
  changed_.wait(lock, [&] { return inside_ == mine; });
}

void LibraryGate::close() {
  std::unique_lock lock(mutex_);
  closed_ = true;
  closer_ = std::this_thread::get_id();
  shut(lock);
}

void LibraryGate::before_fork() {
  std::unique_lock lock(mutex_);
  shut(lock);
  lock.release();
}
void LibraryGate::after_fork(bool child) {
  if (child) {
    // Threads that waited, or were about to, do not exist in the child.
    new (&changed_) std::condition_variable;
    inside_ = passes > 0 ? 1 : 0;
  }
  shut_ = closed_;
  mutex_.unlock();
  changed_.notify_all();
}

}  // namespace tessera::codegen
