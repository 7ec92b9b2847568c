// The scalar language: what happens to one element. Pointwise ops emit it, fusion strings it
// together, codegen turns it into vector instructions, and nothing else is ever vectorised.
//
// The dtype of a node decides between integer, signed, unsigned, float and complex forms. float16
// and bfloat16 are computed in float32 and rounded where they are stored or converted.
#pragma once

#include <cstdint>
#include <span>

#include "tessera/base/dtype.h"
#include "tessera/base/shape.h"

namespace tessera::ir {

// What a node computes: a row of scalar_ops.def (scalar_op.h). Declared only, so that a new row
// compiles the few files again that read rows, and not all that see an op's definition.
enum class ScalarOp : uint8_t;

// A handle to a node under construction.
struct Expr {
  int id = -1;
};

// What an emitter writes to. Implemented by fusion (into kernels) and by the scalar interpreter of
// the tests.
class ExprBuilder {
 public:
  virtual ~ExprBuilder() = default;
  virtual Expr apply(ScalarOp op, DType result, std::span<const Expr> args) = 0;
  // A scalar constant given as the bytes of one element.
  virtual Expr constant(DType dtype, const void* bytes) = 0;
  // The index of the element along dimension `dim` of the op's result, as `dtype` (an integer type
  // wraps).
  virtual Expr index(int dim, DType dtype) = 0;
  virtual DType dtype_of(Expr expr) const = 0;

  Expr apply(ScalarOp op, DType result, std::initializer_list<Expr> args) {
    return apply(op, result, std::span<const Expr>(args.begin(), args.size()));
  }
  // `value` converted to `dtype` on the host.
  Expr number(DType dtype, double value);
  Expr integer(DType dtype, int64_t value);
};

}  // namespace tessera::ir
