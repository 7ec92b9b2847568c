// Privatizers: gradient transformations (optim/transformation.h) that add noise to a sum of clipped
// gradients. They need not know the model, and stand anywhere in optim::chain; what follows them is
// post-processing.
//
//   auto noise = privacy::gaussian_privatizer({.stddev = 0.01, .key = random::key(2)});
//   auto state = noise.init(grads);
//   auto [noisy, next] = noise.update(grads, state);
//
// Randomness. The key is in the state. As in jax_privacy each update splits it in two: the first is
// the next state's, the second is split by leaves, in tree order. Noise is then the normal numbers of
// a leaf's key and shape, times stddev, mapped by the noising matrix. Keys equal jax_privacy's bit for
// bit. Its normals are jax.random.normal's of float32, which end at 5.2 to 5.4 standard deviations,
// while the accounting is of a distribution that does not end. These have the tail of the accounting
// up to 9 standard deviations, and share with those the first 23 bits of each uniform number: most
// are equal to six digits.
//
// Sharding. A stream is a function of the key and of each element's index, so every device makes
// the noise of its own part and nothing is communicated, with the same bits under any sharding.
// Inside shard_map (or a vmap with an axis name) a leaf that varies over axes is one part of
// several: there the leaf's key is folded with the index along these axes, so no two parts share
// noise; a leaf that does not vary gets one noise on all devices. Where shard_map does not type what
// varies (check_vma = false) an update is refused.
//
// Precision. Noise is drawn, scaled and added in float64, also where x64 is off; between, noising
// matrices that keep buffers map it in the leaf's dtype, float32 at least. The result is of `dtype` if given, else of the
// leaf's, float32 at least: it is rounded last, which is post-processing. (Noise of bfloat16 would
// have 128 values.)
//
// Of RandomSource::kSystem the key in the state counts for nothing, and a program asks the host for
// the words of each update: another run gives other noise, also from the same state. In several
// processes all of them call update(), outside of jit, and process 0 gives the others the key of
// each update (shared_noise.h).
//
// Errors, of all: UserError for a stddev that is NaN, negative or infinite (a number) or no scalar
// (an Array), leaves or a dtype that are not real floating-point, a state of another tree, and RandomSource::kSystem with a
// key, or inside jit in several processes.
#pragma once

#include <optional>

#include "tessera/numpy/creation.h"
#include "tessera/optim/transformation.h"
#include "tessera/privacy/matrix_factorization/streaming_matrix.h"
#include "tessera/privacy/noise/random_source.h"
#include "tessera/random/key.h"

namespace tessera::privacy {

// A standard deviation: a number, part of the program, or an Array, a leaf, whose value may change
// without another program (recalibration in the middle of a run).
class Stddev {
 public:
  Stddev(double number);
  Stddev(Array array);

  // A scalar of `dtype`.
  Array to_dtype(DType dtype) const;
  // Absent where it is an Array.
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
  // Absent: one from the operating system's entropy, drawn where the privatizer is made. UserError
  // for that inside a trace, where it would be a constant of the program.
  std::optional<random::Key> key = std::nullopt;
  OptionalDType dtype = std::nullopt;  // of the result
  // kSystem: not together with a key, and not for a dense_matrix(), whose rows are drawn again.
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

// Options that were checked; a tree.
struct Noise {
  matrix_factorization::StreamingMatrix noising_matrix;
  Stddev stddev;
  random::Key key;
  OptionalDType dtype;
  RandomSource source = RandomSource::kKey;
  // Present: integers on a grid of so many steps for each stddev, added to sums of whole steps
  // (int32). The noising matrix is the identity (discrete_gaussian.h), or the inverse of a banded
  // strategy (discrete_banded.h).
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

// Noise that is independent from step to step.
optim::Transformation<internal::Privatizer> gaussian_privatizer(const NoiseOptions& options);

// Noise that is correlated over the steps: step t gets row t of C^{-1} Z, where the rows of Z are
// independent. Of a factorisation A = B C of the workload this is the mechanism with strategy C;
// its guarantee is that of the Gaussian mechanism with the sensitivity of C.
//
// For a dense_matrix() nothing is kept: the rows of Z are drawn again at each step (the state's key
// stays, row j of a leaf is drawn with fold_in(the leaf's key, j)), so step t costs a draw for each
// nonzero of row t; it need not be lower-triangular. Every other matrix keeps its buffers.
//
// A step past the last row (StreamingMatrix::rows) is a UserError. Inside a trace it cannot be: there
// all results of such a step are NaN, which says nothing about the gradients.
optim::Transformation<internal::Privatizer> matrix_factorization_privatizer(
    const matrix_factorization::StreamingMatrix& noising_matrix, const NoiseOptions& options);

}  // namespace tessera::privacy
