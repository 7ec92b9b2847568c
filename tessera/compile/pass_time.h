// PassTime: the time of a pass of the pipeline (Lowered::pass_times).
#pragma once

#include <string_view>

namespace tessera {

struct PassTime {
  std::string_view name;
  double seconds = 0;
  // The number of programs after the pass; 0 if it was skipped. There is more than one if the
  // cheapest of several is chosen later (compile/alternatives.h).
  int alternatives = 0;
};

}  // namespace tessera
