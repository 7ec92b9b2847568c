// Dot steps: every instance's product cut into tiles, the tiles handed to the threads. How a dot is
// cut depends on its shape alone, and a tile is computed by one thread in one order, so results do
// not depend on the number of threads.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "tessera/base/buffer.h"
#include "tessera/base/error.h"
#include "tessera/base/thread_pool.h"
#include "tessera/codegen/library_gate.h"
#include "tessera/runtime/dot_operand.h"
#include "tessera/runtime/dot_shape.h"
#include "tessera/runtime/gemm.h"
#include "tessera/runtime/gemm_invariant.h"
#include "tessera/runtime/gemm_tiles.h"
#include "tessera/runtime/grid_products.h"
#include "tessera/runtime/halves.h"
#include "tessera/runtime/step_code.h"

namespace tessera::runtime {
namespace {

// Rows [i, i + m) and columns [j, j + n) of a result.
struct Tile {
  int64_t i, j, m, n;
  bool mirror = false;    // also stored transposed
  bool diagonal = false;  // its own transpose
};

constexpr int64_t kWantedTiles = 8;       // so many cores can share one dot
constexpr double kLeastTileFlops = 16e6;  // smaller tiles spend their time copying operands
constexpr int64_t kLargestTile = 1024;

// Tiles of about equal size; sides are multiples of what the kernels of oneDNN and OpenBLAS unroll
// by.
int64_t cut(int64_t size, int64_t parts, int64_t unit) {
  return std::min(size, ceil_div(ceil_div(size, parts), unit) * unit);
}

std::vector<Tile> rectangle(int64_t m, int64_t n, int64_t k, int64_t products) {
  if (m == 0 || n == 0) return {};
  int64_t rows = ceil_div(m, kLargestTile), cols = ceil_div(n, kLargestTile);
  auto flops = [&] {
    return 2.0 * static_cast<double>(m) / static_cast<double>(rows) * static_cast<double>(n) /
           static_cast<double>(cols) * static_cast<double>(std::max<int64_t>(1, k));
  };
  while (products * rows * cols < kWantedTiles && flops() > 2 * kLeastTileFlops &&
         (m / rows > 32 || n / cols > 96)) {
    (m / rows >= n / cols && m / rows > 32) || n / cols <= 96 ? rows *= 2 : cols *= 2;
  }
  const int64_t tm = cut(m, rows, 16), tn = cut(n, cols, 48);
  std::vector<Tile> tiles;
  for (int64_t i = 0; i < m; i += tm)
    for (int64_t j = 0; j < n; j += tn)
      tiles.push_back({i, j, std::min(tm, m - i), std::min(tn, n - j)});
  return tiles;
}

// The upper triangle of a symmetric result: large squares off the diagonal, halved towards it.
void triangle(int64_t begin, int64_t end, int64_t on_diagonal, std::vector<Tile>& tiles) {
  constexpr int64_t kOffDiagonal = 528;
  if (end - begin <= on_diagonal) {
    tiles.push_back({begin, begin, end - begin, end - begin, false, true});
    return;
  }
  const int64_t middle = begin + cut(end - begin, 2, 48);
  for (int64_t i = begin; i < middle; i += kOffDiagonal)
    for (int64_t j = middle; j < end; j += kOffDiagonal)
      tiles.push_back(
          {i, j, std::min(kOffDiagonal, middle - i), std::min(kOffDiagonal, end - j), true});
  triangle(begin, middle, on_diagonal, tiles);
  triangle(middle, end, on_diagonal, tiles);
}

// The half of a square tile above its diagonal, stored below it too.
template <class T>
void fill_below_diagonal(T* c, int64_t ldc, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < i; ++j) c[i * ldc + j] = c[j * ldc + i];
}

template <class T>
void mirror_tile(T* c, int64_t ldc, const Tile& t) {
  constexpr int64_t kBlock = 32;
  for (int64_t i0 = t.i; i0 < t.i + t.m; i0 += kBlock)
    for (int64_t j0 = t.j; j0 < t.j + t.n; j0 += kBlock)
      for (int64_t j = j0; j < std::min(j0 + kBlock, t.j + t.n); ++j)
        for (int64_t i = i0; i < std::min(i0 + kBlock, t.i + t.m); ++i)
          c[j * ldc + i] = c[i * ldc + j];
}

struct Conversion {
  DType from, to;
};
void convert_row(Conversion types, const std::byte* in, std::byte* out, int64_t n) {
  visit_dtype(types.from, [&]<class From>(TypeTag<From>) {
    visit_dtype(types.to, [&]<class To>(TypeTag<To>) {
      constexpr bool kFromHalf = std::is_same_v<From, Float16> || std::is_same_v<From, Bfloat16>;
      constexpr bool kToHalf = std::is_same_v<To, Float16> || std::is_same_v<To, Bfloat16>;
      const auto* x = reinterpret_cast<const From*>(in);
      auto* y = reinterpret_cast<To*>(out);
      if constexpr (kFromHalf && std::is_same_v<To, float>) {
        widen(x, y, n);
      } else if constexpr (kToHalf && std::is_same_v<From, float>) {
        narrow(x, y, n);
      } else if constexpr (kFromHalf && std::is_same_v<To, double>) {
        for (int64_t i = 0; i < n; ++i) y[i] = static_cast<float>(x[i]);
      } else if constexpr (kToHalf && std::is_same_v<From, double>) {
        for (int64_t i = 0; i < n; ++i) y[i] = To(static_cast<float>(x[i]));
      } else if constexpr (std::is_arithmetic_v<From> == std::is_arithmetic_v<To> && !kFromHalf &&
                           !kToHalf) {
        for (int64_t i = 0; i < n; ++i) y[i] = static_cast<To>(x[i]);
      } else {
        TESSERA_CHECK(false, "{} as {}", types.from, types.to);
      }
    });
  });
}

class DotCode final : public StepCode {
 public:
  DotCode(const DotStep& step, const Schedule& s)
      : DotCode(step, s,
                dot_shape(step, s.slots[static_cast<size_t>(step.lhs)].shape,
                          s.slots[static_cast<size_t>(step.rhs)].shape)) {}

