// Families of loops that change a small part of an array in each iteration: elements, rows and
// slices of arrays whose length is the size, in loops, branches and inner loops. The work of an
// iteration does not depend on the length of the arrays.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "family.h"

namespace tessera::costs {

// One op of an iteration, on arrays a and b of n elements (x is one of them), an array m of n / 8
// rows of 8, and a number s.
struct LoopOp {
  enum class Kind : uint8_t {
    kReadElement,   // s = s / 2 + x[i]
    kWriteElement,  // x[i] = s
    kAddElement,    // x[i] += s
    kReadRow,       // s = s / 2 + sum(m[i])
    kWriteRow,      // m[i] = m[j] * s
    kSortRow,       // m[i] = sort(m[j]), as JAX orders floats
    kWriteSlice,    // x[i : i + 8] = m[j]
    kScatter,       // x[i, i + 3, i + 6, i + 9] += s
    kLoop,          // body three times
    kBranch,        // body if s > 0
  };
  Kind kind = Kind::kReadElement;
  bool second = false;   // x is b instead of a
  int at = 0, from = 0;  // i and j: the iteration times 1 + at % 3, plus an offset
  std::vector<LoopOp> body;
};

struct LoopProgram {
  enum class Loop : uint8_t { kScan, kStack, kFori, kWhile };  // kStack: a scan that stacks s
  Loop loop = Loop::kScan;
  bool gradient = false;
  std::vector<LoopOp> body;
};

LoopProgram make_loop(uint32_t seed);
std::string to_string(const LoopProgram& program);

enum class Grows : uint8_t {
  kTrips,           // the arrays have a fixed length
  kTripsAndLength,  // a copy of an array in each iteration is quadratic
};
Family family_of(const LoopProgram& program, Grows grows);

// Returns the program with as few ops as possible for which `differs` holds.
LoopProgram reduced(LoopProgram program, const std::function<bool(const LoopProgram&)>& differs);

}  // namespace tessera::costs
