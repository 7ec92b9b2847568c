// StableHLO's batch normalisation: batch_norm_training, batch_norm_inference and batch_norm_grad,
// by the formulas of its specification. Statistics are those of each feature, over all other
// dimensions.
#include "tessera/interchange/foreign/foreign.h"
#include "tessera/interchange/foreign/insert_traced.h"
#include "tessera/ops/core/array_math.h"
#include "tessera/ops/core/elementwise.h"
#include "tessera/ops/reductions/reduce.h"
#include "tessera/ops/structural/broadcast.h"

namespace tessera::interchange::foreign {
namespace {

using namespace array_math;

// How the arrays of a feature relate to the operand.
struct Features {
  Shape shape;  // of the operand
  int64_t index = 0;
  Dims others = {};  // the dimensions of the operand but that of the features
  double count = 1;  // how many elements a feature has
  double epsilon = 0;

  Array spread(const Array& x) const { return lax::broadcast_in_dim(x, shape, {index}); }
  Array sum(const Array& x) const { return lax::reduce_sum(x, others); }
  Array mean(const Array& x) const { return sum(x) / count; }
  Array with_epsilon(const Array& variance) const { return variance + epsilon; }
};

// Throws UserError unless the operands at `whole` have the shape of the first operand and the
// others are vectors, with an element for each feature.
Features features_of(OpReader& reader, size_t operands, std::optional<size_t> whole) {
  expect_count(reader, operands);
  const Type type = reader.type(reader.operands[0]);
  const int64_t index = reader.require_int("feature_index");
  const auto epsilon = reader.text.take("epsilon");
  const auto* number = epsilon ? epsilon->get<TextAttr::Float>() : nullptr;
  if (!number) reader.error("expected epsilon to be a number, as 1.0e-3 : f32");
  if (!is_floating(type.dtype) || index < 0 || index >= type.rank())
    reader.error(
        fmt::format("expected an operand of a floating-point dtype and its dimension of "
                    "features, got {} and feature_index {}",
                    type, index));
  for (size_t k = 1; k < operands; ++k) {
    const Type expected{type.dtype, whole == k ? type.shape : Shape{type.shape[index]}};
    if (!reader.type(reader.operands[k]).same_array(expected))
      reader.error(fmt::format("expected operand {} to be {}, got {}", k, expected,
                               reader.type(reader.operands[k])));
  }
  Features out{.shape = type.shape, .index = index, .epsilon = number->value};
  for (int64_t d = 0; d < type.rank(); ++d) {
    if (d == index) continue;
    out.others.push_back(d);
    out.count *= static_cast<double>(type.shape[d]);
  }
  return out;
}

Array normalised(const Features& f, const Array& x, const Array& mean, const Array& variance) {
  return (x - f.spread(mean)) / f.spread(lax::sqrt(f.with_epsilon(variance)));
}

}  // namespace

Values batch_norm_training(OpReader& reader) {
  const Features f = features_of(reader, 3, std::nullopt);
  return insert_traced(
      reader,
      [&](const std::vector<Array>& x) {
        const Array mean = f.mean(x[0]);
        const Array variance = f.mean(lax::square(x[0] - f.spread(mean)));
        const Array y = normalised(f, x[0], mean, variance) * f.spread(x[1]) + f.spread(x[2]);
        return std::vector{y, mean, variance};
      },
      "batch_norm_training");
}

Values batch_norm_inference(OpReader& reader) {
  const Features f = features_of(reader, 5, std::nullopt);
  return insert_traced(
      reader,
      [&](const std::vector<Array>& x) {
        return std::vector{normalised(f, x[0], x[3], x[4]) * f.spread(x[1]) + f.spread(x[2])};
      },
      "batch_norm_inference");
}

// The operands are the input, scale, mean, variance and the gradient of the output.
Values batch_norm_grad(OpReader& reader) {
  const Features f = features_of(reader, 5, 4);
  return insert_traced(
      reader,
      [&](const std::vector<Array>& x) {
        const Array centred = x[0] - f.spread(x[2]), variance = f.with_epsilon(x[3]);
        const Array deviation = lax::sqrt(variance), along = f.sum(x[4] * centred);
        const Array part =
            x[4] - f.spread(f.mean(x[4])) - centred * f.spread(along / variance / f.count);
        return std::vector{part * f.spread(x[1] / deviation), along / deviation, f.sum(x[4])};
      },
      "batch_norm_grad");
}

}  // namespace tessera::interchange::foreign
