// PassTime: what a pass of the pipeline took, as users ask for it (Lowered::pass_times).
#pragma once

#include <string_view>

namespace tessera {

struct PassTime {
  std::string_view name;
  double seconds = 0;
  // Programs that it left: more than one where the cheapest of several is kept later
  // (compile/alternatives.h), 0 where it was skipped.
  int alternatives = 0;
};

}  // namespace tessera
