#include "literals.h"

#include <cmath>
#include <cstring>

#include "tessera/base/visit_dtype.h"
#include "tessera/ops/core/convert.h"

namespace tessera::generate {

using namespace ops;

namespace {

// These functions access single elements, for any dtype.
Dims index_of(int64_t flat, const Shape& shape) {
  Dims out(shape.rank(), 0);
  for (int64_t d = shape.rank() - 1; d >= 0; --d) {
    out[d] = flat % shape[d];
    flat /= shape[d];
  }
  return out;
}
int64_t flat_of(const Dims& index, const Shape& shape) {
  int64_t out = 0;
  for (int64_t d = 0; d < shape.rank(); ++d) out = out * shape[d] + index[d];
  return out;
}
void copy_element(const Literal& from, int64_t source, Literal& to, int64_t target) {
  const int64_t item = itemsize(from.dtype());
  std::memcpy(to.mutable_raw() + target * item, from.raw() + source * item,
              static_cast<size_t>(item));
}

template <class F>
Literal combined(const Literal& a, const Literal& b, const F& f) {
  Literal out = a;
  visit_dtype(a.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* data = out.mutable_data<T>();
    const T* other = b.data<T>();
    for (int64_t k = 0; k < a.elements(); ++k) {
      if constexpr (std::is_same_v<T, Float16> || std::is_same_v<T, Bfloat16>) {
        data[k] = T(f(static_cast<float>(data[k]), static_cast<float>(other[k])));
      } else if constexpr (std::is_same_v<T, bool>) {
        data[k] = f(static_cast<int>(data[k]), static_cast<int>(other[k])) != 0;
      } else {
        data[k] = static_cast<T>(f(data[k], other[k]));
      }
    }
  });
  return out;
}
template <class T>
T extremum(T a, T b, bool largest) {
  if constexpr (requires { a < b; }) {
    return (largest ? a < b : b < a) ? b : a;
  } else {
    return a;
  }
}

}  // namespace

Literal block(const Literal& x, const Dims& start, const Shape& shape) {
  Literal out(x.dtype(), shape);
  for (int64_t k = 0; k < out.elements(); ++k) {
    Dims index = index_of(k, shape);
    for (int64_t d = 0; d < shape.rank(); ++d) index[d] += start[d];
    copy_element(x, flat_of(index, x.shape()), out, k);
  }
  return out;
}

void put_block(const Literal& part, Literal& to, const Dims& start) {
  for (int64_t k = 0; k < part.elements(); ++k) {
    Dims index = index_of(k, part.shape());
    for (int64_t d = 0; d < part.shape().rank(); ++d) index[d] += start[d];
    copy_element(part, k, to, flat_of(index, to.shape()));
  }
}

Literal row(const Literal& x, int64_t dim, int64_t at) {
  Dims start(x.shape().rank(), 0);
  Shape shape = x.shape();
  start[dim] = at;
  shape[dim] = 1;
  const Literal part = block(x, start, shape);
  shape.erase(shape.begin() + dim);
  return part.reshaped(shape);
}

Literal stacked(const Literals& parts, DType dtype, Shape shape) {
  shape.insert(shape.begin(), static_cast<int64_t>(parts.size()));
  Literal out(dtype, shape);
  int64_t offset = 0;
  for (const Literal& part : parts) {
    if (part.bytes() > 0)
      std::memcpy(out.mutable_raw() + offset, part.raw(), static_cast<size_t>(part.bytes()));
    offset += part.bytes();
  }
  return out;
}

Literal concatenated(const Literals& parts, int64_t dim) {
  Shape shape = parts[0].shape();
  shape[dim] = 0;
  for (const Literal& part : parts) shape[dim] += part.shape()[dim];
  Literal out(parts[0].dtype(), shape);
  Dims start(shape.rank(), 0);
  for (const Literal& part : parts) {
    put_block(part, out, start);
    start[dim] += part.shape()[dim];
  }
  return out;
}

Literal reduced(const Literals& parts, Collective kind) {
  Literal out = parts[0];
  for (size_t k = 1; k < parts.size(); ++k) {
    if (kind == Collective::kPmax || kind == Collective::kPmin) {
      const bool largest = kind == Collective::kPmax;
      out = combined(out, parts[k], [=](auto a, auto b) { return extremum(a, b, largest); });
    } else {
      out = combined(out, parts[k], [](auto a, auto b) { return a + b; });
    }
  }
  if (kind == Collective::kPmean) {
    const double n = static_cast<double>(parts.size());
    out = combined(out, out, [n](auto a, auto) { return a * decltype(a)(1 / n); });
  }
  return out;
}

Literal with_element(const Literal& x, int64_t k, double change) {
  Literal out = x;
  visit_dtype(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_same_v<T, double>) out.mutable_data<T>()[k] += change;
  });
  return out;
}

std::vector<std::complex<double>> numbers(const Literal& x) {
  std::vector<std::complex<double>> out;
  const Literal wide = convert_literal(x, complex128);
  const auto* data = wide.data<std::complex<double>>();
  out.assign(data, data + wide.elements());
  return out;
}

Literal moved(const Literal& a, double t, const Literal& b) {
  if (a.dtype() == float64 || a.dtype() == complex128)
    return combined(a, b, [t](auto x, auto y) { return x + decltype(x)(t) * y; });
  return a;
}

double derivative(const std::array<double, 5>& f, double h, bool* steady) {
  const double near = (f[3] - f[1]) / (2 * h), far = (f[4] - f[0]) / (4 * h),
               scale = 1 + std::abs(near);
  const auto bend = [&](size_t k) { return f[2 + k] + f[2 - k] - 2 * f[2]; };
  // With twice the step, the second difference of a smooth function is four times as large, that of
  // a kink twice.
  const double kink = (bend(2) - 4 * bend(1)) / (2 * h);
  if (!(std::abs(near - far) <= 1e-3 * scale && std::abs(kink) <= 2e-6 * scale)) *steady = false;
  return (4 * near - far) / 3;
}

std::vector<double> derivative(const std::function<std::vector<double>(double)>& f, bool* steady,
                               double h) {
  std::array<std::vector<double>, 5> values;
  for (int k = 0; k < 5; ++k) values[k] = f((k - 2) * h);
  std::vector<double> out;
  for (size_t e = 0; e < values[0].size(); ++e) {
    std::array<double, 5> one;
    for (size_t k = 0; k < 5; ++k) one[k] = values[k][e];
    out.push_back(derivative(one, h, steady));
  }
  return out;
}

}  // namespace tessera::generate
