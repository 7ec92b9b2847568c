// Records the times of steps for a Profile (profile.h). For the runtime.
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
  // Returns the recorder that records, or null.
  static std::shared_ptr<StepRecorder> current();
  // Returns whether one records, without any cost.
  static bool is_recording();

  // Makes it the current one; returns false if there is another.
  static bool start(const std::shared_ptr<StepRecorder>& recorder);
  static void stop(const StepRecorder* recorder);

  // A run of step `index` of the executable of this number: while one exists, the runs of other
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
    int64_t begin_, inside_ = 0;  // nanoseconds
  };

  std::vector<ProfiledStep> steps() const;

 private:
  mutable std::mutex mutex_;
  std::map<std::pair<int64_t, size_t>, ProfiledStep> steps_;  // by executable and index
};

}  // namespace tessera
