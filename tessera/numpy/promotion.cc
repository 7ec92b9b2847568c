#include "tessera/numpy/promotion.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "tessera/ops/core/constant.h"
#include "tessera/ops/core/convert.h"
#include "tessera/ops/core/elementwise.h"
#include "tessera/ops/core/tracer.h"
#include "tessera/ops/structural/broadcast.h"

namespace tessera {

using namespace ops;

namespace {

// Nodes of the lattice: the dtypes in enum order, then the weak types.
constexpr int kWeakInt = kNumAllDTypes, kWeakFloat = kNumAllDTypes + 1,
              kWeakComplex = kNumAllDTypes + 2, kNodes = kNumAllDTypes + 3;
constexpr int node(DType d) { return static_cast<int>(d); }

using Set = uint64_t;
struct Edge {
  int from, to;
};
constexpr Edge kEdges[] = {
    {node(bool_), kWeakInt},          {kWeakInt, node(uint8)},
    {kWeakInt, node(int8)},           {node(uint8), node(int16)},
    {node(uint8), node(uint16)},      {node(uint16), node(int32)},
    {node(uint16), node(uint32)},     {node(uint32), node(int64)},
    {node(uint32), node(uint64)},     {node(int8), node(int16)},
    {node(int16), node(int32)},       {node(int32), node(int64)},
    {node(uint64), kWeakFloat},       {node(int64), kWeakFloat},
    {kWeakFloat, kWeakComplex},       {kWeakFloat, node(bfloat16)},
    {kWeakFloat, node(float16)},      {node(bfloat16), node(float32)},
    {node(float16), node(float32)},   {node(float32), node(float64)},
    {node(float32), node(complex64)}, {node(float64), node(complex128)},
    {kWeakComplex, node(complex64)},  {node(complex64), node(complex128)},
};

// Returns above[n]: the set of all nodes reachable from n, including n.
constexpr std::array<Set, kNodes> make_upper_sets() {
  std::array<Set, kNodes> above{};
  for (int n = 0; n < kNodes; ++n) above[n] = Set{1} << n;
  for (int round = 0; round < kNodes; ++round) {
    for (const Edge& e : kEdges) above[e.from] |= above[e.to];
    // A narrow dtype is above the weak type of its kind; nothing is above it.
    for (int n = kNumDTypes; n < kNumAllDTypes; ++n)
      above[n < node(float8_e3m4) ? kWeakInt : kWeakFloat] |= above[n];
  }
  return above;
}
constexpr std::array<Set, kNodes> kAbove = make_upper_sets();

int lattice_node(ResultType t) {
  if (!t.weak) return node(t.dtype);
  switch (kind(t.dtype)) {
    case DTypeKind::kBool:
      return node(bool_);
    case DTypeKind::kSigned:
    case DTypeKind::kUnsigned:
      return kWeakInt;
    case DTypeKind::kFloat:
      return kWeakFloat;
    case DTypeKind::kComplex:
      return kWeakComplex;
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

DType to_inexact(DType dtype) {
  if (is_inexact(dtype)) return dtype;
  return itemsize(dtype) == 8 ? float64 : float32;
}

DType to_numeric(DType dtype) { return dtype == bool_ ? int32 : dtype; }

ResultType promote_types(ResultType a, ResultType b) {
  if (a.dtype == b.dtype) return {a.dtype, a.weak && b.weak};
  const Set common = kAbove[lattice_node(a)] & kAbove[lattice_node(b)];
  // The join is the common upper bound below all others.
  for (int n = 0; n < kNodes; ++n)
    if ((common >> n & 1) && (kAbove[n] & common) == common) {
      ResultType out = from_node(n);
      // If all are weak types of one kind, the result keeps the wider dtype.
      if (out.weak && a.weak && b.weak && kind(a.dtype) == kind(b.dtype))
        out.dtype = itemsize(a.dtype) >= itemsize(b.dtype) ? a.dtype : b.dtype;
      return out;
    }
  type_error("promotion",
             "expected dtypes that one of both, or another, holds, got {} and {}; convert one of "
             "them with astype()",
             a.dtype, b.dtype);
}

ResultType result_type(std::span<const Array> arrays) {
  if (arrays.empty()) value_error("result_type", "expected at least one array, got none");
  ResultType out{canonical_dtype(arrays[0].dtype()), arrays[0].weak_type()};
  // Joining in any order gives the same: the lattice is associative.
  for (const Array& x : arrays.subspan(1))
    out = promote_types(out, {canonical_dtype(x.dtype()), x.weak_type()});
  return out;
}

Array as_dtype(const Array& x, DType dtype, bool weak) {
  if (x.dtype() == dtype && x.weak_type() == weak) return x;
  if (is_complex(x.dtype()) && dtype == bool_) return lax::ne(x, lax::full_like(x, 0));
  const Literal* known = x.ndim() == 0 ? known_value(x) : nullptr;
  if (known) return lax::full({}, convert_literal(*known, dtype), weak);
  return lax::convert_element_type(x, dtype, weak);
}

static DType promoted(DType dtype, Promotion promotion) {
  switch (promotion) {
    case Promotion::kAny:
      return dtype;
    case Promotion::kNumeric:
      return to_numeric(dtype);
    case Promotion::kInexact:
      return to_inexact(dtype);
  }
  __builtin_unreachable();
}

Array promote(const Array& x, Promotion promotion) {
  return as_dtype(x, promoted(canonical_dtype(x.dtype()), promotion), x.weak_type());
}

std::vector<Array> promote_dtypes(std::span<const Array> arrays, Promotion promotion) {
  if (arrays.empty()) return {};
  const ResultType type = result_type(arrays);
  std::vector<Array> out;
  for (const Array& x : arrays)
    out.push_back(as_dtype(x, promoted(type.dtype, promotion), type.weak));
  return out;
}

std::vector<Array> promote_and_broadcast(std::string_view op, std::span<const Array> arrays,
                                         Promotion promotion) {
  std::vector<Shape> shapes;
  for (const Array& x : arrays) shapes.push_back(x.shape());
  const Shape shape = broadcast_shapes(op, shapes);
  std::vector<Array> out = promote_dtypes(arrays, promotion);
  for (Array& x : out) x = broadcast_array(op, x, shape);
  return out;
}

Shape broadcast_shapes(std::string_view op, std::span<const Shape> shapes) {
  int64_t rank = 0;
  for (const Shape& s : shapes) rank = std::max(rank, s.rank());
  Shape out(static_cast<size_t>(rank), 1);
  for (const Shape& s : shapes) {
    for (int64_t i = 0; i < s.rank(); ++i) {
      int64_t& d = out[rank - s.rank() + i];
      if (d == s[i] || s[i] == 1) continue;
      if (d != 1)
        shape_error(op,
                    "expected shapes that broadcast (equal extents, or 1, from the last dimension "
                    "on), got {}; reshape or "
                    "expand_dims one of them",
                    fmt::join(shapes, " and "));
      d = s[i];
    }
  }
  return out;
}

Array broadcast_array(std::string_view op, const Array& x, const Shape& shape) {
  if (x.shape() == shape) return x;
  const int64_t added = shape.rank() - x.ndim();
  bool fits = added >= 0;
  Dims dims;
  for (int64_t d = 0; fits && d < x.ndim(); ++d) {
    fits = x.shape()[d] == shape[d + added] || x.shape()[d] == 1;
    dims.push_back(d + added);
  }
  if (!fits)
    shape_error(op,
                "expected a shape that broadcasts to {} (equal extents, or 1, from the last "
                "dimension on), got {}; "
                "reshape or expand_dims it",
                shape, x.shape());
  if (x.ndim() == 0) {
    if (const Literal* known = known_value(x)) return lax::full(shape, *known, x.weak_type());
  }
  return lax::broadcast_in_dim(x, shape, dims);
}

}  // namespace tessera
