#include "machine.h"

#include <memory>
#include <oneapi/dnnl/dnnl.hpp>
#include <thread>
#include <vector>

namespace tessera::bench {
namespace {

// A plain loop that the compiler vectorises for the baseline machine; what an engineer would write
// first.
void copy_range(const float* from, float* to, int64_t count) {
  for (int64_t i = 0; i < count; ++i) to[i] = from[i];
}

}  // namespace

std::function<void()> plain_copy(int64_t bytes) {
  const int64_t count = bytes / static_cast<int64_t>(sizeof(float));
  auto from = std::make_shared<std::vector<float>>(count, 1.0f);
  auto to = std::make_shared<std::vector<float>>(count, 0.0f);
  return [=] {
    std::thread other([&] { copy_range(from->data(), to->data(), count / 2); });
    copy_range(from->data() + count / 2, to->data() + count / 2, count - count / 2);
    other.join();
  };
}

std::function<void()> onednn_gemm(int64_t n) {
  auto a = std::make_shared<std::vector<float>>(n * n, 0.5f);
  auto b = std::make_shared<std::vector<float>>(n * n, 0.25f);
  auto c = std::make_shared<std::vector<float>>(n * n);
  return
      [=] { dnnl::sgemm('N', 'N', n, n, n, 1.0f, a->data(), n, b->data(), n, 0.0f, c->data(), n); };
}

}  // namespace tessera::bench
