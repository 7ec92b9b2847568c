// Text of sdy.manual_computation.
#include <algorithm>

#include "tessera/control/control.h"
#include "tessera/interchange/formats/formats.h"
#include "tessera/interchange/unreduced.h"
#include "tessera/ir/axis_env.h"
#include "tessera/ops/collectives/collectives.h"
#include "tessera/ops/core/compare.h"
#include "tessera/ops/core/constant.h"
#include "tessera/ops/core/select.h"
#include "tessera/ops/structural/broadcast.h"
#include "tessera/trace/trace.h"

namespace tessera::interchange::formats {
namespace {

TextAttr shardings(const Mesh& mesh, const std::vector<PartitionSpec>& specs,
                   const std::vector<Type>& types) {
  TextAttr::List list;
  for (size_t i = 0; i < specs.size(); ++i)
    list.items.push_back(TextAttr::Sharding{NamedSharding(mesh, specs[i]), types[i].rank()});
  return list;
}

OpText write_manual(const Op& op, const Function& function) {
  const ManualComputationParams& p = op.params.as<ManualComputationParams>();
  OpText text;
  text.attributes = {
      {"in_shardings", shardings(p.mesh, p.in_specs, function.types_of(op.operands))},
      {"out_shardings", shardings(p.mesh, p.out_specs, function.types_of(op.results))}};
  TextAttr::List axes;
  for (const std::string& axis : p.mesh.axis_names())  // in the mesh's order, as Shardy requires
    if (std::find(p.manual_axes.begin(), p.manual_axes.end(), axis) != p.manual_axes.end())
      axes.items.emplace_back(axis);
  text.attributes.emplace_back("manual_axes", std::move(axes));
  text.regions = {p.body};
  if (p.check_vma) text.extra.emplace_back("tessera.check_vma", TextAttr::Unit{});
  if (p.in_specs.empty() && p.out_specs.empty()) text.extra.emplace_back("tessera.mesh", p.mesh);
  return text;
}

void print_manual(const OpText& text, const Op& op, const Function&, OpWriter& writer) {
  const ManualComputationParams& p = op.params.as<ManualComputationParams>();
  writer.write("(");
  for (size_t k = 0; k < op.operands.size(); ++k) {
    if (k) writer.write(", ");
    writer.write_operand(static_cast<int>(k));
  }
  writer.write(") in_shardings=");
  writer.write_attribute(*text.find("in_shardings"));
  writer.write(" out_shardings=");
  writer.write_attribute(*text.find("out_shardings"));
  writer.write(" manual_axes={");
  const char* separator = "";
  for (const TextAttr& axis : text.find("manual_axes")->get<TextAttr::List>()->items) {
    writer.write(separator);
    writer.write_attribute(axis);
    separator = ", ";
  }
  writer.write("} (");
  const std::vector<std::string> names = writer.region_inputs(*p.body);
  for (size_t k = 0; k < names.size(); ++k)
    writer.write(fmt::format("{}{}: {}", k ? ", " : "", names[k], p.body->type(p.body->inputs[k])));
  writer.write(") {\n");
  writer.write_region_body(*p.body);
  writer.write("}");
  writer.write_extra();
  writer.write_signature();
}

std::vector<PartitionSpec> specs_of(const TextAttr& attribute, std::string_view name,
                                    OpReader& reader) {
  return std::get<std::vector<PartitionSpec>>(
      from_text(attribute, Attribute(std::vector<PartitionSpec>()), name, reader));
}

// Returns the unreduced axes of each of the shardings.
std::vector<AxisNames> unreduced_of(const TextAttr& attribute) {
  std::vector<AxisNames> out;
  if (const auto all = read_shardings(attribute))
    for (const WrittenSharding& one : *all) out.push_back(one.unreduced);
  return out;
}

std::optional<Mesh> mesh_of(const TextAttr& attribute) {
  const auto all = read_shardings(attribute);
  if (!all || all->empty()) return std::nullopt;
  return all->front().value.mesh();
}

// Returns the mesh of the shardings, or without shardings the module's mesh.
Mesh mesh_of_op(OpReader& reader, const TextAttr& in, const TextAttr& out) {
  if (const auto mesh = mesh_of(in)) return *mesh;
  if (const auto mesh = mesh_of(out)) return *mesh;
  const TextAttr* written = reader.text.find("tessera.mesh");
  return written ? std::get<Mesh>(from_text(*written, Attribute(Mesh()), "tessera.mesh", reader))
                 : reader.mesh();
}

AxisNames sorted(AxisNames names) {
  std::sort(names.begin(), names.end());
  return names;
}

// The shardings of a manual computation's operands or results, in two parts: how the manual axes
// divide them, and how the region's values are sharded over the other axes, if they are.
struct SplitSpecs {
  std::vector<PartitionSpec> manual;
  std::vector<std::optional<PartitionSpec>> free;
};

// Splits the axes of each dimension into manual ones, which come first, and free ones. Propagation
// may choose any sharding for dimensions without free axes.
//
// For example: with x manual, [{"x", "y"}, {"z"}, {}] is P("x", None, None) and
// P("y", "z", UNCONSTRAINED).
SplitSpecs split_specs(const std::vector<PartitionSpec>& specs, const AxisNames& manual_axes,
                       OpReader& reader) {
  const auto is_manual = [&](const AxisRef& axis) {
    return std::find(manual_axes.begin(), manual_axes.end(), axis.name) != manual_axes.end();
  };
  SplitSpecs out;
  for (const PartitionSpec& spec : specs) {
    if (axis_subset(axes_of(spec), sorted(manual_axes))) {
      out.manual.push_back(spec);
      out.free.emplace_back();
      continue;
    }
    std::vector<DimSpec> manual, free;
    for (const DimSpec& dim : spec.dims()) {
      const auto first_free = std::find_if_not(dim.axes.begin(), dim.axes.end(), is_manual);
      if (const auto late = std::find_if(first_free, dim.axes.end(), is_manual);
          late != dim.axes.end())
        reader.error(
            fmt::format("expected the manual axes of a dimension before the others, got "
                        "'{}' before '{}'",
                        first_free->name, late->name));
      manual.emplace_back(std::vector<AxisRef>(dim.axes.begin(), first_free), dim.open);
      const bool open = dim.open || first_free == dim.axes.end();
      free.emplace_back(std::vector<AxisRef>(first_free, dim.axes.end()), open);
    }
    std::vector<AxisRef> manual_replicated, free_replicated;
    for (const AxisRef& axis : spec.replicated())
      (is_manual(axis) ? manual_replicated : free_replicated).push_back(axis);
    out.manual.emplace_back(std::move(manual), std::move(manual_replicated));
    out.free.emplace_back(PartitionSpec(std::move(free), std::move(free_replicated)));
  }
  return out;
}

// Returns the scope of the region according to the shardings and the manual axes.
ManualScope manual_scope(OpReader& reader) {
  const TextAttr *in = reader.text.find("in_shardings"), *out = reader.text.find("out_shardings"),
                 *axes = reader.text.find("manual_axes");
  if (!in || !out || !axes)
    reader.error("expected the attributes in_shardings, out_shardings and manual_axes");
  ManualScope region{.mesh = mesh_of_op(reader, *in, *out), .axes = {}, .inputs = {}};
  region.axes = std::get<std::vector<std::string>>(
      from_text(*axes, Attribute(std::vector<std::string>()), "manual_axes", reader));
  std::sort(region.axes.begin(), region.axes.end());
  for (const std::string& name : region.axes)
    if (!region.mesh.has_axis(name)) reader.error("expected an axis of the mesh, as \"x\"");
  if (std::adjacent_find(region.axes.begin(), region.axes.end()) != region.axes.end())
    reader.error("expected distinct manual axes");
  const std::vector<PartitionSpec> specs =
      split_specs(specs_of(*in, "in_shardings", reader), region.axes, reader).manual;
  const std::vector<AxisNames> parts = unreduced_of(*in);
  for (size_t k = 0; k < std::min(specs.size(), reader.operands.size()); ++k) {
    Type type = reader.type(reader.operands[k]);
    type.varying = axis_union(type.varying, axes_of(specs[k]));
    if (k < parts.size()) type.varying = axis_union(type.varying, sorted(parts[k]));
    region.inputs.push_back(std::move(type));
  }
  return region;
}

void parse_manual(OpScanner& scanner, OpReader& reader) {
  scanner.expect("(");
  while (!scanner.accept(")")) {
    if (!reader.operands.empty()) scanner.expect(",");
    reader.operands.push_back(scanner.operand());
  }
  auto named = [&](const char* name) {
    scanner.expect(name);
    scanner.expect("=");
    reader.text.attributes.emplace_back(name, scanner.attribute());
  };
  named("in_shardings");
  named("out_shardings");
  scanner.expect("manual_axes");
  scanner.expect("=");
  scanner.expect("{");
  TextAttr::List axes;
  while (!scanner.accept("}")) {
    if (!axes.items.empty()) scanner.expect(",");
    axes.items.push_back(scanner.attribute());
  }
  reader.text.attributes.emplace_back("manual_axes", std::move(axes));
  const ManualScope region = manual_scope(reader);
  scanner.expect("(");
  std::vector<RegionInput> inputs;
  while (!scanner.accept(")")) {
    if (!inputs.empty()) scanner.expect(",");
    RegionInput input = scanner.region_input();
    const size_t k = inputs.size();
    if (k < region.inputs.size()) {  // the type rule reports errors for others
      input.type.weak = region.inputs[k].weak;
      input.type.varying = region.inputs[k].varying;
    }
    inputs.push_back(std::move(input));
  }
  scanner.expect("{");
  {
    const AxisEnv::Scope scope(region.mesh, region.axes, false);
    reader.text.regions.push_back(scanner.region_body(inputs));
  }
  scanner.extra(reader.text);
  scanner.signature(reader);
}

// Returns a body that takes and returns whole values in place of the unreduced parts that `body`
// takes and returns. For an argument with unreduced axes, the first device along these has the
// value and the others zeros. The parts of a result are summed.
FunctionRef with_unreduced(const FunctionRef& body, const ManualComputationParams& p,
                           const std::vector<AxisNames>& in, const std::vector<AxisNames>& out,
                           OpReader& reader) {
  const auto none = [](const AxisNames& axes) { return axes.empty(); };
  if (std::all_of(in.begin(), in.end(), none) && std::all_of(out.begin(), out.end(), none))
    return body;
  for (const auto* lists : {&in, &out})
    for (const AxisNames& axes : *lists)
      if (!axis_subset(sorted(axes), p.manual_axes))
        reader.error(
            "expected unreduced axes among the manual ones; constrain a value inside instead");
  if (in.size() != body->inputs.size() || out.size() != body->outputs.size())
    reader.error("expected a sharding for each argument and result");
  std::vector<Type> types = body->types_of(body->inputs);
  for (size_t k = 0; k < types.size(); ++k)
    types[k].varying = axis_difference(types[k].varying, sorted(in[k]));
  const FlatFn whole = [&](const std::vector<Array>& x) {
    std::vector<Array> parts = x;
    for (size_t k = 0; k < parts.size(); ++k) {
      if (in[k].empty()) continue;
      const Array zero = lax::zeros_like(parts[k].type());
      const Array first = lax::eq(lax::axis_index(in[k]), lax::full({}, 0, int32));
      parts[k] = lax::select(lax::broadcast_in_dim(first, parts[k].shape(), {}), parts[k], zero);
    }
    std::vector<Array> results = bind_op(call_op, CallParams{body}, parts);
    for (size_t r = 0; r < results.size(); ++r)
      if (!out[r].empty()) results[r] = lax::psum(results[r], out[r]);
    return results;
  };
  const AxisEnv::Scope scope(p.mesh, p.manual_axes, false);
  return std::make_shared<const Function>(
      trace_function(whole, types, std::string(body->name)).function);
}

// Returns a body whose arguments and results are constrained to these shardings over free axes.
FunctionRef with_free_axes(const FunctionRef& body, const ManualComputationParams& p,
                           const SplitSpecs& in, const SplitSpecs& out, OpReader& reader) {
  const auto none = [](const std::optional<PartitionSpec>& spec) { return !spec; };
  if (std::all_of(in.free.begin(), in.free.end(), none) &&
      std::all_of(out.free.begin(), out.free.end(), none))
    return body;
  if (in.free.size() != body->inputs.size() || out.free.size() != body->outputs.size())
    reader.error("expected a sharding for each argument and result");
  const auto constrain = [&](std::vector<Array>& values, const SplitSpecs& specs) {
    for (size_t k = 0; k < values.size(); ++k)
      if (specs.free[k])
        values[k] = lax::sharding_constraint(values[k], NamedSharding(p.mesh, *specs.free[k]));
  };
  const FlatFn constrained = [&](const std::vector<Array>& x) {
    std::vector<Array> values = x;
    constrain(values, in);
    values = inline_function(*body, values);
    constrain(values, out);
    return values;
  };
  const AxisEnv::Scope scope(p.mesh, p.manual_axes, false);
  return std::make_shared<const Function>(
      trace_function(constrained, body->types_of(body->inputs), std::string(body->name)).function);
}

OpParams read_manual(const OpDef&, OpReader& reader) {
  if (reader.text.regions.size() != 1)
    reader.error(fmt::format("expected one region, got {}", reader.text.regions.size()));
  ManualComputationParams p;
  const TextAttr &in = reader.require("in_shardings"), &out = reader.require("out_shardings");
  const std::vector<AxisNames> in_parts = unreduced_of(in), out_parts = unreduced_of(out);
  p.mesh = mesh_of_op(reader, in, out);
  reader.text.take("tessera.mesh");
  p.manual_axes = sorted(std::get<std::vector<std::string>>(
      from_text(reader.require("manual_axes"), Attribute(std::vector<std::string>()), "manual_axes",
                reader)));
  const SplitSpecs in_specs =
      split_specs(specs_of(in, "in_shardings", reader), p.manual_axes, reader);
  const SplitSpecs out_specs =
      split_specs(specs_of(out, "out_shardings", reader), p.manual_axes, reader);
  p.in_specs = in_specs.manual;
  p.out_specs = out_specs.manual;
  p.check_vma = reader.text.take("tessera.check_vma") != nullptr;
  p.body = with_unreduced(reader.text.regions[0], p, in_parts, out_parts, reader);
  p.body = with_free_axes(p.body, p, in_specs, out_specs, reader);
  return p;
}

}  // namespace

OpFormat manual_computation() {
  return {.write = write_manual,
          .read = read_manual,
          .print = print_manual,
          .parse = parse_manual,
          .region_rule = manual_scope};
}

}  // namespace tessera::interchange::formats
