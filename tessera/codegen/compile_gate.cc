#include "tessera/codegen/compile_gate.h"

#include <new>

namespace tessera::codegen {
namespace {

thread_local int passes = 0;

}  // namespace

CompileGate& CompileGate::process() {
  static CompileGate& gate = *new CompileGate;  // threads may wait at it while the process ends
  return gate;
}

CompileGate::Pass::Pass() {
  if (passes++ == 0) process().enter();
}
CompileGate::Pass::~Pass() {
  if (--passes == 0) process().exit();
}

void CompileGate::enter() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !closed_ || closer_ == std::this_thread::get_id(); });
  ++inside_;
}
void CompileGate::exit() {
  {
    const std::lock_guard lock(mutex_);
    --inside_;
  }
  changed_.notify_all();
}

// But for this thread, which may be one of those inside.
void CompileGate::wait_until_empty(std::unique_lock<std::mutex>& lock) {
  const int mine = passes > 0 ? 1 : 0;
  changed_.wait(lock, [&] { return inside_ == mine; });
}

void CompileGate::close() {
  std::unique_lock lock(mutex_);
  closed_ = true;
  closer_ = std::this_thread::get_id();
  wait_until_empty(lock);
}

// Nobody can come in while the lock is held, and nobody leaves: none is inside.
void CompileGate::before_fork() {
  std::unique_lock lock(mutex_);
  wait_until_empty(lock);
  lock.release();
}
void CompileGate::after_fork(bool child) {
  // Those who waited are not in the child.
  if (child) new (&changed_) std::condition_variable;
  mutex_.unlock();
}

}  // namespace tessera::codegen
