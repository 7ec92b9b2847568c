#include "tessera/ir/type.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <ostream>

#include "tessera/base/hash.h"
#include "tessera/ir/format.h"

namespace tessera::ir {

AxisNames axis_union(const AxisNames& a, const AxisNames& b) {
  if (b.empty() || a == b) return a;
  AxisNames out;
  std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(out));
  return out;
}

AxisNames axis_difference(const AxisNames& a, const AxisNames& b) {
  if (a.empty() || b.empty()) return a;
  AxisNames out;
  std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(out));
  return out;
}

bool axis_subset(const AxisNames& a, const AxisNames& b) {
  return std::includes(b.begin(), b.end(), a.begin(), a.end());
}

Type Type::with_dtype(DType d) const {
  Type out = *this;
  out.dtype = d;
  out.weak = false;
  return out;
}

Type Type::with_shape(Shape s) const {
  Type out = *this;
  out.shape = std::move(s);
  out.sharding = nullptr;
  return out;
}

Type Type::with_varying(AxisNames v) const {
  Type out = *this;
  out.varying = std::move(v);
  return out;
}

bool operator==(const Type& a, const Type& b) {
  if (!a.same_array(b) || a.weak != b.weak || a.varying != b.varying) return false;
  if (a.sharding == b.sharding) return true;
  return a.sharding && b.sharding && *a.sharding == *b.sharding;
}

size_t hash_value(const Type& type) {
  size_t seed =
      hash_combine(static_cast<size_t>(type.dtype) * 2 + type.weak, hash_value(type.shape));
  for (const std::string& axis : type.varying)
    seed = hash_combine(seed, std::hash<std::string>()(axis));
  return seed;
}

std::ostream& operator<<(std::ostream& out, const Type& type) {
  out << "tensor<";
  for (int64_t d : type.shape) {
    if (d < 0) {  // an unknown extent of a program that is being read (interchange/refine_shapes.h)
      out << "?x";
    } else {
      out << d << 'x';
    }
  }
  return out << mlir_name(type.dtype) << '>';
}

std::string describe(const Type& type) {
  std::string text = fmt::format("{}[{}]", dtype_name(type.dtype),
                                 fmt::join(type.shape.begin(), type.shape.end(), ","));
  if (!type.varying.empty()) text += fmt::format("{{varying: {}}}", fmt::join(type.varying, ","));
  return text;
}

}  // namespace tessera::ir

template class std::vector<tessera::ir::Type>;
