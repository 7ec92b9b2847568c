// Row moves: rows that some devices hold and others need, as rounds in which each device sends at
// most one parcel and gets at most one. Only rows that someone needs travel.
//
// Example: x[:32] of 64 rows on 4 devices. Device i needs rows 8 i .. 8 i + 7, which device i / 2
// holds: device 0 has its own; parcels of 8 rows go 0 -> 1 and 1 -> 2 in one round, 1 -> 3 in the
// next.
#pragma once

#include <vector>

#include "tessera/base/shape.h"

namespace tessera::spmd {

struct RowRange {
  int64_t low = 0, high = 0;
  bool empty() const { return low >= high; }
};

// What a device holds: its row 0 is row `base` of all, and of its rows those in `range` (numbered
// as all are) count. Rows may be held several times, as different ones: no two ranges have a row in
// common.
struct RowHolding {
  int64_t device = 0;
  int64_t base = 0;
  RowRange range;
};

struct RowMove {
  bool home = false;               // the rows are where they are needed: nothing is sent
  int64_t rows = 0;                // of each parcel
  std::vector<Dims> pairs = {};    // from, to: every device is in one pair of each side
  std::vector<int64_t> send = {};  // of a sender: the first of its rows that it sends
  // Of a receiver: its own row that the parcel's first is; those of its own rows that are in it;
  // those that it may take from it, which reach to where no row is needed.
  std::vector<int64_t> target_row = {};
  std::vector<RowRange> exact = {}, taken = {};
};

// Of `devices` devices, i needs rows [i * target_rows, (i + 1) * target_rows), as far as they are
// in `wanted`; what lies beside them may become anything. A device holds `source_rows` rows.
std::vector<RowMove> plan_row_moves(const std::vector<RowHolding>& held, int64_t devices,
                                    int64_t source_rows, int64_t target_rows, RowRange wanted);

// The rows of a receiver that each move fills, where these are the same for all receivers and the
// parcels lie at the same place: then they are only joined. In the order of `moves`; else empty.
std::vector<RowRange> common_parts(const std::vector<RowMove>& moves, int64_t target_rows);

}  // namespace tessera::spmd
