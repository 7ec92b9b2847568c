// A helper for the tests of unrolled windows: it compares a function and the result of
// unroll_windows, with the naive evaluator.
#pragma once

#include "fusion_testing.h"
#include "tessera/fusion/rewrites/unroll_windows.h"
#include "tessera/ir/op_def.h"
#include "tessera/ir/verifier.h"

namespace tessera::fusion_testing {

inline bool has_op(const Function& f, std::string_view name) {
  return std::any_of(f.ops.begin(), f.ops.end(),
                     [&](const Op& op) { return op.def->name == name; });
}

// Expects that the pass removes the op of this name, and that it keeps the bits of the results, or
// their values except for a few roundings.
enum class Keeps : uint8_t { kBits, kValues };
template <class F>
void expect_unrolled(std::string_view name, const std::vector<Type>& types, F body,
                     Keeps keeps = Keeps::kBits) {
  const Function f = trace(types, body), unrolled = unroll_windows(f);
  ASSERT_TRUE(has_op(f, name));
  EXPECT_FALSE(has_op(unrolled, name));
  verify(unrolled);
  const std::vector<Literal> inputs = random_inputs(f);
  const Literal want = evaluate(f, inputs)[0], got = evaluate(unrolled, inputs)[0];
  if (keeps == Keeps::kValues) return expect_close(got, want, std::string(name));
  EXPECT_EQ(got, want);
}

template <class F>
void expect_kept(std::string_view name, const std::vector<Type>& types, F body) {
  EXPECT_TRUE(has_op(unroll_windows(trace(types, body)), name));
}

}  // namespace tessera::fusion_testing
