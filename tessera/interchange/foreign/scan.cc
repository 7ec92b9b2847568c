// chlo.scan. It is like Tessera's scan, except that inputs come before the carry, and that any
// dimension can be scanned.
#include "tessera/control/control_flow_ops.h"
#include "tessera/interchange/foreign/foreign.h"
#include "tessera/ir/op_def.h"
#include "tessera/ops/structural/reshape.h"

namespace tessera::interchange::foreign {
namespace {

// Returns how many of `count` operands or results come first: the number in the text, or all except
// `others`.
size_t first_segment(OpReader& reader, const char* name, size_t count, size_t others) {
  const TextAttr* written = reader.text.take(name);
  if (!written) return count - std::min(count, others);
  const auto* array = written->get<TextAttr::Array>();
  if (!array || array->values.size() != 2 || array->values[0] < 0 || array->values[1] < 0 ||
      static_cast<size_t>(array->values[0]) + static_cast<size_t>(array->values[1]) != count)
    reader.error(fmt::format("expected '{}' to be two numbers whose sum is {}", name, count));
  return static_cast<size_t>(array->values[0]);
}

bool flag(OpReader& reader, const char* name) {
  const TextAttr* written = reader.text.take(name);
  const bool* value = written ? written->get<bool>() : nullptr;
  return value && *value;
}

ValueId transposed(OpReader& reader, ValueId v, Dims permutation) {
  if (std::is_sorted(permutation.begin(), permutation.end())) return v;
  return reader.insert(transpose_op, TransposeParams{std::move(permutation)}, std::span(&v, 1))[0];
}

// Returns [d, 0, ..., d-1, d+1, ...], or its inverse.
Dims to_front(int64_t rank, int64_t dimension, bool back) {
  Dims out(static_cast<size_t>(rank), 0);
  for (int64_t k = 0; k < rank; ++k) {
    const int64_t d = k == 0 ? dimension : k <= dimension ? k - 1 : k;
    (back ? out[d] : out[k]) = back ? k : d;
  }
  return out;
}

}  // namespace

Values scan(OpReader& reader) {
  if (reader.text.regions.size() != 1)
    reader.error(
        fmt::format("expected the region of a trip, got {} regions", reader.text.regions.size()));
  Function body = *reader.text.regions[0];
  const size_t count = reader.operands.size();
  // Every input is an argument of the body; inits and final values correspond one to one.
  if (body.inputs.size() != count)
    reader.error(fmt::format("expected a region of {} arguments, one an operand, got {}", count,
                             body.inputs.size()));
  reader.require("operandSegmentSizes");
  const size_t inputs = first_segment(reader, "operandSegmentSizes", count, 0),
               carries = count - inputs, results = body.outputs.size();
  const size_t outputs = first_segment(reader, "resultSegmentSizes", results, carries);
  if (results - outputs != carries)
    reader.error(
        fmt::format("expected a region that returns what it carries, {} values, last; got "
                    "{} values in all",
                    carries, results));
  const int64_t dimension = reader.require_int("dimension");
  ScanParams p;
  p.reverse = flag(reader, "is_reverse");
  reader.text.take("is_associative");
  p.length = reader.text.find("scan_dim_size") ? reader.require_int("scan_dim_size") : -1;
  Values operands;
  for (size_t k = 0; k < inputs; ++k) {
    const Type& type = reader.type(reader.operands[k]);
    if (dimension < 0 || dimension >= type.rank())
      reader.error(
          fmt::format("expected a dimension of every input, got {} for {}", dimension, type));
    const int64_t extent = type.shape[dimension];
    if (p.length >= 0 && p.length != extent)
      reader.error(fmt::format("expected inputs of one extent {} along dimension {}, got {}",
                               p.length, dimension, extent));
    p.length = extent;
    operands.push_back(
        transposed(reader, reader.operands[k], to_front(type.rank(), dimension, false)));
  }
  if (p.length < 0) reader.error("expected an input to scan, or 'scan_dim_size'");
  operands.insert(operands.begin(), reader.operands.begin() + static_cast<ptrdiff_t>(inputs),
                  reader.operands.end());
  std::rotate(body.inputs.begin(), body.inputs.begin() + static_cast<ptrdiff_t>(inputs),
              body.inputs.end());
  std::rotate(body.outputs.begin(), body.outputs.begin() + static_cast<ptrdiff_t>(outputs),
              body.outputs.end());
  p.num_carry = static_cast<int64_t>(carries);
  p.body = std::make_shared<const Function>(std::move(body));
  std::vector<Type> types;
  for (const ValueId v : operands) types.push_back(reader.type(v));
  Values out = reader.insert(scan_op, retyped_params(scan_op, types, p), operands);
  std::rotate(out.begin(), out.begin() + static_cast<ptrdiff_t>(carries), out.end());
  for (size_t k = 0; k < outputs; ++k) {
    const int64_t rank = reader.type(out[k]).rank();
    if (dimension >= rank)
      reader.error(fmt::format("expected outputs with a place for dimension {}, got {}", dimension,
                               reader.type(out[k])));
    out[k] = transposed(reader, out[k], to_front(rank, dimension, true));
  }
  return out;
}

}  // namespace tessera::interchange::foreign
