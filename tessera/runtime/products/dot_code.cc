// Dot steps: computes the product of every instance in the tiles of its plan, which are distributed
// over the threads.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

#include "tessera/base/buffer.h"
#include "tessera/base/error.h"
#include "tessera/base/instructions.h"
#include "tessera/base/thread_pool.h"
#include "tessera/base/workspace.h"
#include "tessera/codegen/machine_code/library_gate.h"
#include "tessera/runtime/halves.h"
#include "tessera/runtime/products/dot_plan.h"
#include "tessera/runtime/products/gemm.h"
#include "tessera/runtime/products/gemm_invariant.h"
#include "tessera/runtime/products/gemm_tiles.h"
#include "tessera/runtime/products/grid_products.h"
#include "tessera/runtime/step_code.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace tessera::runtime {
namespace {

using Tile = DotPlan::Tile;

// Copies the half of a square tile above its diagonal to the half below it.
template <class T>
void fill_below_diagonal(T* c, int64_t ldc, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < i; ++j) c[i * ldc + j] = c[j * ldc + i];
}

// Adds a bias to n elements, unless it is null, then computes maximum(x, 0) if `relu`, which
// returns NaN for NaN and 0 for -0. In vectors of the compiler, because it makes branches of the
// choice otherwise, and signs of products are hard to predict.
template <class T>
[[gnu::always_inline]] inline void finish_elements(T* x, const T* bias, bool relu, int64_t n) {
  using Vector [[gnu::vector_size(32), gnu::aligned(alignof(T)), gnu::may_alias]] = T;
  constexpr int64_t kLanes = 32 / sizeof(T);
  int64_t j = 0;
  for (; j + kLanes <= n; j += kLanes) {
    Vector v = *reinterpret_cast<const Vector*>(x + j);
    if (bias) v += *reinterpret_cast<const Vector*>(bias + j);
    if (relu) v = v <= T{0} ? Vector{} : v;
    *reinterpret_cast<Vector*>(x + j) = v;
  }
  for (; j < n; ++j) {
    const T v = bias ? x[j] + bias[j] : x[j];
    x[j] = relu && v <= T{0} ? T{0} : v;
  }
}
template <class T>
void finish_run(T* x, const T* bias, bool relu, int64_t n) {
  finish_elements(x, bias, relu, n);
}
template <class T>
TESSERA_AVX2 void finish_run_avx2(T* x, const T* bias, bool relu, int64_t n) {
  finish_elements(x, bias, relu, n);
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
template <class From, class To>
void convert_elements(const From* x, To* y, int64_t n) {
  constexpr bool kFromHalf = is_half_type<From>, kToHalf = is_half_type<To>;
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
    TESSERA_CHECK(false, "{} as {}", dtype_of<From>, dtype_of<To>);
  }
}
void convert_row(Conversion types, const std::byte* in, std::byte* out, int64_t n) {
  visit_dtype(types.from, [&]<class From>(TypeTag<From>) {
    visit_dtype(types.to, [&]<class To>(TypeTag<To>) {
      convert_elements(reinterpret_cast<const From*>(in), reinterpret_cast<To*>(out), n);
    });
  });
}

#if defined(__x86_64__)
const bool kHasAvx = __builtin_cpu_supports("avx2");

// Adds terms to sums in vectors, and returns how many terms were added: a multiple of 4.
__attribute__((target("avx"))) int64_t add_in_vectors(const float* terms, double* sums, int64_t n) {
  int64_t i = 0;
  for (; i + 4 <= n; i += 4)
    _mm256_storeu_pd(sums + i, _mm256_add_pd(_mm256_loadu_pd(sums + i),
                                             _mm256_cvtps_pd(_mm_loadu_ps(terms + i))));
  return i;
}
#else
constexpr bool kHasAvx = false;
int64_t add_in_vectors(const float*, double*, int64_t) { return 0; }
#endif

// Adds terms[i] to sums[i] for each i below n.
void add_widened(const float* terms, double* sums, int64_t n) {
  for (int64_t i = kHasAvx ? add_in_vectors(terms, sums, n) : 0; i < n; ++i) sums[i] += terms[i];
}

class DotCode final : public StepCode {
 public:
  explicit DotCode(DotPlan plan) : p_(std::move(plan)) {}

