// Unsigned numbers (keys) that have the order of an array's elements, and the inverse map from keys
// to elements.
#pragma once

#include <bit>
#include <complex>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "tessera/base/visit_dtype.h"
#include "tessera/ops/structural/sort_order.h"

namespace tessera::ops {

// The type of the key of an array's scalar, or of a part of a complex one: the unsigned type of its
// width.
template <size_t bytes>
using UnsignedOf = std::conditional_t<
    bytes == 1, uint8_t,
    std::conditional_t<bytes == 2, uint16_t, std::conditional_t<bytes == 4, uint32_t, uint64_t>>>;
template <class T>
using KeyOf = UnsignedOf<sizeof(T)>;

template <class T>
inline constexpr bool has_float_key = is_half_type<T> || std::is_floating_point_v<T>;

// Returns the bits of +infinity.
template <class T>
constexpr KeyOf<T> infinity_bits() {
  if constexpr (std::is_same_v<T, Float16>) {
    return 0x7c00;
  } else if constexpr (std::is_same_v<T, Bfloat16>) {
    return 0x7f80;
  } else {
    return std::bit_cast<KeyOf<T>>(std::numeric_limits<T>::infinity());
  }
}

template <class T>
inline constexpr KeyOf<T> kSignBit = static_cast<KeyOf<T>>(KeyOf<T>{1} << (8 * sizeof(T) - 1));

template <class T>
bool is_nan_bits(KeyOf<T> bits) {
  return static_cast<KeyOf<T>>(bits & ~kSignBit<T>) > infinity_bits<T>();
}

// Maps elements of type T to keys with their order: a is before b if and only if key(a) < key(b).
// For NanOrder::kUnordered, NaNs get the keys of kLargest.
template <class T>
class KeyMaker {
 public:
  using Key = KeyOf<T>;
  explicit KeyMaker(const SortKey& key)
      : flip_(key.descending ? static_cast<Key>(~Key{0}) : Key{0}),
        equal_zeros_(key.equal_zeros),
        equal_nans_(key.nans != NanOrder::kByBits) {}

  Key operator()(T value) const {
    if constexpr (has_float_key<T>) {
      Key bits = std::bit_cast<Key>(value);
      if (equal_zeros_ && bits == kSignBit<T>) bits = 0;
      if (equal_nans_ && is_nan_bits<T>(bits)) return nan();
      bits ^= bits & kSignBit<T> ? static_cast<Key>(~Key{0}) : kSignBit<T>;
      return static_cast<Key>(bits ^ flip_);
    } else {
      Key bits = static_cast<Key>(value);
      if constexpr (std::is_signed_v<T>) bits ^= kSignBit<T>;
      return static_cast<Key>(bits ^ flip_);
    }
  }
  // Returns the element with this key; if several have it, one of them.
  T element(Key key) const {
    key ^= flip_;
    if constexpr (has_float_key<T>) {
      key ^= key & kSignBit<T> ? kSignBit<T> : static_cast<Key>(~Key{0});
      return std::bit_cast<T>(key);
    } else {
      if constexpr (std::is_signed_v<T>) key ^= kSignBit<T>;
      return static_cast<T>(key);
    }
  }
  // Return the key of all zeros, and of all NaNs, if these count as equal.
  Key zero() const { return static_cast<Key>(kSignBit<T> ^ flip_); }
  Key nan() const { return static_cast<Key>(~Key{0} ^ flip_); }
  // Returns whether element(key) may have other bits than this element: true for -0 and for all
  // NaNs if these count as equal.
  bool loses_bits(T value) const {
    if constexpr (has_float_key<T>) {
      const Key bits = std::bit_cast<Key>(value);
      return (equal_zeros_ && bits == kSignBit<T>) || (equal_nans_ && is_nan_bits<T>(bits));
    } else {
      return false;
    }
  }

 private:
  Key flip_;
  bool equal_zeros_, equal_nans_;
};

}  // namespace tessera::ops
