// LibraryGate: when threads may use LLVM, oneDNN and OpenBLAS. Their globals are gone once exit()
// has run their destructors, and whole in a child only if nobody was using them during the fork.
//
// exit() waits for the threads inside before it destroys anything, and lets no others in: those
// wait for the end of the process. The thread that exits gets an error, in destructors of statics;
// kernels that were compiled before still run.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "tessera/base/fork.h"

namespace tessera::codegen {

class LibraryGate final : public ForkParticipant {
 public:
  static LibraryGate& process();

  // Inside while it lives. Passes of one thread nest. RuntimeError in the thread that has closed
  // it.
  class Pass {
   public:
    Pass();
    ~Pass();
    Pass(const Pass&) = delete;
    Pass& operator=(const Pass&) = delete;
  };

  void close();
  void before_fork() override;
  void after_fork(bool child) override;

 private:
  LibraryGate() : ForkParticipant(Level::kCompilations) { join(); }
  ~LibraryGate() = default;
  void enter();
  void exit();
  void wait_at_shut_gate();
  void shut(std::unique_lock<std::mutex>& lock);

  // Whoever comes counts itself and then looks whether the gate is shut; whoever shuts it does so
  // and then looks at the count: one of them sees the other.
  std::atomic<int> inside_{0};  // threads
  std::atomic<bool> shut_{false};
  std::mutex mutex_;  // guards closed_ and closer_
  std::condition_variable changed_;
  bool closed_ = false;  // for good
  std::thread::id closer_;
};

}  // namespace tessera::codegen
