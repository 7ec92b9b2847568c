// Measures where programs spend their time. A Profile adds up, for each step, the time of the
// programs that this process runs while it records.
//
//   Profile profile;
//   for (int i = 0; i < 100; ++i) train_step(state, batch);
//   std::cout << profile.text();
//
// A step of a loop that is one function of machine code is counted with the loop. To see when steps
// ran instead of how long, set TESSERA_TRACE: it makes the process write a file for a trace viewer
// (docs/performance.md).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tessera {

struct ProfiledStep {
  // A description such as "dot (64, 512) . (512, 512)", "kernel (64, 512)" (the shape that it
  // writes), "loop", "all_reduce sum over x".
  std::string name;
  int depth = 0;       // the number of loops and branches around it
  int64_t runs = 0;    // how many times it ran
  double seconds = 0;  // of all runs, without the steps inside of it
};

class Profile {
 public:
  // Begins to record. Throws UserError if another Profile records.
  Profile();
  // Ends the recording, unless stop() did that.
  ~Profile();
  Profile(const Profile&) = delete;
  Profile& operator=(const Profile&) = delete;

  // Ends the recording. Programs that are running in other threads are recorded until they end.
  void stop();
  // Returns the steps that ran so far, sorted by time, longest first. A step of a program that was
  // compiled twice is listed twice.
  std::vector<ProfiledStep> steps() const;
  // Returns a table of the steps: share of the time, milliseconds, runs, name, and a bar for the
  // share. If there are more than `most` steps, the last ones are added up in one line.
  std::string text(size_t most = 20) const;

 private:
  std::shared_ptr<class StepRecorder> recorder_;
};

}  // namespace tessera
