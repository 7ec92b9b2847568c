// Factorisations: one large matrix, and a batch of small ones.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace tessera::bench {

using Run = std::function<void()>;

std::vector<std::pair<std::string, std::function<Run()>>> factorizations();

}  // namespace tessera::bench
