// Random programs on meshes of 2 to 8 devices. Arrays have few rows (0 to 17), so that shards are
// uneven, single or empty; inputs, results and values in between have random shardings.
#pragma once

#include <random>

#include "tessera/control/control.h"
#include "tessera/ops/core/array_math.h"
#include "tessera/ops/core/compare.h"
#include "tessera/ops/core/constant.h"
#include "tessera/ops/core/convert.h"
#include "tessera/ops/core/select.h"
#include "tessera/ops/indexing/gather.h"
#include "tessera/ops/linear/dot_general.h"
#include "tessera/ops/reductions/reduce.h"
#include "tessera/ops/reductions/reduce_window.h"
#include "tessera/ops/structural/broadcast.h"
#include "tessera/ops/structural/concatenate.h"
#include "tessera/ops/structural/pad.h"
#include "tessera/ops/structural/reshape.h"
#include "tessera/ops/structural/slice.h"
#include "tessera/ops/structural/sort.h"
#include "tests/spmd/programs.h"

namespace tessera::testing_spmd {

using namespace spmd;

class RandomProgram {
 public:
  using MakeMesh = Mesh (*)(Shape, std::vector<std::string>);
  explicit RandomProgram(uint32_t seed, MakeMesh make_mesh = Mesh::abstract) : engine_(seed) {
    static const std::vector<Shape>& sizes = *new std::vector<Shape>{
        {2}, {3}, {4}, {8}, {5}, {2, 2}, {2, 4}, {4, 2}, {2, 3}, {1, 4}, {2, 2, 2}};
    const Shape& shape = sizes[pick(sizes.size())];
    const std::vector<std::string> names{"x", "y", "z"};
    mesh_ = make_mesh(shape, {names.begin(), names.begin() + shape.rank()});
    const int64_t count = 1 + pick(3);
    for (int64_t k = 0; k < count; ++k) {
      const Shape s = random_shape();
      inputs_.push_back({s, pick(5) ? std::optional(random_spec(s.rank())) : std::nullopt,
                         pick(4) ? float32 : int32});
    }
    steps_ = 1 + pick(6);
    body_seed_ = static_cast<uint32_t>(engine_());
    results_ = 1 + pick(2);
  }

  const Mesh& mesh() const { return mesh_; }
  const std::vector<Input>& inputs() const { return inputs_; }

  // Runs the same ops at each call. The shardings of results are constraints.
  std::vector<Array> operator()(const std::vector<Array>& x) {
    engine_.seed(body_seed_);
    values_ = x;
    for (int64_t k = 0; k < steps_; ++k) values_.push_back(step());
    std::vector<Array> out;
    for (int64_t r = 0; r < results_; ++r) {
      const Array& v = values_[values_.size() - 1 - pick(std::min<size_t>(3, values_.size()))];
      out.push_back(pick(2) ? constrained(v) : v);
    }
    return out;
  }

