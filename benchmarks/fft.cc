#include "fft.h"

#include <tessera/tessera.h>

namespace tessera::bench {
namespace {

// The transform of an array of this dtype and shape, with 64-bit dtypes for the time that it is
// made.
std::function<Run()> of(std::function<Array(const Array&)> f, DType dtype, Shape shape) {
  return [=]() -> Run {
    const bool before = x64_enabled();
    enable_x64(true);
    const Array line = sin(arange(static_cast<double>(shape.elements())));
    const Array x =
        device_put(astype(reshape(line, shape), dtype), SingleDeviceSharding(devices()[0]));
    enable_x64(before);
    auto jitted = jit(f);
    return [=] { jitted(x); };
  };
}

}  // namespace

std::vector<std::pair<std::string, std::function<Run()>>> transforms() {
  const auto fft = [](const Array& x) { return fft::fft(x); };
  const auto fft2 = [](const Array& x) { return fft::fft2(x); };
  const auto rfft = [](const Array& x) { return fft::rfft(x); };
  const int64_t long_line = 1 << 20;
  return {
      {"fft/c64_2^20", of(fft, complex64, {long_line})},
      {"fft/c64_1024x1024", of(fft2, complex64, {1024, 1024})},
      {"fft/c64_4096x256", of(fft, complex64, {4096, 256})},
      {"fft/c64_10007", of(fft, complex64, {10007})},
      {"fft/f32_2^20", of(rfft, float32, {long_line})},
      {"fft/c128_2^20", of(fft, complex128, {long_line})},
      {"fft/c128_1024x1024", of(fft2, complex128, {1024, 1024})},
      {"fft/c128_4096x256", of(fft, complex128, {4096, 256})},
      {"fft/c128_10007", of(fft, complex128, {10007})},
      {"fft/f64_2^20", of(rfft, float64, {long_line})},
  };
}

}  // namespace tessera::bench
