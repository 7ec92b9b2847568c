#include "tessera/numpy/promotion.h"

#include <fmt/ranges.h>

#include <array>
#include <bit>

namespace tessera {
namespace {

// Nodes of the lattice: the dtypes in enum order, then the weak types.
constexpr int kWeakInt = kNumDTypes, kWeakFloat = kNumDTypes + 1, kWeakComplex = kNumDTypes + 2, kNodes = kNumDTypes + 3;
constexpr int node(DType d) { return static_cast<int>(d); }

using Set = uint32_t;
struct Edge {
  int from, to;
};
constexpr Edge kEdges[] = {
    {node(bool_), kWeakInt},         {kWeakInt, node(uint8)},         {kWeakInt, node(int8)},
    {node(uint8), node(int16)},      {node(uint8), node(uint16)},     {node(uint16), node(int32)},
    {node(uint16), node(uint32)},    {node(uint32), node(int64)},     {node(uint32), node(uint64)},
    {node(int8), node(int16)},       {node(int16), node(int32)},      {node(int32), node(int64)},
    {node(uint64), kWeakFloat},      {node(int64), kWeakFloat},       {kWeakFloat, kWeakComplex},
    {kWeakFloat, node(bfloat16)},    {kWeakFloat, node(float16)},     {node(bfloat16), node(float32)},
    {node(float16), node(float32)},  {node(float32), node(float64)},  {node(float32), node(complex64)},
    {node(float64), node(complex128)}, {kWeakComplex, node(complex64)}, {node(complex64), node(complex128)},
};

// above[n]: all nodes reachable from n, n included.
constexpr std::array<Set, kNodes> make_upper_sets() {
  std::array<Set, kNodes> above{};
  for (int n = 0; n < kNodes; ++n) above[n] = Set{1} << n;
  for (int round = 0; round < kNodes; ++round)
    for (const Edge& e : kEdges) above[e.from] |= above[e.to];
  return above;
}
constexpr std::array<Set, kNodes> kAbove = make_upper_sets();

int lattice_node(ResultType t) {
  if (!t.weak) return node(t.dtype);
  switch (kind(t.dtype)) {
    case DTypeKind::kBool: return node(bool_);
    case DTypeKind::kSigned:
    case DTypeKind::kUnsigned: return kWeakInt;
    case DTypeKind::kFloat: return kWeakFloat;
    case DTypeKind::kComplex: return kWeakComplex;
  }
  TESSERA_CHECK(false);
  return 0;
}

ResultType from_node(int n) {
  if (n == kWeakInt) return {canonical_dtype(int64), true};
  if (n == kWeakFloat) return {canonical_dtype(float64), true};
  if (n == kWeakComplex) return {canonical_dtype(complex128), true};
  return {canonical_dtype(static_cast<DType>(n)), false};
}

}  // namespace

DType canonical_dtype(DType dtype) {
  if (x64_enabled()) return dtype;
  if (dtype == int64) return int32;
  if (dtype == uint64) return uint32;
  if (dtype == float64) return float32;
  if (dtype == complex128) return complex64;
  return dtype;
}

DType to_inexact(DType dtype) { return is_inexact(dtype) ? dtype : canonical_dtype(float64); }

ResultType promote_types(ResultType a, ResultType b) {
  if (a.dtype == b.dtype) return {a.dtype, a.weak && b.weak};
  const Set common = kAbove[lattice_node(a)] & kAbove[lattice_node(b)];
  // The join is the common upper bound below all others.
  for (int n = 0; n < kNodes; ++n)
    if ((common >> n & 1) && (kAbove[n] & common) == common) {
      ResultType out = from_node(n);
      // Among weak types of one kind the wider dtype stays.
      if (out.weak && a.weak && b.weak && kind(a.dtype) == kind(b.dtype))
        out.dtype = itemsize(a.dtype) >= itemsize(b.dtype) ? a.dtype : b.dtype;
      return out;
    }
  TESSERA_CHECK(false, "no join of {} and {}", a.dtype, b.dtype);
  return a;
}

ResultType result_type(std::span<const Array> arrays) {
  ResultType out{arrays[0].dtype(), arrays[0].weak_type()};
  // Joining in any order gives the same: the lattice is associative.
  for (const Array& x : arrays.subspan(1)) out = promote_types(out, {x.dtype(), x.weak_type()});
  return out;
}

Shape broadcast_shapes(std::string_view op, std::span<const Shape> shapes) {
  int64_t rank = 0;
  for (const Shape& s : shapes) rank = std::max(rank, s.rank());
  Shape out(rank, 1);
  for (const Shape& s : shapes) {
    for (int64_t i = 0; i < s.rank(); ++i) {
      int64_t& d = out[rank - s.rank() + i];
      if (d == s[i] || s[i] == 1) continue;
      if (d != 1)
        shape_error(op, "expected shapes that broadcast (equal extents, or 1, from the last dimension on), got {}; reshape or "
                        "expand_dims one of them", fmt::join(shapes, " and "));
      d = s[i];
    }
  }
  return out;
}

}  // namespace tessera
