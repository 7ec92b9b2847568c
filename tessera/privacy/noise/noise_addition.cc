#include "tessera/privacy/noise/noise_addition.h"

#include <cmath>

#include "tessera/compile/composite.h"
#include "tessera/compile/control_flow.h"
#include "tessera/numpy/index.h"
#include "tessera/numpy/manipulation.h"
#include "tessera/numpy/math.h"
#include "tessera/numpy/operators.h"
#include "tessera/ops/core/constant.h"
#include "tessera/ops/core/elementwise.h"
#include "tessera/privacy/matrix_factorization/streaming_node.h"
#include "tessera/privacy/noise/discrete_banded.h"
#include "tessera/privacy/noise/discrete_gaussian.h"
#include "tessera/privacy/noise/leaf_keys.h"
#include "tessera/privacy/noise/normal_draws.h"
#include "tessera/privacy/noise/random_words.h"
#include "tessera/privacy/noise/shared_noise.h"

namespace tessera::privacy {

using namespace ir;

namespace streaming = matrix_factorization::internal;
using matrix_factorization::StreamingMatrix;
using streaming::Dense;

namespace {

constexpr const char* kNoiseAdditionOp = "privacy::privatizer";

const Dense* dense_of(const StreamingMatrix& matrix) {
  return std::get_if<Dense>(&matrix.node().matrix);
}

bool is_identity(const StreamingMatrix& matrix) {
  return std::holds_alternative<streaming::Identity>(matrix.node().matrix);
}

// Returns the dtype of a leaf's buffers: float64 if `result` is, otherwise the leaf's dtype, but at
// least float32. If `result` is absent, the result has this dtype too.
DType computation_dtype(OptionalDType result, DType leaf) {
  const DType wide = streaming::wide_dtype(kNoiseAdditionOp, leaf);
  return result == float64 ? float64 : wide;
}

// Converts x, without the canonicalisation of dtypes of public functions: noise is float64 even if
// x64 is off.
Array converted(const Array& x, DType dtype) {
  return x.dtype() == dtype ? x : lax::convert_element_type(x, dtype);
}

// Returns normal numbers of a shape times stddev, which is a float64 scalar.
Array scaled_normal(RandomSource source, const random::Key& key, const Array& stddev,
                    const Shape& shape) {
  const Array z =
      internal::normal_of_words(internal::random_words(kNoiseAdditionOp, source, key, shape));
  return lax::mul(z, broadcast_array(kNoiseAdditionOp, stddev, shape));
}

// Returns the sum of row[j] z_j in float64 over j from the first to the last nonzero element of
// this step's row. z_j is drawn with fold_in(key, j).
Array drawn_row(const Dense& matrix, const random::Key& key, const Array& step, const Array& stddev,
                const Shape& shape) {
  std::vector<int32_t> first, last;
  for (int64_t i = 0; i < matrix.rows; ++i) {
    int64_t begin = 0, end = matrix.columns;
    while (begin < end && matrix.at(i, begin) == 0) ++begin;
    while (end > begin && matrix.at(i, end - 1) == 0) --end;
    first.push_back(static_cast<int32_t>(begin));
    last.push_back(static_cast<int32_t>(end));
  }
  const auto at_step = [&](const Array& table) {
    return dynamic_index_in_dim(table, step, 0, false);
  };
  const Array row =
      at_step(Array(Literal::from<double>(matrix.values, {matrix.rows, matrix.columns})));
  return fori_loop(
      at_step(from_host(first)), at_step(from_host(last)),
      [&](const Array& j, const Array& sum) {
        const Array scale = lax::mul(dynamic_index_in_dim(row, j, 0, false), stddev);
        return lax::add(sum,
                        scaled_normal(RandomSource::kKey, random::fold_in(key, j), scale, shape));
      },
      lax::full(shape, 0, float64));
}

}  // namespace

Stddev::Stddev(double number) : number_(number) {
  if (!(number >= 0) || std::isinf(number))
    value_error(kNoiseAdditionOp, "expected a finite standard deviation of at least 0, got {}",
                number);
}
Stddev::Stddev(Array array) : array_(std::move(array)) {
  if (array_->ndim() != 0 || !is_floating(array_->dtype()))
    type_error(kNoiseAdditionOp,
               "expected a number or a floating-point scalar as the standard deviation, got {}",
               describe(array_->type()));
}
Array Stddev::to_dtype(DType dtype) const {
  return as_dtype(array_ ? *array_ : Array(number_), dtype);
}
std::optional<double> Stddev::number() const {
  return array_ ? std::nullopt : std::optional(number_);
}

namespace internal {

Noise checked_noise(StreamingMatrix noising_matrix, const NoiseOptions& options) {
  const RandomSource source = options.random_source;
  if (source == RandomSource::kSystem && dense_of(noising_matrix))
    value_error(kNoiseAdditionOp,
                "expected a noising matrix that keeps its noise in buffers for "
                "RandomSource::kSystem, got a dense one, which draws its rows again; take a banded "
                "or buffered one, or RandomSource::kKey");
  return {std::move(noising_matrix), options.stddev,
          checked_key(kNoiseAdditionOp, options.key, source),
          checked_dtype(kNoiseAdditionOp, options.dtype), source};
}

Buffers noise_buffers(const Noise& noise, const std::vector<Array>& leaves) {
  if (dense_of(noise.noising_matrix)) return {};
  std::vector<DType> dtypes;
  for (const Array& leaf : leaves)
    dtypes.push_back(noise.steps_per_stddev ? int32 : computation_dtype(noise.dtype, leaf.dtype()));
  return streaming::zero_buffers(noise.noising_matrix, leaves, dtypes);
}

namespace {

// The static parameters of noise that is not discrete.
struct NoiseParams {
  StreamingMatrix matrix;
  streaming::StepLayout layout;
  OptionalDType dtype;
  RandomSource source;
};

// Returns the drawn noise: z times stddev in float64 for independent noise, this step's row of a
// dense matrix times z, also in float64, and z times stddev in the dtype of the buffers for other
// matrices, which are applied afterwards.
std::vector<Array> drawn(const NoiseParams& noise, const streaming::FlatStep& given,
                         const std::vector<random::Key>& keys, const Array& stddev) {
  const Dense* dense = dense_of(noise.matrix);
  const bool independent = is_identity(noise.matrix);
  std::vector<Array> out;
  for (size_t i = 0; i < given.values.size(); ++i) {
    const Shape& shape = given.values[i].shape();
    const Array z = dense ? drawn_row(*dense, keys[i], given.step, stddev, shape)
                          : scaled_normal(noise.source, keys[i], stddev, shape);
    const DType narrow = computation_dtype(noise.dtype, given.values[i].dtype());
    out.push_back(dense || independent ? z : converted(z, narrow));
  }
  return out;
}

FlatUpdate noised(const NoiseParams& noise, const streaming::FlatStep& given,
                  const random::Key& key, const Array& stddev) {
  const bool keeps_key = dense_of(noise.matrix) != nullptr;
  const StepKeys keys = keeps_key ? StepKeys{key, leaf_keys(kNoiseAdditionOp, key, given.values)}
                                  : step_keys(kNoiseAdditionOp, key, given.values);
  streaming::FlatStep row = given;
  row.values = drawn(noise, given, keys.leaves, stddev);
  // next_row computes in the dtype of the buffers. Independent noise stays float64: if it were
  // rounded to float32 before it is added, sums would be distinguishable
  // (tests/privacy/release_bits_test.cc).
  row = keeps_key || is_identity(noise.matrix) ? streaming::ended(noise.matrix, row)
                                               : streaming::next_row(noise.matrix, row);
  for (size_t i = 0; i < row.values.size(); ++i) {
    const Array& gradient = given.values[i];
    const Array sum = lax::add(converted(gradient, float64), converted(row.values[i], float64));
    row.values[i] =
        converted(sum, noise.dtype.value_or(computation_dtype(noise.dtype, gradient.dtype())));
  }
  return {std::move(row), keys.next};
}

// Throws UserError if a sum is floating-point: here it would be rounded to the grid, which its
// sensitivity does not count.
void expect_whole_steps(const std::vector<Array>& leaves) {
  for (const Array& leaf : leaves)
    if (leaf.dtype() != int32)
      type_error(kNoiseAdditionOp,
                 "expected int32 sums of whole steps of a grid for DiscreteGaussian noise, got {}; "
                 "clip by the plan's clip_options(), or take the mechanism Gaussian",
                 describe(leaf.type()));
}

}  // namespace

FlatUpdate add_noise(const Noise& noise, const streaming::FlatStep& given, const random::Key& key) {
  const SharedNoise shared(kNoiseAdditionOp, noise.source);
  if (noise.steps_per_stddev) {
    expect_whole_steps(given.values);
    if (!std::holds_alternative<streaming::Identity>(noise.noising_matrix.node().matrix))
      return add_banded_discrete_noise(noise, given, key);
    auto [noisy, next] = add_discrete_noise(
        {noise.stddev, noise.key, *noise.steps_per_stddev, noise.dtype, noise.source}, given.values,
        key);
    return {{std::move(noisy), given.step, {}}, next};
  }
  const StreamingMatrix& matrix = noise.noising_matrix;
  streaming::expect_row(kNoiseAdditionOp, matrix, given.step);
  if (!dense_of(matrix)) streaming::expect_buffers(kNoiseAdditionOp, matrix, given);
  expect_real(kNoiseAdditionOp, given.values);
  std::vector<Array> args = given.arrays();
  args.push_back(key.data);
  args.push_back(noise.stddev.to_dtype(float64));
  std::vector<Array> out = composite(
      "privacy_add_noise",
      NoiseParams{matrix, streaming::layout_of(given), noise.dtype, noise.source},
      std::span<const Array>(args), [](const NoiseParams& p, std::span<const Array> a) {
        const size_t n = a.size() - 2;
        FlatUpdate next = noised(p, streaming::step_of(p.layout, a.first(n)), {a[n]}, a[n + 1]);
        std::vector<Array> results = next.row.arrays();
        results.push_back(next.key.data);
        return results;
      });
  const random::Key next{out.back()};
  return {given.like(out), next};
}

}  // namespace internal

optim::Transformation<internal::Privatizer> gaussian_privatizer(const NoiseOptions& options) {
  return matrix_factorization_privatizer(matrix_factorization::identity(), options);
}

optim::Transformation<internal::Privatizer> matrix_factorization_privatizer(
    const StreamingMatrix& noising_matrix, const NoiseOptions& options) {
  return {{internal::checked_noise(noising_matrix, options)}};
}

}  // namespace tessera::privacy
