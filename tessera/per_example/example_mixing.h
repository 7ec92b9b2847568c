// Finds ops that mix the examples of a batch in a function of several examples. In private training
// each example is computed by itself, so a loss that mixes examples would become another one.
//
// The dimension of examples is followed through the program by the factors of its ops
// (ir/factors.h). Each value is one of these:
//
//   example   has the dimension; an element reads the example of its index
//   sum       is a sum over examples of such elements, without the dimension
//   both      the sum of these two
//   lost      reads examples, but it is no longer known which (one of them was picked)
//
// A program mixes examples if an op runs along their dimension (sort, cumulative sums, reverse),
// pairs them (z z^T), combines `example` with `sum` except by addition, or computes a nonlinear
// function of a sum over the examples alone. A nonlinear function of a sum over examples and other
// dimensions together is allowed, because losses that average over tokens divide by such sums.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tessera/base/namespaces.h"
#include "tessera/ir/function.h"

namespace tessera::per_example {

// An op that mixes examples: a clause such as "sort runs along the dimension of examples".
struct Mixing {
  std::string what;
  std::string source;  // what the library was doing there (Op::source); may be empty
};

struct MixingOptions {
  // For each input, whether its dimension 0 is that of the examples.
  std::vector<bool> of_examples;
  // The number of examples: a prime that divides no other dimension.
  int64_t size = 0;
  // Whether sums over examples are followed. The caller sets false if the function sums gradients,
  // because these sums read every example by design.
  bool follow_sums = true;
};

// Returns the first op that mixes examples and on which an output depends; nullopt if there is
// none.
std::optional<Mixing> find_mixing(const ir::Function& function, const MixingOptions& options);

}  // namespace tessera::per_example
