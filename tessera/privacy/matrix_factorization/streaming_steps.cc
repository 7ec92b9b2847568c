// Streaming matrices on Arrays: the next row of a product, leaf by leaf.
//
// If a row needs the last k results (or inputs), these are in a ring, an array with a first
// dimension of k: the result of step t is in slot t % k, and the coefficients are rotated to match.
// So a step writes one slot, and reads the ring once, in a sum over its first dimension, which is
// never sharded: its order is the same on any mesh.
#include <algorithm>
#include <limits>

#include "tessera/base/format.h"
#include "tessera/compile/composite.h"
#include "tessera/numpy/creation.h"
#include "tessera/numpy/index.h"
#include "tessera/numpy/logic.h"
#include "tessera/numpy/manipulation.h"
#include "tessera/numpy/math.h"
#include "tessera/numpy/operators.h"
#include "tessera/numpy/placement.h"
#include "tessera/numpy/reduce.h"
#include "tessera/optim/transformation.h"
#include "tessera/privacy/matrix_factorization/streaming_node.h"

namespace tessera::privacy::matrix_factorization::internal {

using namespace ir;

namespace {

constexpr const char* kStreamingStepsOp = "privacy::StreamingMatrix";

// Returns a constant of the program.
Array constant(const std::vector<double>& values, const Shape& shape, DType dtype) {
  return Array(tessera::internal::converted(Literal::from<double>(values, shape), dtype));
}
// Returns values[step], or the last value if there are fewer.
Array element(const std::vector<double>& values, const Array& step, DType dtype) {
  if (values.size() == 1) return constant(values, {}, dtype);
  return dynamic_index_in_dim(constant(values, {ssize(values)}, dtype), step, 0, false);
}

// The computation of one step for one leaf.
struct Leaf {
  const Array& step;
  std::vector<Array> buffers;  // those of this leaf, in the order of buffer_depths
  size_t at = 0;               // the next buffer to be used

  Array next(const Node& node, const Array& x);

 private:
  // Returns the sum over s of weights[s] ring[s].
  static Array weighted(const Array& ring, const Array& weights);
  // Returns the ring with x in this step's slot.
  Array write_to_ring(const Array& ring, const Array& x) const;

