// The table of ops by the names that programs use. Each op has one row, with its format in text and
// in bytecode and, if it is not an op of Tessera's own, the function that replaces it. Printer,
// parser and the readers and writers of bytecode look ops up here and know no op by name.
//
// Ops of Tessera's that StableHLO does not have need no row; their text follows from their params
// (op_format.h). Rows without an op and without `build` are for what bytecode contains besides
// Tessera's ops: func.func, sdy.mesh.
#pragma once

#include <span>

#include "tessera/interchange/op_format.h"
#include "tessera/ir/op_def.h"

namespace tessera::interchange {

// Adds ops to the function in place of the op that the reader holds, and returns their results.
using BuildFn = std::vector<ValueId> (*)(OpReader& reader);

// The row of an op in VHLO, StableHLO's portable form, whose ops have versions of their own:
// add_v1.
struct VhloRow {
  int number = 0;                // 1 for add_v1; 0: no row
  std::string_view first, last;  // the versions of VHLO that have it; empty `last`: up to now
  std::string_view attributes;   // in the order of bytecode's properties
};

struct OpRow {
  std::string_view name;  // with its dialect; the name of a custom call is custom_call.<target>
  OpFormat format = {};
  BuildFn build = nullptr;  // set: the op is only read, and this function replaces it by other ops
  bool narrow = false;      // `build` gets operands of narrow dtypes unchanged, not as wide ones
  // Attributes in the order of bytecode's properties, sorted by name. Versions of the dialect have
  // different numbers of them. The name of an optional one ends in ?, and the name for the sizes of
  // two segments ends in #.
  std::string_view properties[3] = {};
  VhloRow vhlo[2] = {};
};

// The rows, in two parts (op_rows_stablehlo.cc, op_rows_others.cc), each sorted by name.
std::span<const OpRow> stablehlo_rows();
std::span<const OpRow> other_rows();

// Returns the row of that name, or an empty one if the table has none.
const OpRow& row_of(std::string_view dialect, std::string_view name);
// Returns the row of VHLO's op of that name, without its number, or an empty one if the table has
// none.
const OpRow& vhlo_row_of(std::string_view name);
// Returns the format in which the op is printed and parsed.
inline const OpFormat& format_of(const OpDef& def) { return row_of(def.dialect, def.name).format; }

// The op as which a name is read: the ops of row.build if it is set, otherwise `def`; neither if
// Tessera has no such op.
struct ReadAs {
  const OpRow& row;
  const OpDef* def = nullptr;
  bool is_known() const { return def || row.build; }
};
ReadAs read_as(std::string_view dialect, std::string_view name);

// Returns an op's params according to the reader's text.
OpParams read_params(const OpDef& def, OpReader& reader);

}  // namespace tessera::interchange
