#include "tessera/ops/fourier/passes.h"

#include <algorithm>
#include <bit>
#include <type_traits>

#include "tessera/ops/fourier/panels.h"
#include "tessera/ops/fourier/roots.h"

namespace tessera::ops::fourier {
namespace {

// Two buffers of this many points stay in the second level of a core's cache.
constexpr int64_t kMaxLanePoints = 4096;
// Lines with fewer points are always computed in lanes: they are not worth a matrix of their own.
constexpr int64_t kMinLinePoints = 32;

template <class T>
bool use_lanes(int64_t lines, int64_t n) {
  if (n < kMinLinePoints) return true;
  return (is_smooth(n) ? n : 4 * n) <= kMaxLanePoints && 2 * lines >= lane_routines<T>().width;
}

// Calls fn for every line: if there are as many lines as threads, each line on one thread,
// otherwise line by line, each on all threads.
template <class F>
void for_lines(int64_t lines, F&& fn) {
  if (lines >= num_threads() && lines > 1) return parallel_for(lines, fn);
  for (int64_t i = 0; i < lines; ++i) fn(i);
}

// Notices whether one of some numbers is not finite: whether all bits of its exponent are set.
template <class T>
void look_at(const T* x, int64_t count, Noticed& noticed) {
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  constexpr Bits kExponent = sizeof(T) == 4 ? Bits{0x7f800000} : static_cast<Bits>(0x7ffULL << 52);
  Bits found = 0;
  for (int64_t i = 0; i < count; ++i)
    found |= static_cast<Bits>((std::bit_cast<Bits>(x[i]) & kExponent) == kExponent);
  if (found) noticed.not_finite = true;
}
// Of the first points of the transforms in buffers.
template <class T>
void look_at_lanes(T* const* buffers, int64_t count, Noticed& noticed) {
  for (int64_t g = 0; g < count; ++g)
    look_at(buffers[g], int64_t{2} * lane_routines<T>().width, noticed);
}

}  // namespace

template <class T>
ComplexPass<T>::ComplexPass(int64_t outer, int64_t n, int64_t inner) : n_(n), inner_(inner) {
  if (use_lanes<T>(inner == 1 ? outer : inner, n)) {
    lanes_ = std::make_unique<const LaneTransform<T>>(n);
  } else {
    line_ = std::make_unique<const LineTransform<T>>(n);
  }
}

template <class T>
void ComplexPass<T>::run(const T* in, T* out, int64_t outer, bool inverse, T scale,
                         Noticed& noticed) const {
  lanes_ ? run_lanes(in, out, outer, inverse, scale, noticed)
         : run_lines(in, out, outer, inverse, scale, noticed);
}

template <class T>
void ComplexPass<T>::run_lanes(const T* in, T* out, int64_t outer, bool inverse, T scale,
                               Noticed& noticed) const {
  const LaneRoutines<T>& lanes = lane_routines<T>();
  // If inner is 1, the lanes are whole lines; otherwise they are neighbours in memory.
  const int64_t across = inner_ == 1 ? outer : inner_, planes = inner_ == 1 ? 1 : outer;
  const int64_t lane_stride = inner_ == 1 ? n_ : 1;
  const auto plane = [&](int64_t begin) {
    for_panels<T>(
        across, lanes_->buffer_points(), [&](int64_t first, int64_t count, LanePanel<T>& panel) {
          const int64_t at = 2 * (begin + first * lane_stride);
          const auto n = static_cast<int>(count);
          lanes.load(panel.buffers(), {in + at, n_, inner_, lane_stride, n, inverse});
          const int64_t groups = groups_of(count, lanes.width);
          panel.transform(*lanes_, static_cast<int>(groups));
          look_at_lanes(panel.buffers(), groups, noticed);
          lanes.store(panel.buffers(), {out + at, n_, inner_, lane_stride, n, inverse}, scale);
        });
  };
  const int64_t size = n_ * inner_;
  if (planes >= 2 * num_threads())
    return parallel_for_ranges(planes, std::max<int64_t>(1, kTaskPoints / size),
                               [&](int64_t begin, int64_t end) {
                                 for (int64_t p = begin; p < end; ++p) plane(p * size);
                               });
  for (int64_t p = 0; p < planes; ++p) plane(p * size);
}

template <class T>
void ComplexPass<T>::run_lines(const T* in, T* out, int64_t outer, bool inverse, T scale,
                               Noticed& noticed) const {
  for_lines(outer * inner_, [&](int64_t line) {
    const int64_t at = 2 * (line / inner_ * n_ * inner_ + line % inner_);
    if (inner_ == 1) {
      line_->run(in + at, out + at, inverse, scale);
      return look_at(out + at, 2, noticed);
    }
    const Workspace<T> row(2 * n_);
    T* x = row.data();
    for (int64_t i = 0; i < n_; ++i) {
      x[2 * i] = in[at + 2 * i * inner_];
      x[2 * i + 1] = in[at + 2 * i * inner_ + 1];
    }
    line_->run(x, x, inverse, scale);
    look_at(x, 2, noticed);
    for (int64_t i = 0; i < n_; ++i) {
      out[at + 2 * i * inner_] = x[2 * i];
      out[at + 2 * i * inner_ + 1] = x[2 * i + 1];
    }
  });
}

// --- Real lines ---

template <class T>
RealPass<T>::RealPass(int64_t lines, int64_t n) : lines_(lines), n_(n), half_(n / 2) {
  if (n % 2) {
    odd_ = std::make_unique<const ComplexPass<T>>(
        std::min<int64_t>(lines, lane_routines<T>().width), n, 1);
    return;
  }
  const Roots roots(n);
  twiddles_ = Table<T>(2 * (half_ / 2 + 1));
  for (int64_t k = 0; k <= half_ / 2; ++k) {
    twiddles_.data()[2 * k] = static_cast<T>(roots(k).real());
    twiddles_.data()[2 * k + 1] = static_cast<T>(roots(k).imag());
  }
  if (use_lanes<T>(lines, half_)) {
    lanes_ = std::make_unique<const LaneTransform<T>>(half_);
  } else {
    line_ = std::make_unique<const LineTransform<T>>(half_);
  }
}

template <class T>
template <class F>
void RealPass<T>::for_groups(int64_t size, F&& fn) const {
  const int64_t groups = groups_of(lines_, size);
  const int64_t grain = std::max<int64_t>(1, kTaskPoints / (n_ * size));
  parallel_for_ranges(groups, grain, [&](int64_t begin, int64_t end) {
    for (int64_t g = begin; g < end; ++g) fn(g * size, std::min(size, lines_ - g * size));
  });
}

template <class T>
void RealPass<T>::forward(const T* in, T* out, Noticed& noticed) const {
  const LaneRoutines<T>& lanes = lane_routines<T>();
  const int64_t width = lanes.width, points = half_ + 1;
  if (line_)
    return for_lines(lines_, [&](int64_t i) {
      forward_even_line(in + i * n_, out + i * 2 * points);
      look_at(out + i * 2 * points, 2, noticed);
    });
  if (odd_)
    return for_groups(width, [&](int64_t first, int64_t count) {
      const Workspace<T> wide(2 * n_ * count);
      T* x = wide.data();
      for (int64_t i = 0; i < n_ * count; ++i) {
        x[2 * i] = in[first * n_ + i];
        x[2 * i + 1] = 0;
      }
      odd_->run(x, x, count, false, T{1}, noticed);
      for (int64_t l = 0; l < count; ++l) {
        T* line = out + (first + l) * 2 * points;
        std::copy_n(x + 2 * l * n_, 2 * points, line);
        line[1] = 0;
      }
    });
  for_groups(width, [&](int64_t first, int64_t count) {
    LanePanel<T> panel(std::max(lanes_->buffer_points(), points), 1);
    const auto n = static_cast<int>(count);
    lanes.load(panel.buffers(), {in + first * n_, half_, 1, half_, n, false});
    panel.transform(*lanes_, 1);
    look_at_lanes(panel.buffers(), 1, noticed);
    lanes.unpack_real(panel.spare(), panel.buffers()[0], twiddles_.data(), half_);
    lanes.store(&panel.spare(), {out + first * 2 * points, points, 1, points, n, false}, T{1});
  });
}

template <class T>
void RealPass<T>::inverse(const T* in, T* out, T scale, Noticed& noticed) const {
  const LaneRoutines<T>& lanes = lane_routines<T>();
  const int64_t width = lanes.width, points = half_ + 1;
  if (line_)
    return for_lines(lines_, [&](int64_t i) {
      inverse_even_line(in + i * 2 * points, out + i * n_, scale);
      look_at(out + i * n_, 2, noticed);
    });
  if (odd_)
    return for_groups(width, [&](int64_t first, int64_t count) {
      const Workspace<T> wide(2 * n_ * count);
      T* x = wide.data();
      for (int64_t l = 0; l < count; ++l) {
        const T* line = in + (first + l) * 2 * points;
        T* whole = x + 2 * l * n_;
        std::copy_n(line, 2 * points, whole);
        whole[1] = 0;
        for (int64_t k = 1; k < points; ++k) {
          whole[2 * (n_ - k)] = line[2 * k];
          whole[2 * (n_ - k) + 1] = -line[2 * k + 1];
        }
      }
      odd_->run(x, x, count, true, scale, noticed);
      for (int64_t i = 0; i < n_ * count; ++i) out[first * n_ + i] = x[2 * i];
    });
  for_groups(width, [&](int64_t first, int64_t count) {
    LanePanel<T> panel(std::max(lanes_->buffer_points(), points), 1);
    const auto n = static_cast<int>(count);
    lanes.load(&panel.spare(), {in + first * 2 * points, points, 1, points, n, false});
    lanes.pack_real(panel.buffers()[0], panel.spare(), twiddles_.data(), half_);
    panel.transform(*lanes_, 1);
    look_at_lanes(panel.buffers(), 1, noticed);
    lanes.store(panel.buffers(), {out + first * n_, half_, 1, half_, n, true}, scale);
  });
}

template <class T>
void RealPass<T>::forward_even_line(const T* in, T* out) const {
  line_->run(in, out, false, T{1});
  const LaneRoutines<T>& lanes = lane_routines<T>();
  parallel_for_ranges(half_ / 2 + 1, kTaskPoints, [&](int64_t begin, int64_t end) {
    lanes.unpack_line(out, out, twiddles_.data(), half_, begin, end);
  });
}

template <class T>
void RealPass<T>::inverse_even_line(const T* in, T* out, T scale) const {
  const Workspace<T> packed(2 * half_);
  const LaneRoutines<T>& lanes = lane_routines<T>();
  parallel_for_ranges(half_ / 2 + 1, kTaskPoints, [&](int64_t begin, int64_t end) {
    lanes.pack_line(packed.data(), in, twiddles_.data(), half_, begin, end);
  });
  // The inverse is a forward transform with parts exchanged before and after. pack_line has
  // exchanged them already.
  line_->run(packed.data(), out, false, scale);
  for (int64_t i = 0; i < half_; ++i) std::swap(out[2 * i], out[2 * i + 1]);
}

template class ComplexPass<float>;
template class ComplexPass<double>;
template class RealPass<float>;
template class RealPass<double>;

}  // namespace tessera::ops::fourier
