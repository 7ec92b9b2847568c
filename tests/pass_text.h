// Helpers for the tests of passes, whose programs are text: inputs are parsed, and results are
// printed.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "tessera/interchange/text/parser.h"
#include "tessera/interchange/text/printer.h"
#include "tessera/ir/verifier.h"

namespace tessera::test {

using namespace compile;

// Returns the text of a verified function without the frame of its module: lines from `func.func`
// to its last brace, moved two columns to the left.
inline std::string text_of(const Function& f) {
  verify(f);
  const std::string module = to_mlir(f);
  std::string out = "\n";
  bool inside = false;
  for (size_t at = 0; at < module.size();) {
    const size_t end = module.find('\n', at);
    const std::string line = module.substr(at, end - at);
    inside = inside || line.starts_with("  func.func");
    if (inside && line.starts_with("  ")) out += line.substr(2) + "\n";
    at = end + 1;
  }
  return out;
}

// Applies the pass to the program of `before` and returns the text of the result.
template <class Pass>
std::string after(Pass pass, std::string_view before) {
  return text_of(pass(parse_mlir(before)));
}

}  // namespace tessera::test
