#include "tessera/cluster/joint_step.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <thread>

#include "tessera/base/format.h"

namespace tessera::cluster {
namespace {

// How often a process announces that it still works: more often than any sensible watchdog_seconds.
constexpr std::chrono::milliseconds kRound{250};

// Announces to the other processes that this one still works, until all processes are done.
class Working {
 public:
  Working(Processes& processes, const Processes::What& what)
      : thread_([this, &processes, &what] {
          try {
            while (!round(processes, what)) {
            }
          } catch (...) {
            error_ = std::current_exception();
          }
        }) {}
  ~Working() {
    if (thread_.joinable()) finish();
  }
  Working(const Working&) = delete;
  Working& operator=(const Working&) = delete;

  // Announces that this process is done, and returns when all processes are.
  void wait() {
    finish();
    if (error_) std::rethrow_exception(error_);
  }

 private:
  // Exchanges one announcement. Returns whether all processes are done.
  bool round(Processes& processes, const Processes::What& what) {
    bool all = false;
    {
      std::unique_lock lock(mutex_);
      all = changed_.wait_for(lock, kRound, [this] { return done_; });
    }
    for (const std::string& done : processes.all_gather(all ? "d" : "", what))
      all = all && !done.empty();
    return all;
  }
  void finish() {
    {
      const std::lock_guard lock(mutex_);
      done_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
  std::exception_ptr error_;  // error of the cluster
  std::thread thread_;
};

// The first letter of a process's message about its part. The result or the error follows.
constexpr char kResult = 'r', kUserError = 'u', kOtherError = 'o';

std::string run(const std::function<std::string()>& part, std::exception_ptr& error) {
  try {
    return kResult + part();
  } catch (const UserError& e) {
    error = std::current_exception();
    return fmt::format("{}{}{}", kUserError, static_cast<int>(e.kind()), e.what());
  } catch (const std::exception& e) {
    error = std::current_exception();
    return kOtherError + std::string(e.what());
  }
}

[[noreturn]] void rethrow(const std::string& told, int process) {
  const std::string where = fmt::format(" (in process {})", process);
  if (told[0] == kUserError)
    throw UserError(static_cast<ErrorKind>(told[1] - '0'), told.substr(2) + where);
  throw RuntimeError(told.substr(1) + where);
}

}  // namespace

std::vector<std::string> joint_step(Processes& processes, const Processes::What& what,
                                    const std::function<std::string()>& part) {
  std::exception_ptr error;
  std::string mine;
  {
    Working working(processes, what);
    mine = run(part, error);
    working.wait();
  }
  std::vector<std::string> told = processes.all_gather(mine, what);
  for (int p = 0; p < processes.count(); ++p) {
    const std::string& first = told[static_cast<size_t>(p)];
    if (first[0] == kResult) continue;
    // If this process failed in the same way, it throws its own error.
    if (error && first == mine) std::rethrow_exception(error);
    rethrow(first, p);
  }
  for (std::string& result : told) result.erase(0, 1);
  return told;
}

std::vector<std::string> joint_step(const Processes::What& what,
                                    const std::function<std::string()>& part) {
  if (Processes* processes = Processes::current()) return joint_step(*processes, what, part);
  return {part()};
}

std::optional<DifferentLine> different_line(const std::vector<std::string>& texts) {
  const auto line = [](const std::string& text, size_t at) {
    return at >= text.size() ? "nothing more" : text.substr(at, text.find('\n', at) - at);
  };
  for (size_t p = 1; p < texts.size(); ++p) {
    if (texts[p] == texts[0]) continue;
    size_t at = 0;
    while (line(texts[0], at) == line(texts[p], at))
      at = std::min(texts[0].find('\n', at), texts[0].size()) + 1;
    return DifferentLine{line(texts[0], at), line(texts[p], at), p};
  }
  return std::nullopt;
}

}  // namespace tessera::cluster
