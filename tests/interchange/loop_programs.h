// Helpers for tests of passes that rewrite the loops of programs that were read.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "tessera/interchange/text/printer.h"
#include "tessera/ir/control_flow.h"
#include "tessera/ir/function.h"
#include "tessera/ir/verifier.h"
#include "tests/evaluate/evaluate.h"

namespace tessera::interchange::loop_programs {

// Returns how many ops of this kind the function has, with those of its calls and regions.
inline int64_t count(const Function& f, const OpDef& def) {
  int64_t out = 0;
  for (const Op& op : f.ops) {
    out += op.def == &def ? 1 : 0;
    if (const FunctionRef callee = callee_of(op)) out += count(*callee, def);
    for (const FunctionRef& region : control_regions(op)) out += count(*region, def);
  }
  return out;
}

// Returns arguments with different values. Floats are small enough for exact sums.
inline std::vector<Literal> arguments(const Function& f) {
  std::vector<Literal> out;
  for (const Type& type : f.input_types()) {
    Literal& x = out.emplace_back(type.dtype, type.shape);
    for (int64_t i = 0; i < x.elements(); ++i) {
      if (type.dtype == float32) x.mutable_data<float>()[i] = static_cast<float>(i + 1) / 8;
      if (type.dtype == int32) x.mutable_data<int32_t>()[i] = static_cast<int32_t>(i + 3);
      if (type.dtype == uint32)
        x.mutable_data<uint32_t>()[i] = 2654435769u * static_cast<uint32_t>(i + 1);
    }
  }
  return out;
}

// Expects that the program after the pass is valid and has the results of the program before it,
// bit for bit.
inline void expect_same_results(const Function& before, const Function& after) {
  verify(after);
  const std::vector<Literal> inputs = arguments(before);
  EXPECT_EQ(evaluate(before, inputs), evaluate(after, inputs)) << to_mlir(after);
}

}  // namespace tessera::interchange::loop_programs
