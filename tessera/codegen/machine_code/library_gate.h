// LibraryGate: decides when threads may use LLVM, oneDNN and OpenBLAS. The globals of these
// libraries are destroyed by exit(), and after a fork they are consistent in the child only if no
// thread was using them during the fork.
//
// Before it destroys anything, exit() waits for the threads that are inside, and lets no others in:
// those wait until the process has ended. In the thread that exits, destructors of statics get an
// error; kernels that were compiled before still run.
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

  // While a Pass lives, its thread is inside. Passes of one thread nest. Throws RuntimeError in the
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

  // A thread that enters first counts itself, then checks whether the gate is shut. A thread that
  // shuts the gate first does so, then checks the count. So one of the two sees the other.
  std::atomic<int> inside_{0};  // the number of threads inside
  std::atomic<bool> shut_{false};
  std::mutex mutex_;  // guards closed_ and closer_
  std::condition_variable changed_;
  bool closed_ = false;  // never opened again
  std::thread::id closer_;
};

}  // namespace tessera::codegen
