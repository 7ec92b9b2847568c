// Text of stablehlo.reduce.
#include <algorithm>

#include "tessera/interchange/formats/formats.h"
#include "tessera/ir/append_ops.h"
#include "tessera/ir/control_flow.h"
#include "tessera/ir/op_def.h"
#include "tessera/ops/reductions/reduce.h"
#include "tessera/ops/reductions/scalar_body.h"
#include "tessera/ops/reductions/written_kind.h"

namespace tessera::interchange::formats {
namespace {

OpText write_reduce(const Op& op, const Function& function) {
  const ReduceParams& p = op.params.as<ReduceParams>();
  const size_t n = op.operands.size() / 2;
  OpText text;
  text.attributes = {{"dimensions", to_text(Attribute(p.dims), nullptr)}};
  text.regions = {p.kind == ReduceKind::kCustom
                      ? p.body
                      : reduce_body(p.kind, function.type(op.operands[0]).dtype,
                                    n == 2 ? function.type(op.operands[1]).dtype : int32)};
  return text;
}

void print_reduce(const OpText& text, const Op& op, const Function&, OpWriter& writer) {
  const Function& body = *text.regions[0];
  const int n = static_cast<int>(op.operands.size() / 2);
  for (int k = 0; k < n; ++k) {
    writer.write(k ? ", (" : "(");
    writer.write_operand(k);
    writer.write(" init: ");
    writer.write_operand(n + k);
    writer.write(")");
  }
  if (is_one_op(body))
    writer.write(fmt::format(" applies {}.{}", body.ops[0].def->dialect, body.ops[0].def->name));
  writer.write(" across dimensions = ");
  writer.write_attribute(*text.find("dimensions"));
  writer.write_extra();
  writer.write_signature();
  if (is_one_op(body)) return;
  writer.write("\n     reducer");
  const std::vector<std::string> names = writer.region_inputs(body);
  for (int k = 0; k < n; ++k)
    writer.write(fmt::format("({}: {}, {}: {}) ", names[k], body.type(body.inputs[k]), names[n + k],
                             body.type(body.inputs[n + k])));
  writer.write(" {\n");
  writer.write_region_body(body);
  writer.write("}");
}

// Returns the body for which `applies stablehlo.add` is short.
FunctionRef body_of_op(const std::string& name, const Type& operand, OpScanner& scanner) {
  const size_t dot = name.find('.');
  const OpDef* def =
      dot == std::string::npos ? nullptr : find_op(name.substr(0, dot), name.substr(dot + 1));
  if (!def || !def->attributes.empty())
    scanner.error(fmt::format("expected an elementwise op of two operands, got '{}'", name));
  Function body;
  body.name = "reducer";
  const Type scalar{operand.dtype, {}};
  const ValueId acc = body.add_input(scalar), x = body.add_input(scalar);
  body.outputs.push_back(body.add_op(
      *def, def->params, {acc, x}, infer_types(*def, std::vector{scalar, scalar}, def->params))[0]);
  return std::make_shared<const Function>(std::move(body));
}

void parse_reduce(OpScanner& scanner, OpReader& reader) {
  std::vector<ValueId> inits;
  do {
    scanner.expect("(");
    reader.operands.push_back(scanner.operand());
    scanner.expect("init");
    scanner.expect(":");
    inits.push_back(scanner.operand());
    scanner.expect(")");
  } while (scanner.accept(","));
  const size_t n = inits.size();
  reader.operands.insert(reader.operands.end(), inits.begin(), inits.end());
  if (scanner.accept("applies"))
    reader.text.regions.push_back(
        body_of_op(scanner.word(), scanner.type(reader.operands[0]), scanner));
  scanner.expect("across");
  scanner.expect("dimensions");
  scanner.expect("=");
  reader.text.attributes.emplace_back("dimensions", scanner.attribute());
  scanner.extra(reader.text);
  scanner.signature(reader);
  if (!reader.text.regions.empty()) return;
  scanner.expect("reducer");
  std::vector<RegionInput> accs, xs;
  for (size_t k = 0; k < n; ++k) {
    scanner.expect("(");
    accs.push_back(scanner.region_input());
    scanner.expect(",");
    xs.push_back(scanner.region_input());
    scanner.expect(")");
  }
  accs.insert(accs.end(), xs.begin(), xs.end());
  scanner.expect("{");
  reader.captures.emplace_back();
  reader.text.regions.push_back(scanner.region_body(accs, &reader.captures.back()));
}

OpParams read_reduce(const OpDef&, OpReader& reader) {
  if (reader.text.regions.size() != 1)
    reader.error(fmt::format("expected one region, got {}", reader.text.regions.size()));
  FunctionRef body = plain_body(reader.text.regions[0]);
  if (std::any_of(body->ops.begin(), body->ops.end(), is_control_flow)) body = scalar_body(*body);
  // Maxima and minima of complex numbers are no ReduceKind, so they keep their bodies.
  const bool complex = !body->inputs.empty() && is_complex(body->type(body->inputs[0]).dtype);
  ReduceParams p{reader.require_dims("dimensions"),
                 complex ? classify_reduce_body(*body) : written_kind(*body)};
  std::sort(p.dims.begin(), p.dims.end());
  if (p.kind == ReduceKind::kCustom) p.body = body;
  return p;
}

// Copies ops with calls inlined and without constraints on scalars.
class PlainBody {
 public:
  static bool is_plain(const Function& f) {
    return std::none_of(f.ops.begin(), f.ops.end(),
                        [&](const Op& op) { return callee_of(op) || is_constraint(op, f); });
  }

  explicit PlainBody(const Function& body) {
    out_.name = body.name;
    for (ValueId v : body.inputs) out_.add_input(body.type(v));
    const ValueIds outputs = append(body, {out_.inputs.begin(), out_.inputs.end()});
    out_.outputs.assign(outputs.begin(), outputs.end());
  }
  FunctionRef take() { return std::make_shared<const Function>(std::move(out_)); }

 private:
  static bool is_constraint(const Op& op, const Function& f) {
    return std::holds_alternative<Constraint>(op.def->lower) && f.type(op.results[0]).rank() == 0;
  }

  ValueIds append(const Function& f, const ValueIds& arguments) {
    return append_ops(f, arguments, [&](const Op& op, ValueIds operands) {
      if (const FunctionRef called = callee_of(op)) return append(*called, operands);
      if (is_constraint(op, f)) return operands;
      return out_.add_op(*op.def, op.params, std::move(operands), f.types_of(op.results),
                         op.source);
    });
  }

  Function out_;
};

}  // namespace

FunctionRef plain_body(const FunctionRef& body) {
  return PlainBody::is_plain(*body) ? body : PlainBody(*body).take();
}

OpFormat reduce() {
  return {.write = write_reduce,
          .read = read_reduce,
          .print = print_reduce,
          .parse = parse_reduce,
          .capture_rule = capture_in_reduce};
}

}  // namespace tessera::interchange::formats
