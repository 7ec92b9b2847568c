// Measures where the time of programs goes. A Profile adds up, by step, the time of the programs
// that this process runs while it records.
//
//   Profile profile;
//   for (int i = 0; i < 100; ++i) train_step(state, batch);
//   std::cout << profile.text();
//
// A step of a loop that is one function of machine code is counted with the loop. To see when
// things happened instead of how long they took, let TESSERA_TRACE write a file for a trace viewer
// (docs/performance.md).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tessera {

struct ProfiledStep {
  // A description such as "dot (64, 512) . (512, 512)", "kernel (64, 512)" by the shape that it
  // writes, "loop", "all_reduce sum over x".
  std::string name;
  int depth = 0;       // in how many loops and branches it is
  int64_t runs = 0;    // how often it ran
  double seconds = 0;  // in all, without the steps inside of it
};

class Profile {
 public:
  // Begins to record. Throws UserError if another one records.
  Profile();
  // Ends the recording, unless stop() did.
  ~Profile();
  Profile(const Profile&) = delete;
  Profile& operator=(const Profile&) = delete;

  // Ends the recording. Programs that run at this moment in other threads are recorded to their ends.
  void stop();
  // Returns the steps that ran so far, those with the most time first. A step of a program that was
  // compiled twice is listed twice.
  std::vector<ProfiledStep> steps() const;
  // Returns a table of them: share of the time, milliseconds, runs, name, and a bar for the share.
  // If there are more than `most` steps, the last ones are added up in one line.
  std::string text(size_t most = 20) const;

 private:
  std::shared_ptr<class StepRecorder> recorder_;
};

}  // namespace tessera
