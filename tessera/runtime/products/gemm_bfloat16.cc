#include "tessera/runtime/products/gemm_bfloat16.h"

#include <list>
#include <memory>
#include <tuple>

#include "tessera/base/format.h"
#include "tessera/base/per_thread.h"
#include "tessera/base/workspace.h"
#include "tessera/runtime/convolutions/dnnl_versions.h"
#include "tessera/runtime/one_thread.h"

namespace tessera::runtime {
namespace {

#if defined(__x86_64__)
const bool kHasBfloat16 = __builtin_cpu_supports("avx512bf16");
#else
constexpr bool kHasBfloat16 = false;
#endif
constexpr int64_t kLeastWork = int64_t{1} << 15;

// The code that oneDNN compiled for one shape. A thread keeps the products that it used last.
struct Product {
  using Key =
      std::tuple<int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, bool>;
  Key key;
  dnnl::matmul primitive;
  dnnl::memory a, b, c, scratch;
  int64_t scratch_bytes = 0;
};

struct Cache {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  std::list<Product> products;
};

constexpr size_t kKept = 64;

Product make_product(Cache& cache, const Product::Key& key) {
  using dnnl::memory;
  const auto [m, n, k, a_row, a_col, b_row, b_col, ldc, accumulate] = key;
  const memory::desc a({m, k}, memory::data_type::bf16, memory::dims{a_row, a_col});
  const memory::desc b({k, n}, memory::data_type::bf16, memory::dims{b_row, b_col});
  const memory::desc c({m, n}, memory::data_type::f32, memory::dims{ldc, 1});
  dnnl::primitive_attr attributes;
  // The library's own scratchpad belongs to the thread that made the primitive.
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (accumulate) {
    dnnl::post_ops sum;
    sum.append_sum(1.f);
    attributes.set_post_ops(sum);
  }
  const auto description = dnnl_versions::describe<dnnl::matmul>(cache.engine, attributes, a, b, c);
  TESSERA_CHECK(description, "oneDNN has no bfloat16 product of {} x {} x {}", m, n, k);
  Product out{key,
              dnnl::matmul(description),
              memory(a, cache.engine, nullptr),
              memory(b, cache.engine, nullptr),
              memory(c, cache.engine, nullptr),
              memory(description.scratchpad_desc(), cache.engine, nullptr)};
  out.scratch_bytes = static_cast<int64_t>(description.scratchpad_desc().get_size());
  return out;
}

Product& find_product(Cache& cache, const Product::Key& key) {
  auto& list = cache.products;
  for (auto it = list.begin(); it != list.end(); ++it) {
    if (it->key != key) continue;
    list.splice(list.begin(), list, it);
    return list.front();
  }
  list.push_front(make_product(cache, key));
  if (list.size() > kKept) list.pop_back();
  return list.front();
}

}  // namespace

bool gemm_bfloat16(int64_t m, int64_t n, int64_t k, MatrixRef a, MatrixRef b, float* c, int64_t ldc,
                   bool accumulate) {
  if (!kHasBfloat16 || m * n * k < kLeastWork) return false;
  const OneThread one_thread;
  Cache& cache = per_thread<Cache, Cache>();
  Product& p = find_product(
      cache, {m, n, k, a.row_stride, a.col_stride, b.row_stride, b.col_stride, ldc, accumulate});
  p.a.set_data_handle(const_cast<std::byte*>(a.data));
  p.b.set_data_handle(const_cast<std::byte*>(b.data));
  p.c.set_data_handle(c);
  const Workspace<std::byte> scratch(p.scratch_bytes + 64);
  p.scratch.set_data_handle(scratch.data());
  p.primitive.execute(cache.stream, {{DNNL_ARG_SRC, p.a},
                                     {DNNL_ARG_WEIGHTS, p.b},
                                     {DNNL_ARG_DST, p.c},
                                     {DNNL_ARG_SCRATCHPAD, p.scratch}});
  return true;
}

}  // namespace tessera::runtime
