// Dims: a short list of integers (a shape, a permutation, strides), kept inline up to rank 6.
// Prints as Python's tuple.
#pragma once

#include <boost/container/small_vector.hpp>
#include <concepts>
#include <cstdint>
#include <iosfwd>
#include <span>
#include <string_view>
#include <vector>

namespace tessera {

class Dims : public boost::container::small_vector<int64_t, 6> {
 public:
  using Base = boost::container::small_vector<int64_t, 6>;
  using Base::Base;
  Dims() = default;
  Dims(const Dims& other);
  Dims(Dims&& other) noexcept;
  Dims& operator=(const Dims& other);
  Dims& operator=(Dims&& other) noexcept;
  Dims(std::initializer_list<int64_t> dims);
  Dims(std::span<const int64_t> dims);
  template <std::integral I>
  requires(!std::same_as<I, bool>) Dims(const std::vector<I>& dims)
      : Base(dims.begin(), dims.end()) {}

  int64_t rank() const { return static_cast<int64_t>(size()); }
  // The product of all entries: the number of elements of a shape (1 for rank 0).
  int64_t elements() const {
    int64_t n = 1;
    for (int64_t d : *this) n *= d;
    return n;
  }
};

// The extents of an array, major first. `(4, 8)` when printed; a vector is `(4,)`, a scalar `()`.
using Shape = Dims;

std::ostream& operator<<(std::ostream& out, const Dims& dims);

// Row-major strides in elements: (4, 8) -> (8, 1).
Dims row_major_strides(const Shape& shape);
// 0, 1, ..., n-1.
Dims iota_dims(int64_t n);
// `axis` in [-rank, rank) as [0, rank); UserError naming `op` otherwise.
int64_t normalize_axis(std::string_view op, int64_t axis, int64_t rank);
size_t hash_value(const Dims& dims);

// a / b rounded up, for b > 0.
inline int64_t ceil_div(int64_t a, int64_t b) { return a / b + (a % b > 0); }

}  // namespace tessera