  DotCode(const DotStep& step, const Schedule& s, const DotShape& shape)
      : lhs_(operand(step, s, step.lhs, shape.lhs)),
        rhs_(operand(step, s, step.rhs, shape.rhs)),
        out_(step.out),
        bias_(step.bias),
        relu_(step.activation == DotStep::Activation::kRelu),
        sum_(step.sum) {
    const Slot &lhs = s.slots[static_cast<size_t>(step.lhs)],
               &rhs = s.slots[static_cast<size_t>(step.rhs)],
               &out = s.slots[static_cast<size_t>(step.out)];
    batch_ = shape.batch;
    m_ = shape.m;
    n_ = shape.n;
    k_ = shape.k;
    choose_types(lhs.dtype, rhs.dtype, out.dtype);
    choose_sum_of_examples(step, lhs.shape, lhs.dtype);

    const AxisList outer = outer_axes(step);
    lhs_slot_ = step.lhs;
    instances_ = instance_count(s, outer);
    // How a product is cut decides in which order it is summed, so it may not depend on how many of
    // them this process has.
    products_ = (s.reproducible ? axes_size(s.mesh, outer) : instances_) * shape.batch;
    summed_ = axes_size(s.mesh, step.reduce_axes);
    join_sums();
    out_map_ = InstanceMap(s, outer, out.axes);
    if (bias_ >= 0) bias_map_ = InstanceMap(s, outer, s.slots[static_cast<size_t>(bias_)].axes);

    // A bias is added along the last dim of the result, wherever that one is in the matrices.
    bias_period_ = out.shape.empty() ? 1 : out.shape.back();
    out_bytes_ = out.bytes();
    if (step.symmetric && bias_ < 0 && n_ == m_ && !invariant()) {
      // Where the diagonal's tiles cost half, they may be larger.
      triangle(0, m_, gemm_knows_symmetric(types_) ? 288 : 144, tiles_);
    } else {
      tiles_ = rectangle(m_, n_, k_, products_);
    }
    // Row-sharded lhs by a replicated rhs: the instances are one taller product (if the data then
    // lies in order).
    can_merge_ = instances_ > 1 && !s.reproducible && batch_ == 1 && step.reduce_axes.empty() &&
                 !step.symmetric && !lhs_.shape().packed() && lhs_.map().identity() &&
                 out_map_.identity() && rhs.instances == 1 && lhs_.shape().col_stride == 1 &&
                 (bias_ < 0 || s.slots[static_cast<size_t>(bias_)].instances == 1);
    if (can_merge_) merged_tiles_ = rectangle(instances_ * m_, n_, k_, 1);
    choose_splits();
    rhs_work_ = lhs_.workspace_bytes();
    partials_ = workspace_ = rhs_work_ + rhs_.workspace_bytes();
    if (splits_ > 1) workspace_ += splits_ * instances_ * batch_ * m_ * n_ * itemsize(types_.out);
  }

