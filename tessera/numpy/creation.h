// Arrays made of numbers, shapes and host data, as in jax.numpy. Without a dtype, C++
// floating-point numbers give float32 and integers int32 (float64 and int64 if x64 is enabled).
// Likewise, unless x64 is enabled, an array asked for in a 64-bit dtype gets the 32-bit dtype of
// that kind.
#pragma once

#include <concepts>
#include <initializer_list>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "tessera/ir/array.h"
#include "tessera/numpy/axes.h"
#include "tessera/numpy/promotion.h"

namespace tessera {

using OptionalDType = std::optional<DType>;

template <class T>
concept Element = requires {
  DTypeOf<std::remove_cvref_t<T>>::value;
};

// --- From host data. ---

namespace internal {
// Throws UserError unless `values` is the number of elements of the shape.
void expect_count(int64_t values, const Shape& shape);
// Returns the array that from_host() returns, without a warning: the library itself, or a literal
// in the program, made the numbers.
Array from_numbers(const Literal& literal);
// Returns whether the caller named a dtype that arrays have at present, for which no warning is
// due.
inline bool is_available(OptionalDType dtype) { return dtype && canonical_dtype(*dtype) == *dtype; }
// Warns, if x64 is not enabled, that data of this dtype lose digits.
void warn_of_lost_digits(DType dtype);
// Warns, if x64 is not enabled, that some of these 64-bit integers do not fit into 32 bits.
void warn_of_lost_values(const Literal& data);
}  // namespace internal

// Returns the values, in row-major order, as an array of `shape`. Their dtype is kept if x64 is
// enabled. Otherwise double becomes float32, with a warning once, and int64 becomes int32, with a
// warning if some of them do not fit. Throws UserError if the number of values is not that of the
// shape's elements.
Array from_host(const Literal& literal);
template <Element T>
Array from_host(std::span<const T> values, const Shape& shape) {
  return from_host(Literal::from<T>(values, shape));
}
template <Element T>
Array from_host(const std::vector<T>& values, const Shape& shape) {
  if constexpr (std::is_same_v<T, bool>) {
    Literal out(bool_, shape);
    internal::expect_count(static_cast<int64_t>(values.size()), shape);
    bool* to = out.mutable_data<bool>();
    for (const bool value : values) *to++ = value;
    return from_host(out);
  } else {
    return from_host(std::span<const T>(values), shape);
  }
}
template <Element T>
Array from_host(const std::vector<T>& values) {
  return from_host(values, {static_cast<int64_t>(values.size())});
}
inline Literal to_host(const Array& x) { return x.to_host(); }
// Returns all elements, in row-major order, converted to T.
template <Element T>
std::vector<T> to_vector(const Array& x);

namespace internal {
Literal converted(const Literal& literal, DType dtype);
// Throws UserError [array] for rows of different lengths.
[[noreturn]] void ragged(size_t expected, size_t got);

template <class List>
void nested_shape(const List& list, Shape& out) {
  out.push_back(static_cast<int64_t>(list.size()));
  using Item = typename List::value_type;
  if constexpr (!Element<Item>) {
    if (list.size() > 0) nested_shape(*list.begin(), out);
  }
}
template <class T, class List>
void nested_values(const List& list, const Shape& shape, size_t depth, std::vector<T>& out) {
  if (static_cast<int64_t>(list.size()) != shape[depth])
    ragged(static_cast<size_t>(shape[depth]), list.size());
  for (const auto& item : list) {
    if constexpr (Element<std::remove_cvref_t<decltype(item)>>) {
      out.push_back(item);
    } else {
      nested_values(item, shape, depth + 1, out);
    }
  }
}
template <class T, size_t depth, class List>
Array nested_array(const List& list, OptionalDType dtype) {
  Shape shape;
  nested_shape(list, shape);
  while (shape.size() < depth) shape.push_back(0);
  std::vector<T> values;
  nested_values(list, shape, 0, values);
  // Numbers of C++'s default types get the library's default dtypes; others keep their dtype.
  const DType own = std::is_same_v<T, double> ? default_float()
                    : std::is_same_v<T, int>  ? default_int()
                                              : dtype_of<T>;
  const DType canonical = canonical_dtype(dtype.value_or(own));
  if constexpr (std::is_same_v<T, bool>) {  // std::vector<bool> has no span
    return from_numbers(converted(from_host(values, shape).to_host(), canonical));
  } else {
    const Literal literal = Literal::from<T>(values, shape);
    if (!is_available(dtype)) warn_of_lost_values(literal);
    return from_numbers(converted(literal, canonical));
  }
}
}  // namespace internal

// Braces around numbers of several C++ types, to any depth: {{1, 2.5}, {3, 4}}.
class MixedNumbers {
 public:
  template <class T>
  requires std::is_arithmetic_v<T> MixedNumbers(T number)
      : number_(static_cast<long double>(number)), dtype_(own_dtype<T>()) {}
  MixedNumbers(std::initializer_list<MixedNumbers> row) : row_(row), is_row_(true) {}

