// Families of programs that differ in a size, and what is found in them: costs that grow by more than
// the work that the programs ask for.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "growth.h"
#include "tessera/ir/function.h"

namespace tessera::costs {

struct Family {
  std::string name;  // "seed 17, rows"
  // May throw UserError: no such program.
  std::function<ir::Function(int64_t size)> program;
  // The program whose operations are the work that this one asks for; empty: itself. A gradient is
  // worth a constant number of values.
  std::function<ir::Function(int64_t size)> asks;
  // Whether the program's text grows with the size, and then how often the same text is in it:
  // compiling may take as many times as long. If not, the logarithm of the size is allowed: a running
  // product halves its operand so often.
  bool text_grows = false;
  std::function<double(int64_t size)> text = [](int64_t size) { return static_cast<double>(size); };
  // How many loops and branches are around the innermost ops: a pass may come to an op once from each
  // of them, which their closed regions make hard to avoid.
  std::function<double(int64_t size)> depth = [](int64_t) { return 1; };
  int64_t size = 64;      // the smallest
  size_t most_sizes = 7;  // up to which growth that is not by much has to show
};

struct Finding {
  std::string family;
  std::string metric;  // "bytes", "ops after fuse"
  std::string step;    // that grows most
  double excess = 0;   // exponent
  Series cost{}, work{};
  int64_t size = 0;
};
std::string to_string(const Finding& finding);

// Returns what touches memory outside of its operands or interprets comparisons, and what grows by
// more than kMostExcess from n to 4n, from 2n to 8n and, where it is not by
// much, so on up to 64n: a plan that changes once between two sizes is no growth. nullopt: no such
// program at these sizes.
std::optional<std::vector<Finding>> findings(const Family& family);

}  // namespace tessera::costs
