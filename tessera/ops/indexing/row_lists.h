// A scatter of rows that were gathered, as two ops that only the compiler makes
// (fusion/rewrites/simplify_row_scatters.h). The first sorts the indices of both, so scatters with
// the same indices share it; the second reads the gathered rows where they are.
//
//   y = scatter(x, index, gather(rows, source))   ->   ends, sources = list_rows(index, source)
//                                                      y = fold_lists(x, ends, sources, rows, fill)
#pragma once

#include "tessera/ops/indexing/scatter.h"

namespace tessera::ops {

// Lists the entries of `source` by the row of the result that `index` names.
//   index: an integer (entries), source: int32 (entries) -> ends int32 (rows), sources int32
//   (entries)
// The list of row r is sources[ends[r - 1] .. ends[r]), in the order of the entries. Entries whose
// index is not in [0, rows) follow behind all lists. For example, with 3 rows:
//   index 2 0 9 2 0, source 5 6 7 8 9   ->   ends 2 2 4, sources 6 9 | | 5 8 | 7
struct ListRowsParams {
  int64_t rows = 0;
};
extern const OpDef& list_rows_op;

// Folds rows into the rows of x: y[r] = x[r] with rows[s] folded into it for each s of list r, in
// order. An s that is not in [0, sources) stands for a row of which all elements are `fill`.
//   x (n, ...), ends int32 (n), sources int32 (entries), rows (sources, ...), fill () -> y (n, ...)
struct FoldListsParams {
  ScatterKind kind = ScatterKind::kAdd;  // neither kSet nor kCustom
};
extern const OpDef& fold_lists_op;

}  // namespace tessera::ops
