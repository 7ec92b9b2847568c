// Families of loops that change arrays a little every trip: elements, rows and slices of arrays whose
// length is the size, in loops, branches and inner loops. What a trip asks for does not depend on how
// long the arrays are.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "family.h"

namespace tessera::costs {

// One op of a trip, on arrays a and b of n elements, m of n / 8 rows of 8, and a number s.
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
    kBranch,        // body where s > 0
  };
  Kind kind = Kind::kReadElement;
  bool second = false;   // b instead of a
  int at = 0, from = 0;  // i and j: the trip times 1 + at % 3, moved by at
  std::vector<LoopOp> body;
};

struct LoopProgram {
  enum class Loop : uint8_t {
    kScan,
    kStack,
    kFori,
    kWhile
  };  // kStack: a scan that puts s together
  Loop loop = Loop::kScan;
  bool gradient = false;
  std::vector<LoopOp> body;
};

LoopProgram make_loop(uint32_t seed);
std::string to_string(const LoopProgram& program);

enum class Grows : uint8_t {
  kTrips,           // the arrays are as long as ever
  kTripsAndLength,  // so that a copy of an array a trip is a square
};
Family family_of(const LoopProgram& program, Grows grows);

// The program with fewer ops, so long as `differs` holds.
LoopProgram reduced(LoopProgram program, const std::function<bool(const LoopProgram&)>& differs);

}  // namespace tessera::costs
