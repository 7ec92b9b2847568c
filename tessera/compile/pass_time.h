// PassTime: the time of a pass of the pipeline (Lowered::pass_times).
#pragma once

#include <string_view>

namespace tessera {

struct PassTime {
  std::string_view name;
  double seconds = 0;
  // The number of programs after the pass: more than one if the cheapest of several is chosen later
  // (compile/alternatives.h), 0 if it was skipped.
  int alternatives = 0;
};

}  // namespace tessera
