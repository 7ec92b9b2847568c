#include "tessera/ops/linear/product_convolution.h"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "tessera/base/dtype.h"
#include "tessera/ops/linear/convolution.h"
#include "tessera/ops/linear/dot_general.h"
#include "tessera/ops/linear/unroll_dot.h"
#include "tessera/ops/structural/reshape.h"
#include "tessera/ops/structural/slice.h"

namespace tessera::ops {
namespace {

enum class Form : uint8_t { kPatches, kTransposed, kPatchesKernel, kTransposedKernel };

struct SplitDim {
  Form form;
  int64_t windows, window;  // n, d
};

struct Extents {
  int64_t lhs, rhs, out;
};

// Returns the form of spatial dimension d, or nullopt if it has none of the four.
std::optional<SplitDim> form_of(const ConvolutionParams& p, size_t d, const Extents& n) {
  const int64_t stride = p.strides[d], by = p.lhs_dilation[d], apart = p.rhs_dilation[d];
  const bool reversed = p.reversal[d] != 0;
  if (by == 1 && apart == 1 && p.low[d] == 0 && stride == n.rhs && n.out * stride <= n.lhs)
    return SplitDim{Form::kPatches, n.out, n.rhs};
  if (stride == 1 && apart == 1 && n.rhs == by && p.low[d] == by - 1 && n.out == n.lhs * by)
    return SplitDim{Form::kTransposed, n.lhs, by};
  if (reversed) return std::nullopt;
  if (stride == 1 && by == 1 && p.low[d] == 0 && apart == n.out && n.rhs * apart <= n.lhs)
    return SplitDim{Form::kPatchesKernel, n.rhs, apart};
  if (stride == 1 && apart == 1 && n.out == by && p.low[d] == by - 1 && n.rhs == n.lhs * by)
    return SplitDim{Form::kTransposedKernel, n.lhs, by};
  return std::nullopt;
}

// An operand with its dimensions named, as in einsum.
struct Named {
  Array x;
  std::vector<int> names;
};

class ProductConvolution {
 public:
  // `unrolled` says whether the product is a sum of outer products (unroll_dot.h).
  ProductConvolution(const ConvolutionParams& p, std::vector<SplitDim> dims, bool unrolled)
      : p_(p), dims_(std::move(dims)), unrolled_(unrolled) {}

  Array run(const Array& lhs, const Array& rhs) const {
    const Named a = split(cropped(lhs), p_.lhs_spec, {kBatch, kInput}, &ProductConvolution::in_lhs);
    const Named b =
        split(reversed(rhs), p_.rhs_spec, {kOutput, kInput}, &ProductConvolution::in_rhs);
    lax::DotDims dot;
    std::vector<int> made;
    for (size_t i = 0; i < a.names.size(); ++i) {
      const auto at = std::ranges::find(b.names, a.names[i]);
      if (at == b.names.end()) {
        made.push_back(a.names[i]);
      } else {
        dot.lhs_contract.push_back(static_cast<int64_t>(i));
        dot.rhs_contract.push_back(at - b.names.begin());
      }
    }
    for (int name : b.names)
      if (std::ranges::find(a.names, name) == a.names.end()) made.push_back(name);
    const Array product = unrolled_ ? sum_of_outer_products(a.x, b.x, dot)
                                    : lax::dot_general(a.x, b.x, dot, p_.result);
    return joined({product, std::move(made)});
  }

 private:
  // The names of the dimensions: one for the batch and each kind of features, and two for each
  // spatial dimension.
  static constexpr int kBatch = 0, kInput = 1, kOutput = 2, kFirstWindow = 3;
  static int window(size_t d) { return kFirstWindow + 2 * static_cast<int>(d); }
  static int place(size_t d) { return window(d) + 1; }
  using Parts = std::vector<int>;
  Parts in_lhs(size_t d) const {
    switch (dims_[d].form) {
      case Form::kPatches:
      case Form::kPatchesKernel:
        return {window(d), place(d)};
      case Form::kTransposed:
      case Form::kTransposedKernel:
        return {window(d)};
    }
    return {};
  }
  Parts in_rhs(size_t d) const {
    switch (dims_[d].form) {
      case Form::kPatches:
      case Form::kTransposed:
        return {place(d)};
      case Form::kPatchesKernel:
        return {window(d)};
      case Form::kTransposedKernel:
        return {window(d), place(d)};
    }
    return {};
  }
  Parts in_out(size_t d) const {
    switch (dims_[d].form) {
      case Form::kPatches:
        return {window(d)};
      case Form::kTransposed:
        return {window(d), place(d)};
      case Form::kPatchesKernel:
      case Form::kTransposedKernel:
        return {place(d)};
    }
    return {};
  }

  // Returns lhs without the elements behind the last window.
  Array cropped(const Array& lhs) const {
    Dims limit(lhs.shape().begin(), lhs.shape().end());
    for (size_t d = 0; d < dims_.size(); ++d)
      if (in_lhs(d).size() == 2) limit[p_.lhs_spec[d + 2]] = dims_[d].windows * dims_[d].window;
    return limit == lhs.shape() ? lhs : lax::slice(lhs, Dims(limit.size(), 0), limit);
  }

  // Returns rhs reversed in the dimensions in which an element of the result in a window reads the
  // kernel from the other end: either the convolution reverses the kernel, or lhs is dilated.
  Array reversed(const Array& rhs) const {
    Dims dims;
    for (size_t d = 0; d < dims_.size(); ++d) {
      const bool turned = dims_[d].form == Form::kTransposed;
      if (turned != (p_.reversal[d] != 0)) dims.push_back(p_.rhs_spec[d + 2]);
    }
    return dims.empty() ? rhs : lax::rev(rhs, dims);
  }