 private:
  int64_t pick(size_t n) { return static_cast<int64_t>(engine_() % n); }
  int64_t random_extent() {
    constexpr std::array<int64_t, 14> kExtents{0, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 17};
    return kExtents[pick(kExtents.size())];
  }
  Shape random_shape() {
    Shape out;
    for (int64_t d = pick(4); d > 0; --d) out.push_back(random_extent());
    while (out.elements() > 600) out.pop_back();
    return out;
  }
  PartitionSpec random_spec(int64_t rank) {
    std::vector<std::string> axes = mesh_.axis_names();
    std::shuffle(axes.begin(), axes.end(), engine_);
    std::vector<std::vector<AxisRef>> dims(rank);
    for (const std::string& axis : axes)
      if (rank > 0 && pick(4)) dims[pick(rank)].push_back({axis});
    std::vector<DimSpec> out;
    for (const std::vector<AxisRef>& d : dims) out.emplace_back(d, pick(5) == 0);
    return PartitionSpec(std::move(out));
  }
  Array constrained(const Array& x) {
    return lax::sharding_constraint(x, NamedSharding(mesh_, random_spec(x.ndim())));
  }
  Array any() { return values_[pick(2) ? values_.size() - 1 : pick(values_.size())]; }
  Array with_rank() {
    for (int k = 0; k < 8; ++k)
      if (Array v = any(); v.ndim() > 0) return v;
    const Array v = any();
    if (v.ndim() > 0) return v;
    return lax::broadcast_in_dim(v, {random_extent()}, {});
  }
  Array floats(const Array& x) {
    return x.dtype() == float32 ? x : lax::convert_element_type(x, float32);
  }
  // Returns another value of this shape, by any op that gives the shape.
  Array of_shape(const Shape& shape, DType dtype) {
    for (int k = 0; k < 6; ++k)
      if (const Array v = any(); v.shape() == shape) return lax::convert_element_type(v, dtype);
    for (int k = 0; k < 6; ++k) {
      const Array v = any();
      for (int64_t d = 0; d < shape.rank(); ++d)
        if (v.ndim() == 1 && v.shape()[0] == shape[d])
          return lax::convert_element_type(lax::broadcast_in_dim(v, shape, {d}), dtype);
    }
    return lax::full(shape, static_cast<double>(pick(5)), dtype);
  }
  int64_t random_dim(const Array& x) { return pick(static_cast<size_t>(x.ndim())); }

  Array step() {
    switch (pick(22)) {
      case 0:
      case 1: {
        const Array x = floats(any());
        return pick(2) ? lax::sin(x) : lax::neg(x);
      }
      case 2:
      case 3: {
        const Array x = any();
        const Array y = of_shape(x.shape(), x.dtype());
        return pick(2) ? lax::add(x, y) : lax::max(x, y);
      }
      case 4: {
        const Array x = any();
        const Array y = of_shape(x.shape(), x.dtype());
        return lax::select(lax::lt(x, y), y, x);
      }
      case 5:
        return reduced();
      case 6: {
        const Array x = with_rank();
        Dims order;
        for (int64_t d = 0; d < x.ndim(); ++d) order.push_back(d);
        std::shuffle(order.begin(), order.end(), engine_);
        return lax::transpose(x, order);
      }
      case 7:
        return reshaped();
      case 8:
      case 9:
        return sliced();
      case 10:
      case 11:
        return padded();
      case 12: {
        const Array x = with_rank();
        return lax::rev(x, {random_dim(x)});
      }
      case 13:
      case 14:
        return concatenated();
      case 15:
        return dynamically_sliced();
      case 16:
        return updated();
      case 17:
        return product();
      case 18: {
        const Array x = any();
        Shape shape = x.shape();
        const int64_t at = pick(static_cast<size_t>(x.ndim()) + 1);
        shape.insert(shape.begin() + at, random_extent());
        if (shape.elements() > 600) return x;
        Dims dims;
        for (int64_t d = 0; d <= x.ndim(); ++d)
          if (d != at) dims.push_back(d);
        return lax::broadcast_in_dim(x, shape, dims);
      }
      case 19: {
        const Array x = with_rank();
        if (pick(2)) return lax::cumsum(x, random_dim(x), pick(2) != 0);
        return lax::sort(std::array{x}, random_dim(x))[0];
      }
      case 20:
        return rolled();
      default:
        return constrained(any());
    }
  }

