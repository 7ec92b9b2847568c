// Text of stablehlo.cholesky and stablehlo.triangular_solve.
#include "tessera/interchange/formats/formats.h"
#include "tessera/ops/core/convert.h"
#include "tessera/ops/factor/cholesky.h"
#include "tessera/ops/factor/triangular_solve.h"

namespace tessera::interchange::formats {
namespace {

OpParams read_cholesky(const OpDef& def, OpReader& reader) {
  if (!reader.text.find("lower")) return CholeskyParams{};
  return reader.read_fields(def);
}

OpText write_solve(const Op& op, const Function&) {
  const auto& p = op.params.as<TriangularSolveParams>();
  const std::string transposition(enum_names(p.transpose_a)[static_cast<size_t>(p.transpose_a)]);
  OpText text;
  text.attributes = {{"left_side", p.left_side},
                     {"lower", p.lower},
                     {"transpose_a", TextAttr::Keyword{"transpose", transposition}},
                     {"unit_diagonal", p.unit_diagonal}};
  return text;
}

// float16 and bfloat16 are solved in float32.
OpParams read_solve(const OpDef& def, OpReader& reader) {
  const OpParams params = reader.read_fields(def);
  if (reader.result_types.size() != 1 || !is_half(reader.result_types[0].dtype)) return params;
  reader.result_types[0].dtype = float32;
  for (ValueId& v : reader.operands)
    v = reader.insert(convert_op, ConvertParams{float32}, std::span(&v, 1))[0];
  return params;
}

}  // namespace

OpFormat cholesky() {
  return {.assembly = "{operands}<, lower = {lower}>",
          .signature = OpFormat::Signature::kSame,
          .read = read_cholesky};
}

OpFormat triangular_solve() { return {.write = write_solve, .read = read_solve}; }

}  // namespace tessera::interchange::formats
