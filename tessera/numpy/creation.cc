#include "tessera/numpy/creation.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <complex>
#include <limits>

#include "tessera/base/array_size.h"
#include "tessera/base/format.h"
#include "tessera/base/thread_pool.h"
#include "tessera/base/warning.h"
#include "tessera/compile/composite.h"
#include "tessera/compile/place.h"
#include "tessera/mesh/default_device.h"
#include "tessera/numpy/manipulation.h"
#include "tessera/numpy/math.h"
#include "tessera/numpy/operators.h"
#include "tessera/ops/core/constant.h"
#include "tessera/ops/core/convert.h"
#include "tessera/ops/core/elementwise.h"
#include "tessera/ops/structural/concatenate.h"
#include "tessera/ops/structural/reshape.h"
#include "tessera/trace/trace.h"

namespace tessera {

using namespace compile;

namespace internal {

void expect_count(int64_t values, const Shape& shape) {
  if (values != shape.elements())
    shape_error("from_host", "expected {} values for the shape {}, got {}", shape.elements(), shape,
                values);
}

Literal converted(const Literal& literal, DType dtype) {
  if (literal.dtype() == dtype) return literal;
  if (!is_complex(literal.dtype()) || dtype != bool_) return convert_literal(literal, dtype);
  const Literal numbers = convert_literal(literal, complex128);
  Literal out(bool_, literal.shape());
  for (int64_t i = 0; i < out.elements(); ++i)
    out.mutable_data<bool>()[i] = numbers.data<std::complex<double>>()[i] != 0.;
  return out;
}

void ragged(size_t expected, size_t got) {
  shape_error("array", "expected rows of one length, got {} and {}; pad the shorter ones", expected,
              got);
}

}  // namespace internal

namespace {

void check_shape(std::string_view op, const Shape& shape) {
  for (int64_t d : shape)
    if (d < 0)
      shape_error(op, "expected extents of at least 0, got {}; only reshape takes -1", shape);
  checked_bytes(op, bool_, shape);
}

struct FullParams {
  Shape shape;
  DType dtype = float32;
  bool weak = false;
  double value = 0;
};

Array filled(const Shape& shape, double value, DType dtype, bool weak = false) {
  check_shape("full", shape);
  return composite("filled", FullParams{shape, dtype, weak, value}, {},
                   [](const FullParams& p, std::span<const Array>) {
                     return lax::full(p.shape, p.value, p.dtype, p.weak);
                   });
}

Array filled_like(const Array& x, double value, const LikeOptions& o) {
  return filled(o.shape.value_or(x.shape()), value, canonical_dtype(o.dtype.value_or(x.dtype())),
                !o.dtype && x.weak_type());
}

}  // namespace

namespace internal {

void warn_of_lost_digits(DType dtype) {
  if (x64_enabled() || canonical_dtype(dtype) == dtype || !is_inexact(dtype)) return;
  warn(fmt::format(
      "host data of {} become {}, which has fewer digits: call enable_x64(true) at the start "
      "of the program to keep them, or pass {} data",
      dtype, canonical_dtype(dtype), canonical_dtype(dtype)));
}

namespace {

template <class Wide, class Narrow>
bool all_fit(const Literal& literal) {
  const Wide* values = literal.data<Wide>();
  std::atomic<bool> fit = true;
  parallel_for_ranges(literal.elements(), int64_t{1} << 18, [&](int64_t begin, int64_t end) {
    Wide low = values[begin], high = low;
    for (int64_t i = begin + 1; i < end; ++i) {
      low = std::min(low, values[i]);
      high = std::max(high, values[i]);
    }
    if (low < static_cast<Wide>(std::numeric_limits<Narrow>::min()) ||
        high > static_cast<Wide>(std::numeric_limits<Narrow>::max()))
      fit = false;
  });
  return fit;
}

}  // namespace

void warn_of_lost_values(const Literal& data) {
  if (x64_enabled() || (data.dtype() != int64 && data.dtype() != uint64)) return;
  if (data.dtype() == int64 ? all_fit<int64_t, int32_t>(data) : all_fit<uint64_t, uint32_t>(data))
    return;
  warn(fmt::format(
      "host data of {} become {}, which cannot hold some of the values, so that these change: call "
      "enable_x64(true) at the start of the program to keep them, or pass values that fit",
      data.dtype(), canonical_dtype(data.dtype())));
}

Array from_numbers(const Literal& literal) {
  Literal values = internal::converted(literal, canonical_dtype(literal.dtype()));
  // Small arrays may become constants of programs. Others are copied to the device here, once, not
  // at every use.
  if (values.elements() <= kMaxConstantElements) return Array(std::move(values));
  return Array(placed_data(Array(values), SingleDeviceSharding(default_device())));
}

}  // namespace internal

Array from_host(const Literal& literal) {
  internal::warn_of_lost_digits(literal.dtype());
  internal::warn_of_lost_values(literal);
  return internal::from_numbers(literal);
}

void MixedNumbers::collect(const Shape& shape, size_t depth, std::vector<long double>& numbers,
                           DType& common) const {
  if (is_row_ != (depth < shape.size()))
    shape_error("array", "expected either rows or numbers, got both; nest all alike");
  if (!is_row_) {
    numbers.push_back(number_);
    common = promote_types({common, false}, {dtype_, false}).dtype;
    return;
  }
  if (static_cast<int64_t>(row_.size()) != shape[depth])
    internal::ragged(static_cast<size_t>(shape[depth]), row_.size());
  for (const MixedNumbers& item : row_) item.collect(shape, depth + 1, numbers, common);
}

Array MixedNumbers::array(const MixedNumbers& row, OptionalDType dtype) {
  Shape shape;
  for (const MixedNumbers* at = &row; at->is_row_; at = &at->row_[0]) {
    shape.push_back(static_cast<int64_t>(at->row_.size()));
    if (at->row_.empty()) break;
  }
  std::vector<long double> numbers;
  DType common = bool_;
  row.collect(shape, 0, numbers, common);
  if (numbers.empty()) common = default_float();
  const DType result = canonical_dtype(dtype.value_or(common));
  if (is_integer(common)) {
    const std::vector<int64_t> values(numbers.begin(), numbers.end());
    const Literal literal = Literal::from<int64_t>(values, shape);
    if (!internal::is_available(dtype)) internal::warn_of_lost_values(literal);
    return from_host(internal::converted(literal, result));
  }
  const std::vector<double> values(numbers.begin(), numbers.end());
  return from_host(internal::converted(Literal::from<double>(values, shape), result));
}

Array asarray(const Array& x, OptionalDType dtype) { return dtype ? astype(x, *dtype) : x; }

Array astype(const Array& x, DType dtype) {
  struct AstypeParams {
    DType dtype;
  };
  const DType target = canonical_dtype(dtype);
  if (x.dtype() == target && !x.weak_type()) return x;
  return composite(
      "astype", AstypeParams{target}, {x},
      [](const AstypeParams& p, std::span<const Array> a) { return as_dtype(a[0], p.dtype); });
}

Array zeros(const Shape& shape, OptionalDType dtype) {
  return filled(shape, 0, canonical_dtype(dtype.value_or(float64)));
}
Array ones(const Shape& shape, OptionalDType dtype) {
  return filled(shape, 1, canonical_dtype(dtype.value_or(float64)));
}
Array empty(const Shape& shape, OptionalDType dtype) { return zeros(shape, dtype); }

Array full(const Shape& shape, const Array& value, OptionalDType dtype) {
  check_shape("full", shape);
  const DType target = canonical_dtype(dtype.value_or(value.dtype()));
  const bool weak = !dtype && value.weak_type();
  return composite("full", FullParams{shape, target, weak}, {value},
                   [](const FullParams& p, std::span<const Array> a) {
                     return broadcast_array("full", as_dtype(a[0], p.dtype, p.weak), p.shape);
                   });
}

Array zeros_like(const Array& x, const LikeOptions& o) { return filled_like(x, 0, o); }
Array ones_like(const Array& x, const LikeOptions& o) { return filled_like(x, 1, o); }
Array empty_like(const Array& x, const LikeOptions& o) { return filled_like(x, 0, o); }
Array full_like(const Array& x, const Array& value, const LikeOptions& o) {
  const Shape shape = o.shape.value_or(x.shape());
  check_shape("full_like", shape);
  const DType dtype = canonical_dtype(o.dtype.value_or(x.dtype()));
  const bool weak = !o.dtype && x.weak_type();
  return composite("full_like", FullParams{shape, dtype, weak}, {value},
                   [](const FullParams& p, std::span<const Array> a) {
                     return broadcast_array("full_like", as_dtype(a[0], p.dtype, p.weak), p.shape);
                   });
}

namespace internal {

namespace {

struct ArangeParams {
  int64_t count = 0, start = 0, step = 1;
  DType dtype = int32;
};

Array count_up(int64_t count, int64_t start, int64_t step, DType dtype) {
  return composite(
      "arange", ArangeParams{count, start, step, dtype}, {},
      [](const ArangeParams& p, std::span<const Array>) {
        Array out = lax::iota(p.dtype, {p.count});
        if (p.step != 1)
          out = lax::mul(
              out,
              lax::full(out.shape(), Literal(convert_literal(Literal::scalar(p.step), p.dtype))));
        if (p.start != 0)
          out = lax::add(
              out,
              lax::full(out.shape(), Literal(convert_literal(Literal::scalar(p.start), p.dtype))));
        return out;
      });
}

// Returns the numbers start, start + delta, ... in T, where delta is next - start as rounded in T.
// numpy.arange computes the same.
template <class T>
Literal steps(int64_t count, T start, T next) {
  Literal out(dtype_of<T>, {count});
  T* values = out.mutable_data<T>();
  for (int64_t i = 0; i < count; ++i) values[i] = start + static_cast<T>(i) * (next - start);
  return out;
}

}  // namespace

Array arange_int(int64_t start, int64_t stop, int64_t step, DType dtype) {
  if (step == 0) value_error("arange", "expected a step other than 0, got 0");
  int64_t distance = 0;
  if (__builtin_sub_overflow(stop, start, &distance) || distance < -kMaxArrayBytes)
    value_error("arange", "expected bounds at most 2^60 apart, got {} and {}", start, stop);
  const int64_t count =
      (step > 0) == (distance > 0) ? ceil_div(std::abs(distance), std::abs(step)) : 0;
  return count_up(distance == 0 ? 0 : count, start, step, dtype);
}

Array arange_float(double start, double stop, double step, DType dtype) {
  if (step == 0) value_error("arange", "expected a step other than 0, got 0");
  const double length = std::ceil((stop - start) / step);
  if (!(length < 0x1p62))
    value_error("arange", "expected finite bounds, got {}, {} and the step {}", start, stop, step);
  const int64_t count = length > 0 ? static_cast<int64_t>(length) : 0;
  if (start == 0 && step == 1) return count_up(count, 0, 1, dtype);
  if (dtype == float64) return from_host(steps<double>(count, start, start + step));
  if (is_integer(dtype))
    return from_host(converted(
        steps<int64_t>(count, static_cast<int64_t>(start), static_cast<int64_t>(start + step)),
        dtype));
  const auto rounded = [&](double x) {
    return convert_literal(convert_literal(Literal::scalar(x), dtype), float32).data<float>()[0];
  };
  return from_host(converted(steps<float>(count, rounded(start), rounded(start + step)), dtype));
}

}  // namespace internal

Array linspace(const Array& start, const Array& stop, int64_t num, const LinspaceOptions& o) {
  if (num < 0) value_error("linspace", "expected at least 0 numbers, got {}", num);
  const DType result =
      canonical_dtype(o.dtype.value_or(to_inexact(result_type({start, stop}).dtype)));
  const Shape bounds =
      broadcast_shapes("linspace", std::vector<Shape>{start.shape(), stop.shape()});
  const int64_t axis = normalize_axis("linspace", o.axis, bounds.rank() + 1);
  struct LinspaceParams {
    int64_t num, axis;
    bool endpoint;
    DType dtype;
    Shape bounds;
  };
  return composite(
      "linspace", LinspaceParams{num, axis, o.endpoint, result, bounds}, {start, stop},
      [](const LinspaceParams& p, std::span<const Array> a) {
        const DType computation = to_inexact(p.dtype);
        const auto end = [&](const Array& x) {
          return lax::expand_dims(broadcast_array("linspace", as_dtype(x, computation), p.bounds),
                                  {p.axis});
        };
        const Array first = end(a[0]), last = end(a[1]);
        const int64_t parts = p.endpoint ? p.num - 1 : p.num;
        Shape shape = first.shape();
        shape[p.axis] = p.num > 1 ? parts : p.num;
        Array out = broadcast_array("linspace", first, shape);
        if (p.num > 1) {
          // The weights are i / parts and 1 - i / parts, so that both ends are exact.
          const DType real = real_dtype(computation);
          const Array index = lax::iota(real, shape, p.axis);
          const Array weight = as_dtype(
              lax::div(index, lax::full_like(index, static_cast<double>(parts))), computation);
          out = lax::add(lax::mul(out, lax::sub(lax::full_like(weight, 1), weight)),
                         lax::mul(broadcast_array("linspace", last, shape), weight));
          if (p.endpoint) out = lax::concatenate(std::vector<Array>{out, last}, p.axis);
        }
        if (is_integer(p.dtype)) out = lax::floor(out);
        return as_dtype(out, p.dtype);
      });
}

Array logspace(const Array& start, const Array& stop, int64_t num, const LogspaceOptions& o) {
  const DType result =
      canonical_dtype(o.dtype.value_or(to_inexact(result_type({start, stop}).dtype)));
  struct LogspaceParams {
    int64_t num, axis;
    bool endpoint;
    DType dtype;
  };
  return composite("logspace", LogspaceParams{num, o.axis, o.endpoint, result},
                   {start, stop, o.base}, [](const LogspaceParams& p, std::span<const Array> a) {
                     const DType computation = to_inexact(p.dtype);
                     const Array exponents =
                         linspace(as_dtype(a[0], computation), as_dtype(a[1], computation), p.num,
                                  {.endpoint = p.endpoint, .axis = p.axis});
                     return as_dtype(power(as_dtype(a[2], computation), exponents), p.dtype);
                   });
}

namespace {

struct MatrixParams {
  Shape shape;
  int64_t diagonal;
  DType dtype;
  Array (*compare)(const Array&, const Array&);
};

// Returns a matrix with ones where compare(row + k, column) is true.
Array index_matrix(const char* name, int64_t n, std::optional<int64_t> m, int64_t k,
                   OptionalDType dtype, Array (*compare)(const Array&, const Array&)) {
  const Shape shape{n, m.value_or(n)};
  check_shape(name, shape);
  const DType result = canonical_dtype(dtype.value_or(float64));
  return composite(name, MatrixParams{shape, k, result, compare}, {},
                   [](const MatrixParams& p, std::span<const Array>) {
                     const Array row = lax::iota(int32, p.shape, 0),
                                 column = lax::iota(int32, p.shape, 1);
                     const Array below = lax::full_like(row, static_cast<double>(p.diagonal));
                     return as_dtype(p.compare(lax::add(row, below), column), p.dtype);
                   });
}

}  // namespace

Array eye(int64_t n, OrNone<int64_t> m, int64_t k, OptionalDType dtype) {
  return index_matrix("eye", n, m, k, dtype, lax::eq);
}
Array tri(int64_t n, OrNone<int64_t> m, int64_t k, OptionalDType dtype) {
  return index_matrix("tri", n, m, k, dtype.value_or(float32), lax::ge);
}

std::vector<Array> meshgrid(const std::vector<Array>& vectors, const MeshgridOptions& o) {
  const int64_t rank = static_cast<int64_t>(vectors.size());
  Shape full;
  for (const Array& v : vectors) {
    if (v.ndim() > 1)
      shape_error("meshgrid", "expected vectors, got {}; ravel it first", describe(v.type()));
    full.push_back(v.size());
  }
  const bool swap = o.xy && rank >= 2;
  if (swap) std::swap(full[0], full[1]);
  struct MeshgridParams {
    Shape full;
    bool swap, sparse;
  };
  return composite("meshgrid", MeshgridParams{full, swap, o.sparse}, vectors,
                   [](const MeshgridParams& p, std::span<const Array> a) -> std::vector<Array> {
                     std::vector<Array> out;
                     for (int64_t i = 0; i < p.full.rank(); ++i) {
                       Shape shape(p.full.size(), 1);
                       shape[p.swap && i < 2 ? 1 - i : i] = a[i].size();
                       const Array line = lax::reshape(a[i], shape);
                       out.push_back(p.sparse ? line : broadcast_array("meshgrid", line, p.full));
                     }
                     return out;
                   });
}

}  // namespace tessera
