// Keeps Tessera usable after fork(). The child has only the thread that forked. State that a
// ForkParticipant guards is consistent in the child, which continues with new workers. A plain
// std::mutex is not a participant: if another thread holds it while the process forks, it stays
// locked in the child for ever.
//
// Before a fork, the forking thread enters all participants, those of the lowest level first. A
// thread that enters several does so in the same order, and participants of one level never wait
// for each other. So a fork waits until other threads have left all participants, and cannot
// deadlock.
#pragma once

#include <cstdint>
#include <mutex>

namespace tessera {

class ForkParticipant {
 public:
  enum class Level : uint8_t { kCompilations, kCalls, kPrograms, kKernels, kLayouts, kLeaves };
  ForkParticipant(const ForkParticipant&) = delete;
  ForkParticipant& operator=(const ForkParticipant&) = delete;
  Level level() const { return level_; }

  // Called in the thread that forks. After it, no thread changes the state until after_fork().
  virtual void before_fork() = 0;
  // Called in the parent, where all threads continue, and in the child, where only this thread is
  // left.
  virtual void after_fork(bool child) = 0;

 protected:
  explicit ForkParticipant(Level level) : level_(level) {}
  ~ForkParticipant() = default;
  // Add this object to the participants, and remove it. The constructor and destructor of the
  // derived class call them, while the object is complete.
  void join();
  void leave();

 private:
  Level level_;
};

// A mutex whose state is consistent in a child of fork(): no thread was changing what it guards.
class ForkSafeMutex final : public ForkParticipant {
 public:
  explicit ForkSafeMutex(Level level = Level::kLeaves) : ForkParticipant(level) { join(); }
  ~ForkSafeMutex() { leave(); }
  void lock() { mutex_.lock(); }
  bool try_lock() { return mutex_.try_lock(); }
  void unlock() { mutex_.unlock(); }
  void before_fork() override { mutex_.lock(); }
  void after_fork(bool) override { mutex_.unlock(); }

 private:
  std::mutex mutex_;
};

}  // namespace tessera