  void run(const SlotRef* slots, std::byte* work) const override {
    const codegen::LibraryGate::Pass pass;
    Spare spare;
    p_.lhs.prepare(slots, work, spare.lhs);
    p_.rhs.prepare(slots, work + p_.rhs_work, spare.rhs);
    if (p_.splits > 1) return run_split(slots, work, spare);
    const SlotRef &lhs = slots[p_.lhs_slot], &out = slots[p_.out];
    const bool merge = p_.can_merge && !lhs.table && !out.table &&
                       lhs.stride == p_.m * p_.lhs.shape().row_stride * p_.lhs.itemsize() &&
                       out.stride == p_.out_bytes;
    const std::vector<Tile>& tiles = merge ? p_.merged_tiles : p_.tiles;
    const int64_t products = merge ? 1 : p_.instances * p_.batch;
    const auto count = static_cast<int64_t>(tiles.size());
    auto task = [&](int64_t t) {
      run_tile(slots, work, spare, t / count / p_.batch, t / count % p_.batch,
               tiles[static_cast<size_t>(t % count)]);
    };
    const double flops = 2.0 * static_cast<double>(p_.instances * p_.batch * p_.summed) *
                         static_cast<double>(p_.m) * static_cast<double>(p_.n) *
                         static_cast<double>(p_.k);
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
  // Copies that a run makes because of where its operands are.
  struct Spare {
    Buffer lhs, rhs;
  };

  void multiply(int64_t m, int64_t n, const MatrixRef& a, const MatrixRef& b, std::byte* c,
                int64_t ldc, bool accumulate) const {
    if (p_.sum == ops::DotSum::kAny) return gemm(p_.types, m, n, p_.k, a, b, c, ldc, accumulate);
    if (p_.example == 0)
      return gemm_invariant(
          p_.types, m, n, p_.k, a, b, c, ldc, accumulate,
          p_.sum == ops::DotSum::kExamples ? ops::kSliceOfExamples : kLongestSlice);
    if (p_.sum == ops::DotSum::kGrid && p_.one == float32)
      return grid_products(m, n, p_.k / p_.example, p_.example, a, b, reinterpret_cast<double*>(c),
                           ldc, accumulate);
    if (p_.sum == ops::DotSum::kGrid) {
      add_examples(m, n, a, b, reinterpret_cast<double*>(c), ldc, accumulate);
    } else {
      add_examples(m, n, a, b, reinterpret_cast<float*>(c), ldc, accumulate);
    }
  }

  // Computes the diagonal of c and the elements above it.
  void multiply_by_itself(int64_t n, MatrixRef a, std::byte* c, int64_t ldc,
                          bool accumulate) const {
    if (p_.invariant()) {
      gemm_invariant_symmetric(p_.types, n, p_.k, a, c, ldc, accumulate);
    } else {
      gemm_symmetric(p_.types, n, p_.k, a, c, ldc, accumulate);
    }
  }

  // Adds one example's product after the other: float32 products as they are, float64 products
  // rounded to whole numbers.
  template <class T>
  void add_examples(int64_t m, int64_t n, MatrixRef a, MatrixRef b, T* c, int64_t ldc,
                    bool accumulate) const {
    const Workspace<T> product(m * n);
    const Workspace<double> total(m * n);
    const T* one = product.data();
    double* sum = total.data();
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) sum[i * n + j] = accumulate ? c[i * ldc + j] : T{0};
    const GemmTypes types{p_.types.in, std::is_same_v<T, float> ? float32 : float64};
    for (int64_t k0 = 0; k0 < p_.k; k0 += p_.example) {
      gemm_invariant(types, m, n, p_.example, a.shifted(0, k0, p_.lhs.itemsize()),
                     b.shifted(k0, 0, p_.rhs.itemsize()),
                     reinterpret_cast<std::byte*>(product.data()), n, false);
      if constexpr (std::is_same_v<T, float>) {
        add_widened(one, sum, m * n);
      } else {
        for (int64_t i = 0; i < m * n; ++i) sum[i] += std::nearbyint(one[i]);
      }
    }
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) c[i * ldc + j] = static_cast<T>(sum[i * n + j]);
  }

  bool narrows() const { return p_.types.out != p_.out_dtype; }

  void run_tile(const SlotRef* slots, std::byte* work, const Spare& spare, int64_t o, int64_t b,
                const Tile& t) const {
    const int64_t size = itemsize(p_.types.out);
    std::byte* result = slots[p_.out].at(p_.out_map(o)) + b * p_.m * p_.n * itemsize(p_.out_dtype);
    // Sums in a wider type than the result's are rounded only once, at the end.
    std::optional<RawWorkspace> wide;
    std::byte* c = result + (t.i * p_.n + t.j) * size;
    int64_t ldc = p_.n;
    if (narrows()) {
      c = wide.emplace(t.m * t.n * size).data();
      ldc = t.n;
    }
    const bool halved = t.diagonal && (p_.invariant() || gemm_knows_symmetric(p_.types));
    for (int64_t r = 0; r < p_.summed; ++r) {
      const MatrixRef a = p_.lhs.matrix(slots, work, spare.lhs, o * p_.summed + r, b)
                              .shifted(t.i, 0, p_.lhs.itemsize());
      const MatrixRef x = p_.rhs.matrix(slots, work + p_.rhs_work, spare.rhs, o * p_.summed + r, b)
                              .shifted(0, t.j, p_.rhs.itemsize());
      if (halved) {
        multiply_by_itself(t.m, a, c, ldc, r > 0);
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

  // Adds the bias, applies the activation, rounds, and stores the tile's mirror image.
  void finish_tile(const SlotRef* slots, int64_t o, int64_t b, const Tile& t, std::byte* c,
                   int64_t ldc, std::byte* result) const {
    if (p_.bias >= 0 || p_.relu) {
      const std::byte* bias = p_.bias >= 0 ? slots[p_.bias].at(p_.bias_map(o)) : nullptr;
      Buffer wide;
      if (bias && narrows()) {
        wide = Buffer::allocate(p_.bias_period * itemsize(p_.types.out));
        convert_row({p_.out_dtype, p_.types.out}, bias, wide.data(), p_.bias_period);
        bias = wide.data();
      }
      if (p_.types.out == float64) {
        epilogue(reinterpret_cast<double*>(c), ldc, b, t, reinterpret_cast<const double*>(bias));
      } else {
        epilogue(reinterpret_cast<float*>(c), ldc, b, t, reinterpret_cast<const float*>(bias));
      }
    }
    if (narrows()) {
      const bool whole_rows = ldc == p_.n && t.n == p_.n;  // then they are one long row
      const int64_t rows = whole_rows ? 1 : t.m, columns = whole_rows ? t.m * t.n : t.n;
      for (int64_t i = 0; i < rows; ++i)
        convert_row({p_.types.out, p_.out_dtype}, c + i * ldc * itemsize(p_.types.out),
                    result + ((t.i + i) * p_.n + t.j) * itemsize(p_.out_dtype), columns);
    }
    if (t.mirror)
      visit_size(itemsize(p_.out_dtype),
                 [&]<class T>(TypeTag<T>) { mirror_tile(reinterpret_cast<T*>(result), p_.n, t); });
  }

  template <class T>
  void epilogue(T* c, int64_t ldc, int64_t b, const Tile& t, const T* bias) const {
    const auto run_of = has_avx2() ? finish_run_avx2<T> : finish_run<T>;
    for (int64_t i = 0; i < t.m; ++i) {
      T* row = c + i * ldc;
      if (!bias) {
        run_of(row, nullptr, p_.relu, t.n);
        continue;
      }
      // The last dimension of the result is a free dimension of the rhs, otherwise of the lhs,
      // otherwise a batch dimension.
      int64_t at = ((b * p_.m + t.i + i) * p_.n + t.j) % p_.bias_period;
      for (int64_t j = 0; j < t.n;) {
        const int64_t run = std::min(t.n - j, p_.bias_period - at);
        run_of(row + j, bias + at, p_.relu, run);
        j += run;
        at = 0;
      }
    }
  }

  void run_split(const SlotRef* slots, std::byte* work, const Spare& spare) const {
    const int64_t size = itemsize(p_.types.out), elements = p_.m * p_.n;
    auto partial = [&](int64_t product, int64_t split) {
      return work + p_.partials + (product * p_.splits + split) * elements * size;
    };
    parallel_for(p_.instances * p_.batch * p_.splits, [&](int64_t t) {
      const int64_t product = t / p_.splits, split = t % p_.splits, k0 = split * p_.split_k;
      const MatrixRef a =
          p_.lhs.matrix(slots, work, spare.lhs, product / p_.batch, product % p_.batch)
              .shifted(0, k0, p_.lhs.itemsize());
      const MatrixRef x =
          p_.rhs
              .matrix(slots, work + p_.rhs_work, spare.rhs, product / p_.batch, product % p_.batch)
              .shifted(k0, 0, p_.rhs.itemsize());
      gemm(p_.types, p_.m, p_.n, std::min(p_.split_k, p_.k - k0), a, x, partial(product, split),
           p_.n, false);
    });
    for (int64_t product = 0; product < p_.instances * p_.batch; ++product) {
      const int64_t o = product / p_.batch, b = product % p_.batch;
      for (int64_t width = 1; width < p_.splits; width *= 2)
        for (int64_t i = 0; i + width < p_.splits; i += 2 * width)
          add(partial(product, i), partial(product, i + width), elements);
      std::byte* result = slots[p_.out].at(p_.out_map(o)) + b * elements * itemsize(p_.out_dtype);
      std::byte* c = partial(product, 0);
      const Tile all{0, 0, p_.m, p_.n};
      finish_tile(slots, o, b, all, c, p_.n, result);
      if (!narrows()) std::memcpy(result, c, static_cast<size_t>(elements * size));
    }
  }

  void add(std::byte* to, const std::byte* from, int64_t n) const {
    visit_dtype(p_.types.out, [&]<class T>(TypeTag<T>) {
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

  const DotPlan p_;
};

}  // namespace

std::unique_ptr<StepCode> make_dot_code(const DotStep& step, const Schedule& schedule) {
  return std::make_unique<DotCode>(DotPlan(step, schedule));
}

}  // namespace tessera::runtime
