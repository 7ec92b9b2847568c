// Windows: slice, pad, reverse and concatenate along a dimension that is cut. Instead of gathering
// it, each device fetches from its neighbours what its own shard of the result is made of (a halo
// exchange).
//
// Example: x[1:] - x[:-1] of f32[64] on 8 devices. x[1:] has 63 rows in shards of 8; device i needs
// rows 8 i + 1 .. 8 i + 8: its own but for the last, which is the first one of device i + 1: one
// permutation of one row.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tessera/ir/op_def.h"
#include "tessera/spmd/assignment.h"

namespace tessera {

// The part of one dimension of one operand that each shard of the result is copied from.
struct DimWindow {
  // Rows [low, high) of a shard go to the device `shift` shards below.
  struct Hop {
    int64_t shift, low, high;
    std::vector<Dims> pairs;  // from, to: indices along atoms; empty where the rows are at home
  };
  int dim = 0;
  AtomList atoms;         // that cut the dimension, of operand and result alike
  int64_t shard = 0;      // rows of one shard of the result in storage
  int64_t stride = 1;     // row l of the result's shard is row start + stride l of the operand
                          // (negative: from the window's end)
  std::vector<Hop> hops;  // by shift, ascending: their rows, joined, are the buffer
  int64_t pad_low = 0, pad_high = 0;  // rows beyond the buffer that some window touches
  int64_t start = 0,
          step = 0;      // device i's window begins at row start + i step of the padded buffer
  int64_t size = 0;      // and has so many rows
  bool guarded = false;  // only result rows [guard_start, guard_stop) are copies
  int64_t guard_start = 0, guard_stop = 0;
};

struct WindowPlan {
  std::vector<std::vector<DimWindow>> pieces;  // of the op's index map
  std::vector<int> operands;                   // that each piece copies from
  int fill = -1;                               // operand that fills the rest
  int64_t cost = 0;                            // bytes received by each device, and steps
};

// For an op that lowers to an index map, under an assignment that cuts dimensions it changes. Empty
// where the map is not one of windows (dynamic starts, interior padding), or cuts nothing it
// changes.
std::optional<WindowPlan> plan_windows(const AtomMesh& mesh, const Op& op, const Factors& factors,
                                       const FactorAssignment& assignment,
                                       std::span<const Type> operands, const Type& result);

// The local result from local operands that have the shardings of the assignment.
Array apply_windows(const AtomMesh& mesh, const WindowPlan& plan, const Shape& local_result,
                    std::span<const Array> operands);

}  // namespace tessera
