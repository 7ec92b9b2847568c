#include "tessera/ops/fourier/lane_transform.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "tessera/ops/fourier/line_transform.h"
#include "tessera/ops/fourier/roots.h"

namespace tessera::ops::fourier {
namespace {

// Large radices come first: they make few passes over the buffer, and the first pass has the most
// twiddles.
std::vector<int> radices_of(int64_t n) {
  std::vector<int> out;
  for (int radix : {13, 11, 7, 5, 3})
    for (; n % radix == 0; n /= radix) out.push_back(radix);
  for (; n % 8 == 0 && n != 16; n /= 8) out.push_back(8);
  for (; n % 4 == 0; n /= 4) out.push_back(4);
  if (n == 2) out.push_back(2);
  return out;
}

template <class T>
void put(T* table, int64_t i, std::complex<double> z) {
  table[2 * i] = static_cast<T>(z.real());
  table[2 * i + 1] = static_cast<T>(z.imag());
}

}  // namespace

bool is_smooth(int64_t n) {
  for (int radix : {2, 3, 5, 7, 11, 13})
    while (n % radix == 0) n /= radix;
  return n == 1;
}

int64_t smooth_from(int64_t n) {
  while (!is_smooth(n)) ++n;
  return n;
}

template <class T>
Chirp<T>::Chirp(int64_t n, int64_t m) : factors(2 * n), spectrum(2 * m) {
  const Roots roots(2 * n);
  std::vector<double> filter(static_cast<size_t>(2 * m), 0.0), out(filter.size());
  int64_t square = 0;  // k^2 mod 2n
  for (int64_t k = 0; k < n; ++k) {
    const std::complex<double> c = roots(square);
    put(factors.data(), k, c);
    put(filter.data(), k, std::conj(c));
    if (k > 0) put(filter.data(), m - k, std::conj(c));
    square = (square + 2 * k + 1) % (2 * n);
  }
  LineTransform<double>(m).run(filter.data(), out.data(), false, 1.0 / static_cast<double>(m));
  for (size_t i = 0; i < out.size(); ++i) spectrum.data()[i] = static_cast<T>(out[i]);
}

template <class T>
LaneTransform<T>::LaneTransform(int64_t n) : n_(n) {
  if (!is_smooth(n)) {
    const int64_t m = smooth_from(2 * n - 1);
    work_ = std::make_unique<const LaneTransform>(m);
    chirp_ = std::make_unique<const Chirp<T>>(n, m);
    return;
  }
  int64_t stride = 1;
  for (int radix : radices_of(n)) {
    add_pass(radix, n / stride / radix, stride);
    stride *= radix;
  }
}

template <class T>
void LaneTransform<T>::add_pass(int radix, int64_t groups, int64_t stride) {
  Table<T> twiddles(2 * groups * (radix - 1)), roots(2 * radix);
  const Roots root(groups * radix), unit(radix);
  for (int64_t g = 0; g < groups; ++g)
    for (int k = 1; k < radix; ++k) put(twiddles.data(), g * (radix - 1) + k - 1, root(g * k));
  for (int k = 0; k < radix; ++k) {
    roots.data()[k] = static_cast<T>(unit(k).real());
    roots.data()[radix + k] = static_cast<T>(-unit(k).imag());
  }
  passes_.push_back({radix, groups, stride, twiddles.data(), roots.data()});
  tables_.push_back(std::move(twiddles));
  tables_.push_back(std::move(roots));
}

template <class T>
T* LaneTransform<T>::run(T* a, T* b) const {
  const LaneRoutines<T>& lanes = lane_routines<T>();
  if (!work_) return lanes.transform(passes_.data(), static_cast<int>(passes_.size()), a, b);
  const int64_t m = work_->n_, point = 2 * lanes.width;
  lanes.multiply(a, a, chirp_->factors.data(), n_, false, false);
  std::fill(a + n_ * point, a + m * point, T{0});
  T* spectrum = work_->run(a, b);
  lanes.multiply(spectrum, spectrum, chirp_->spectrum.data(), m, false, true);
  T* out = work_->run(spectrum, spectrum == a ? b : a);
  lanes.multiply(out, out, chirp_->factors.data(), n_, true, false);
  return out;
}

// Half of the second-level cache of a core of today.
constexpr int64_t kPanelBytes = int64_t{1} << 20;

template <class T>
int LanePanel<T>::groups_for(int64_t points) {
  const int64_t buffer = points * 2 * lane_routines<T>().width * static_cast<int64_t>(sizeof(T));
  return static_cast<int>(std::clamp<int64_t>(kPanelBytes / buffer - 1, 1, kMaxGroups));
}

template <class T>
LanePanel<T>::LanePanel(int64_t points, int groups)
    : groups_(groups), memory_((groups + 1) * points * 2 * lane_routines<T>().width) {
  for (int g = 0; g <= groups; ++g)
    buffers_[g] = memory_.data() + g * points * 2 * lane_routines<T>().width;
}

template <class T>
void LanePanel<T>::transform(const LaneTransform<T>& transform, int count) {
  for (int g = 0; g < count; ++g)
    if (transform.run(buffers_[g], spare()) != buffers_[g]) std::swap(buffers_[g], spare());
}

template class LanePanel<float>;
template class LanePanel<double>;
template struct Chirp<float>;
template struct Chirp<double>;
template class LaneTransform<float>;
template class LaneTransform<double>;

}  // namespace tessera::ops::fourier
