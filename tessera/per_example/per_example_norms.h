// Squared norms of per-example gradients: the methods, their costs, and the choice among them.
//
// The gradient of one example is the sum of its uses, each a matrix of P rows and Q columns made of
// T terms: g = x' y, x [T, P], y [T, Q]. With several uses (tied weights, steps of a loop) T counts
// the terms of all: |g|^2 has cross terms.
//
//   method       cost beyond the plain step's     what is computed
//   kVectors     2 (P + Q)                        T = 1: |x|^2 |y|^2
//   kGram        2 T^2 (P + Q + 1)                two T x T matrices; <x x', y y'>
//   kLookup      2 T^2 Q                          rows are looked up: x x' marks equal indices
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

enum class NormWay : uint8_t { kVectors, kGram, kLookup, kTiles, kKeep };
inline constexpr std::array<std::string_view, 5> enum_names(NormWay) {
  return {"vectors", "gram", "lookup", "tiles", "keep"};
}

struct NormPlan {
  NormWay method = NormWay::kTiles;
  double flops = 0, bytes = 0;  // of one example, in addition to those of the plain step
};

// Returns the methods that this input's uses allow. The first is the one to take: kKeep if the
// gradient is small and kVectors is not possible; otherwise the method of fewer flops, of the
// products' method (if uses allow it) and kTiles. kTiles and kKeep are always in the list.
std::vector<NormPlan> norm_plans(const ExampleBatch& batch, size_t input);

// The squared norms, [batch] of float64, and if the method is kKeep the gradients, [batch, ...]. If
// rounding may make a sum too small, the bound of the rounding is added to it, so that no example
// counts as shorter than it is.
struct SquaredNorms {
  Array norms, gradients;
};
SquaredNorms squared_norms(const ExampleBatch& batch, size_t input, NormWay method);

// Returns the sum over examples b of round(weights[b] times the gradient of b), in float64. Returns
// nullopt if something else than products of vectors reads the input. Examples that are marked in
// `out` ([batch] of bool; may be undefined) are left out.
std::optional<Array> grid_sum(const ExampleBatch& batch, size_t input, const Array& weights,
                              const Array& out);

}  // namespace tessera::per_example
