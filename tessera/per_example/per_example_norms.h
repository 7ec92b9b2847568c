// Squared norms of per-example gradients, each way there is, and which way is cheapest.
//
// A gradient of one example is the sum of its uses, each a matrix of P rows and Q columns made of T
// terms: g = x' y, x [T, P], y [T, Q]. With several uses (tied weights, steps of a loop) T counts the
// terms of all: |g|^2 has cross terms.
//
//   way          cost beside the plain step's     what is there
//   kVectors     2 (P + Q)                        T = 1: |x|^2 |y|^2
//   kGram        2 T^2 (P + Q + 1)                two T x T matrices; <x x', y y'>
//   kLookup      2 T^2 Q                          rows are looked up: x x' says which are equal
//   kTiles       2 T P Q, in tiles of examples    the gradients of a tile, squared and dropped
//   kKeep        2 P Q                            the gradients of all, which are then summed with
//                                                 weights instead of computed once more
//
// D matrices at once (batch dimensions of the product) cost D times as much.
#pragma once

#include <optional>
#include <string>

#include "tessera/per_example/per_example.h"

namespace tessera::per_example {

enum class NormMethod : uint8_t { kVectors, kGram, kLookup, kTiles, kKeep };
inline constexpr std::array<std::string_view, 5> enum_names(NormMethod) {
  return {"vectors", "gram", "lookup", "tiles", "keep"};
}

struct NormPlan {
  NormMethod method = NormMethod::kTiles;
  double flops = 0, bytes = 0;  // of one example, beside the plain step
};

// The ways that this input's uses allow, cheapest first; kTiles and kKeep always.
std::vector<NormPlan> norm_plans(const ExampleBatch& batch, size_t input);

// [batch] of float64, and where the way is kKeep the gradients, [batch, ...]. Sums that
// rounding may make too small are raised by the bound of their rounding, so that no example counts
// as shorter than it is.
struct SquaredNorms {
  Array norms, gradients;
};
SquaredNorms squared_norms(const ExampleBatch& batch, size_t input, NormMethod method);

// Returns the sum over examples of round(weights[b] times the gradient of b), in float64, of an input
// that is read as it is by products alone; nothing of another one. Without the examples that are
// `out` ([batch] of bool; may be undefined).
std::optional<Array> grid_sum(const ExampleBatch& batch, size_t input, const Array& weights,
                              const Array& out);

}  // namespace tessera::per_example