  static Array array(const MixedNumbers& row, OptionalDType dtype);

 private:
  template <class T>
  static DType own_dtype() {
    if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, float>) return dtype_of<T>;
    return std::is_floating_point_v<T> ? default_float() : default_int();
  }
  void collect(const Shape& shape, size_t depth, std::vector<long double>& numbers,
               DType& common) const;

  long double number_ = 0;  // holds any integer
  DType dtype_ = bool_;
  std::vector<MixedNumbers> row_;
  bool is_row_ = false;
};

// Returns the array of numbers of one C++ type in up to four levels of braces or vectors:
// array({1., 2.}), array({{1, 2}, {3, 4}}). Numbers of several types in braces, {1, 2.5}, get their
// common dtype. Throws UserError for rows of different lengths. Doubles in a vector become float32
// with a warning, as in from_host(); array(values, float32) does not warn. A number without braces,
// array(2.0), has rank 0 and is weakly typed.
template <Element T>
Array array(std::initializer_list<T> values, OptionalDType dtype = {}) {
  return internal::nested_array<T, 1>(values, dtype);
}
template <Element T>
Array array(std::initializer_list<std::initializer_list<T>> values, OptionalDType dtype = {}) {
  return internal::nested_array<T, 2>(values, dtype);
}
template <Element T>
Array array(std::initializer_list<std::initializer_list<std::initializer_list<T>>> values,
            OptionalDType dtype = {}) {
  return internal::nested_array<T, 3>(values, dtype);
}
template <Element T>
Array array(
    std::initializer_list<std::initializer_list<std::initializer_list<std::initializer_list<T>>>>
        values,
    OptionalDType dtype = {}) {
  return internal::nested_array<T, 4>(values, dtype);
}
template <Element T>
Array array(const std::vector<T>& values, OptionalDType dtype = {}) {
  if (!internal::is_available(dtype)) internal::warn_of_lost_digits(dtype_of<T>);
  return internal::nested_array<T, 1>(values, dtype);
}
template <Element T>
Array array(const std::vector<std::vector<T>>& values, OptionalDType dtype = {}) {
  if (!internal::is_available(dtype)) internal::warn_of_lost_digits(dtype_of<T>);
  return internal::nested_array<T, 2>(values, dtype);
}
inline Array array(std::initializer_list<MixedNumbers> values, OptionalDType dtype = {}) {
  return MixedNumbers::array(values, dtype);
}
// Returns x, converted to `dtype` if one is given.
Array asarray(const Array& x, OptionalDType dtype = {});
template <class T>
requires std::is_arithmetic_v<T> Array array(T value, OptionalDType dtype = {}) {
  return asarray(Array(value), dtype);
}
inline Array array(const Array& x, OptionalDType dtype = {}) { return asarray(x, dtype); }
// Returns x converted to another dtype. Floats become integers by truncation and saturate; complex
// numbers lose their imaginary part.
Array astype(const Array& x, DType dtype);

