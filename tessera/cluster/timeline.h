// Timeline: a record of a process in Chrome's trace events: the steps of its programs, the
// transfers to and from other processes, and the waits for these. processes.cc and the runtime
// write it.
//
// It is recorded if the environment variable TESSERA_TRACE names a file, and written when the
// process ends: trace.json, or with several processes trace.0.json, trace.1.json, ...
//
//   ph X, cat step       a step, those in loops and branches within it
//   ph b and e, cat transfer, id    a transfer, from when it may go until all of it is here
//   ph X, cat wait       the process has nothing to do before that transfer is over
//
// ts and dur are microseconds, ts since 1970: all processes of a machine have one clock. pid is the
// process's index.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace tessera::cluster {

class Timeline {
 public:
  // Returns the timeline, or null if none was requested.
  static Timeline* current();
  static int64_t now();  // nanoseconds since 1970

  enum class Kind : uint8_t { kStep, kTransfer, kWait };
  void add(Kind kind, std::string name, int64_t begin, int64_t end);
  // Returns the events as one JSON document.
  std::string text(int process) const;

 private:
  struct Event {
    Kind kind;
    int64_t begin, end;
    std::string name;
  };
  // The most events that are kept, about 100 MB. Further events are only counted.
  static constexpr size_t kMaxEvents = 1'000'000;

  mutable std::mutex mutex_;
  std::vector<Event> events_;
  int64_t dropped_ = 0;
};

}  // namespace tessera::cluster
