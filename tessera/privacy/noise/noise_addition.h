// Privatizers: gradient transformations (optim/transformation.h) that add noise to a sum of clipped
// gradients. They do not depend on the model, and may be anywhere in optim::chain. All that follows
// them is post-processing.
//
//   auto noise = privacy::gaussian_privatizer({.stddev = 0.01, .key = random::key(2)});
//   auto state = noise.init(grads);
//   auto [noisy, next] = noise.update(grads, state);
//
// Randomness. The key is in the state. As in jax_privacy each update splits it in two: the first is
// the next state's key, the second is split by leaves, in tree order. The noise of a leaf is the
// normal numbers of its key and shape, times stddev, multiplied by the noising matrix. Keys equal
// jax_privacy's bit for bit. jax_privacy's normals are those of jax.random.normal of float32, which
// end at 5.2 to 5.4 standard deviations, while the accounting assumes unbounded tails. The normals
// here have these tails up to 9 standard deviations. They are made of uniform numbers whose first
// 23 bits are JAX's, so most equal jax_privacy's to six digits.
//
// Sharding. A stream is a function of the key and of each element's index, so every device makes
// the noise of its own part and nothing is communicated, with the same bits under any sharding.
// Inside shard_map (or a vmap with an axis name) a leaf that varies over axes is one part of
// several: its key is folded with the index along these axes, so that no two parts share noise. A
// leaf that does not vary gets the same noise on all devices. If types do not have the axes over
// which values vary (check_vma = false), an update is a UserError.
//
// Precision. Noise is drawn, scaled and added in float64, even if x64 is off; noising matrices that
// keep buffers multiply it in the leaf's dtype, but at least float32. The result has `dtype` if
// given, otherwise the leaf's dtype, but at least float32. It is rounded last, which is
// post-processing. (Noise of bfloat16 would have only 128 values between powers of two.)
//
// With RandomSource::kSystem the key in the state is not used, and a program asks the host for the
// random words of each update: another run gets other noise, even from the same state. If there are
// several processes, all of them must call update(), outside of jit, and process 0 sends the others
// the key of each update (shared_noise.h).
//
// All functions throw UserError if stddev is a number that is NaN, negative or infinite, or an
// Array that is not a scalar; if leaves or a dtype are not real floating-point; if the state is
// that of another tree; and if RandomSource::kSystem is used together with a key, or inside jit in
// several processes.
#pragma once

#include <optional>

#include "tessera/numpy/creation.h"
#include "tessera/optim/transformation.h"
#include "tessera/privacy/matrix_factorization/streaming_matrix.h"
#include "tessera/privacy/noise/random_source.h"
#include "tessera/random/key.h"

namespace tessera::privacy {

// A standard deviation: a number, which is part of the program, or an Array, whose value may change
// without another program (for example by a calibration in the middle of a run).
class Stddev {
 public:
  Stddev(double number);
  Stddev(Array array);

  // Returns a scalar of `dtype`.
  Array to_dtype(DType dtype) const;
  // Returns the number; nullopt if it is an Array.
  std::optional<double> number() const;

  template <class Self>
  static constexpr auto fields(Self& self) {
    return std::tie(self.number_, self.array_);
  }

 private:
  double number_ = 0;
  std::optional<Array> array_;
};

struct NoiseOptions {
  Stddev stddev;
  // If absent, a key is drawn from the operating system's entropy when the privatizer is made.
  // Inside a trace this is a UserError, because the key would be a constant of the program.
  std::optional<random::Key> key = std::nullopt;
  OptionalDType dtype = std::nullopt;  // the dtype of the result
  // kSystem is a UserError together with a key, and for a dense_matrix(), whose noise is drawn
  // again.
  RandomSource random_source = RandomSource::kKey;
};

template <class P>
struct NoiseState {
  random::Key key;
  matrix_factorization::StreamingState<P> matrix;

  template <class Self>
  static constexpr auto fields(Self& self) {
    return std::tie(self.key, self.matrix);
  }
};

namespace internal {

// Checked options, as a tree.
struct Noise {
  matrix_factorization::StreamingMatrix noising_matrix;
  Stddev stddev;
  random::Key key;
  OptionalDType dtype;
  RandomSource source = RandomSource::kKey;
  // If present, the noise is integers on a grid with so many steps in a stddev, added to sums of
  // whole steps (int32). The noising matrix is then the identity (discrete_gaussian.h), or the
  // inverse of a banded strategy (discrete_banded.h).
  std::optional<double> steps_per_stddev = std::nullopt;

  template <class Self>
  static constexpr auto fields(Self& self) {
    return std::tie(self.noising_matrix, self.stddev, self.key, self.dtype, self.source,
                    self.steps_per_stddev);
  }
};
Noise checked_noise(matrix_factorization::StreamingMatrix noising_matrix,
                    const NoiseOptions& options);

using matrix_factorization::internal::Buffers;
Buffers noise_buffers(const Noise& noise, const std::vector<Array>& leaves);
struct FlatUpdate {
  matrix_factorization::internal::FlatStep row;
  random::Key key;
};
FlatUpdate add_noise(const Noise& noise, const matrix_factorization::internal::FlatStep& given,
                     const random::Key& key);

struct Privatizer {
  Noise noise;
  static constexpr bool kNeedsParams = false;

  template <class Self>
  static constexpr auto fields(Self& self) {
    return std::tie(self.noise);
  }
  template <class P>
  NoiseState<P> init(const P& model) const {
    namespace streaming = matrix_factorization::internal;
    return {noise.key,
            {streaming::first_step(),
             streaming::trees_of(model, noise_buffers(noise, tree::leaves(model)))}};
  }
  template <class P>
  std::pair<P, NoiseState<P>> update(const P& gradients, const NoiseState<P>& state,
                                     const P*) const {
    namespace streaming = matrix_factorization::internal;
    const FlatUpdate next = add_noise(
        noise,
        {tree::leaves(gradients), state.matrix.step, streaming::leaves_of(state.matrix.buffers)},
        state.key);
    return {tree::unflatten(gradients, next.row.values),
            {next.key, {next.row.step, streaming::trees_of(gradients, next.row.buffers)}}};
  }
};

}  // namespace internal

// Returns a privatizer whose noise is independent from step to step.
optim::Transformation<internal::Privatizer> gaussian_privatizer(const NoiseOptions& options);

// Returns a privatizer whose noise is correlated over the steps: the noise of step t is row t of
// C^{-1} Z, where the rows of Z are independent. For a factorisation A = B C of the workload this
// is the mechanism with strategy C. Its guarantee is that of the Gaussian mechanism with the
// sensitivity of C.
//
// A dense_matrix() keeps no buffers: the rows of Z are drawn again at each step (the key in the
// state stays the same, and row j of a leaf is drawn with fold_in(the leaf's key, j)). So step t
// takes a draw for each nonzero element of row t. The matrix need not be lower-triangular. Every
// other matrix keeps its buffers.
//
// A step past the last row (StreamingMatrix::rows) is a UserError. Inside a trace it cannot be an
// error: instead all results of such a step are NaN, which reveals nothing about the gradients.
optim::Transformation<internal::Privatizer> matrix_factorization_privatizer(
    const matrix_factorization::StreamingMatrix& noising_matrix, const NoiseOptions& options);

}  // namespace tessera::privacy
