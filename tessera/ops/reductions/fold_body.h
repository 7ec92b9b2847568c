// Bodies of folds that are made of a user's body.
#pragma once

#include <span>
#include <vector>

#include "tessera/ir/function.h"

namespace tessera::ops {

// Returns whether the body of a fold consists of elementwise ops on scalars.
bool is_elementwise(const Function& body);

// Returns whether the results of a body (acc..., x...) -> acc... provably stay the same if its
// arguments change places. It may return false for a body whose results do.
bool is_commutative(const Function& body);

// Returns (acc..., any, x..., inside) -> the body's results if the element is inside of the array,
// otherwise acc; and whether any was inside.
FunctionRef if_inside(const Function& body);

// Returns the same, except that the first element that is inside becomes the result. So the fold
// needs no neutral initial value.
FunctionRef from_first_inside(const Function& body);

// Builds a body from functions of scalars.
class FoldBody {
 public:
  ValueId input(DType dtype) { return f_.add_input({dtype, {}}); }
  std::vector<ValueId> inputs(std::span<const DType> dtypes);
  // Returns the results of a body for args, then `more`.
  std::vector<ValueId> apply(const Function& body, std::vector<ValueId> args,
                             const std::vector<ValueId>& more);
  ValueId choose(ValueId p, ValueId a, ValueId b);
  ValueId both(ValueId a, ValueId b);
  ValueId either(ValueId a, ValueId b);
  ValueId opposite(ValueId a);
  FunctionRef finish(const std::vector<ValueId>& outputs);

 private:
  ValueId op(const OpDef& def, ValueIds operands, Type type);
  Function f_;
};

}  // namespace tessera::ops
