// Control flow as ops: stablehlo.while, stablehlo.case and tessera.scan. Regions are closed
// Functions in the params. Arrays that a callable captures are additional operands; in a while loop
// they are carried values that the body returns unchanged.
#pragma once

#include <vector>

#include "tessera/ir/function.h"
#include "tessera/ops/core/op.h"

namespace tessera::ops {

// while: runs `body` as long as `cond` is true. The results are the carry for which `cond` is
// false. cond is (carry...) -> bool[]; body is (carry...) -> (carry...).
struct WhileParams {
  FunctionRef cond, body;
};
extern const OpDef& while_op;

// scan: folds `body` over the leading dimension of the scanned operands.
//   operands  num_consts constants, num_carry initial carries, the rest scanned: [length, ...] each
//   body      (constants..., carry..., one slice of each scanned...) -> (carry..., y...)
//   results   the last carry..., every y stacked: [length, ...]
// With `reverse` slices are taken and stacked from the last to the first.
struct ScanParams {
  FunctionRef body;
  int64_t length = 0;
  int64_t num_consts = 0, num_carry = 0;
  bool reverse = false;
};
extern const OpDef& scan_op;

// case: the results are branches[index](operands 1...). The index is an int32 scalar (out of range:
// the last branch) or a bool (false: branch 0).
struct CaseParams {
  std::vector<FunctionRef> branches;
};
extern const OpDef& case_op;

}  // namespace tessera::ops
