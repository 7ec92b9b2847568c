// Errors in a traced function name the line in which the user called the op. This file is compiled
// with and without debug information and optimisation (tests/CMakeLists.txt).
#include <gmock/gmock.h>
#include <tessera/tessera.h>

#include <algorithm>
#include <string>

namespace tessera::error_lines_test {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

template <class Call>
std::string error_of(const Call& call) {
  try {
    call();
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

// Checks the end of the message of an error: it names the lines of the call and of the jit.
void expect_line(const std::string& text, int line, int jitted) {
  const std::string file = __FILE__;
  const std::string at = TESSERA_HAS_LINES ? "; at " + file + ":" + std::to_string(line) : "";
  EXPECT_THAT(text, EndsWith(at + "; in the function that was jitted at " + file + ":" +
                             std::to_string(jitted)));
  EXPECT_EQ(text.find("; at ") != text.npos, TESSERA_HAS_LINES);
}

const Array& wrong_operand() {
  static const Array x = ones({2, 3});
  return x;
}

TEST(ErrorLines, OfAnOpInALambda) {
  const Array x = wrong_operand();
  const int jitted = __LINE__ + 1;
  const auto f = jit([](const Array& v) {
    const Array twice = 2 * v;
    const Array product = matmul(twice, twice);
    return product + 1;
  });
  expect_line(error_of([&] { f(x); }), jitted + 2, jitted);
  expect_line(error_of([&] { f.lower(x); }), jitted + 2, jitted);
}

TEST(ErrorLines, OfAnOperator) {
  const int jitted = __LINE__ + 1;
  const auto f = jit([](const Array& v) {
    const Array sums = sum(v, {.axis = 0});
    const Array wrong = v + sum(v, {.axis = 1});
    return wrong * sums;
  });
  expect_line(error_of([&] { f(wrong_operand()); }), jitted + 2, jitted);
}

[[gnu::noinline]] Array layer(const Array& v, const Array& w) {
  Array y = matmul(v, w);
  y = tanh(y);
  return y + 1;
}
constexpr int kLayerLine = __LINE__ - 4;

TEST(ErrorLines, OfAFunctionThatItCalls) {
  const int jitted = __LINE__ + 1;
  const auto f = jit([](const Array& v) {
    const Array once = layer(v, ones({3, 3}));
    return layer(once, once) + 1;
  });
  expect_line(error_of([&] { f(wrong_operand()); }), kLayerLine, jitted);
}

TEST(ErrorLines, UnderTransforms) {
  const auto loss = [](const Array& v) {
    const Array y = layer(v, v);
    return sum(y);
  };
  const Array x = wrong_operand();
  int jitted = __LINE__ + 1;
  const auto gradient = jit([&](const Array& v) { return grad(loss)(v) + 1; });
  expect_line(error_of([&] { gradient(x); }), kLayerLine, jitted);
  jitted = __LINE__ + 1;
  const auto mapped = jit([&](const Array& v) { return vmap(loss)(v) + 1; });
  expect_line(error_of([&] { mapped(ones({4, 2, 3})); }), kLayerLine, jitted);
  jitted = __LINE__ + 1;
  const auto both = jit([&](const Array& v) { return vmap(grad(loss))(v) + 1; });
  expect_line(error_of([&] { both(ones({4, 2, 3})); }), kLayerLine, jitted);
}

TEST(ErrorLines, InTheBodiesOfLoopsAndBranches) {
  const Array x = wrong_operand();
  int jitted = __LINE__ + 1;
  const auto scanned = jit([](const Array& v) {
    const auto step = [](const Array& carry, const Array& row) {
      const Array y = layer(carry, carry);
      return std::pair(y, row);
    };
    return scan(step, v, v).first + 1;
  });
  expect_line(error_of([&] { scanned(x); }), kLayerLine, jitted);
  jitted = __LINE__ + 1;
  const auto repeated = jit([](const Array& v) {
    const auto body = [](const Array& i, const Array& y) { return y + layer(y, y) + i; };
    return fori_loop(0, 3, body, v) + 1;
  });
  expect_line(error_of([&] { repeated(x); }), kLayerLine, jitted);
  jitted = __LINE__ + 1;
  const auto chosen = jit([](const Array& v) {
    const auto wrong = [](const Array& y) { return y + layer(y, y); };
    const auto right = [](const Array& y) { return y + 1; };
    return cond(sum(v) > 0, wrong, right, v) + 1;
  });
  expect_line(error_of([&] { chosen(x); }), kLayerLine, jitted);
}

// The function of an inner jit is part of the outer function, and the error names the outer jit.
TEST(ErrorLines, OfAFunctionThatIsJittedInside) {
  const auto inner = jit([](const Array& v) { return layer(v, v) + 1; });
  const int jitted = __LINE__ + 1;
  const auto outer = jit([&](const Array& v) { return inner(v) + v; });
  expect_line(error_of([&] { outer(wrong_operand()); }), kLayerLine, jitted);
}

// Calls through the standard library are not the user's lines.
TEST(ErrorLines, OfACallbackOfTheStandardLibrary) {
  const int jitted = __LINE__ + 1;
  const auto f = jit([](const Array& v) {
    std::vector<Array> out(2);
    const std::vector<Array> in(2, v);
    std::transform(in.begin(), in.end(), out.begin(), [](const Array& y) { return layer(y, y); });
    return out[0] + out[1];
  });
  expect_line(error_of([&] { f(wrong_operand()); }), kLayerLine, jitted);
}

// If no call in the function led to the error, no line of it is named.
TEST(ErrorLines, NoneOfErrorsOutsideOfTheFunction) {
  Array leaked;
  jit([&](const Array& v) {
    leaked = v;
    return v;
  })(ones({2}));
  const auto f = jit([](const Array& v) { return v + 1; });
  const std::string text = error_of([&] { f(leaked); });
  EXPECT_THAT(text, HasSubstr("jitted at"));
  EXPECT_THAT(text, Not(HasSubstr("; at ")));
  EXPECT_THAT(error_of([] { matmul(wrong_operand(), wrong_operand()); }), Not(HasSubstr("; at ")));
}

// If the function catches an error, a later error names its own line.
TEST(ErrorLines, OfTheErrorThatLeavesTheFunction) {
  const int jitted = __LINE__ + 1;
  const auto f = jit([](const Array& v) {
    EXPECT_NE(error_of([&] { layer(v, v); }), "no error");
    const Array y = reshape(v, {7});
    return y + 1;
  });
  expect_line(error_of([&] { f(wrong_operand()); }), jitted + 2, jitted);
}

}  // namespace
}  // namespace tessera::error_lines_test
