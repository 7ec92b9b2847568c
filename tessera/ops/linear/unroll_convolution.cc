#include "tessera/ops/linear/unroll_convolution.h"

#include <algorithm>
#include <utility>

#include "tessera/base/dtype.h"
#include "tessera/ops/core/convert.h"
#include "tessera/ops/core/elementwise.h"
#include "tessera/ops/linear/convolution.h"
#include "tessera/ops/reductions/reduce.h"
#include "tessera/ops/reductions/window_slices.h"
#include "tessera/ops/structural/broadcast.h"
#include "tessera/ops/structural/concatenate.h"
#include "tessera/ops/structural/reshape.h"
#include "tessera/ops/structural/slice.h"

namespace tessera::ops {
namespace {

// The most slices that are summed. (A kernel has at most 600 ops.)
constexpr int64_t kMostTerms = 128;
// The most results of one example that are computed as one sum each.
constexpr int64_t kMostSums = 16;
// From these on, sliding sums (runtime/convolutions/conv_windows.h) are faster than slices for
// lines of float64.
constexpr int64_t kLeastSlidingTerms = 8, kLeastSlidingSums = 4096;

class UnrolledConvolution {
 public:
  UnrolledConvolution(const ConvolutionParams& p, const Shape& lhs, const Shape& rhs)
      : p_(p), windows_(Windows::of_size(Dims(lhs.size(), 1))) {
    if (p.batch_group_count > 1) {
      // The batch of lhs are the features. Its features are the images, all of a window.
      std::swap(p_.lhs_spec[0], p_.lhs_spec[1]);
      windows_.size[p_.lhs_spec[0]] = lhs[p_.lhs_spec[0]];
    }
    for (size_t d = 0; d < p.strides.size(); ++d) {
      const auto at = static_cast<size_t>(p.lhs_spec[d + 2]);
      windows_.size[at] = rhs[p.rhs_spec[d + 2]];
      windows_.strides[at] = p.strides[d];
      windows_.window_dilation[at] = p.rhs_dilation[d];
      windows_.low[at] = p.low[d];
      windows_.high[at] = p.high[d];
    }
  }

  Array run(const Array& lhs, const Array& rhs, DType sum, const Shape& result) const {
    const Array x = lax::convert_element_type(lhs, sum), w = lax::convert_element_type(rhs, sum);
    const Array out = few_results(result) ? one_by_one(x, w) : term_by_term(x, w);
    // The dimensions are in the order of lhs; the result has an order of its own.
    Dims permutation(result.size(), 0);
    for (size_t d = 0; d < result.size(); ++d) permutation[p_.out_spec[d]] = p_.lhs_spec[d];
    return lax::convert_element_type(lax::transpose(out, permutation), p_.result);
  }
  bool few_terms() const { return windows_.size.elements() <= kMostTerms; }
  // Returns whether the window, an image for a gradient by the kernel, has no more places than the
  // result, the gradient.
  bool has_small_image(const Shape& result) const {
    int64_t window = 1, places = 1;
    for (size_t d = 2; d < p_.lhs_spec.size(); ++d) {
      window *= windows_.size[p_.lhs_spec[d]];
      places *= result[p_.out_spec[d]];
    }
    return window <= places;
  }
  // Returns whether the windows of a long line of one feature are moved by one element at a time.
  bool slides(const Shape& result) const {
    return p_.strides.size() == 1 && p_.strides[0] == 1 &&
           windows_.size.elements() >= kLeastSlidingTerms &&
           result[p_.out_spec[2]] >= kLeastSlidingSums;
  }
  // Returns whether each example has few results. The size of the batch does not matter, so that an
  // example has the same bits in every batch.
  bool few_results(const Shape& result) const {
    return !few_terms() && result.elements() / result[p_.out_spec[0]] <= kMostSums;
  }

 private:
  static Array zero_of(const Array& x) { return Array(Literal(x.dtype(), {})); }

  Array term_by_term(const Array& x, const Array& w) const {
    const WindowSlices slices(x, zero_of(x), windows_);
    Array out;
    each_place(windows_.size, [&](const Dims& place) {
      const Array factor =
          lax::broadcast_in_dim(elements(w, place), slices.shape(), {p_.lhs_spec[1]});
      const Array term = lax::mul(slices.at(place), factor);
      out = out.defined() ? lax::add(out, term) : term;
    });
    return out;
  }

  // Returns for each feature the element of its kernel at this place of the window.
  Array elements(const Array& w, const Dims& place) const {
    Dims start(place.size(), 0);
    for (size_t d = 0; d < p_.strides.size(); ++d) {
      const int64_t k = place[p_.lhs_spec[d + 2]], at = p_.rhs_spec[d + 2];
      start[at] = p_.reversal[d] != 0 ? w.shape()[at] - 1 - k : k;
    }
    start[p_.rhs_spec[1]] = place[p_.lhs_spec[0]];
    Dims limit = start;
    for (int64_t& d : limit) ++d;
    const int64_t features = w.shape()[p_.rhs_spec[0]];
    limit[p_.rhs_spec[0]] = features;
    return lax::reshape(lax::slice(w, start, limit), {features});
  }

