// ScalarOp: the operations of the scalar language, and the columns of their table (scalar_ops.def).
// Ops emit them, fusion counts their cost, and codegen writes the code of each row.
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

// The number of operands and their dtypes.
enum class ScalarSignature : uint8_t {
  kUnary,       // one operand of the result's dtype
  kBinary,      // two operands of the result's dtype
  kTernary,     // three operands of the result's dtype
  kPredicate,   // one operand; the result is bool
  kComparison,  // two operands of one dtype; the result is bool
  kSelect,      // (bool, a, b)
  kConvert,     // the result has any other dtype
  kBitcast,     // the result has a dtype of the same size
  kJoin,        // two real parts make a complex number
  kPart,        // a real part of a complex number
};

// How results of float16 and bfloat16, which are computed in float32, are rounded. This does not
// concern other dtypes.
enum class ScalarHalves : uint8_t {
  kExcess,  // the result keeps the digits of float32 until it is stored
  kExact,   // if operands are numbers of the dtype, so is the result
  // as kExact, and operands are rounded first, since nearly equal ones may have different results
  kJump,
};

// Three measures of the cost of one operation on one element.
struct ScalarCost {
  // The number of vector instructions, roughly. The unrolling of loops uses it.
  int of_integers, of_float32, of_float64;
  // The cost of computing a value again instead of storing it, in additions. Fusion uses it.
  float work;
  // The nanoseconds per element in a vectorised loop. The division into tasks uses it.
  double ns;
};
namespace scalar_cost {
inline constexpr ScalarCost kSimple{1, 1, 1, 1, 0.04}, kExtremum{1, 2, 2, 1, 0.04},
    kDivision{12, 4, 8, 4, 0.25}, kReciprocalRoot{0, 18, 22, 4, 0.25}, kRemainder{60, 60, 60, 6, 1},
    kPower{60, 60, 60, 30, 1},
    // The costs of groups of elementary functions.
    kExponential{0, 18, 36, 10, 1}, kLogarithm{0, 25, 50, 10, 1}, kInverseErf{0, 25, 50, 30, 1},
    kRoot{0, 50, 100, 10, 1}, kRare{0, 50, 100, 20, 1}, kGamma{0, 50, 100, 60, 1};
}  // namespace scalar_cost

struct ScalarOpInfo {
  std::string_view name;  // the name in printed kernels
  ScalarSignature signature;
  dtype_kinds::Kinds kinds;  // dtypes of the last operand
  ScalarCost cost;
  ScalarHalves halves;

  int arity() const;
};
const ScalarOpInfo& scalar_op_info(ScalarOp op);

inline std::string_view scalar_op_name(ScalarOp op) { return scalar_op_info(op).name; }
// Checks the dtypes and the number of operands of `op`. Throws InternalError if they are wrong.
void verify_scalar_op(ScalarOp op, DType result, std::span<const DType> args);

}  // namespace tessera::ir
