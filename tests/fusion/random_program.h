// Random functions of small arrays over most fusable ops, for comparing fused with evaluated
// results.
#pragma once

#include <random>

#include "fusion_testing.h"
#include "tessera/base/namespaces.h"
#include "tessera/ops/structural/concatenate.h"
#include "tessera/ops/structural/pad.h"

namespace tessera::fusion_testing {

using namespace fusion;

class RandomProgram {
 public:
  explicit RandomProgram(uint32_t seed, std::vector<int64_t> extents = {1, 2, 3, 4, 6, 8, 12})
      : engine_(seed), extents_(std::move(extents)) {}

  Function make(int ops) {
    FunctionTrace recorder("main");
    values_.clear();
    for (int k = 0; k < 3; ++k) values_.push_back(recorder.add_input(f32(random_shape())));
    start_ = recorder.add_input(array_type(int32, {}));
    for (int k = 0; k < ops; ++k) values_.push_back(step());
    Arrays outputs;
    const int count = 1 + pick(3);
    for (int k = 0; k < count; ++k)
      outputs.push_back(
          values_[values_.size() - 1 - pick(std::min<int>(5, static_cast<int>(values_.size())))]);
    return recorder.finish(outputs);
  }

 private:
  int pick(int n) { return static_cast<int>(engine_() % static_cast<uint32_t>(n)); }
  int64_t random_extent() { return extents_[pick(static_cast<int>(extents_.size()))]; }
  Shape random_shape() {
    Shape out;
    for (int d = pick(4); d > 0; --d) out.push_back(random_extent());
    return out;
  }
  // Returns a random value. Later values are more likely, so that chains grow.
  const Array& any() {
    const int n = static_cast<int>(values_.size());
    return values_[pick(2) ? n - 1 - pick(std::min(n, 4)) : pick(n)];
  }
  Array same_shape(const Shape& shape) {
    std::vector<const Array*> fits;
    for (const Array& v : values_)
      if (v.shape() == shape) fits.push_back(&v);
    if (!fits.empty() && pick(4)) return *fits[pick(static_cast<int>(fits.size()))];
    for (const Array& v : values_)
      if (v.ndim() == 0) return lax::broadcast_in_dim(v, shape, {});
    return lax::full(shape, 0.75, float32);
  }
  Dims random_dims(int64_t rank) {
    Dims out;
    for (int64_t d = 0; d < rank; ++d)
      if (pick(2)) out.push_back(d);
    if (out.empty() && rank > 0) out.push_back(pick(static_cast<int>(rank)));
    return out;
  }
  // Adds a random op. Values stay within about [-2, 2], so that errors do not grow.
  Array step() {
    const Array x = any();
    switch (pick(17)) {
      case 0:
        return lax::tanh(x);
      case 1:
        return lax::logistic(x);
      case 2:
        return lax::neg(lax::exp(lax::neg(lax::abs(x))));
      case 3:
        return lax::tanh(lax::add(x, same_shape(x.shape())));
      case 4:
        return lax::tanh(lax::mul(x, same_shape(x.shape())));
      case 5:
        return lax::select(lax::gt(x, same_shape(x.shape())), x, lax::neg(x));
      case 6:
        return broadcast(x);
      case 7:
        return transpose(x);
      case 8:
        return reshape(x);
      case 9:
        return reduce(x);
      case 10:
        return slice(x);
      case 11:
        return pad(x);
      case 12:
        return x.ndim() ? lax::rev(x, random_dims(x.ndim())) : x;
      case 13:
        return concatenate(x);
      case 14:
        return dynamic(x);
      case 15:
        return normalise(x);
      default:
        return iota(x);
    }
  }
  Array broadcast(const Array& x) {
    if (x.ndim() >= 3) return x;
    Shape shape = x.shape();
    Dims dims = iota_dims(x.ndim());
    const int at = pick(static_cast<int>(x.ndim()) + 1);
    shape.insert(shape.begin() + at, random_extent());
    for (int64_t& d : dims) d += d >= at;
    return lax::broadcast_in_dim(x, shape, dims);
  }
  Array transpose(const Array& x) {
    Dims permutation = iota_dims(x.ndim());
    std::shuffle(permutation.begin(), permutation.end(), engine_);
    return lax::transpose(x, permutation);
  }
  Array reshape(const Array& x) {
    int64_t rest = x.size();
    Shape shape;
    for (int64_t f : {2, 3, 4, 6}) {
      if (rest % f == 0 && pick(2)) {
        shape.push_back(f);
        rest /= f;
      }
    }
    shape.push_back(rest);
    std::shuffle(shape.begin(), shape.end(), engine_);
    return lax::reshape(x, shape);
  }
  Array reduce(const Array& x) {
    if (x.ndim() == 0) return x;
    const Dims dims = random_dims(x.ndim());
    switch (pick(4)) {
      case 0:
        return lax::tanh(lax::reduce_sum(x, dims));
      case 1:
        return lax::reduce_max(x, dims);
      case 2:
        return lax::reduce_min(x, dims);
      default:
        return lax::tanh(lax::convert_element_type(lax::argmax(x, dims[0]), float32));
    }
  }
  Array slice(const Array& x) {
    Dims start, limit, strides;
    for (int64_t extent : x.shape()) {
      start.push_back(pick(static_cast<int>(extent)));
      limit.push_back(start.back() + 1 + pick(static_cast<int>(extent - start.back())));
      strides.push_back(1 + pick(2));
    }
    return lax::slice(x, start, limit, strides);
  }
  Array pad(const Array& x) {
    Dims low, high, interior;
    for (int64_t extent : x.shape()) {
      low.push_back(pick(3) - (extent > 2 ? 1 : 0));
      high.push_back(pick(3) - (extent > 2 ? 1 : 0));
      interior.push_back(pick(4) ? 0 : pick(3));
    }
    return lax::pad(x, lax::full({}, 0.5, float32), low, high, interior);
  }
  Array concatenate(const Array& x) {
    if (x.ndim() == 0) return x;
    const int dim = pick(static_cast<int>(x.ndim()));
    Arrays parts = {x, same_shape(x.shape())};
    if (pick(2)) parts.push_back(slice_in(x, dim));
    return lax::concatenate(parts, dim);
  }
  Array slice_in(const Array& x, int dim) {
    return lax::slice_in_dim(x, 0, 1 + pick(static_cast<int>(x.shape()[dim])), 1, dim);
  }
  Array dynamic(const Array& x) {
    if (x.ndim() == 0) return x;
    const int dim = pick(static_cast<int>(x.ndim()));
    const int64_t size = 1 + pick(static_cast<int>(x.shape()[dim]));
    const Array part = lax::dynamic_slice_in_dim(x, start_, size, dim);
    return pick(2)
               ? part
               : lax::dynamic_update_slice_in_dim(x, lax::neg(part), lax::add(start_, start_), dim);
  }
  Array normalise(const Array& x) {
    if (x.ndim() == 0) return x;
    const Dims dims = random_dims(x.ndim());
    Dims kept;
    for (int64_t d = 0; d < x.ndim(); ++d)
      if (std::find(dims.begin(), dims.end(), d) == dims.end()) kept.push_back(d);
    const Array e = lax::exp(lax::tanh(x));
    return lax::div(e, lax::broadcast_in_dim(lax::reduce_sum(e, dims), x.shape(), kept));
  }
  Array iota(const Array& x) {
    if (x.ndim() == 0) return x;
    return lax::tanh(lax::mul(x, lax::iota(float32, x.shape(), pick(static_cast<int>(x.ndim())))));
  }

  std::mt19937 engine_;
  std::vector<int64_t> extents_;
  Arrays values_;
  Array start_;
};

}  // namespace tessera::fusion_testing
