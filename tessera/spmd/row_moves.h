// Row moves: rows that some devices have and others need, as rounds in which each device sends at
// most one parcel and gets at most one. Only rows that a device needs are sent.
//
// Example: x[:32] of 64 rows on 4 devices. Device i needs rows 8 i .. 8 i + 7, which device i / 2
// has: device 0 has its own; parcels of 8 rows go 0 -> 1 and 1 -> 2 in one round, 1 -> 3 in the
// next.
#pragma once

#include <vector>

#include "tessera/base/namespaces.h"
#include "tessera/base/shape.h"

namespace tessera::spmd {

struct RowRange {
  int64_t low = 0, high = 0;
  bool empty() const { return low >= high; }
};

// What a device has: its row 0 is row `base` of all, and those of its rows that are in `range`
// (numbered like all) count. No two ranges have a row in common.
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
  // Of a receiver: the row of its own at which the parcel begins; the rows of its own that are in
  // the parcel; and those that it may take from the parcel, which extend to rows that nobody needs.
  std::vector<int64_t> target_row = {};
  std::vector<RowRange> exact = {}, taken = {};
};

// Plans moves for `devices` devices: device i needs those rows of [i * target_rows, (i + 1) *
// target_rows) that are in `wanted`; its other rows may become anything. A device has `source_rows`
// rows.
std::vector<RowMove> plan_row_moves(const std::vector<RowHolding>& held, int64_t devices,
                                    int64_t source_rows, int64_t target_rows, RowRange wanted);

// Returns the rows of a receiver that each move fills, in the order of `moves`, if these and the
// position of the parcels are the same for all receivers, so that the parcels are only
// concatenated. Otherwise returns an empty list.
std::vector<RowRange> common_parts(const std::vector<RowMove>& moves, int64_t target_rows);

}  // namespace tessera::spmd
