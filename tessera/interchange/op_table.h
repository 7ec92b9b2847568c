// The table of ops as programs name them: one row an op, with how it stands in text and, if it is not
// an op of Tessera's own, what it becomes. Printer, parser and the reader of bytecode look ops up
// here, and know none by name.
//
// An op without a row is one of Tessera's whose text follows from its params (op_format.h).
#pragma once

#include "tessera/interchange/op_format.h"
#include "tessera/ir/op_def.h"

namespace tessera::interchange {

// Adds ops to the function that the reader holds, in place of the op that it holds; their results.
using BuildFn = std::vector<ValueId> (*)(OpReader& reader);

struct OpRow {
  std::string_view dialect, name;  // "custom_call" and the target of a custom call
  OpFormat format = {};
  BuildFn build = nullptr;  // set: the op is only read, and becomes the ops that this adds
  bool narrow = false;      // `build` takes operands of narrow dtypes as they are, not as wide ones
};

// The row of that name; an empty one if the table has none.
const OpRow& row_of(std::string_view dialect, std::string_view name);
// How the op is printed and parsed.
inline const OpFormat& format_of(const OpDef& def) { return row_of(def.dialect, def.name).format; }

// What an op of that name is read as: row.build's ops if there is that, else `def`; neither if
// Tessera has no such op.
struct ReadAs {
  const OpRow& row;
  const OpDef* def = nullptr;
  bool is_known() const { return def || row.build; }
};
ReadAs read_as(std::string_view dialect, std::string_view name);

// The params that the reader's text gives an op.
OpParams read_params(const OpDef& def, OpReader& reader);

}  // namespace tessera::interchange
