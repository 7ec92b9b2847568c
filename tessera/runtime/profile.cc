#include "tessera/runtime/profile.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>

#include "tessera/base/error.h"
#include "tessera/base/format.h"
#include "tessera/runtime/step_recorder.h"

namespace tessera {
namespace {

std::atomic<bool> recording{false};

struct Current {
  std::mutex mutex;
  std::shared_ptr<StepRecorder> recorder;
};
// It is never destroyed, because programs may run while the process ends.
Current& the_current() {
  static Current& instance = *new Current;
  return instance;
}

thread_local StepRecorder::Run* innermost = nullptr;
thread_local int depth = 0;

int64_t now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

std::string line(double share, const ProfiledStep& step) {
  constexpr int kWidth = 20;
  const auto filled = static_cast<size_t>(std::lround(share * kWidth));
  return fmt::format("{:5.1f} %  {:10.3f} ms  {:9} x  {:<{}}  {}{}\n", 100 * share,
                     1e3 * step.seconds, step.runs, std::string(filled, '#'), kWidth,
                     std::string(static_cast<size_t>(2 * step.depth), ' '), step.name);
}

}  // namespace

bool StepRecorder::is_recording() { return recording.load(std::memory_order_relaxed); }

std::shared_ptr<StepRecorder> StepRecorder::current() {
  if (!is_recording()) return nullptr;
  const std::lock_guard lock(the_current().mutex);
  return the_current().recorder;
}

bool StepRecorder::start(const std::shared_ptr<StepRecorder>& recorder) {
  const std::lock_guard lock(the_current().mutex);
  if (the_current().recorder) return false;
  the_current().recorder = recorder;
  recording = true;
  return true;
}

void StepRecorder::stop(const StepRecorder* recorder) {
  const std::lock_guard lock(the_current().mutex);
  if (the_current().recorder.get() != recorder) return;
  the_current().recorder = nullptr;
  recording = false;
}

StepRecorder::Run::Run(StepRecorder& recorder, int64_t executable, size_t index,
                       const std::string& name)
    : recorder_(recorder), key_(executable, index), name_(name), around_(innermost) {
  innermost = this;
  ++depth;
  begin_ = now();
}

StepRecorder::Run::~Run() {
  const int64_t all = now() - begin_;
  innermost = around_;
  --depth;
  if (around_) around_->inside_ += all;
  const std::lock_guard lock(recorder_.mutex_);
  ProfiledStep& step = recorder_.steps_[key_];
  if (step.runs == 0) step.name = name_;
  step.depth = depth;
  ++step.runs;
  step.seconds += 1e-9 * static_cast<double>(all - inside_);
}

std::vector<ProfiledStep> StepRecorder::steps() const {
  const std::lock_guard lock(mutex_);
  std::vector<ProfiledStep> out;
  for (const auto& [key, step] : steps_) out.push_back(step);
  std::stable_sort(out.begin(), out.end(), [](const ProfiledStep& a, const ProfiledStep& b) {
    return a.seconds > b.seconds;
  });
  return out;
}

Profile::Profile() : recorder_(std::make_shared<StepRecorder>()) {
  if (!StepRecorder::start(recorder_))
    value_error("Profile",
                "expected that no other Profile records, got a second one; stop() the first");
}

Profile::~Profile() { stop(); }

void Profile::stop() { StepRecorder::stop(recorder_.get()); }

std::vector<ProfiledStep> Profile::steps() const { return recorder_->steps(); }

std::string Profile::text(size_t most) const {
  const std::vector<ProfiledStep> all = steps();
  double total = 0;
  for (const ProfiledStep& step : all) total += step.seconds;
  std::string out = fmt::format("{} steps, {:.3f} ms\n", all.size(), 1e3 * total);
  if (total == 0) return out;
  const size_t shown = all.size() > most ? most : all.size();
  for (size_t i = 0; i < shown; ++i) out += line(all[i].seconds / total, all[i]);
  if (shown == all.size()) return out;
  ProfiledStep rest{.name = fmt::format("{} other steps", all.size() - shown)};
  for (size_t i = shown; i < all.size(); ++i) {
    rest.seconds += all[i].seconds;
    rest.runs += all[i].runs;
  }
  return out + line(rest.seconds / total, rest);
}

}  // namespace tessera
