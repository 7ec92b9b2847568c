// The scalar language: operations on one element. Pointwise ops emit it, fusion combines it,
// codegen turns it into vector instructions. It vectorises nothing else.
//
// The dtype of a node selects the integer, signed, unsigned, float or complex form of an operation.
// float16 and bfloat16 are computed in float32 and rounded when they are stored or converted.
#pragma once

#include <cstdint>
#include <span>

#include "tessera/base/dtype.h"
#include "tessera/base/shape.h"

namespace tessera::ir {

// The operation of a node: a row of scalar_ops.def (scalar_op.h). It is only declared here, so that
// a new row recompiles the few files that read rows, and not every file that includes op
// definitions.
enum class ScalarOp : uint8_t;

// A handle to a node of the expression that is built.
struct Expr {
  int id = -1;
};

// What emitters write to. Fusion implements it for kernels, and the scalar interpreter of the tests
// does, too.
class ExprBuilder {
 public:
  virtual ~ExprBuilder() = default;
  virtual Expr apply(ScalarOp op, DType result, std::span<const Expr> args) = 0;
  // Returns a scalar constant; `bytes` are those of one element.
  virtual Expr constant(DType dtype, const void* bytes) = 0;
  // Returns the index of the element along dimension `dim` of the op's result, as `dtype` (an
  // integer type wraps).
  virtual Expr index(int dim, DType dtype) = 0;
  virtual DType dtype_of(Expr expr) const = 0;

  Expr apply(ScalarOp op, DType result, std::initializer_list<Expr> args) {
    return apply(op, result, std::span<const Expr>(args.begin(), args.size()));
  }
  // Returns the constant `value`, converted to `dtype` on the host.
  Expr number(DType dtype, double value);
  Expr integer(DType dtype, int64_t value);
};

}  // namespace tessera::ir
