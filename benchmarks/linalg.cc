#include "linalg.h"

#include <tessera/ops/factor/lu.h>
#include <tessera/tessera.h>

namespace tessera::bench {
namespace {

// One call on normal matrices, of which `positive` makes positive definite ones.
std::function<Run()> of(std::function<Run(const Array&)> call, Shape shape, bool positive) {
  return [=]() -> Run {
    const int64_t n = shape.back();
    Array x = random::normal(random::key(0), shape);
    if (positive) x = matmul(x, swapaxes(x, -1, -2)) + static_cast<float>(n) * eye(n);
    return call(device_put(x, SingleDeviceSharding(devices()[0])));
  };
}

template <class F>
std::function<Run(const Array&)> compiled(F f) {
  return [=](const Array& x) -> Run {
    auto jitted = jit(f);
    return [=] { jitted(x); };
  };
}

}  // namespace

std::vector<std::pair<std::string, std::function<Run()>>> factorizations() {
  struct Kind {
    std::string name;
    std::function<Run(const Array&)> call;
    bool positive = false;
  };
  const std::vector<Kind> kinds = {
      {"cholesky", compiled([](const Array& x) { return linalg::cholesky(x); }), true},
      {"lu", compiled([](const Array& x) { return lax::linalg::lu(x); })},
      {"qr", compiled([](const Array& x) { return linalg::qr(x); })},
      {"eigh", compiled([](const Array& x) { return linalg::eigh(x); })},
      {"svd", compiled([](const Array& x) { return linalg::svd(x); })},
  };
  std::vector<std::pair<std::string, std::function<Run()>>> out;
  for (const Kind& kind : kinds) {
    out.emplace_back("linalg/" + kind.name + "_1024", of(kind.call, {1024, 1024}, kind.positive));
    out.emplace_back("linalg/" + kind.name + "_1000x32x32",
                     of(kind.call, {1000, 32, 32}, kind.positive));
  }
  return out;
}

}  // namespace tessera::bench
