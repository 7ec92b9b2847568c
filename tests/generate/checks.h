// The comparisons: each check computes a program in two ways.
#pragma once

#include <optional>

#include "program.h"

namespace tessera::generate {

struct Difference {
  std::string check;
  bool is_error = false;  // an exception, not a different value
  std::string text;
};
enum class Verdict : uint8_t { kSame, kDifferent, kNothing };  // kNothing: the check does not apply
struct Outcome {
  Verdict verdict = Verdict::kSame;
  Difference difference;
};

const std::vector<std::string>& all_checks();
// Returns the checks for this case. Its seed determines them.
std::vector<std::string> checks_of(const Case& c);
Outcome run_check(const std::string& check, const Case& c);

}  // namespace tessera::generate