  int64_t workspace_bytes() const override { return workspace_; }

  void run(const SlotRef* slots, std::byte* work) const override {
    const codegen::LibraryGate::Pass pass;
    Spare spare;
    lhs_.prepare(slots, work, spare.lhs);
    rhs_.prepare(slots, work + rhs_work_, spare.rhs);
    if (splits_ > 1) return run_split(slots, work, spare);
    const SlotRef &lhs = slots[lhs_slot_], &out = slots[out_];
    const bool merge = can_merge_ && !lhs.table && !out.table &&
                       lhs.stride == m_ * lhs_.shape().row_stride * lhs_.itemsize() &&
                       out.stride == out_bytes_;
    const std::vector<Tile>& tiles = merge ? merged_tiles_ : tiles_;
    const int64_t products = merge ? 1 : instances_ * batch_;
    const auto count = static_cast<int64_t>(tiles.size());
    auto task = [&](int64_t t) {
      run_tile(slots, work, spare, t / count / batch_, t / count % batch_,
               tiles[static_cast<size_t>(t % count)]);
    };
    const double flops = 2.0 * static_cast<double>(instances_ * batch_ * summed_) *
                         static_cast<double>(m_) * static_cast<double>(n_) *
                         static_cast<double>(k_);
    if (flops * 0.02 < kInlineNs) {
      for (int64_t t = 0; t < products * count; ++t) task(t);
    } else {
      const auto grain =
          static_cast<int64_t>(kTaskNs / (flops * 0.01 / static_cast<double>(products * count)));
      parallel_for_ranges(products * count,
                          std::clamp<int64_t>(grain, 1, ceil_div(products * count, 64)),
                          [&](int64_t begin, int64_t end) {
                            for (int64_t t = begin; t < end; ++t) task(t);
                          });
    }
  }

 private:
  // Copies that a run makes because of where its operands happen to lie.
  struct Spare {
    Buffer lhs, rhs;
  };

  // Coordinates of the step: those of the result, then those that are summed.
  static AxisList outer_axes(const DotStep& step) {
    AxisList outer;
    for (int a : step.axes)
      if (std::find(step.reduce_axes.begin(), step.reduce_axes.end(), a) == step.reduce_axes.end())
        outer.push_back(a);
    return outer;
  }
  static DotOperandCode operand(const DotStep& step, const Schedule& s, int slot,
                                const DotOperand& shape) {
    const Slot& v = s.slots[static_cast<size_t>(slot)];
    AxisList joint = outer_axes(step);
    joint.insert(joint.end(), step.reduce_axes.begin(), step.reduce_axes.end());
    return {v, slot, shape, InstanceMap(s, joint, v.axes)};
  }

  // A sum over instances is one product with a longer k, which is what libraries are fast at, where
  // the instances lie that way or where copying them pays.
  void join_sums() {
    constexpr int64_t kLongK = 1024, kWide = 256;
    if (invariant() || summed_ == 1 || batch_ != 1 || m_ == 0 || n_ == 0 || k_ == 0) return;
    const JoinedSum lhs{.outer = instances_,
                        .summed = summed_,
                        .rows = m_,
                        .k = k_,
                        .k_slow = k_ == 1 || m_ == 1 || lhs_.shape().row_stride == 1,
                        .k_is_row = false};
    const JoinedSum rhs{.outer = instances_,
                        .summed = summed_,
                        .rows = n_,
                        .k = k_,
                        .k_slow = k_ == 1 || n_ == 1 || rhs_.shape().col_stride == 1,
                        .k_is_row = true};
    const bool copies = !lhs.k_slow || !rhs.k_slow;
    if (copies && (k_ >= kLongK || m_ < kWide || n_ < kWide)) return;
    if (!lhs_.can_join(lhs) || !rhs_.can_join(rhs)) return;
    lhs_.join(lhs);
    rhs_.join(rhs);
    k_ *= summed_;
    summed_ = 1;
  }

