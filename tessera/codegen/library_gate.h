// LibraryGate: when threads may use LLVM, oneDNN and OpenBLAS. Their globals are destroyed by
// exit(), and are consistent in a child only if nobody was using them during the fork.
//
// exit() waits for the threads inside before it destroys anything, and lets no others in: those
// wait for the end of the process. In the thread that exits, destructors of statics get an error;
// kernels that were compiled before still run.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "tessera/base/fork.h"
#include "tessera/base/namespaces.h"

namespace tessera::codegen {

class LibraryGate final : public ForkParticipant {
 public:
  static LibraryGate& process();

  // Its thread is inside while it lives. Passes of one thread nest. Throws RuntimeError in the
  // thread that has closed the gate.
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

  // A thread that enters counts itself and then checks whether the gate is shut; a thread that
  // shuts the gate does so and then checks the count: one of them sees the other.
  std::atomic<int> inside_{0};  // the number of threads inside
  std::atomic<bool> shut_{false};
  std::mutex mutex_;  // guards closed_ and closer_
  std::condition_variable changed_;
  bool closed_ = false;  // for ever
  std::thread::id closer_;
};

}  // namespace tessera::codegen
