// Fourier transforms: long lines, batches, two dimensions, real ones, a prime length.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace tessera::bench {

using Run = std::function<void()>;

std::vector<std::pair<std::string, std::function<Run()>>> transforms();

}  // namespace tessera::bench
