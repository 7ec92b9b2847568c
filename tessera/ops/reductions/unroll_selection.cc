#include "tessera/ops/reductions/unroll_selection.h"

#include <algorithm>

#include "tessera/base/dtype.h"
#include "tessera/ops/core/compare.h"
#include "tessera/ops/core/constant.h"
#include "tessera/ops/core/elementwise.h"
#include "tessera/ops/core/select.h"
#include "tessera/ops/reductions/fold_body.h"
#include "tessera/ops/reductions/fold_windows.h"
#include "tessera/ops/reductions/scalar_body.h"
#include "tessera/ops/reductions/select_and_scatter.h"
#include "tessera/ops/reductions/window_slices.h"
#include "tessera/ops/structural/broadcast.h"
#include "tessera/ops/structural/concatenate.h"
#include "tessera/ops/structural/pad.h"
#include "tessera/ops/structural/reshape.h"
#include "tessera/ops/structural/slice.h"

namespace tessera::ops {
namespace {

constexpr int64_t kMostChoices = 32;
constexpr int64_t kMostPhases = 16;

Array zero_of(const Array& x) { return Array(Literal(x.dtype(), {})); }
Array filled(const Shape& shape, const Array& scalar) {
  return lax::broadcast_in_dim(scalar, shape, {});
}

class Selection {
 public:
  Selection(const SelectAndScatterParams& p, const Array& x, const Array& source)
      : p_(p), x_(x), source_(source), place_(places()) {}

  // Returns the sums, which begin with `init`.
  Array run(const Array& init) const {
    Array sums = by_remainder(0, Dims(p_.size.size(), 0), init);
    const Shape& shape = x_.shape();
    return lax::slice(sums, p_.low, ends(shape));
  }

 private:
  Dims ends(const Shape& shape) const {
    Dims out = p_.low;
    for (size_t d = 0; d < shape.size(); ++d) out[d] += shape[d];
    return out;
  }

  // Returns the number of the position that each window selects, in row-major order; -1 if the
  // window has only padding.
  Array places() const {
    const bool padded =
        std::any_of(p_.low.begin(), p_.low.end(), [](int64_t n) { return n != 0; }) ||
        std::any_of(p_.high.begin(), p_.high.end(), [](int64_t n) { return n != 0; });
    const Windows windows = p_.windows();
    const WindowSlices elements(x_, zero_of(x_), windows);
    const Array inside = filled(x_.shape(), Array(Literal::scalar(true)));
    const WindowSlices valid(inside, Array(Literal::scalar(false)), windows);
    Array best, place, found;
    int32_t k = 0;
    each_place(p_.size, [&](const Dims& at) {
      const Array taken = elements.at(at);
      const Array number = filled(elements.shape(), Array(Literal::scalar(k++)));
      if (!best.defined()) {
        best = taken;
        found = padded ? valid.at(at) : Array();
        const Array none = filled(elements.shape(), Array(Literal::scalar(int32_t{-1})));
        place = padded ? lax::select(found, number, none) : number;
        return;
      }
      Array keeps = p_.kind == SelectKind::kGe ? lax::ge(best, taken) : lax::le(best, taken);
      if (padded) {
        const Array exists = valid.at(at);
        keeps = lax::bitwise_or(lax::bitwise_and(keeps, found), lax::bitwise_not(exists));
        found = lax::bitwise_or(found, exists);
      }
      best = lax::select(keeps, best, taken);
      place = lax::select(keeps, place, number);
    });
    return place;
  }

  // Returns the sums for all positions q * stride + remainder, where dimensions from d on run
  // through all remainders, whose sums are interleaved.
  Array by_remainder(int64_t d, Dims remainder, const Array& init) const {
    if (d == p_.size.rank()) return sums_at(remainder, init);
    if (p_.strides[d] == 1) return by_remainder(d + 1, remainder, init);
    std::vector<Array> parts;
    for (remainder[d] = 0; remainder[d] < p_.strides[d]; ++remainder[d])
      parts.push_back(lax::expand_dims(by_remainder(d + 1, remainder, init), {d + 1}));
    Shape shape = parts[0].shape();
    shape.erase(shape.begin() + d + 1);
    shape[d] *= p_.strides[d];
    return lax::reshape(lax::concatenate(parts, d + 1), shape);
  }

  // Returns how many rows q a remainder has, so that all elements of x are covered.
  int64_t rows(int64_t d) const { return ceil_div(x_.shape()[d] + p_.low[d], p_.strides[d]); }

  // Returns at row q the sum, over m, of what windows q - m contribute at position remainder + m *
  // stride.
  Array sums_at(const Dims& remainder, const Array& init) const {
    const int64_t rank = p_.size.rank();
    Dims count, zeros(p_.size.size(), 0);
    Shape shape;
    for (int64_t d = 0; d < rank; ++d) {
      count.push_back(std::max<int64_t>(0, ceil_div(p_.size[d] - remainder[d], p_.strides[d])));
      shape.push_back(rows(d));
    }
    Array sum = filled(shape, init);
    const Dims number = row_major_strides(p_.size);
    each_place(count, [&](const Dims& reversed) {
      int64_t k = 0;
      Dims low, high;
      // The first window comes first, in the order in which the definition adds them.
      for (int64_t d = 0; d < rank; ++d) {
        const int64_t m = count[d] - 1 - reversed[d];
        k += (remainder[d] + m * p_.strides[d]) * number[d];
        low.push_back(m);
        high.push_back(rows(d) - source_.shape()[d] - m);
      }
      const Array here = filled(place_.shape(), Array(Literal::scalar(static_cast<int32_t>(k))));
      const Array part =
          lax::select(lax::eq(place_, here), source_, filled(source_.shape(), zero_of(source_)));
      sum = lax::add(sum, lax::pad(part, zero_of(source_), low, high));
    });
    return sum;
  }

  const SelectAndScatterParams& p_;
  Array x_, source_, place_;
};

}  // namespace

FlatFn unrolled_selection(const OpParams& params, std::span<const Type> operands, const Type&) {
  const auto& p = params.as<SelectAndScatterParams>();
  const DType dtype = operands[0].dtype;
  if (dtype == bool_ || is_narrow(dtype) || operands[0].elements() == 0 ||
      operands[1].elements() == 0 ||
      std::any_of(p.low.begin(), p.low.end(), [](int64_t n) { return n < 0; }))
    return nullptr;
  if (p.kind != SelectKind::kCustom && !p.scatter && p.size.elements() <= kMostChoices &&
      p.strides.elements() <= kMostPhases)
    return [p](const std::vector<Array>& x) {
      return std::vector<Array>{Selection(p, x[0], x[1]).run(x[2])};
    };
  SelectAndScatterParams q = p;
  for (FunctionRef* body : {&q.select, &q.scatter}) {
    if (!*body) continue;
    *body = scalar_body(**body);
    if (!is_elementwise(**body)) return nullptr;
  }
  return [q](const std::vector<Array>& x) {
    return std::vector<Array>{selected_and_scattered(q, x[0], x[1], x[2])};
  };
}

}  // namespace tessera::ops
