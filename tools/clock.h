// The clock of commands that measure or wait.
#pragma once

#include <chrono>

namespace tessera::tools {

using Clock = std::chrono::steady_clock;

inline double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

}  // namespace tessera::tools
