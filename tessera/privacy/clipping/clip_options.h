// The options of clipping per-example values and gradients.
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

// What is done with an example whose gradient has elements that are NaN or infinite.
enum class NanSafe : uint8_t {
  kNo,  // the sum becomes NaN or infinite too, without any guarantee
  // Such elements count as 0, and the others keep their values. The gradient of every example is
  // computed.
  kElement,
  kExample,  // the example counts as 0
};

// The default limits of a float32 sum: the largest numbers of its examples and of its devices.
inline constexpr int64_t kFloat32Examples = 1024;
inline constexpr size_t kFloat32Devices = 64;

// How the squared norm of a parameter's per-example gradients is computed (docs/privacy.md).
enum class NormWay : uint8_t {
  kFactors,  // from the operands and cotangents of its uses, if possible
  kTiles,    // from the gradients of some examples at a time
  kKeep,     // from the gradients of all examples, which are then summed
};

// The last argument of a call may be a Padding: a mask of the examples that are padding, [batch] of
// bool. They contribute nothing, and microbatches that are padding alone are not computed.
struct Padding {
  Array mask;
};

// The L2 norm to which a value is clipped: a number, or an Array. A program reads an Array, so that
// another value needs no other program. A number that is negative or NaN is a UserError; an Array
// with such a value clips to 0.
class ClipNorm {
 public:
  ClipNorm(double norm);
  ClipNorm(Array norm);

  // Returns infinity for an Array.
  double number() const { return number_; }
  const std::optional<Array>& array() const { return array_; }

 private:
  double number_;
  std::optional<Array> array_;
};

// A separate clip norm for the leaves below a path:
//
//   .encoder.w  encoder.w  the leaf, or all leaves below it; also layers[2], or [0] of a pair
//   argument 1.encoder     the same with the argument's number, as messages and explain() print it;
//                          it is needed if several arguments have gradients
struct SubtreeNorm {
  std::string path;
  ClipNorm l2_clip_norm;
};

// The changes that a step of a plan with schedules makes to a grid (ClipOptions::grid_scale), as
// scalars that a program reads. All clip norms are multiplied by `clip`, and together they are
// `scale` times grid_scale steps of the step's grid. `least_scale` and `most_scale` are bounds of
// `scale`, and a part of the program.
struct GridFactors {
  Array clip, scale;
  double least_scale = 1, most_scale = 1;
};

struct ClipOptions {
  // The clip norm of all leaves that no path of subtree_norms names, which are clipped together.
  ClipNorm l2_clip_norm = 1.0;
  // The leaves below each path are clipped together to the path's norm, separately from all other
  // leaves. One path for each layer makes per-layer clipping. A leaf below two paths belongs to the
  // longer one. If paths name all leaves, an l2_clip_norm of 0 (without rescaling) adds nothing to
  // the sensitivity. It is a UserError if a path is empty, occurs twice, or has no leaf.
  std::vector<SubtreeNorm> subtree_norms = {};
  // Clipped values are divided by the clip norm, so that each has a norm of at most 1; with
  // subtree_norms each part of it has a norm of at most 1.
  bool rescale_to_unit_norm = false;
  // The number by which the sum is divided, last.
  double normalize_by = 1;
  // The arguments whose leaves have an example for each index of their first dimension. It may be
  // left out if exactly one argument is neither differentiated nor a key.
  std::vector<size_t> batch_argnums = {};
  // The arguments that are as long as the batch but the same for every example, such as a table
  // with as many rows. If such an argument is in neither list, it is an error, because it was
  // probably forgotten in batch_argnums.
  std::vector<size_t> shared_argnums = {};
  // Whether arrays that the function captures may be as long as the batch: then they are not data,
  // and every example sees all of them. If false, such an array is an error.
  bool shared_captures = false;
  // Whether the function sees an example as a batch of one, [1, ...]. If false, it sees the example
  // without that dimension. This is for losses of one example, and for privacy of users or groups:
  // then each index has all examples of one user.
  bool keep_batch_dim = true;
  // The number of examples (or users) that are computed at a time: microbatch i of M has the
  // examples i, i + M, i + 2 M, ... Throws UserError unless it divides the batch.
  std::optional<int64_t> microbatch_size = std::nullopt;
  NanSafe nan_safe = NanSafe::kExample;
  // The dtype of the result, float32 or wider. If absent, it is float64 for float64 parameters and
  // for sums of more than float32_examples examples, and float32 otherwise. Narrower dtypes are an
  // error, because they round more than sensitivity() counts: convert after the noise.
  OptionalDType dtype = std::nullopt;
  // The largest number of examples of a call that are summed in float32. More are summed in
  // float64, which is slower. sensitivity() counts the rounding of a float32 sum of so many
  // examples.
  int64_t float32_examples = kFloat32Examples;
  // If set, each example's clipped gradient is rounded to a grid, for DiscreteGaussian noise. The
  // leaves of the sum are then int32, in steps of l2_clip_norm / grid_scale, so that an example's
  // clipped gradient has a norm of at most grid_scale steps. With subtree_norms one grid is used
  // for all parts: the root of the sum of squares of all clip norms is grid_scale steps, and each
  // part has its share of them. It is at most 2^21. It is a UserError together with normalize_by,
  // rescale_to_unit_norm, dtype or a clip norm that is not a finite number, if rounding alone may
  // exceed a norm (a part's share of grid_scale must be above half the root of the number of its
  // parameters), or if a sum may exceed int32.
  std::optional<int64_t> grid_scale = std::nullopt;
  // With grid_scale: the clip norms and the grid of one step of a plan
  // (Plan::clip_options(step)).
  std::optional<GridFactors> grid_factors = std::nullopt;
  // The argument that is a random key: example b gets split(key, batch)[b].
  std::optional<size_t> prng_argnum = std::nullopt;
  // Axes of a surrounding shard_map (or named vmap) along which devices have parts of one example,
  // such as its tokens. A collective of the function over another axis that shards the batch is an
  // error.
  std::vector<std::string> example_axes = {};
  // These are options of vmap: the mesh axes over which the batch is sharded, and the treatment of
  // a sharding constraint inside the function that cannot shard the dimension of one example.
  SpmdAxisName spmd_axis_name = {};
  Indivisible indivisible = Indivisible::kHoist;
  // The method for all parameters that allow it. If absent, and for other parameters, each
  // parameter has a method of its own (per_example_norms.h).
  std::optional<NormWay> norm_way = std::nullopt;
};

// Returns the L2 norm by which one example (or user) can change the result: the clip norm (1 if
// rescaled) divided by normalize_by, times rounding_factor(), and twice that under kReplaceOne.
// With a grid it is in steps, and exactly grid_scale (twice that under kReplaceOne). With
// subtree_norms the clip norm is the root of the sum of squares of all clip norms, including
// l2_clip_norm.
double sensitivity(const ClipOptions& options, NeighboringRelation relation);

// Returns the factor by which rounding increases the sensitivity of a sum of so many examples:
// 1.00001 times a factor for float32 sums (docs/privacy_proof.md).
//
//   examples   64        256      1024
//   factor     1.0005    1.0021   1.0092
double rounding_factor(int64_t float32_examples);

}  // namespace tessera::privacy
