// CompileGate: when threads may use LLVM. Its globals are gone once exit() has run their
// destructors, and whole in a child only if nobody was using them during the fork.
//
// exit() waits for the threads inside and lets no others in: those wait for the end of the process.
// The thread that exits may go on compiling, in destructors of statics.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

#include "tessera/base/fork.h"

namespace tessera::codegen {

class CompileGate final : public ForkParticipant {
 public:
  static CompileGate& process();

  // Inside while it lives. Passes of one thread nest.
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
  CompileGate() : ForkParticipant(Level::kCompilations) { join(); }
  ~CompileGate() = default;
  void enter();
  void exit();
  void wait_until_empty(std::unique_lock<std::mutex>& lock);

  std::mutex mutex_;
  std::condition_variable changed_;
  int inside_ = 0;  // threads
  bool closed_ = false;
  std::thread::id closer_;
};

}  // namespace tessera::codegen
