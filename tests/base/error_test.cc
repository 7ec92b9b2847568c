#include "tessera/base/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/base/error_calls.h"
#include "tessera/base/format.h"

namespace tessera::error_test {
namespace {

using testing::HasSubstr;

template <class F>
void expect_user_error(ErrorKind kind, const std::string& text, F&& f) {
  try {
    f();
    FAIL() << text;
  } catch (const UserError& error) {
    EXPECT_EQ(error.kind(), kind);
    EXPECT_EQ(error.what(), text);
  }
}

TEST(Error, EachHelperThrowsItsKind) {
  expect_user_error(ErrorKind::kType, "[a] x 1", [] { type_error("a", "x {}", 1); });
  expect_user_error(ErrorKind::kShape, "[b] y", [] { shape_error("b", "y"); });
  expect_user_error(ErrorKind::kSharding, "[c] 1, 2", [] { sharding_error("c", "{}, {}", 1, 2); });
  expect_user_error(ErrorKind::kValue, "[d] z", [] { value_error("d", "z"); });
  expect_user_error(ErrorKind::kTrace, "[e] z", [] { trace_error("e", "z"); });
  expect_user_error(ErrorKind::kIo, "[f] {}", [] { io_error("f", "{}", "{}"); });
  expect_user_error(ErrorKind::kParse, "[g] z", [] { fail(ErrorKind::kParse, "g", "z"); });
}

TEST(Error, CheckNamesPlaceConditionAndDetail) {
  TESSERA_CHECK(true);
  TESSERA_CHECK(1 + 1 == 2, "never formatted {}", 1);
  try {
    TESSERA_CHECK(1 > 2, "with {}", 42);
    FAIL();
  } catch (const InternalError& error) {
    EXPECT_THAT(error.what(), HasSubstr("error_test.cc:"));
    EXPECT_THAT(error.what(), HasSubstr("1 > 2"));
    EXPECT_THAT(error.what(), HasSubstr("with 42"));
  }
}

TEST(Error, NamesOfPublicFunctions) {
  using internal::public_function;
  EXPECT_EQ(public_function("tessera::zeros(tessera::Dims const&)"), "zeros");
  EXPECT_EQ(public_function("tessera::lax::sin(tessera::Array const&)"), "sin");
  EXPECT_EQ(public_function("tessera::scipy::stats::norm::pdf(tessera::Array const&)"), "pdf");
  EXPECT_EQ(public_function("tessera::operator+(tessera::Array const&)"), "");
  EXPECT_EQ(public_function("tessera::IndexedArray::set(tessera::Array const&) const"), "");
  EXPECT_EQ(public_function("tessera::internal::split_equally(tessera::Array const&)"), "");
  EXPECT_EQ(public_function("tessera::scipy::sparse::linalg::internal::solve(int)"), "");
  EXPECT_EQ(public_function("tessera::scipy::stats::gaussian_kde::evaluate(int) const"), "");
  EXPECT_EQ(public_function("tessera::normalize_axis(std::basic_string_view<char>, long)"), "");
  EXPECT_EQ(public_function("main"), "");
}

// Each of the three kinds of errors is caught by its own type alone.
TEST(Error, KindsAreUnrelated) {
  static_assert(!std::is_base_of_v<RuntimeError, UserError>);
  static_assert(!std::is_base_of_v<UserError, RuntimeError>);
  static_assert(!std::is_base_of_v<std::runtime_error, InternalError>);
}

}  // namespace
}  // namespace tessera::error_test