  Named split(const Array& x, const Dims& spec, std::array<int, 2> first,
              Parts (ProductConvolution::*parts_of)(size_t) const) const {
    Named out;
    Shape shape;
    for (int64_t at = 0; at < x.ndim(); ++at) {
      const auto i = static_cast<size_t>(std::ranges::find(spec, at) - spec.begin());
      if (i < 2) {
        out.names.push_back(first[i]);
        shape.push_back(x.shape()[at]);
        continue;
      }
      const Parts parts = (this->*parts_of)(i - 2);
      out.names.insert(out.names.end(), parts.begin(), parts.end());
      if (parts.size() == 2) {
        shape.push_back(dims_[i - 2].windows);
        shape.push_back(dims_[i - 2].window);
      } else {
        shape.push_back(x.shape()[at]);
      }
    }
    out.x = lax::reshape(x, shape);
    return out;
  }

  Array joined(const Named& product) const {
    Dims order(product.names.size(), 0), turned;
    Shape shape;
    size_t at = 0;
    const auto take = [&](int name) {
      const auto found = std::ranges::find(product.names, name) - product.names.begin();
      order[at++] = found;
      return product.x.shape()[found];
    };
    for (int64_t dim = 0; dim < static_cast<int64_t>(p_.out_spec.size()); ++dim) {
      const auto i = static_cast<size_t>(std::ranges::find(p_.out_spec, dim) - p_.out_spec.begin());
      if (i < 2) {
        shape.push_back(take(i == 0 ? kBatch : kOutput));
        continue;
      }
      int64_t extent = 1;
      for (int name : in_out(i - 2)) extent *= take(name);
      shape.push_back(extent);
      if (dims_[i - 2].form == Form::kTransposedKernel) turned.push_back(dim);
    }
    const Array out = lax::reshape(lax::transpose(product.x, order), shape);
    return turned.empty() ? out : lax::rev(out, turned);
  }

  const ConvolutionParams& p_;
  std::vector<SplitDim> dims_;
  bool unrolled_;
};

std::optional<std::vector<SplitDim>> forms_of(const ConvolutionParams& p, const Shape& lhs,
                                              const Shape& rhs, const Shape& result) {
  std::vector<SplitDim> out;
  for (size_t d = 0; d < p.strides.size(); ++d) {
    const auto form =
        form_of(p, d, {lhs[p.lhs_spec[d + 2]], rhs[p.rhs_spec[d + 2]], result[p.out_spec[d + 2]]});
    if (!form) return std::nullopt;
    out.push_back(*form);
  }
  return out;
}

// Returns whether the product of this form is faster than oneDNN (`library`) or than products of
// windows (runtime/convolutions/conv_windows.h), as measured on two cores with AVX-512. Products of
// windows read patches of an image in place. oneDNN has code for all forms except the last, for
// which it took 30 to 170 times as long as the product.
bool faster_as_product(const SplitDim& dim, bool library) {
  if (dim.window == 1) return false;
  switch (dim.form) {
    case Form::kPatches:
      return false;
    case Form::kTransposed:
    case Form::kPatchesKernel:
      return !library;
    case Form::kTransposedKernel:
      return true;
  }
  return false;
}

// If the convolution is the gradient, by the kernel, of one by windows of one place, and both
// operands have their features last, returns the number of pixels that it sums over; otherwise
// nullopt. It is a product of matrices that are read where they are.
std::optional<int64_t> summed_pixels(const ConvolutionParams& p, const std::vector<SplitDim>& dims,
                                     int64_t images) {
  const auto last = static_cast<int64_t>(dims.size()) + 1;
  if (p.lhs_spec[0] != last || p.rhs_spec[0] != last) return std::nullopt;
  int64_t pixels = images;
  for (const SplitDim& dim : dims) {
    // An image of one pixel is one window.
    if (dim.window != 1 || (dim.form != Form::kPatchesKernel && dim.windows != 1))
      return std::nullopt;
    pixels *= dim.windows;
  }
  return pixels;
}

}  // namespace

FlatFn product_convolution(const OpParams& params, std::span<const Type> operands,
                           const Type& result) {
  const auto& p = params.as<ConvolutionParams>();
  if (p.feature_group_count != 1 || p.batch_group_count != 1) return nullptr;
  const Shape &lhs = operands[0].shape, &rhs = operands[1].shape;
  if (lhs.elements() == 0 || rhs.elements() == 0 || result.elements() == 0) return nullptr;
  const DType in = operands[0].dtype;
  if (in != operands[1].dtype || in == bool_ || p.result == bool_ || is_narrow(in) ||
      is_narrow(p.result))
    return nullptr;
  const auto dims = forms_of(p, lhs, rhs, result.shape);
  if (!dims) return nullptr;
  const bool library = (in == float32 || is_half(in)) && dims->size() <= 3;
  const auto faster = [&](const SplitDim& d) { return faster_as_product(d, library); };
  // oneDNN computes a gradient by the kernel in an order of its own, and then copies it.
  constexpr int64_t kFewPixels = 512, kFewestPixels = 8;
  const std::optional<int64_t> pixels = in == float32 && p.result == float32
                                            ? summed_pixels(p, *dims, lhs[p.lhs_spec[1]])
                                            : std::nullopt;
  if ((!pixels || *pixels > kFewPixels) && std::ranges::none_of(*dims, faster)) return nullptr;
  const bool unrolled = pixels && *pixels <= kFewestPixels;
  return [p, unrolled, dims = *dims](const std::vector<Array>& x) {
    return std::vector<Array>{ProductConvolution(p, dims, unrolled).run(x[0], x[1])};
  };
}

}  // namespace tessera::ops
