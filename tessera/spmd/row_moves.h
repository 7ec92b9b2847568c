// Row moves: sends rows from the devices that have them to those that need them, in rounds in which
// each device sends at most one parcel and gets at most one. Only rows that a device needs are
// sent.
//
// Example: x[:32] of 64 rows on 4 devices. Device i needs rows 8 i .. 8 i + 7, which device i / 2
// has. Device 0 has its own. Parcels of 8 rows go 0 -> 1 and 1 -> 2 in one round, and 1 -> 3 in the
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

// The rows that a device has. Its first row has number `base`; only rows with numbers in `range`
// count. No two ranges have a row in common.
struct RowHolding {
  int64_t device = 0;
  int64_t base = 0;
  RowRange range;
};

struct RowMove {
  bool home = false;  // the rows are already where they are needed: nothing is sent
  int64_t rows = 0;   // the number of rows of each parcel
  // (sender, receiver): every device is the sender of one pair and the receiver of one.
  std::vector<Dims> pairs = {};
  std::vector<int64_t> send = {};  // for each sender: the first of its rows that it sends
  // For each receiver: the row of its shard at which the parcel begins; the rows of its shard that
  // are in the parcel; and the rows that it may take from the parcel, including rows that nobody
  // needs.
  std::vector<int64_t> target_row = {};
  std::vector<RowRange> exact = {}, taken = {};
};

// Plans moves for `devices` devices. Device i needs those rows of [i * target_rows, (i + 1) *
// target_rows) that are in `wanted`; its other rows may have any content. A device has
// `source_rows` rows.
std::vector<RowMove> plan_row_moves(const std::vector<RowHolding>& held, int64_t devices,
                                    int64_t source_rows, int64_t target_rows, RowRange wanted);

// Returns the rows of a receiver that each move fills, in the order of `moves`, if these rows and
// the positions of parcels are the same for all receivers, so that parcels can simply be
// concatenated. Otherwise returns an empty list.
std::vector<RowRange> common_parts(const std::vector<RowMove>& moves, int64_t target_rows);

}  // namespace tessera::spmd
