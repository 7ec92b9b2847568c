#include "tessera/numpy/printing.h"

#include <gtest/gtest.h>

#include <sstream>

#include "run.h"
#include "tessera/base/namespaces.h"
#include "tessera/numpy/math.h"
#include "tessera/numpy/operators.h"

namespace tessera::printing_test {

using namespace tracing;

namespace {

std::string printed(const Array& x) {
  std::ostringstream out;
  out << x;
  return out.str();
}

TEST(PrintingTest, AsPython) {
  EXPECT_EQ(printed(array({1.5, 2.})), "[1.5 2. ]");
  EXPECT_EQ(printed(Array(4.0043544f)), "4.004354476928711");
  EXPECT_EQ(str(array(4.0043544f, float32)), "4.0043545");
  EXPECT_EQ(repr(array({6, 22})), "Array([ 6, 22], dtype=int32)");
  EXPECT_EQ(printed(array({{true, false}})), "[[ True False]]");
  EXPECT_EQ(fmt::format("{}", array({1, 2})), "[1 2]");
}

TEST(PrintingTest, TracersPrintTheirType) {
  FunctionTrace trace;
  const Array x = trace.add_input(Type{.dtype = float32, .shape = {4, 8}});
  EXPECT_EQ(printed(x), "Traced<float32[4,8]>");
  EXPECT_EQ(repr(x), "Traced<float32[4,8]>");
  EXPECT_EQ(str(x), "Traced<float32[4,8]>");
}

TEST(PrintingTest, NoArrayIsAnError) {
  std::ostringstream out;
  EXPECT_THROW(out << Array(), UserError);
}

}  // namespace
}  // namespace tessera::printing_test