  Array one_by_one(const Array& x, const Array& w) const {
    // These windows have one place for each result, and stride and dilation are exchanged. The
    // slice at a place contains the elements of lhs that the whole kernel reads for that result.
    Windows turned = Windows::of_size(window_shape("unroll_windows", x.shape(), windows_));
    const int64_t batch = p_.lhs_spec[0];
    turned.size[batch] = 1;
    turned.strides = windows_.window_dilation;
    turned.window_dilation = windows_.strides;
    turned.low = windows_.low;
    turned.high = windows_.high;
    const WindowSlices slices(x, zero_of(x), turned);
    const Array kernel = in_order_of_lhs(w);
    Shape taken_shape = kernel.shape();
    taken_shape[batch] = x.shape()[batch];
    Dims summed;
    for (int64_t d = 0; d < taken_shape.rank(); ++d)
      if (d != batch) summed.push_back(d);
    std::vector<Array> sums;
    each_place(turned.size, [&](const Dims& place) {
      const Array taken = lax::slice(slices.at(place), Dims(place.size(), 0), taken_shape);
      const Array factor =
          lax::broadcast_in_dim(kernel, taken_shape, iota_dims(taken_shape.rank()));
      const Array sum = lax::reduce_sum(lax::mul(taken, factor), summed);
      sums.push_back(lax::reshape(sum, {taken_shape[batch], 1}));
    });
    // The sums have the batch first and then the other dimensions of lhs.
    Shape shape = {taken_shape[batch]};
    Dims permutation(taken_shape.size(), 0);
    for (int64_t d : summed) {
      permutation[d] = shape.rank();
      shape.push_back(turned.size[d]);
    }
    return lax::transpose(lax::reshape(lax::concatenate(sums, 1), shape), permutation);
  }

  Array in_order_of_lhs(const Array& w) const {
    Dims permutation(w.shape().size(), 0), reversed;
    for (size_t d = 0; d < w.shape().size(); ++d) permutation[p_.lhs_spec[d]] = p_.rhs_spec[d];
    for (size_t d = 0; d < p_.strides.size(); ++d)
      if (p_.reversal[d] != 0) reversed.push_back(p_.lhs_spec[d + 2]);
    const Array turned = lax::transpose(w, permutation);
    return reversed.empty() ? turned : lax::rev(turned, reversed);
  }

  ConvolutionParams p_;
  Windows windows_;
};

// Returns whether each feature has a kernel of its own. The features are those of lhs. If the
// convolution is the gradient of such a one by the kernel, they are its batch; both operands must
// have them last.
bool separates_features(const ConvolutionParams& p, const Shape& lhs, const Shape& rhs) {
  const int64_t outputs = rhs[p.rhs_spec[0]], last = lhs.rank() - 1;
  if (p.batch_group_count == 1)
    return lhs[p.lhs_spec[1]] == p.feature_group_count && outputs == p.feature_group_count;
  return lhs[p.lhs_spec[0]] == p.batch_group_count && outputs == p.batch_group_count &&
         p.lhs_spec[0] == last && p.rhs_spec[0] == last;
}

}  // namespace

FlatFn unrolled_convolution(const OpParams& params, std::span<const Type> operands,
                            const Type& result) {
  const auto& p = params.as<ConvolutionParams>();
  const Shape &lhs = operands[0].shape, &rhs = operands[1].shape;
  const bool by_batch = p.batch_group_count > 1;
  const int64_t features = by_batch ? p.batch_group_count : p.feature_group_count;
  if (!separates_features(p, lhs, rhs)) return nullptr;
  if (lhs.elements() == 0 || rhs.elements() == 0 || result.elements() == 0) return nullptr;
  const auto is_one = [](int64_t d) { return d == 1; };
  if (!std::all_of(p.lhs_dilation.begin(), p.lhs_dilation.end(), is_one)) return nullptr;
  const DType in = operands[0].dtype, out = p.result;
  if (in != operands[1].dtype || in == bool_ || out == bool_ || is_narrow(in) || is_narrow(out))
    return nullptr;
  const UnrolledConvolution unrolled(p, lhs, rhs);
  DType sum = itemsize(in) > itemsize(out) ? in : out;
  if (is_half(sum)) sum = float32;
  const bool few_results = features == 1 && unrolled.few_results(result.shape);
  // oneDNN computes several features in float32. If the images of a gradient by the kernel have no
  // more pixels than the kernel, it would compute one feature after the other.
  if (features > 1 && sum == float32 && !(by_batch && unrolled.has_small_image(result.shape)))
    return nullptr;
  if (features == 1 && in == float64 && unrolled.slides(result.shape)) return nullptr;
  if (!unrolled.few_terms() && !few_results) return nullptr;
  return [p, sum, shape = result.shape](const std::vector<Array>& x) {
    const UnrolledConvolution unrolled(p, x[0].shape(), x[1].shape());
    return std::vector<Array>{unrolled.run(x[0], x[1], sum, shape)};
  };
}

}  // namespace tessera::ops
