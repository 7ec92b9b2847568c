// Families of programs that differ in a size, and findings about them: costs that grow faster than
// the work of the programs.
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
  // Returns the program of a size. It throws UserError if there is none.
  std::function<ir::Function(int64_t size)> program;
  // Returns the program whose operations count as the work; if empty, it is the program itself.
  // (For a gradient it is the program that is differentiated: a gradient may cost a constant
  // multiple of it.)
  std::function<ir::Function(int64_t size)> asks;
  // Whether the program's text grows with the size. If so, `text` returns how often the same text
  // is in it, and compiling may take as many times as long. If not, compiling may grow with the
  // logarithm of the size, because a running product halves its operand that often.
  bool text_grows = false;
  std::function<double(int64_t size)> text = [](int64_t size) { return static_cast<double>(size); };
  // How many loops and branches are around the innermost ops: a pass may process an op once for
  // each of them, which is hard to avoid for closed regions.
  std::function<double(int64_t size)> depth = [](int64_t) { return 1; };
  int64_t size = 64;      // the smallest size
  size_t most_sizes = 7;  // the number of sizes, up to which slow growth has to show
};

struct Finding {
  std::string family;
  std::string metric;  // "bytes", "ops after fuse"
  std::string step;    // the step that grows most
  double excess = 0;   // the exponent of the growth beyond the work
  Series cost{}, work{};
  int64_t size = 0;
};
std::string to_string(const Finding& finding);

// Returns the kernels that touch memory outside of their operands, interpreted comparisons, and the
// costs that grow by more than kMostExcess from n to 4n, from 2n to 8n and, if the excess is small,
// up to 64n (a plan that changes once between two sizes is not growth). Returns nullopt if there
// are no programs of these sizes.
std::optional<std::vector<Finding>> findings(const Family& family);

}  // namespace tessera::costs