  Array reduced() {
    const Array x = with_rank();
    const int64_t d = random_dim(x);
    switch (pick(5)) {
      case 0:
        return lax::reduce_max(x, {d});
      case 1:
        return lax::reduce_min(x, {d});
      case 2:
        return x.shape()[d] > 0 ? lax::argmax(x, d) : lax::reduce_prod(x, {d});
      default: {
        Dims dims{d};
        for (int64_t e = 0; e < x.ndim(); ++e)
          if (e != d && pick(3) == 0) dims.push_back(e);
        return lax::reduce_sum(x, dims);
      }
    }
  }
  Array reshaped() {
    const Array x = any();
    const int64_t n = x.shape().elements();
    Shape shape;
    int64_t rest = n;
    for (int64_t k = pick(4); k > 0 && rest > 1; --k) {
      std::vector<int64_t> divisors;
      for (int64_t q = 1; q <= rest; ++q)
        if (rest % q == 0) divisors.push_back(q);
      shape.push_back(divisors[pick(divisors.size())]);
      rest /= shape.back();
    }
    shape.push_back(rest);
    return lax::reshape(x, shape);
  }
  Array sliced() {
    const Array x = with_rank();
    Dims start, limit, strides;
    for (int64_t extent : x.shape()) {
      const bool whole = pick(2) != 0;
      start.push_back(whole ? 0 : pick(extent + 1));
      limit.push_back(whole ? extent : start.back() + pick(extent - start.back() + 1));
      strides.push_back(whole || pick(3) ? 1 : 1 + pick(4));
    }
    return lax::slice(x, start, limit, strides);
  }
  Array padded() {
    const Array x = with_rank();
    Dims low, high, interior;
    for (int64_t extent : x.shape()) {
      const bool changes = pick(2) != 0;
      interior.push_back(changes && pick(4) == 0 ? 1 + pick(2) : 0);
      const int64_t spread = extent + std::max<int64_t>(0, extent - 1) * interior.back();
      low.push_back(changes ? pick(spread + 4) - spread / 2 : 0);
      high.push_back(changes ? std::max(pick(spread + 4) - spread / 2, -spread - low.back()) : 0);
    }
    const Array fill = lax::full({}, static_cast<double>(pick(9)), x.dtype());
    return lax::pad(x, fill, low, high, interior);
  }
  Array concatenated() {
    const Array x = with_rank();
    const int64_t d = random_dim(x);
    std::vector<Array> parts{x};
    for (int64_t k = 1 + pick(2); k > 0; --k) {
      Shape shape = x.shape();
      shape[d] = pick(3) ? shape[d] : random_extent();
      parts.push_back(of_shape(shape, x.dtype()));
    }
    std::shuffle(parts.begin(), parts.end(), engine_);
    return lax::concatenate(parts, d);
  }
  std::vector<Array> random_starts(const Array& x) {
    std::vector<Array> starts;
    for (int64_t extent : x.shape())
      starts.push_back(lax::full({}, static_cast<double>(pick(extent + 3) - 1), int32));
    // One start is a value of the program, so that it is not known beforehand.
    for (const Array& v : values_)
      if (v.ndim() == 0 && v.dtype() == int32 && !starts.empty()) starts[0] = v;
    return starts;
  }
  Array dynamically_sliced() {
    const Array x = with_rank();
    Shape sizes;
    for (int64_t extent : x.shape()) sizes.push_back(pick(2) ? extent : pick(extent + 1));
    return lax::dynamic_slice(x, random_starts(x), sizes);
  }
  Array updated() {
    const Array x = with_rank();
    Shape sizes;
    for (int64_t extent : x.shape()) sizes.push_back(pick(2) ? extent : pick(extent + 1));
    return lax::dynamic_update_slice(x, of_shape(sizes, x.dtype()), random_starts(x));
  }
  Array product() {
    const Array x = floats(with_rank());
    const int64_t d = random_dim(x);
    Shape shape{x.shape()[d]};
    if (pick(2)) shape.push_back(random_extent());
    const Array y = of_shape(shape, float32);
    lax::DotDims dims;
    dims.lhs_contract = Dims{d};
    dims.rhs_contract = Dims{0};
    const Array out = lax::dot_general(x, y, dims);
    return out.shape().elements() > 600 ? x : out;
  }
  Array rolled() {
    const Array x = with_rank();
    const int64_t d = random_dim(x), extent = x.shape()[d];
    const int64_t by = pick(extent + 1);
    return lax::concatenate(
        std::vector{lax::slice_in_dim(x, by, extent, 1, d), lax::slice_in_dim(x, 0, by, 1, d)}, d);
  }

  std::mt19937 engine_;
  Mesh mesh_;
  std::vector<Input> inputs_;
  std::vector<Array> values_;
  int64_t steps_ = 0, results_ = 0;
  uint32_t body_seed_ = 0;
};

}  // namespace tessera::testing_spmd
