// RowPart: the part of a function that loop_over_rows computes row by row, and how it is found.
//
// Before: a partitioned function of one device. After: the same function; a list of its ops.
#pragma once

#include <optional>
#include <vector>

#include "tessera/base/namespaces.h"
#include "tessera/ir/function.h"
#include "tessera/mesh/mesh.h"

namespace tessera::fusion {

// Ops that compute each row (index of one dimension) of their results from the same row of their
// operands: loops over large arrays, ops that depend on these, and ops that any of them depends on.
// No op outside of the part both depends on the part and is needed by it.
struct RowPart {
  int64_t tiles = 0;         // the rows are divided into so many tiles of equal size
  Mesh mesh;                 // its only axis has a position for each tile
  std::vector<bool> inside;  // for each op of the function
  // For each value of the function: the dimension that the tiles divide, -1 if there is none.
  std::vector<int> row_dim;
  // Values from outside that the part reads, and values of the part that are read outside. Tiles
  // divide dimension 0 of them, or no dimension of an input. The results of is_repeated() ops are
  // not inputs, but their operands are.
  ValueIds inputs, outputs;
};

// Returns the part; nullopt if there is none that is worth a loop. Its values between its inputs
// and outputs then do not fit into a core's cache, but those of one tile do.
std::optional<RowPart> find_row_part(const Function& function);

// Returns whether the part has its own copy of the op, which is a constant or a scalar that is
// broadcast.
bool is_repeated(const Function& function, const Op& op);

}  // namespace tessera::fusion
