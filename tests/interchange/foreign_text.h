// Helpers for tests of programs that other libraries write: their results and their errors.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tessera/interchange/text/parser.h"
#include "tessera/interchange/text/printer.h"
#include "tessera/ir/verifier.h"
#include "tests/errors.h"
#include "tests/evaluate/evaluate.h"

namespace tessera::interchange::foreign_text {

// Returns the function of a program, which is the same after printing and parsing.
inline Function parsed(const std::string& text) {
  Function f = parse_mlir(text, "test.mlir");
  verify(f);
  EXPECT_TRUE(parse_mlir(to_mlir(f)) == f) << to_mlir(f);
  return f;
}
// Returns the elements of a result of a program without arguments.
template <class T>
std::vector<T> values(const std::string& text, size_t result = 0) {
  const Literal out = evaluate(parsed(text), {})[result];
  return std::vector<T>(out.data<T>(), out.data<T>() + out.elements());
}
inline void expect_error(const std::string& text, const std::string& message) {
  try {
    parse_mlir(text, "test.mlir");
    ADD_FAILURE() << "no error of " << text;
  } catch (const UserError& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kParse) << error.what();
    EXPECT_THAT(error.what(),
                testing::AllOf(testing::HasSubstr("test.mlir:"), testing::HasSubstr(message)));
  }
}

}  // namespace tessera::interchange::foreign_text
