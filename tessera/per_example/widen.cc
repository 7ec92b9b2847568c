#include "tessera/per_example/widen.h"

#include <algorithm>

#include "tessera/base/overloaded.h"
#include "tessera/ir/op_def.h"
#include "tessera/ops/core/convert.h"

namespace tessera::per_example {
namespace {

// A function that returns the dtype with which a given one is replaced.
using Widen = DType (*)(DType);

DType double_dtype(DType dtype) {
  if (is_complex(dtype)) return complex128;
  return is_floating(dtype) ? float64 : dtype;
}

Function with_dtypes(const Function& function, Widen wide);

Attribute widened_attribute(const Attribute& attribute, Widen wide) {
  const auto region = [&](const FunctionRef& f) -> FunctionRef {
    return f ? std::make_shared<const Function>(with_dtypes(*f, wide)) : f;
  };
  return std::visit(Overloaded{
                        [&](DType d) -> Attribute { return wide(d); },
                        [&](const Literal& x) -> Attribute {
                          return wide(x.dtype()) != x.dtype() ? convert_literal(x, wide(x.dtype()))
                                                              : x;
                        },
                        [&](const FunctionRef& f) -> Attribute { return region(f); },
                        [&](const std::vector<FunctionRef>& all) -> Attribute {
                          std::vector<FunctionRef> out;
                          for (const FunctionRef& f : all) out.push_back(region(f));
                          return out;
                        },
                        [](const auto& other) -> Attribute { return other; },
                    },
                    attribute);
}

Function with_dtypes(const Function& function, Widen wide) {
  Function out = function;
  for (ValueId v : out.inputs) out.types[v].dtype = wide(out.types[v].dtype);
  for (Op& op : out.ops) {
    std::vector<Attribute> fields = op.params.fields();
    for (Attribute& field : fields) field = widened_attribute(field, wide);
    op.params = op.params.with_fields(fields);
    const std::vector<Type> results = infer_types(*op.def, out.types_of(op.operands), op.params);
    for (size_t r = 0; r < results.size(); ++r) out.types[op.results[r]] = results[r];
  }
  return out;
}

}  // namespace

bool has_halves(const Function& function) {
  const auto in_region = [](const FunctionRef& f) { return f && has_halves(*f); };
  const auto in_attribute = [&](const Attribute& attribute) {
    if (const auto* region = std::get_if<FunctionRef>(&attribute)) return in_region(*region);
    const auto* regions = std::get_if<std::vector<FunctionRef>>(&attribute);
    return regions && std::any_of(regions->begin(), regions->end(), in_region);
  };
  const auto in_op = [&](const Op& op) {
    const std::vector<Attribute> fields = op.params.fields();
    return std::any_of(fields.begin(), fields.end(), in_attribute);
  };
  return std::any_of(function.types.begin(), function.types.end(),
                     [](const Type& t) { return is_half(t.dtype); }) ||
         std::any_of(function.ops.begin(), function.ops.end(), in_op);
}

Function widened(const Function& function) { return with_dtypes(function, accumulation_dtype); }

Function in_float64(const Function& function) { return with_dtypes(function, double_dtype); }

}  // namespace tessera::per_example