// --- Filled. ---
Array zeros(const Shape& shape, OptionalDType dtype = {});
Array ones(const Shape& shape, OptionalDType dtype = {});
// Returns zeros, as there is no uninitialised memory.
Array empty(const Shape& shape, OptionalDType dtype = {});
// Returns an array of the shape to which `value` is broadcast. Without a dtype it has that of
// `value`, and is weakly typed if `value` is.
Array full(const Shape& shape, const Array& value, OptionalDType dtype = {});
template <std::integral I>
Array zeros(I n, OptionalDType dtype = {}) {
  return zeros(Shape{static_cast<int64_t>(n)}, dtype);
}
template <std::integral I>
Array ones(I n, OptionalDType dtype = {}) {
  return ones(Shape{static_cast<int64_t>(n)}, dtype);
}
template <std::integral I>
Array empty(I n, OptionalDType dtype = {}) {
  return empty(Shape{static_cast<int64_t>(n)}, dtype);
}
template <std::integral I>
Array full(I n, const Array& value, OptionalDType dtype = {}) {
  return full(Shape{static_cast<int64_t>(n)}, value, dtype);
}

struct LikeOptions {
  OptionalDType dtype = {};
  OrNone<Shape> shape = std::nullopt;
};
// Return arrays with x's shape and dtype. Only the type of x is read, so x may be traced.
Array zeros_like(const Array& x, const LikeOptions& options = {});
Array ones_like(const Array& x, const LikeOptions& options = {});
Array empty_like(const Array& x, const LikeOptions& options = {});
Array full_like(const Array& x, const Array& value, const LikeOptions& options = {});

// --- Counted. ---
namespace internal {
Array arange_int(int64_t start, int64_t stop, int64_t step, DType dtype);
Array arange_float(double start, double stop, double step, DType dtype);
}  // namespace internal

// Returns the numbers start, start + step, ... below stop. There are ceil((stop - start) / step) of
// them, none if that is negative. They are integers if all arguments are. Throws UserError if the
// step is 0.
template <class A, class B, class C = int>
requires(std::is_arithmetic_v<A>&& std::is_arithmetic_v<B>&& std::is_arithmetic_v<C>) Array
    arange(A start, B stop, C step = 1, OptionalDType dtype = {}) {
  if constexpr (std::integral<A> && std::integral<B> && std::integral<C>) {
    return internal::arange_int(static_cast<int64_t>(start), static_cast<int64_t>(stop),
                                static_cast<int64_t>(step),
                                canonical_dtype(dtype.value_or(default_int())));
  } else {
    return internal::arange_float(static_cast<double>(start), static_cast<double>(stop),
                                  static_cast<double>(step),
                                  canonical_dtype(dtype.value_or(default_float())));
  }
}
template <class B>
requires std::is_arithmetic_v<B> Array arange(B stop, OptionalDType dtype = {}) {
  return arange(B{0}, stop, 1, dtype);
}

struct LinspaceOptions {
  bool endpoint = true;
  OptionalDType dtype = {};
  int64_t axis = 0;  // of the result, if start and stop are arrays
};
// Returns `num` evenly spaced numbers from start to stop. Throws UserError if num is negative.
Array linspace(const Array& start, const Array& stop, int64_t num = 50,
               const LinspaceOptions& options = {});
struct LogspaceOptions {
  bool endpoint = true;
  Array base = 10.0;
  OptionalDType dtype = {};
  int64_t axis = 0;
};
// Returns `num` numbers from base**start to base**stop whose exponents are evenly spaced.
Array logspace(const Array& start, const Array& stop, int64_t num = 50,
               const LogspaceOptions& options = {});

// --- Matrices. ---

// Returns an n x m matrix with ones where column == row + k. m = None means n.
Array eye(int64_t n, OrNone<int64_t> m = None, int64_t k = 0, OptionalDType dtype = {});
Array identity(int64_t n, OptionalDType dtype = {});
// Returns an n x m matrix with ones where column <= row + k. m = None means n.
Array tri(int64_t n, OrNone<int64_t> m = None, int64_t k = 0, OptionalDType dtype = {});

struct MeshgridOptions {
  bool xy = true;       // the first two dimensions are swapped, as numpy's 'xy'; false: 'ij'
  bool sparse = false;  // other dimensions have extent 1 instead of copies
};
// Returns one array of coordinates for each vector. Throws UserError if one is not a vector.
std::vector<Array> meshgrid(const std::vector<Array>& vectors, const MeshgridOptions& options = {});

template <Element T>
std::vector<T> to_vector(const Array& x) {
  const Literal values = internal::converted(x.to_host(), dtype_of<T>);
  return std::vector<T>(values.data<T>(), values.data<T>() + values.elements());
}

}  // namespace tessera
