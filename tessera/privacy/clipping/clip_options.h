// What clipping of per-example values and gradients can be told.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/compile/vmap.h"
#include "tessera/numpy/creation.h"
#include "tessera/privacy/neighboring_relation.h"

namespace tessera::privacy {

// What becomes of an example whose gradient has elements that are NaN or infinite.
enum class NanSafe : uint8_t {
  kNo,       // they make the sum so; the guarantee does not hold then
  kElement,  // such elements count as 0, all others as they are; every example's gradient is made
  kExample,  // the example counts as 0
};

// Sums of at most so many examples are float32 by default, and on so many devices at most.
inline constexpr int64_t kFloat32Examples = 1024;
inline constexpr size_t kFloat32Devices = 64;

// How the squared norm of a parameter's per-example gradients is computed (docs/privacy.md).
enum class NormMethod : uint8_t {
  kFactors,  // from what its uses read and their cotangents, where these say it
  kTiles,    // the gradients of some examples at a time
  kKeep,     // the gradients of all examples, which are then summed
};

// A call's last argument: which examples are padding ([batch] of bool). They contribute nothing, and
// microbatches at the end that are padding alone are not computed.
struct Padding {
  Array mask;
};

// The L2 norm that a value is clipped to: a number, or an Array that a program reads, so that
// another one does not compile anew. UserError for a negative or NaN number; an Array that is so
// clips to 0.
class ClipNorm {
 public:
  ClipNorm(double norm);
  ClipNorm(Array norm);

  // Infinity for an Array.
  double number() const { return number_; }
  const std::optional<Array>& array() const { return array_; }

 private:
  double number_;
  std::optional<Array> array_;
};

// A clip norm of its own for a part of what is clipped: the leaves below a path.
//
//   .encoder.w  encoder.w  the leaf, or all below it; also layers[2], [0] of a pair or vector
//   argument 1.encoder     the same with the argument's number, as messages and explain() print it:
//                          needed where gradients are by several arguments
struct SubtreeNorm {
  std::string path;
  ClipNorm l2_clip_norm;
};

// What a step of a plan with schedules changes of a grid (ClipOptions::grid_scale), as scalars that a
// program reads: all clip norms are multiplied by `clip`, and together they are `scale` times grid_scale
// steps of the step's grid. `least_scale` and `most_scale` bound what `scale` can be, and are a part of
// the program.
struct GridFactors {
  Array clip, scale;
  double least_scale = 1, most_scale = 1;
};

struct ClipOptions {
  // Of all leaves together that no path of subtree_norms names.
  ClipNorm l2_clip_norm = 1.0;
  // The leaves of each path are clipped together to the path's norm, apart from all others: one of
  // each layer is per-layer clipping. A leaf below two paths is the longer one's. Where paths name
  // all leaves, an l2_clip_norm of 0 (without rescaling) adds nothing to the sensitivity. UserError
  // for a path that is empty, there twice, or that no leaf is left to.
  std::vector<SubtreeNorm> subtree_norms = {};
  // Clipped values are divided by the clip norm: each has a norm of at most 1 then, and with
  // subtree_norms each part of it.
  bool rescale_to_unit_norm = false;
  // The sum is divided by it, last.
  double normalize_by = 1;
  // The arguments whose leaves have an example for each index of their first dimension. May be left
  // out if there is one argument alone that is neither differentiated nor a key.
  std::vector<size_t> batch_argnums = {};
  // Arguments that are as long as the batch and yet the same for every example, such as a table of
  // as many rows. Without this an argument like that is an error: it is more likely one that
  // batch_argnums lacks.
  std::vector<size_t> shared_argnums = {};
  // Arrays that the function captures may be as long as the batch: they are no data, and every example
  // sees all of them. Without this such an array is an error.
  bool shared_captures = false;
  // The function sees an example as a batch of one: [1, ...]. Otherwise without that dimension,
  // which is for losses of one example, and for users or groups as the unit: then each index is
  // all the examples of one.
  bool keep_batch_dim = true;
  // So many examples (or users) are computed at a time: microbatch i of M has examples i, i + M,
  // i + 2 M, ... UserError unless it divides the batch.
  std::optional<int64_t> microbatch_size = std::nullopt;
  NanSafe nan_safe = NanSafe::kExample;
  // Of the result: float32 or wider. Absent: float32, or float64 of parameters that are float64 and
  // of more than float32_examples examples. Narrower dtypes round more than sensitivity() says, and
  // are refused: convert after the noise.
  OptionalDType dtype = std::nullopt;
  // The most examples of a call that are summed in float32; more are summed in float64, which is
  // slower. sensitivity() counts what float32 rounds of so many.
  int64_t float32_examples = kFloat32Examples;
  // What each example gives is rounded to a grid, for DiscreteGaussian noise: the leaves of the sum are
  // int32, numbers of steps of l2_clip_norm / grid_scale, in which an example's clipped gradient has a
  // norm of at most grid_scale. With subtree_norms one grid serves all parts: the root of the sum of
  // squares of all clip norms is grid_scale steps, and each part has its share of them. At most 2^21.
  // UserError beside normalize_by, rescale_to_unit_norm, dtype and a clip norm that is no finite number,
  // if rounding alone may exceed a norm (a part's share of grid_scale must be above half the root of
  // the number of its parameters), or if a sum may exceed int32.
  std::optional<int64_t> grid_scale = std::nullopt;
  // Beside grid_scale: the clip norms and the grid of one step of a plan (Plan::clip_options(step)).
  std::optional<GridFactors> grid_factors = std::nullopt;
  // The argument that is a random key: example b gets split(key, batch)[b].
  std::optional<size_t> prng_argnum = std::nullopt;
  // Axes of a shard_map (or of a named vmap) around along which devices have parts of one example, such
  // as its tokens. A collective of the function over another axis that cuts the batch is an error.
  std::vector<std::string> example_axes = {};
  // As vmap's: the mesh axes that cut the batch where the function says nothing of it, and what
  // becomes of a constraint inside that one example's dimension cannot be cut by.
  SpmdAxisName spmd_axis_name = {};
  Indivisible indivisible = Indivisible::kHoist;
  // One way for all parameters that allow it. Absent, and for the others: the cheapest for each,
  // never with the gradients of all examples where these are larger than what they are made of.
  std::optional<NormMethod> norm_method = std::nullopt;
};

// Returns what one example (or user) can change of the result, as an L2 norm: the clip norm, 1 where
// rescaled, by normalize_by, times rounding_factor(); twice that where an example is replaced by
// another. In steps of the grid, exactly grid_scale, if there is one. With subtree_norms the root of the sum of squares of all clip norms, l2_clip_norm
// included.
double sensitivity(const ClipOptions& options, NeighboringRelation relation);

// Returns by how much rounding makes the sensitivity of a sum larger than it is in exact arithmetic:
// 1.00001 and what float32 rounds of sums of so many examples (docs/privacy_proof.md).
//
//   examples   64        256      1024
//   factor     1.0005    1.0021   1.0092
double rounding_factor(int64_t float32_examples);

}  // namespace tessera::privacy
