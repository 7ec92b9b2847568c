#include "tessera/runtime/convolutions/conv_product.h"

#include <algorithm>

#include "tessera/base/thread_pool.h"
#include "tessera/runtime/products/gemm_panels.h"
#include "tessera/runtime/step_code.h"

namespace tessera::runtime {
namespace {

// Of an image. With more pixels or, unless it is one pixel, with a larger kernel the library's own
// order of the kernel pays.
constexpr int64_t kFewPixels = 16, kSmallKernel = int64_t{1} << 16, kFewestOutputs = 16;

// Returns whether the pixels of all images, in order, are rows of `features` adjacent elements.
bool is_matrix(const ConvTensor& x, const ConvShape& shape, int64_t features) {
  int64_t stride = features;
  if (features > 1 && x.minor != 1) return false;
  for (size_t d = shape.dims.size(); d-- > 0;) {
    if (shape.dims[d].out > 1 && x.spatial[d] != stride) return false;
    stride *= shape.dims[d].out;
  }
  return shape.batch == 1 || x.major == stride;
}

}  // namespace

std::optional<ConvProduct> ConvProduct::make(const ConvShape& s) {
  int64_t pixels = 1;
  for (const ConvShape::Dim& d : s.dims) {
    if (d.window != 1 || d.stride != 1 || d.low != 0 || d.in_dilation != 1 || d.in != d.out)
      return std::nullopt;
    pixels *= d.out;
  }
  if (!has_gemm_rows() || s.groups != 1 || pixels > kFewPixels ||
      (pixels > 1 && s.inputs * s.outputs > kSmallKernel) || s.outputs < kFewestOutputs ||
      s.inputs < 1 || s.rhs.major != 1 || (s.inputs > 1 && s.rhs.minor != s.outputs) ||
      !is_matrix(s.lhs, s, s.inputs) || !is_matrix(s.out, s, s.outputs))
    return std::nullopt;
  ConvProduct out;
  out.rows_ = s.batch * pixels;
  out.columns_ = s.outputs;
  out.terms_ = s.inputs;
  return out;
}

void ConvProduct::run(const float* lhs, const float* rhs, float* out) const {
  constexpr double kByteNs = 0.025, kMultiplicationNs = 0.012, kCores = 8;
  constexpr int64_t kLeastColumns = 64, kMostRows = 64;
  const auto kernel = static_cast<double>(columns_ * terms_);
  const double ns =
      std::max(4 * kernel * kByteNs, kernel * static_cast<double>(rows_) * kMultiplicationNs);
  const auto compute = [&](int64_t row, int64_t rows, int64_t column, int64_t columns) {
    gemm_rows(rows, columns, terms_,
              {reinterpret_cast<const std::byte*>(lhs + row * terms_), terms_, 1},
              {reinterpret_cast<const std::byte*>(rhs + column), columns_, 1},
              out + row * columns_ + column, columns_);
  };
  ThreadPool& pool = thread_pool();
  const bool awake = pool.awake();
  if (ns < kInlineNs || (ns < kTaskNs && !awake)) return compute(0, rows_, 0, columns_);
  const auto wanted = static_cast<int64_t>(std::clamp(ns / kShortTaskNs, 2.0, kCores));
  const int64_t columns = std::min(
                    columns_, ceil_div(ceil_div(columns_, wanted), kLeastColumns) * kLeastColumns),
                across = ceil_div(columns_, columns), down = ceil_div(rows_, kMostRows);
  const auto task = [&](int64_t t) {
    const int64_t row = t % down * kMostRows, column = t / down * columns;
    compute(row, std::min(kMostRows, rows_ - row), column, std::min(columns, columns_ - column));
  };
  ns < kTaskNs ? pool.parallel_for_awake(across * down, task)
               : pool.parallel_for(across * down, task);
}

}  // namespace tessera::runtime
