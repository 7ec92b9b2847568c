#include "tessera/runtime/convolutions/conv_windows.h"

#include <algorithm>
#include <type_traits>

#include "tessera/base/buffer.h"
#include "tessera/base/format.h"
#include "tessera/base/thread_pool.h"
#include "tessera/base/visit_dtype.h"
#include "tessera/base/workspace.h"
#include "tessera/ops/core/scalar_fold.h"
#include "tessera/runtime/convolutions/sliding_sums.h"
#include "tessera/runtime/products/gemm.h"
#include "tessera/runtime/products/gemm_parts.h"
#include "tessera/runtime/step_code.h"

namespace tessera::runtime {
namespace {

// Integers wrap, so signed and unsigned ones of a width are the same numbers unless they are
// widened.
template <class T>
struct Unsigned {
  using type = T;
};
template <class T>
requires kInt<T>
struct Unsigned<T> {
  using type = std::make_unsigned_t<T>;
};

template <class From, class To>
constexpr bool kAlike = kInt<From> == kInt<To>&& is_complex_type<From> == is_complex_type<To> &&
                        !std::is_same_v<From, bool> && !std::is_same_v<To, bool>;

// Calls f with the types of operands and of their copies, which are as wide or wider.
template <class F>
void visit_operand(DType in, DType copy, F&& f) {
  bool visited = false;
  visit_dtype(in, [&]<class In>(TypeTag<In>) {
    visit_dtype(copy, [&]<class Copy>(TypeTag<Copy>) {
      if constexpr (kAlike<In, Copy> && sizeof(In) <= sizeof(Copy) && !kHalf<Copy>) {
        using Word = typename Unsigned<Copy>::type;
        f(TypeTag<std::conditional_t<kInt<In> && sizeof(In) == sizeof(Copy), Word, In>>{},
          TypeTag<Word>{});
        visited = true;
      }
    });
  });
  TESSERA_CHECK(visited, "windows of {} copied as {}", in, copy);
}

// Copies n elements, which are `step` apart.
template <class From, class To>
void copy_elements(const From* in, int64_t step, int64_t n, To* out) {
  if (step == 1) {
    for (int64_t i = 0; i < n; ++i) out[i] = element_cast<To>(in[i]);
  } else {
    for (int64_t i = 0; i < n; ++i) out[i] = element_cast<To>(in[i * step]);
  }
}

// Calls f with the types of sums and of results, which are as wide or narrower.
template <class F>
void visit_result(DType sum, DType out, F&& f) {
  bool visited = false;
  visit_dtype(sum, [&]<class Sum>(TypeTag<Sum>) {
    visit_dtype(out, [&]<class Out>(TypeTag<Out>) {
      if constexpr (kAlike<Sum, Out> && sizeof(Sum) >= sizeof(Out) && !kHalf<Sum>) {
        f(TypeTag<typename Unsigned<Sum>::type>{}, TypeTag<typename Unsigned<Out>::type>{});
        visited = true;
      }
    });
  });
  TESSERA_CHECK(visited, "a convolution with sums of {} giving {}", sum, out);
}

}  // namespace

ConvWindows::ConvWindows(ConvShape shape, DType in, DType out)
    : shape_(std::move(shape)),
      in_(in),
      sum_(gemm_sum_dtype(in, out)),
      out_(out),
      operand_(gemm_operand_dtype({in, sum_})) {
  for (const ConvShape::Dim& d : shape_.dims) {
    places_ *= d.window;
    positions_ *= d.out;
  }
  k_ = places_ * shape_.inputs;
  if (slides()) {
    choose_lines();
    return;
  }
  for (const ConvShape::Dim& d : shape_.dims) {
    auto& row = index_.emplace_back();
    for (int64_t p = 0; p < d.out; ++p)
      for (int64_t k = 0; k < d.window; ++k) {
        const int64_t at = p * d.stride + k * d.window_dilation - d.low;
        const int64_t i = at / d.in_dilation;
        row.push_back(at >= 0 && at % d.in_dilation == 0 && i < d.in ? i : -1);
      }
  }
  const int64_t m = shape_.batch * positions_;
  if (m == 0) return;
  constexpr int64_t kMostRows = 128, kCacheBytes = int64_t{256} << 10;
  const double flops = 2.0 * static_cast<double>(m) * static_cast<double>(shape_.outputs) *
                       static_cast<double>(k_) * static_cast<double>(shape_.groups);
  const auto wanted = static_cast<int64_t>(std::clamp(flops * 0.04 / kTaskNs, 1.0, 64.0));
  const int64_t parts = ceil_div(wanted, shape_.groups);
  const int64_t rows =
      std::clamp<int64_t>(ceil_div(m, parts), std::min<int64_t>(m, 8), std::min(m, kMostRows));
  block_ = std::clamp<int64_t>(kCacheBytes / (rows * itemsize(operand_)), 64, 1024);
  for (int64_t g = 0; g < shape_.groups; ++g)
    for (int64_t row = 0; row < m; row += rows) tiles_.push_back({g, row, std::min(rows, m - row)});
}

bool ConvWindows::slides() const {
  return in_ == float64 && sum_ == float64 && shape_.dims.size() == 1 && shape_.inputs == 1 &&
         shape_.outputs == 1 && shape_.dims[0].stride == 1 && shape_.dims[0].in_dilation == 1;
}

// A tile is a part of one line that stays in the second-level cache.
void ConvWindows::choose_lines() {
  constexpr int64_t kMostRows = 8192;
  for (int64_t g = 0; g < shape_.groups; ++g)
    for (int64_t image = 0; image < shape_.batch; ++image)
      for (int64_t row = 0; row < positions_; row += kMostRows)
        tiles_.push_back({g, image * positions_ + row, std::min(kMostRows, positions_ - row)});
}

// Writes the kernel as (groups, taps, inputs, outputs), the order in which the products read it.
template <class From, class To>
void ConvWindows::pack_kernel(const From* rhs, To* kernel) const {
  const ConvTensor& r = shape_.rhs;
  const int64_t outputs = shape_.outputs;
  parallel_for_ranges(shape_.groups * k_,
                      std::max<int64_t>(1, 16384 / std::max<int64_t>(1, outputs)),
                      [&](int64_t begin, int64_t end) {
                        for (int64_t row = begin; row < end; ++row) {
                          int64_t tap = row % k_ / shape_.inputs,
                                  at = row / k_ * r.group + row % shape_.inputs * r.minor;
                          for (size_t d = shape_.dims.size(); d-- > 0;) {
                            const ConvShape::Dim& dim = shape_.dims[d];
                            const int64_t k = tap % dim.window;
                            tap /= dim.window;
                            at += (dim.reversed ? dim.window - 1 - k : k) * r.spatial[d];
                          }
                          copy_elements(rhs + at, r.major, outputs, kernel + row * outputs);
                        }
                      });
}

// Copies the elements [begin, end) of the tile's windows, one window in each row.
template <class From, class To>
void ConvWindows::lay_windows(const From* lhs, To* patches, const Tile& tile, int64_t begin,
                              int64_t end) const {
  const ConvTensor& l = shape_.lhs;
  const size_t rank = shape_.dims.size();
  const int64_t inputs = shape_.inputs;
  for (int64_t row = 0; row < tile.rows; ++row) {
    int64_t position = (tile.row + row) % positions_;
    const From* image = lhs + (tile.row + row) / positions_ * l.major + tile.group * l.group;
    Dims at(rank, 0);
    for (size_t d = rank; d-- > 0;) {
      at[d] = position % shape_.dims[d].out * shape_.dims[d].window;
      position /= shape_.dims[d].out;
    }
    Dims tap(rank, 0);
    for (int64_t rest = begin / inputs, d = static_cast<int64_t>(rank); d-- > 0;) {
      tap[d] = rest % shape_.dims[d].window;
      rest /= shape_.dims[d].window;
    }
    To* out = patches + row * (end - begin);
    for (int64_t k = begin; k < end;) {
      const int64_t first = k % inputs, count = std::min(inputs - first, end - k);
      int64_t offset = 0;
      bool inside = true;
      for (size_t d = 0; d < rank; ++d) {
        const int64_t i = index_[d][static_cast<size_t>(at[d] + tap[d])];
        inside &= i >= 0;
        offset += i * l.spatial[d];
      }
      if (inside) {
        copy_elements(image + offset + first * l.minor, l.minor, count, out);
      } else {
        std::fill_n(out, count, To{});
      }
      out += count;
      k += count;
      for (size_t d = rank; d-- > 0 && ++tap[d] == shape_.dims[d].window;) tap[d] = 0;
    }
  }
}

template <class From, class To>
void ConvWindows::store(const From* sums, To* out, const Tile& tile) const {
  const ConvTensor& y = shape_.out;
  for (int64_t row = 0; row < tile.rows; ++row) {
    int64_t position = (tile.row + row) % positions_,
            at = (tile.row + row) / positions_ * y.major + tile.group * y.group;
    for (size_t d = shape_.dims.size(); d-- > 0;) {
      at += position % shape_.dims[d].out * y.spatial[d];
      position /= shape_.dims[d].out;
    }
    const From* in = sums + row * shape_.outputs;
    if (y.minor == 1) {
      copy_elements(in, 1, shape_.outputs, out + at);
    } else {
      for (int64_t o = 0; o < shape_.outputs; ++o) out[at + o * y.minor] = element_cast<To>(in[o]);
    }
  }
}

void ConvWindows::slide(const double* lhs, const double* kernel, void* out,
                        const Tile& tile) const {
  const ConvShape::Dim& dim = shape_.dims[0];
  const int64_t apart = shape_.lhs.spatial[0], first = tile.row % positions_ - dim.low,
                count = tile.rows + (dim.window - 1) * dim.window_dilation,
                begin = std::clamp<int64_t>(-first, 0, count),
                end = std::clamp<int64_t>(dim.in - first, begin, count);
  const double* line =
      lhs + tile.row / positions_ * shape_.lhs.major + tile.group * shape_.lhs.group;
  const ConvTensor& y = shape_.out;
  const bool in_place = apart == 1 && begin == 0 && end == count,
             stores = out_ != float64 || y.spatial[0] != 1;
  const int64_t copied = in_place ? 0 : count, stored = stores ? tile.rows : 0;
  const Workspace<double> work(copied + stored);
  double* copy = work.data();
  if (!in_place) {
    std::fill_n(copy, begin, 0.0);
    for (int64_t i = begin; i < end; ++i) copy[i] = line[(first + i) * apart];
    std::fill_n(copy + end, count - end, 0.0);
  }
  const int64_t at =
      tile.row / positions_ * y.major + tile.group * y.group + tile.row % positions_ * y.spatial[0];
  double* sums = stores ? copy + copied : static_cast<double*>(out) + at;
  sliding_sums(in_place ? line + first : copy, tile.rows, kernel + tile.group * k_, dim.window,
               dim.window_dilation, sums);
  if (!stores) return;
  visit_result(float64, out_, [&]<class From, class To>(TypeTag<From>, TypeTag<To>) {
    for (int64_t i = 0; i < tile.rows; ++i)
      static_cast<To*>(out)[at + i * y.spatial[0]] = element_cast<To>(static_cast<From>(sums[i]));
  });
}

void ConvWindows::run(const void* lhs, const void* rhs, void* out) const {
  if (tiles_.empty() || shape_.outputs == 0) return;
  const int64_t item = itemsize(operand_), outputs = shape_.outputs;
  const Buffer kernel = Buffer::allocate(shape_.groups * k_ * outputs * item);
  visit_operand(in_, operand_, [&]<class From, class To>(TypeTag<From>, TypeTag<To>) {
    pack_kernel(static_cast<const From*>(rhs), reinterpret_cast<To*>(kernel.data()));
  });
  parallel_for(static_cast<int64_t>(tiles_.size()), [&](int64_t i) {
    const Tile& tile = tiles_[static_cast<size_t>(i)];
    if (slides())
      return slide(static_cast<const double*>(lhs), reinterpret_cast<const double*>(kernel.data()),
                   out, tile);
    const int64_t patch_bytes = ceil_div(tile.rows * std::min(block_, k_) * item, 64) * 64;
    // This is not the thread's scratch memory, because the products use that.
    const Buffer work = Buffer::allocate(patch_bytes + tile.rows * outputs * itemsize(sum_));
    std::byte* sums = work.data() + patch_bytes;
    for (int64_t k = 0; k < std::max<int64_t>(k_, 1); k += block_) {
      const int64_t width = std::min(block_, k_ - k);
      visit_operand(in_, operand_, [&]<class From, class To>(TypeTag<From>, TypeTag<To>) {
        if (width > 0)
          lay_windows(static_cast<const From*>(lhs), reinterpret_cast<To*>(work.data()), tile, k,
                      k + width);
      });
      gemm({operand_, sum_}, tile.rows, outputs, width, {work.data(), width, 1},
           {kernel.data() + (tile.group * k_ + k) * outputs * item, outputs, 1}, sums, outputs,
           k > 0);
    }
    visit_result(sum_, out_, [&]<class From, class To>(TypeTag<From>, TypeTag<To>) {
      store(reinterpret_cast<const From*>(sums), static_cast<To*>(out), tile);
    });
  });
}

}  // namespace tessera::runtime
