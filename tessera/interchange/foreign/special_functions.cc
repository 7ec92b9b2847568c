// The Bessel functions bessel_i0e and bessel_i1e, chlo.polygamma and chlo.zeta, computed by
// ops/special.
#include "tessera/interchange/foreign/foreign.h"
#include "tessera/interchange/foreign/insert_traced.h"
#include "tessera/ops/special/bessel.h"
#include "tessera/ops/special/zeta.h"

namespace tessera::interchange::foreign {
namespace {

void expect_floating(OpReader& reader, size_t count) {
  expect_count(reader, count);
  for (ValueId operand : reader.operands)
    if (!is_floating(reader.type(operand).dtype) ||
        !reader.type(operand).same_array(reader.type(reader.operands[0])))
      reader.error(count == 1 ? "expected one operand of a floating-point type"
                              : "expected operands of one floating-point type");
}

Values unary(OpReader& reader, Array (*f)(const Array&), const char* name) {
  expect_floating(reader, 1);
  return insert_traced(
      reader, [f](const std::vector<Array>& x) { return std::vector{f(x[0])}; }, name);
}

Values binary(OpReader& reader, Array (*f)(const Array&, const Array&), const char* name) {
  expect_floating(reader, 2);
  return insert_traced(
      reader, [f](const std::vector<Array>& x) { return std::vector{f(x[0], x[1])}; }, name);
}

}  // namespace

Values bessel_i0e(OpReader& reader) {
  return unary(reader, ops::special::bessel_i0e, "bessel_i0e");
}

Values bessel_i1e(OpReader& reader) {
  return unary(reader, ops::special::bessel_i1e, "bessel_i1e");
}

Values polygamma(OpReader& reader) { return binary(reader, ops::special::polygamma, "polygamma"); }

Values zeta(OpReader& reader) { return binary(reader, ops::special::zeta, "zeta"); }

}  // namespace tessera::interchange::foreign
