// What fork() does to Tessera: the child has the forking thread only. State that a ForkParticipant
// guards is whole in the child, which goes on with fresh workers. A plain std::mutex is no
// participant: if another thread holds it while the process forks, it is locked in the child for ever.
//
// Before a fork participants are entered by level, lowest first, as threads enter them when they
// hold several; participants of one level never wait for each other. So a fork waits for what other
// threads are doing, and never for ever.
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

  // In the thread that forks: nobody changes the state from now on.
  virtual void before_fork() = 0;
  // In the parent, where all goes on, and in the child, where no other thread is left.
  virtual void after_fork(bool child) = 0;

 protected:
  explicit ForkParticipant(Level level) : level_(level) {}
  ~ForkParticipant() = default;
  // From now on; no longer. By the class that overrides the above, when it is whole.
  void join();
  void leave();

 private:
  Level level_;
};

// A mutex of which the child finds what it guards as no thread was changing it.
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
