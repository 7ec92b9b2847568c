// ScalarOp: the operations of the scalar language, and what the table of them (scalar_ops.def) says
// of each. Ops emit them, fusion counts what they cost, codegen expands the code of a row.
#pragma once

#include <span>
#include <string_view>

#include "tessera/base/dtype_kinds.h"
#include "tessera/base/namespaces.h"
#include "tessera/ir/scalar_expr.h"

namespace tessera::ir {

enum class ScalarOp : uint8_t {
#define SCALAR_OP(op, ...) op,
#include "tessera/ir/scalar_ops.def"
#undef SCALAR_OP
};

// How many operands, and of which dtypes beside the result's.
enum class ScalarSignature : uint8_t {
  kUnary,       // of the result's dtype
  kBinary,      // both
  kTernary,     // all three
  kPredicate,   // one operand; the result is bool
  kComparison,  // two operands of one dtype; the result is bool
  kSelect,      // (bool, a, b)
  kConvert,     // to any other dtype
  kBitcast,     // to one of the same size
  kJoin,        // two real parts give a complex number
  kPart,        // and the reverse
};

// What becomes of float16 and bfloat16, which are computed in float32 (the others do not care).
enum class ScalarHalves : uint8_t {
  kExcess,  // the result has float32's digits until it is stored
  kExact,   // the result of numbers of the dtype is one
  kJump,    // exact, and nearly equal operands may give other results: they are rounded first
};

// Three measures of one operation on one element.
struct ScalarCost {
  // Vector instructions, roughly: what the unrolling of a loop goes by.
  int of_integers, of_float32, of_float64;
  // Of computing it once more instead of storing it, in additions: what fusion goes by.
  float work;
  // Time in a vectorised loop: what the cut into tasks goes by.
  double ns;
};
namespace scalar_cost {
inline constexpr ScalarCost kSimple{1, 1, 1, 1, 0.04}, kExtremum{1, 2, 2, 1, 0.04},
    kDivision{12, 4, 8, 4, 0.25}, kReciprocalRoot{0, 6, 12, 4, 0.25}, kRemainder{60, 60, 60, 6, 1},
    kPower{60, 60, 60, 30, 1},
    // Elementary functions, the common ones first.
    kExponential{0, 18, 36, 10, 1}, kLogarithm{0, 25, 50, 10, 1}, kInverseErf{0, 25, 50, 30, 1},
    kRoot{0, 50, 100, 10, 1}, kRare{0, 50, 100, 20, 1}, kGamma{0, 50, 100, 60, 1};
}  // namespace scalar_cost

struct ScalarOpInfo {
  std::string_view name;  // as kernels print it
  ScalarSignature signature;
  dtype_kinds::Kinds kinds;  // of the (last) operand
  ScalarCost cost;
  ScalarHalves halves;

  int arity() const;
};
const ScalarOpInfo& scalar_op_info(ScalarOp op);

inline std::string_view scalar_op_name(ScalarOp op) { return scalar_op_info(op).name; }
// Checks dtypes and count of the operands of `op`; InternalError otherwise.
void verify_scalar_op(ScalarOp op, DType result, std::span<const DType> args);

}  // namespace tessera::ir
