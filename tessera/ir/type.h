// The type of a value: element type, shape, and what the stages of the compiler learn about it.
#pragma once

#include <iosfwd>
#include <memory>
#include <string>
#include <vector>

#include "tessera/base/dtype.h"
#include "tessera/base/namespaces.h"
#include "tessera/base/shape.h"
#include "tessera/mesh/named_sharding.h"

namespace tessera::ir {

// Names of manual mesh axes, sorted, each once.
using AxisNames = std::vector<std::string>;
AxisNames axis_union(const AxisNames& a, const AxisNames& b);
AxisNames axis_difference(const AxisNames& a, const AxisNames& b);
bool axis_subset(const AxisNames& a, const AxisNames& b);

struct Type {
  DType dtype = float32;
  Shape shape;
  // A weak type came from a C++ scalar: it yields to the other operand's dtype (JAX's weak_type).
  bool weak = false;
  // The manual mesh axes the value varies over: inside a manual computation its content may differ
  // between devices along these. Outside, empty.
  AxisNames varying;
  // How the (global) value lies on the mesh. Null: not decided yet, or on one device.
  std::shared_ptr<const NamedSharding> sharding;

  int64_t rank() const { return shape.rank(); }
  int64_t elements() const { return shape.elements(); }
  int64_t bytes() const { return elements() * itemsize(dtype); }

  Type with_dtype(DType d) const;  // also strong
  Type with_shape(Shape s) const;
  Type with_varying(AxisNames v) const;
  // dtype and shape only.
  bool same_array(const Type& other) const { return dtype == other.dtype && shape == other.shape; }
  friend bool operator==(const Type& a, const Type& b);
};

size_t hash_value(const Type& type);
// `tensor<4x8xf32>`: the StableHLO spelling of dtype and shape.
std::ostream& operator<<(std::ostream& out, const Type& type);
// `float32[4,8]`: for messages, as JAX writes it; with `{varying: x}` and the sharding where there
// is one.
std::string describe(const Type& type);

}  // namespace tessera::ir

// Compiled once, in type.cc.
extern template class std::vector<tessera::ir::Type>;
