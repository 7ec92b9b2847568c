// Loops of small bodies: what a trip costs beside its arithmetic.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace tessera::bench {

using Run = std::function<void()>;

// Names and what makes each: a Newton iteration, Runge-Kutta steps of 3 to 1000 states, Markov
// chains, recurrent layers, nested loops, loops with branches.
std::vector<std::pair<std::string, std::function<Run()>>> loops();

}  // namespace tessera::bench
