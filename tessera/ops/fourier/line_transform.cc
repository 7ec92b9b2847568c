#include "tessera/ops/fourier/line_transform.h"

#include <algorithm>
#include <cmath>

#include "tessera/ops/fourier/panels.h"
#include "tessera/ops/fourier/roots.h"

namespace tessera::ops::fourier {
namespace {

// Returns the largest divisor of n that is at most its square root.
int64_t rows_of(int64_t n) {
  auto d = static_cast<int64_t>(std::sqrt(static_cast<double>(n)));
  while (n % d) --d;
  return d;
}

}  // namespace

template <class T>
LineTransform<T>::LineTransform(int64_t n) : n_(n) {
  if (!is_smooth(n)) {
    const int64_t m = smooth_from(2 * n - 1);
    work_ = std::make_unique<const LineTransform>(m);
    chirp_ = std::make_unique<const Chirp<T>>(n, m);
    return;
  }
  const int64_t rows = rows_of(n);
  columns_ = std::make_unique<const LaneTransform<T>>(rows);
  rows_ = std::make_unique<const LaneTransform<T>>(n / rows);
  make_twiddles();
}

template <class T>
void LineTransform<T>::make_twiddles() {
  const int64_t width = lane_routines<T>().width, rows = columns_->size();
  const int64_t groups = groups_of(rows_->size(), width);
  const Roots roots(n_);
  starts_ = Table<T>(2 * groups * rows);
  for (int64_t i = 0; i < groups * rows; ++i) {
    const std::complex<double> w = roots(i / rows * width * (i % rows));
    starts_.data()[2 * i] = static_cast<T>(w.real());
    starts_.data()[2 * i + 1] = static_cast<T>(w.imag());
  }
  steps_ = Table<T>(2 * rows * width);
  for (int64_t k = 0; k < rows; ++k)
    for (int64_t l = 0; l < width; ++l) {
      const std::complex<double> w = roots(k * l);
      steps_.data()[(2 * k) * width + l] = static_cast<T>(w.real());
      steps_.data()[(2 * k + 1) * width + l] = static_cast<T>(w.imag());
    }
}

template <class T>
void LineTransform<T>::run(const T* in, T* out, bool inverse, T scale) const {
  if (work_) return run_convolution(in, out, inverse, scale);
  const int64_t width = lane_routines<T>().width;
  const Workspace<T> temp(2 * columns_->size() * groups_of(rows_->size(), width) * width);
  run_columns(in, temp.data(), inverse);
  run_rows(temp.data(), out, inverse, scale);
}

// Transforms the columns. `temp` has a buffer of `rows` points for each group of columns.
template <class T>
void LineTransform<T>::run_columns(const T* in, T* temp, bool inverse) const {
  const LaneRoutines<T>& lanes = lane_routines<T>();
  const int64_t rows = columns_->size(), columns = rows_->size(), point = 2 * lanes.width;
  for_panels<T>(columns, rows, [&](int64_t first, int64_t count, LanePanel<T>& panel) {
    lanes.load(panel.buffers(),
               {in + 2 * first, rows, columns, 1, static_cast<int>(count), inverse});
    const int64_t groups = groups_of(count, lanes.width), group = first / lanes.width;
    panel.transform(*columns_, static_cast<int>(groups));
    for (int64_t g = 0; g < groups; ++g)
      lanes.twist(temp + (group + g) * rows * point, panel.buffers()[g],
                  starts_.data() + 2 * (group + g) * rows, steps_.data(), rows);
  });
}

template <class T>
void LineTransform<T>::run_rows(const T* temp, T* out, bool inverse, T scale) const {
  const LaneRoutines<T>& lanes = lane_routines<T>();
  const int64_t rows = columns_->size(), columns = rows_->size();
  for_panels<T>(rows, columns, [&](int64_t first, int64_t count, LanePanel<T>& panel) {
    const auto n = static_cast<int>(count);
    lanes.turn(panel.buffers(), temp, rows, first, n, columns);
    panel.transform(*rows_, static_cast<int>(groups_of(count, lanes.width)));
    lanes.store(panel.buffers(), {out + 2 * first, columns, rows, 1, n, inverse}, scale);
  });
}

template <class T>
void LineTransform<T>::run_convolution(const T* in, T* out, bool inverse, T scale) const {
  const LaneRoutines<T>& lanes = lane_routines<T>();
  const int64_t m = work_->n_;
  const Workspace<T> work(2 * m);
  T* x = work.data();
  lanes.product(x, in, chirp_->factors.data(), n_, T{1}, inverse);
  std::fill(x + 2 * n_, x + 2 * m, T{0});
  work_->run(x, x, false, T{1});
  lanes.product(x, x, chirp_->spectrum.data(), m, T{1}, false);
  work_->run(x, x, true, T{1});
  lanes.product(out, x, chirp_->factors.data(), n_, scale, false);
  if (inverse)
    for (int64_t i = 0; i < n_; ++i) std::swap(out[2 * i], out[2 * i + 1]);
}

template class LineTransform<float>;
template class LineTransform<double>;

}  // namespace tessera::ops::fourier