  Array summed(const Array& x);
  Array momentum(const Momentum& m, const Array& x);
  Array solved(const Array& x, const Array& weights, const Array& lead);
  Array turned_weights(const std::vector<double>& coef, DType dtype) const;
  Array toeplitz(const Toeplitz& m, const Array& x);
  Array toeplitz_inverse(const ToeplitzInverse& m, const Array& x);
  Array banded_inverse(const BandedInverse& m, const Array& x);
  Array buffered(const Buffered& m, const Array& x);
  Array dense(const Dense& m, const Array& x);
};

Array Leaf::weighted(const Array& ring, const Array& weights) {
  Shape column(static_cast<size_t>(ring.ndim()), 1);
  column[0] = ring.shape(0);
  return sum(ring * reshape(weights, column), {.axis = 0});
}

Array Leaf::write_to_ring(const Array& ring, const Array& x) const {
  const Array slot = step % static_cast<int>(ring.shape(0));
  return dynamic_update_index_in_dim(ring, x, slot, 0);
}

Array Leaf::summed(const Array& x) {
  Array& total = buffers[at++];
  return total = total + x;
}

Array Leaf::momentum(const Momentum& m, const Array& x) {
  Array& velocity = buffers[at++];
  Array& result = buffers[at++];
  velocity = m.momentum * velocity + x;
  return result = result + element(m.learning_rates, step, x.dtype()) * velocity;
}

// Returns (x - the sum of the ring's slots times `weights`) / lead, and writes this to the ring.
Array Leaf::solved(const Array& x, const Array& weights, const Array& lead) {
  Array& ring = buffers[at++];
  const Array result = (x - weighted(ring, weights)) / lead;
  ring = write_to_ring(ring, result);
  return result;
}

// Returns coef[1], coef[2], ... as the weights of the ring's slots at this step. Slot s was written
// k = 1 + (t - 1 - s) mod size steps ago, so the weights are `size` consecutive entries of the list
// of coefficients, repeated twice and reversed.
Array Leaf::turned_weights(const std::vector<double>& coef, DType dtype) const {
  const int64_t size = ssize(coef) - 1;
  std::vector<double> turned;
  for (int64_t i = 0; i < 2 * size; ++i)
    turned.push_back(coef[static_cast<size_t>(size - i % size)]);
  const Array start =
      (static_cast<int>(size) - step % static_cast<int>(size)) % static_cast<int>(size);
  return dynamic_slice_in_dim(constant(turned, {2 * size}, dtype), start, size, 0);
}

Array Leaf::toeplitz(const Toeplitz& m, const Array& x) {
  const Array own = constant({m.coef[0]}, {}, x.dtype()) * x;
  if (ssize(m.coef) == 1) return own;
  Array& ring = buffers[at++];
  const Array out = own + weighted(ring, turned_weights(m.coef, x.dtype()));
  ring = write_to_ring(ring, x);
  return out;
}

Array Leaf::toeplitz_inverse(const ToeplitzInverse& m, const Array& x) {
  const Array lead = constant({m.coef[0]}, {}, x.dtype());
  if (ssize(m.coef) == 1) return x / lead;
  return solved(x, turned_weights(m.coef, x.dtype()), lead);
}

Array Leaf::banded_inverse(const BandedInverse& m, const Array& x) {
  const int64_t n = ssize(m.params) / m.bands, size = m.bands - 1;
  std::vector<double> lead, weights(static_cast<size_t>(n * size));
  for (int64_t t = 0; t < n; ++t) {
    lead.push_back(m.params[static_cast<size_t>(t * m.bands)]);
    for (int64_t k = 1; k <= std::min(t, size); ++k)
      weights[static_cast<size_t>(t * size + (t - k) % size)] =
          m.params[static_cast<size_t>((t - k) * m.bands + k)];
  }
  const Array norm = element(row_norms(m), step, x.dtype()), first = element(lead, step, x.dtype());
  if (size == 0) return x / first * norm;
  const Array table = constant(weights, {n, size}, x.dtype());
  return solved(x, dynamic_index_in_dim(table, step, 0, false), first) * norm;
}

Array Leaf::buffered(const Buffered& m, const Array& x) {
  if (m.decay.empty()) return x;
  Array& all = buffers[at++];
  Shape column(static_cast<size_t>(all.ndim()), 1);
  column[0] = all.shape(0);
  const Array read = weighted(all, constant(m.scale, {all.shape(0)}, x.dtype()));
  const Array result = m.inverse ? x - read : x + read;
  all = all * constant(m.decay, column, x.dtype()) + (m.inverse ? result : x);
  return result;
}

Array Leaf::dense(const Dense& m, const Array& x) {
  Array& ring = buffers[at++];
  ring = write_to_ring(ring, x);
  const Array rows = constant(m.values, {m.rows, m.columns}, x.dtype());
  return weighted(ring, dynamic_index_in_dim(rows, step, 0, false));
}

Array Leaf::next(const Node& node, const Array& x) {
  return std::visit(
      Overloaded{[&](const Identity&) { return x; }, [&](const PrefixSum&) { return summed(x); },
                 [&](const Diagonal& m) { return x * element(m.values, step, x.dtype()); },
                 [&](const Momentum& m) { return momentum(m, x); },
                 [&](const Toeplitz& m) { return toeplitz(m, x); },
                 [&](const ToeplitzInverse& m) { return toeplitz_inverse(m, x); },
                 [&](const BandedInverse& m) { return banded_inverse(m, x); },
                 [&](const Buffered& m) { return buffered(m, x); },
                 [&](const Dense& m) { return dense(m, x); },
                 [&](const Product& m) {
                   // In a product A B, the buffers of A precede those of B, although B is applied
                   // first.
                   const size_t first = at;
                   at += buffer_depths(m.a.node()).size();
                   const Array inner = next(m.b.node(), x);
                   const size_t end = at;
                   at = first;
                   const Array outer = next(m.a.node(), inner);
                   at = end;
                   return outer;
                 }},
      node.matrix);
}

Array placed_zeros(const Array& leaf, int64_t depth, DType dtype) {
  Shape shape = leaf.shape();
  if (depth > 0) shape.insert(shape.begin(), depth);
  const Array out = zeros(shape, dtype);
  if (leaf.is_tracer() || leaf.data()->kind == ArrayData::Kind::kAbstract) return out;
  const Sharding sharding = leaf.sharding();
  if (!sharding.is_named()) return out;
  const NamedSharding& named = sharding.named();
  std::vector<DimSpec> dims = named.spec().dims();
  if (depth > 0) dims.insert(dims.begin(), DimSpec());
  return device_put(out, NamedSharding(named.mesh(), PartitionSpec(std::move(dims))));
}

}  // namespace

std::vector<int64_t> buffer_depths(const Node& node) {
  using Depths = std::vector<int64_t>;
  const auto ring = [](int64_t size) { return size > 0 ? Depths{size} : Depths{}; };
  return std::visit(
      Overloaded{[](const auto&) { return Depths{}; }, [](const PrefixSum&) { return Depths{0}; },
                 [](const Momentum&) {
                   return Depths{0, 0};
                 },
                 [&](const Toeplitz& m) { return ring(ssize(m.coef) - 1); },
                 [&](const ToeplitzInverse& m) { return ring(ssize(m.coef) - 1); },
                 [&](const BandedInverse& m) { return ring(m.bands - 1); },
                 [&](const Buffered& m) { return ring(ssize(m.decay)); },
                 [&](const Dense& m) { return ring(m.rows); },
                 [&](const Product& m) {
                   Depths out = buffer_depths(m.a.node());
                   const Depths b = buffer_depths(m.b.node());
                   out.insert(out.end(), b.begin(), b.end());
                   return out;
                 }},
      node.matrix);
}

Array first_step() { return zeros(Shape{}, int32); }

DType wide_dtype(std::string_view op, DType leaf) {
  if (is_complex(leaf))
    type_error(op, "expected real leaves, got {}; give real and imaginary parts", leaf);
  return leaf == float64 ? float64 : float32;
}

Buffers zero_buffers(const StreamingMatrix& matrix, const std::vector<Array>& leaves,
                     const std::vector<DType>& dtypes) {
  expect_lower_triangular(matrix.node());
  Buffers out;
  for (const int64_t depth : buffer_depths(matrix.node())) {
    out.emplace_back();
    for (size_t i = 0; i < leaves.size(); ++i)
      out.back().push_back(placed_zeros(leaves[i], depth, dtypes[i]));
  }
  return out;
}

void expect_buffers(std::string_view op, const StreamingMatrix& matrix, const FlatStep& given) {
  const std::vector<Array>& leaves = given.values;
  const Buffers& buffers = given.buffers;
  const std::vector<int64_t> depths = buffer_depths(matrix.node());
  if (buffers.size() != depths.size())
    value_error(op, "expected a state of {} buffers, got {}; make it with init of this one",
                depths.size(), buffers.size());
  for (size_t b = 0; b < depths.size(); ++b) {
    if (buffers[b].size() != leaves.size())
      value_error(op, "expected a state for {} leaves, got {}; make it with init for this tree",
                  leaves.size(), buffers[b].size());
    for (size_t i = 0; i < leaves.size(); ++i) {
      Shape expected = leaves[i].shape();
      if (depths[b] > 0) expected.insert(expected.begin(), depths[b]);
      if (buffers[b][i].shape() != expected)
        shape_error(op,
                    "expected a buffer of shape {} for leaf {}, got {}; make the state with init "
                    "for trees of these shapes",
                    expected, i, buffers[b][i].shape());
    }
  }
}

namespace {

// Returns whether the matrix has this row, for programs, which cannot throw.
Array has_row(const StreamingMatrix& matrix, const Array& step) {
  const int64_t rows = std::min<int64_t>(*matrix.rows(), std::numeric_limits<int32_t>::max());
  return step < static_cast<int32_t>(rows);
}

}  // namespace

FlatStep ended(const StreamingMatrix& matrix, FlatStep row) {
  if (matrix.rows())
    for (Array& x : row.values)
      x = where(has_row(matrix, row.step), x, std::numeric_limits<double>::quiet_NaN());
  row.step = optim::internal::next_count(row.step);
  return row;
}

FlatStep next_row(const StreamingMatrix& matrix, const FlatStep& given) {
  FlatStep out = given;
  for (size_t i = 0; i < given.values.size(); ++i) {
    Leaf leaf{given.step, {}};
    for (const std::vector<Array>& buffer : given.buffers) leaf.buffers.push_back(buffer[i]);
    const DType dtype = wide_dtype(kStreamingStepsOp, given.values[i].dtype());
    out.values[i] = leaf.next(matrix.node(), astype(given.values[i], dtype));
    for (size_t b = 0; b < given.buffers.size(); ++b) out.buffers[b][i] = leaf.buffers[b];
  }
  return ended(matrix, std::move(out));
}

std::vector<Array> FlatStep::arrays() const {
  std::vector<Array> out = values;
  for (const std::vector<Array>& buffer : buffers)
    out.insert(out.end(), buffer.begin(), buffer.end());
  out.push_back(step);
  return out;
}

FlatStep FlatStep::like(std::span<const Array> arrays) const {
  FlatStep out = *this;
  size_t at = 0;
  for (Array& x : out.values) x = arrays[at++];
  for (std::vector<Array>& buffer : out.buffers)
    for (Array& x : buffer) x = arrays[at++];
  out.step = arrays[at];
  return out;
}

StepLayout layout_of(const FlatStep& given) {
  return {static_cast<int64_t>(given.values.size()), static_cast<int64_t>(given.buffers.size())};
}

FlatStep step_of(const StepLayout& layout, std::span<const Array> arrays) {
  const std::vector<Array> leaves(static_cast<size_t>(layout.leaves));
  return FlatStep{leaves, Array(), Buffers(static_cast<size_t>(layout.buffers), leaves)}.like(
      arrays);
}

FlatStep multiply_next(const StreamingMatrix& matrix, const FlatStep& given) {
  struct NextParams {
    StreamingMatrix matrix;
    StepLayout layout;
  };
  const std::vector<Array> args = given.arrays();
  return given.like(composite("streaming_matrix_next", NextParams{matrix, layout_of(given)},
                              std::span<const Array>(args),
                              [](const NextParams& p, std::span<const Array> a) {
                                return next_row(p.matrix, step_of(p.layout, a)).arrays();
                              }));
}

}  // namespace tessera::privacy::matrix_factorization::internal
