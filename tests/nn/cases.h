// Cases of golden/make_modules.py, and the tolerances for the comparison with flax.
#pragma once

#include <gmock/gmock.h>

#include "../errors.h"
#include "../golden/golden.h"
#include "../numpy/run.h"
#include "tessera/base/tree.h"
#include "tessera/ir/format.h"

namespace tessera::test {

inline const golden::Topic& modules() {
  static const golden::Topic out("modules");
  return out;
}
// Returns the case of this name in one of these sections.
inline const golden::Json& find_module(std::initializer_list<const char*> sections,
                                       const std::string& name) {
  for (const char* section : sections)
    for (const golden::Json& c : modules()[section])
      if (c["name"] == name) return c;
  TESSERA_CHECK(false, "no case {}", name);
}
inline Array array_of(const golden::Json& reference) { return Array(modules().array(reference)); }

// Expects equality to 4 units in the last place.
inline void expect_parameter(const Array& got, const golden::Json& expected) {
  expect_close(got.to_host(), modules().array(expected), 4 * 0x1p-23, 0);
}
// Compares the leaves, except the empty ones of missing parameters.
template <class Params>
void expect_parameters(const Params& params, const golden::Json& expected) {
  size_t i = 0;
  for (const Array& leaf : tree::leaves(params)) {
    if (leaf.size() == 0) continue;
    SCOPED_TRACE(i);
    ASSERT_LT(i, expected.size());
    expect_parameter(leaf, expected[i++]);
  }
  EXPECT_EQ(i, expected.size());
}
inline void expect_result(const Array& got, const golden::Json& expected, double relative = 1e-6,
                          double absolute = 1e-6) {
  expect_close(got.to_host(), modules().array(expected), relative, absolute);
}

}  // namespace tessera::test
