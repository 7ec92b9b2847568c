// StepRecorder: records the times of steps for a Profile (profile.h). The runtime uses it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "tessera/runtime/profile.h"

namespace tessera {

class StepRecorder {
 public:
  // Returns the current recorder, or null.
  static std::shared_ptr<StepRecorder> current();
  // Returns whether there is a current recorder, at almost no cost.
  static bool is_recording();

  // Makes it the current recorder; returns false if there is another one.
  static bool start(const std::shared_ptr<StepRecorder>& recorder);
  static void stop(const StepRecorder* recorder);

  // A run of step `index` of the executable with the given number. While it lives, runs of other
  // steps in this thread are inside of it.
  class Run {
   public:
    Run(StepRecorder& recorder, int64_t executable, size_t index, const std::string& name);
    ~Run();
    Run(const Run&) = delete;
    Run& operator=(const Run&) = delete;

   private:
    StepRecorder& recorder_;
    const std::pair<int64_t, size_t> key_;
    const std::string& name_;
    Run* const around_;
    int64_t begin_, inside_ = 0;  // in nanoseconds
  };

  std::vector<ProfiledStep> steps() const;

 private:
  mutable std::mutex mutex_;
  // By the executable's number and the step's index.
  std::map<std::pair<int64_t, size_t>, ProfiledStep> steps_;
};

}  // namespace tessera
