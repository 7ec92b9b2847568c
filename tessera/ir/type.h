// The type of a value: element type, shape, and what the stages of the compiler add.
#pragma once

#include <iosfwd>
#include <memory>
#include <string>
#include <vector>

#include "tessera/base/dtype.h"
#include "tessera/base/shape.h"
#include "tessera/mesh/named_sharding.h"

namespace tessera::ir {

// Names of manual mesh axes, sorted, without repetition.
using AxisNames = std::vector<std::string>;
AxisNames axis_union(const AxisNames& a, const AxisNames& b);
AxisNames axis_difference(const AxisNames& a, const AxisNames& b);
bool axis_subset(const AxisNames& a, const AxisNames& b);

struct Type {
  DType dtype = float32;
  Shape shape;
  // A weak type comes from a C++ scalar: in a binary op the dtype of the other operand wins (JAX's
  // weak_type).
  bool weak = false;
  // The manual mesh axes over which the value varies: inside a manual computation, its content may
  // differ between devices along these. Outside it is empty.
  AxisNames varying;
  // The sharding of the (global) value on the mesh. It is null if it is not decided yet, or if the
  // value is on one device.
  std::shared_ptr<const NamedSharding> sharding;

  int64_t rank() const { return shape.rank(); }
  int64_t elements() const { return shape.elements(); }
  int64_t bytes() const { return elements() * itemsize(dtype); }

  Type with_dtype(DType d) const;  // has dtype d and is not weak
  Type with_shape(Shape s) const;
  Type with_varying(AxisNames v) const;
  // Returns whether dtype and shape are equal.
  bool same_array(const Type& other) const { return dtype == other.dtype && shape == other.shape; }
  friend bool operator==(const Type& a, const Type& b);
};

size_t hash_value(const Type& type);
// Prints `tensor<4x8xf32>`, the StableHLO spelling of dtype and shape.
std::ostream& operator<<(std::ostream& out, const Type& type);
// Returns the type as JAX writes it in messages, `float32[4,8]`, followed by `{varying: x}` and the
// sharding if it has any.
std::string describe(const Type& type);

}  // namespace tessera::ir

// This template is compiled once, in type.cc.
extern template class std::vector<tessera::ir::Type>;
