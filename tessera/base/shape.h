// Dims: a short list of integers (a shape, a permutation, strides), stored inline up to rank 6. It
// prints as a Python tuple.
#pragma once

#include <boost/container/small_vector.hpp>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <iterator>
#include <span>
#include <string_view>
#include <vector>

namespace tessera {

class Dims : public boost::container::small_vector<int64_t, 6> {
 public:
  using Base = boost::container::small_vector<int64_t, 6>;
  // One entry of a list in braces. It takes any integer and bool, so that {v.size(), 3} needs no
  // cast: a plain std::initializer_list<int64_t> refuses sizes, because they might not fit.
  struct Entry {
    template <std::integral I>
    constexpr Entry(I entry) : value(static_cast<int64_t>(entry)) {}
    int64_t value;
  };
  Dims() = default;
  Dims(size_type n, int64_t value) : Base(n, value) {}
  template <std::input_iterator It>
  Dims(It begin, It end) : Base(begin, end) {}
  Dims(const Dims& other);
  Dims(Dims&& other) noexcept;
  Dims& operator=(const Dims& other);
  Dims& operator=(Dims&& other) noexcept;
  Dims(std::initializer_list<Entry> dims);
  Dims(std::span<const int64_t> dims);
  template <std::integral I>
  requires(!std::same_as<I, bool>) Dims(const std::vector<I>& dims)
      : Base(dims.begin(), dims.end()) {}

  int64_t rank() const { return static_cast<int64_t>(size()); }
  // Returns the product of all entries: the number of elements of a shape (1 for rank 0).
  int64_t elements() const {
    int64_t n = 1;
    for (int64_t d : *this) n *= d;
    return n;
  }
};

// The extents of an array, the major dimension first. It prints as `(4, 8)`; that of a vector as
// `(4,)`, that of a scalar as `()`.
using Shape = Dims;

std::ostream& operator<<(std::ostream& out, const Dims& dims);

// Returns the row-major strides in elements: (8, 1) for (4, 8).
Dims row_major_strides(const Shape& shape);
// Returns 0, 1, ..., n-1.
Dims iota_dims(int64_t n);
// Returns `axis`, which is in [-rank, rank), as a number in [0, rank). Throws a UserError that
// names `op` otherwise.
int64_t normalize_axis(std::string_view op, int64_t axis, int64_t rank);
size_t hash_value(const Dims& dims);

// Returns a / b rounded up, for b > 0.
inline int64_t ceil_div(int64_t a, int64_t b) { return a / b + (a % b > 0); }

}  // namespace tessera