  void choose_types(DType lhs, DType rhs, DType out) {
    TESSERA_CHECK(lhs == rhs, "a dot of {} and {}", lhs, rhs);
    types_ = {lhs, gemm_sum_dtype(lhs, out)};
    wants_tiles(lhs);  // a setting that nobody can follow is an error here, not in a run
    out_dtype_ = out;
    TESSERA_CHECK(gemm_supports(types_), "a dot of {} giving {}", lhs, out);
    TESSERA_CHECK((bias_ < 0 && !relu_) || types_.out == float32 || types_.out == float64,
                  "an epilogue on {}", out);
  }

  // A long contraction of small matrices (a scalar product): cut along k instead, partial results
  // added in order.
  void choose_splits() {
    constexpr int64_t kLeastK = 16384;
    if (invariant() || static_cast<int64_t>(tiles_.size()) * products_ >= kWantedTiles ||
        summed_ > 1 || k_ < 2 * kLeastK || tiles_.size() > 1 || can_merge_ || m_ * n_ * 64 > k_)
      return;
    splits_ = std::min<int64_t>(64, k_ / kLeastK);
    split_k_ = ceil_div(ceil_div(k_, splits_), 64) * 64;
    splits_ = ceil_div(k_, split_k_);
  }

  bool invariant() const { return sum_ != ops::DotSum::kAny; }

  // Whether examples are added up apart, in float64. Where they have few elements each, all products of
  // DotSum::kExamples are float64: their sums by themselves would be slower.
  void choose_sum_of_examples(const DotStep& step, const Shape& lhs, DType dtype) {
    constexpr int64_t kLeast = 32;
    if (k_ == 0) return;
    if (sum_ == ops::DotSum::kGrid) {
      example_ = k_ / lhs[step.lhs_contract[0]];
      one_ = dtype;
      return;
    }
    if (sum_ != ops::DotSum::kExamples || types_.out != float32) return;
    const int64_t elements = k_ / lhs[step.lhs_contract[0]];
    if (elements == 1) return;
    if (elements < kLeast) {
      types_.out = float64;
    } else {
      example_ = elements;
    }
  }

  void multiply(int64_t m, int64_t n, MatrixRef a, MatrixRef b, std::byte* c, int64_t ldc,
                bool accumulate) const {
    if (sum_ == ops::DotSum::kAny) return gemm(types_, m, n, k_, a, b, c, ldc, accumulate);
    if (example_ == 0) return gemm_invariant(types_, m, n, k_, a, b, c, ldc, accumulate);
    if (sum_ == ops::DotSum::kGrid && one_ == float32)
      return grid_products(m, n, k_ / example_, example_, a, b, reinterpret_cast<double*>(c), ldc,
                           accumulate);
    if (sum_ == ops::DotSum::kGrid) {
      add_examples(m, n, a, b, reinterpret_cast<double*>(c), ldc, accumulate);
    } else {
      add_examples(m, n, a, b, reinterpret_cast<float*>(c), ldc, accumulate);
    }
  }

  // One product after the other: float32 ones are added up, float64 ones are whole numbers.
  template <class T>
  void add_examples(int64_t m, int64_t n, MatrixRef a, MatrixRef b, T* c, int64_t ldc,
                    bool accumulate) const {
    const Buffer product = Buffer::allocate(m * n * static_cast<int64_t>(sizeof(T))),
                 total = Buffer::allocate(m * n * itemsize(float64));
    const auto* one = reinterpret_cast<const T*>(product.data());
    auto* sum = reinterpret_cast<double*>(total.data());
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) sum[i * n + j] = accumulate ? c[i * ldc + j] : T{0};
    const GemmTypes types{types_.in, std::is_same_v<T, float> ? float32 : float64};
    for (int64_t k0 = 0; k0 < k_; k0 += example_) {
      gemm_invariant(types, m, n, example_, a.shifted(0, k0, lhs_.itemsize()),
                     b.shifted(k0, 0, rhs_.itemsize()), product.data(), n, false);
      for (int64_t i = 0; i < m * n; ++i)
        sum[i] += std::is_same_v<T, float> ? double{one[i]} : std::nearbyint(one[i]);
    }
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) c[i * ldc + j] = static_cast<T>(sum[i * n + j]);
  }

  bool narrows() const { return types_.out != out_dtype_; }

  void run_tile(const SlotRef* slots, std::byte* work, const Spare& spare, int64_t o, int64_t b,
                const Tile& t) const {
    const int64_t size = itemsize(types_.out);
    std::byte* result = slots[out_].at(out_map_(o)) + b * m_ * n_ * itemsize(out_dtype_);
    // Sums in a wider type than the result's are rounded once, at the end.
    Buffer wide;
    std::byte* c = result + (t.i * n_ + t.j) * size;
    int64_t ldc = n_;
    if (narrows()) {
      wide = Buffer::allocate(t.m * t.n * size);
      c = wide.data();
      ldc = t.n;
    }
    const bool halved = t.diagonal && gemm_knows_symmetric(types_);
    for (int64_t r = 0; r < summed_; ++r) {
      const MatrixRef a =
          lhs_.matrix(slots, work, spare.lhs, o * summed_ + r, b).shifted(t.i, 0, lhs_.itemsize());
      const MatrixRef x = rhs_.matrix(slots, work + rhs_work_, spare.rhs, o * summed_ + r, b)
                              .shifted(0, t.j, rhs_.itemsize());
      if (halved) {
        gemm_symmetric(types_, t.m, k_, a, c, ldc, r > 0);
      } else {
        multiply(t.m, t.n, a, x, c, ldc, r > 0);
      }
    }
    if (halved)
      visit_size(size, [&]<class T>(TypeTag<T>) {
        fill_below_diagonal(reinterpret_cast<T*>(c), ldc, t.m);
      });
    finish_tile(slots, o, b, t, c, ldc, result);
  }

  // Bias, activation, rounding, the mirrored half.
  void finish_tile(const SlotRef* slots, int64_t o, int64_t b, const Tile& t, std::byte* c,
                   int64_t ldc, std::byte* result) const {
    if (bias_ >= 0 || relu_) {
      const std::byte* bias = bias_ >= 0 ? slots[bias_].at(bias_map_(o)) : nullptr;
      Buffer wide;
      if (bias && narrows()) {
        wide = Buffer::allocate(bias_period_ * itemsize(types_.out));
        convert_row({out_dtype_, types_.out}, bias, wide.data(), bias_period_);
        bias = wide.data();
      }
      if (types_.out == float64) {
        epilogue(reinterpret_cast<double*>(c), ldc, b, t, reinterpret_cast<const double*>(bias));
      } else {
        epilogue(reinterpret_cast<float*>(c), ldc, b, t, reinterpret_cast<const float*>(bias));
      }
    }
    if (narrows())
      for (int64_t i = 0; i < t.m; ++i)
        convert_row({types_.out, out_dtype_}, c + i * ldc * itemsize(types_.out),
                    result + ((t.i + i) * n_ + t.j) * itemsize(out_dtype_), t.n);
    if (t.mirror)
      visit_size(itemsize(out_dtype_),
                 [&]<class T>(TypeTag<T>) { mirror_tile(reinterpret_cast<T*>(result), n_, t); });
  }

  template <class T>
  void epilogue(T* c, int64_t ldc, int64_t b, const Tile& t, const T* bias) const {
    for (int64_t i = 0; i < t.m; ++i) {
      T* row = c + i * ldc;
      if (bias) {
        // The last dim of the result is one of the rhs, or where that has no free ones of the lhs,
        // or a batch dim.
        int64_t at = ((b * m_ + t.i + i) * n_ + t.j) % bias_period_;
        for (int64_t j = 0; j < t.n;) {
          const int64_t run = std::min(t.n - j, bias_period_ - at);
          for (int64_t q = 0; q < run; ++q) row[j + q] += bias[at + q];
          j += run;
          at = 0;
        }
      }
      // As maximum(x, 0): NaN stays, -0 does not.
      if (relu_)
        for (int64_t j = 0; j < t.n; ++j) row[j] = row[j] <= T{0} ? T{0} : row[j];
    }
  }

  void run_split(const SlotRef* slots, std::byte* work, const Spare& spare) const {
    const int64_t size = itemsize(types_.out), elements = m_ * n_;
    auto partial = [&](int64_t product, int64_t split) {
      return work + partials_ + (product * splits_ + split) * elements * size;
    };
    parallel_for(instances_ * batch_ * splits_, [&](int64_t t) {
      const int64_t product = t / splits_, split = t % splits_, k0 = split * split_k_;
      const MatrixRef a = lhs_.matrix(slots, work, spare.lhs, product / batch_, product % batch_)
                              .shifted(0, k0, lhs_.itemsize());
      const MatrixRef x =
          rhs_.matrix(slots, work + rhs_work_, spare.rhs, product / batch_, product % batch_)
              .shifted(k0, 0, rhs_.itemsize());
      gemm(types_, m_, n_, std::min(split_k_, k_ - k0), a, x, partial(product, split), n_, false);
    });
    for (int64_t product = 0; product < instances_ * batch_; ++product) {
      const int64_t o = product / batch_, b = product % batch_;
      for (int64_t width = 1; width < splits_; width *= 2)
        for (int64_t i = 0; i + width < splits_; i += 2 * width)
          add(partial(product, i), partial(product, i + width), elements);
      std::byte* result = slots[out_].at(out_map_(o)) + b * elements * itemsize(out_dtype_);
      std::byte* c = partial(product, 0);
      const Tile all{0, 0, m_, n_};
      finish_tile(slots, o, b, all, c, n_, result);
      if (!narrows()) std::memcpy(result, c, static_cast<size_t>(elements * size));
    }
  }

  void add(std::byte* to, const std::byte* from, int64_t n) const {
    visit_dtype(types_.out, [&]<class T>(TypeTag<T>) {
      if constexpr (std::is_same_v<T, Float16> || std::is_same_v<T, Bfloat16>) {
        TESSERA_CHECK(false, "halves are added in float32");
      } else {
        auto* a = reinterpret_cast<T*>(to);
        const auto* b = reinterpret_cast<const T*>(from);
        for (int64_t i = 0; i < n; ++i) {
          if constexpr (std::is_same_v<T, bool>) {
            a[i] = a[i] || b[i];
          } else if constexpr (std::is_integral_v<T>) {
            a[i] = static_cast<T>(static_cast<uint64_t>(a[i]) + static_cast<uint64_t>(b[i]));
          } else {
            a[i] += b[i];
          }
        }
      }
    });
  }

  DotOperandCode lhs_, rhs_;
  int lhs_slot_ = -1, out_, bias_;
  bool relu_;
  ops::DotSum sum_;
  DType one_ = float32;  // of an example's product on a grid
  int64_t example_ = 0;  // elements of k of an example, whose products are added up by themselves
  GemmTypes types_{};
  DType out_dtype_{};
  int64_t batch_ = 1, m_ = 1, n_ = 1, k_ = 1, instances_ = 1, products_ = 1, summed_ = 1,
          bias_period_ = 1, out_bytes_ = 0;
  InstanceMap out_map_, bias_map_;
  std::vector<Tile> tiles_, merged_tiles_;
  bool can_merge_ = false;
  int64_t splits_ = 1, split_k_ = 0;
  int64_t workspace_ = 0, rhs_work_ = 0, partials_ = 0;
};

}  // namespace

std::unique_ptr<StepCode> make_dot_code(const DotStep& step, const Schedule& schedule) {
  return std::make_unique<DotCode>(step, schedule);
}

}  // namespace tessera::runtime
