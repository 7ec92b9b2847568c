// Values and ops of modules: the input of formats' hooks, captures of regions, and making an op
// from its attributes.
#include <algorithm>

#include "tessera/interchange/foreign/custom_partitioning.h"
#include "tessera/interchange/foreign/foreign.h"
#include "tessera/interchange/module_builder.h"
#include "tessera/interchange/op_table.h"
#include "tessera/interchange/unreduced.h"
#include "tessera/ir/narrow_ops.h"
#include "tessera/ops/control/custom_partitioning.h"
#include "tessera/ops/control/ffi_target.h"

namespace tessera::interchange {
namespace {

// Returns whether an attribute is about the method of a computation, not its result. Tessera always
// computes at least as exactly as such attributes request.
bool is_hint(std::string_view name) {
  return name == "result_accuracy" || name.find('.') != std::string_view::npos;
}

// Returns the name in CHLO of the function that a custom call of that target stands for, or an
// empty one. JAX before 0.9 writes CHLO's functions as calls of MHLO's ops, with their attributes
// in mhlo.attributes; these become the reader's own.
std::string chlo_function_of(std::string_view target, OpReader& reader) {
  if (!target.starts_with("mhlo.")) return {};
  std::string name = target == "mhlo.topk" ? "top_k" : std::string(target.substr(5));
  if (!read_as("chlo", name).is_known()) return {};
  foreign::ignore_call_attributes(reader);
  const TextAttr* attributes = reader.text.take("mhlo.attributes");
  const auto* record = attributes ? attributes->get<TextAttr::Record>() : nullptr;
  if (!record) return name;
  const TextAttr::Entries entries = record->entries;
  reader.text.attributes.insert(reader.text.attributes.end(), entries.begin(), entries.end());
  return name;
}

// Returns the function that builds an op. A custom call without a row may have the name of a
// partitioner or of an FFI target that users registered.
BuildFn build_of(const OpRow& row, std::string_view dialect, const std::string& name) {
  if (row.build || dialect != "custom_call") return row.build;
  if (ops::has_custom_partitioner(name)) return foreign::custom_partitioning;
  return ops::has_ffi_target(name) ? foreign::ffi_call : nullptr;
}

AddOp<ValueId> adding(Reader& reader) {
  return [&](const OpDef& def, OpParams params, const std::vector<ValueId>& operands) {
    return reader.insert(def, std::move(params), operands)[0];
  };
}

}  // namespace

// --- The input of hooks ---

std::vector<ValueId> Reader::insert(const OpDef& def, OpParams params,
                                    std::span<const ValueId> operands) {
  return builder_.located(place_, [&] {
    Function& f = scope_.function;
    const std::vector<Type> types = infer_types(def, f.types_of(operands), params);
    const ValueIds& results =
        f.add_op(def, std::move(params), ValueIds(operands.begin(), operands.end()), types, source);
    return std::vector<ValueId>(results.begin(), results.end());
  });
}

const Mesh& Reader::mesh() const {
  if (AxisEnv::current().mesh().rank() > 0) return AxisEnv::current().mesh();
  return builder_.only_mesh(place_);
}

// --- Values ---

// Returns the same value in `scope`, a region of `f`, by copying the ops that compute it. Returns
// nullopt if it depends on f's inputs or, unless `computed` is set, has operands.
std::optional<ValueId> ModuleBuilder::copy_constant(Scope& scope, const Function& f, ValueId value,
                                                    bool computed, size_t offset) {
  if (const auto it = scope.constants.find(value); it != scope.constants.end()) return it->second;
  const DepthGuard guard(*this, offset);
  const auto makes = [&](const Op& op) {
    return std::find(op.results.begin(), op.results.end(), value) != op.results.end();
  };
  const auto op = std::find_if(f.ops.begin(), f.ops.end(), makes);
  if (op == f.ops.end() || (!computed && !op->operands.empty())) return std::nullopt;
  ValueIds operands;
  for (ValueId v : op->operands) {
    const std::optional<ValueId> copy = copy_constant(scope, f, v, computed, offset);
    if (!copy) return std::nullopt;
    operands.push_back(*copy);
  }
  const ValueIds ids = scope.function.add_op(*op->def, op->params, std::move(operands),
                                             f.types_of(op->results), op->source);
  for (size_t r = 0; r < ids.size(); ++r) scope.constants[op->results[r]] = ids[r];
  return scope.constants[value];
}

// Regions are closed. They may use constants of the outer scope, and values that are computed from
// these, which are copied into them. Regions of loops and branches may also use other values, which
// become their last inputs. Regions of ops with a capture_rule may do so with scalars.
ValueId ModuleBuilder::import_value(Scope& scope, ValueId outer, const std::string& name,
                                    size_t offset) {
  if (const auto it = scope.copied.find(outer); it != scope.copied.end()) return it->second;
  const Function& f = scope.parent->function;
  if (const std::optional<ValueId> copy =
          copy_constant(scope, f, outer, !scope.captures || scope.computed, offset))
    return scope.copied[outer] = *copy;
  if (scope.captures && (!scope.computed || f.type(outer).rank() == 0)) {
    Type type = f.type(outer);
    type.sharding = nullptr;
    scope.captures->push_back(outer);
    return scope.copied[outer] = scope.function.add_input(std::move(type));
  }
  error_at(offset,
           fmt::format("expected a value of this region, got {} of the outer scope; pass it to the "
                       "op as an operand",
                       name));
}

// --- Ops ---

ModuleBuilder::RegionRules ModuleBuilder::region_rules(Scope& scope, Reader& reader,
                                                       std::string_view dialect,
                                                       std::string_view name) {
  const OpFormat& format = row_of(dialect, name).format;
  RegionRules rules;
  rules.captures = format.captures;
  rules.scalars = format.capture_rule != nullptr;
  if (open_) rules.like = scope.function.types_of(reader.operands);
  if (format.typed_inputs) rules.inputs = scope.function.types_of(reader.operands);
  if (format.region_rule)
    rules.manual = located(reader.offset(), [&] { return format.region_rule(reader); });
  if (rules.manual) rules.inputs = rules.manual->inputs;
  return rules;
}

std::vector<ValueId> ModuleBuilder::finish_op(Scope& scope, Reader& reader,
                                              const std::string& dialect, const std::string& name) {
  if (open_) resolve_functions(scope, reader, dialect, name);
  std::string op_dialect = dialect, op_name = name;
  if (dialect == "stablehlo" && name == "custom_call") {
    const TextAttr& target = reader.require("call_target_name");
    const auto* text = target.get<std::string>();
    if (!text) reader.error("expected the name of what is called");
    op_dialect = text->substr(0, 8) == "tessera." ? "tessera" : "custom_call";
    op_name = op_dialect == "tessera" ? text->substr(8) : *text;
    if (const std::string function = chlo_function_of(op_name, reader); !function.empty()) {
      op_dialect = "chlo";
      op_name = function;
    }
    if (op_dialect == "tessera") {
      reader.text.take("api_version");
      // The entry may be missing for an op without attributes, since bytecode leaves out empty
      // ones. JAX writes its own attributes as mhlo.backend_config, with an empty or no
      // backend_config.
      TextAttr::Entries entries;
      bool found = false;
      for (const char* name : {"mhlo.backend_config", "backend_config"}) {
        const TextAttr* config = reader.text.take(name);
        const auto* record = config && !found ? config->get<TextAttr::Record>() : nullptr;
        if (!record) continue;
        found = true;
        entries = record->entries;
      }
      if (found) reader.text.attributes = std::move(entries);
    }
  }
  if (open_ && op_dialect == "custom_call") refine_results(scope, reader);
  const auto [row, def] = read_as(op_dialect, op_name);
  const auto capture = row.format.capture_rule;
  if (capture &&
      std::any_of(reader.captures.begin(), reader.captures.end(),
                  [](const std::vector<ValueId>& captured) { return !captured.empty(); }))
    located(reader.offset(), [&] { capture(reader); });
  std::vector<ValueId> results;
  const std::vector<Type> written = reader.result_types;
  const bool as_they_are = def         ? def->narrow == NarrowOperands::kAsTheyAre
                           : row.build ? row.narrow
                                       : true;
  if (!as_they_are) widen(reader, def ? def->narrow : NarrowOperands::kValues);
  if (def) {
    // The field weak_type of an op repeats the flag of its type.
    if (const TextAttr* weak = reader.text.find("tessera.weak"))
      if (const auto* list = weak->get<TextAttr::List>();
          list && !list->items.empty() && !reader.result_types.empty())
        if (const bool* first = list->items[0].get<bool>()) reader.result_types[0].weak = *first;
    results = add_op(scope, reader, *def);
    results.resize(results.size() - reader.hidden_results);
  } else if (const BuildFn build = build_of(row, op_dialect, op_name)) {
    results = located(reader.offset(), [&] { return build(reader); });
  } else {
    reader.error(
        op_dialect == "custom_call"
            ? fmt::format("expected a custom call that Tessera has, got @{}; register a handler of "
                          "this name by ffi::register_handler, or in Python by "
                          "jax.ffi.register_ffi_target(..., platform=\"tessera\")",
                          op_name)
            : fmt::format("expected an op that Tessera has, got '{}.{}'", op_dialect, op_name));
  }
  for (const auto* entries : {&reader.text.attributes, &reader.text.extra})
    for (const auto& [key, value] : *entries)
      if (key[0] != '\x01' && !is_hint(key))
        reader.error(
            fmt::format("expected attributes that {}.{} has, got '{}'", op_dialect, op_name, key));
  apply_type_attributes(scope, reader, results);
  check_results(scope, reader, results);
  // Results that were computed in wide dtypes are converted to the dtypes that were written.
  if (reader.result_types.size() == written.size())
    for (size_t r = 0; r < std::min(results.size(), written.size()); ++r)
      if (written[r].dtype != reader.result_types[r].dtype)
        results[r] = converted<ValueId>(results[r], written[r].dtype,
                                        scope.function.type(results[r]).weak, adding(reader));
  return results;
}

// Converts the reader's operands and result types to wide dtypes (narrow_ops.h).
void ModuleBuilder::widen(Reader& reader, NarrowOperands rule) {
  for (ValueId& v : reader.operands)
    v = widened<ValueId>(v, Type(reader.type(v)), rule, adding(reader));
  for (Type& type : reader.result_types) type.dtype = wide_dtype(type.dtype, rule);
  for (FunctionRef& region : reader.text.regions) region = widened_region(region, rule);
}

std::vector<ValueId> ModuleBuilder::add_op(Scope& scope, Reader& reader, const OpDef& def) {
  return located(reader.offset(), [&] {
    OpParams params = read_params(def, reader);
    // StableHLO's collectives have several operands; Tessera's have one each.
    if (std::holds_alternative<CollectiveLowering>(def.lower) && reader.operands.size() > 1 &&
        reader.result_types.size() == reader.operands.size()) {
      std::vector<ValueId> results;
      for (ValueId v : reader.operands)
        results.push_back(reader.insert(def, params, std::span(&v, 1))[0]);
      return results;
    }
    params = retyped_params(def, reader.operand_types(), params);
    std::vector<Type> types = infer_types(def, reader.operand_types(), params);
    for (Type& type : types) type.sharding = nullptr;
    const ValueIds& results = scope.function.add_op(
        def, std::move(params), ValueIds(reader.operands.begin(), reader.operands.end()), types,
        reader.source);
    return std::vector<ValueId>(results.begin(), results.end());
  });
}

void ModuleBuilder::apply_type_attributes(Scope& scope, Reader& reader,
                                          std::span<const ValueId> results) {
  auto type = [&](size_t r) -> Type& { return scope.function.types[results[r]]; };
  auto check_count = [&](std::string_view name, size_t count) {
    if (count != results.size())
      reader.error(fmt::format("expected {} entries of {}, one a result, got {}", results.size(),
                               name, count));
  };
  if (const TextAttr* weak = reader.text.find("tessera.weak")) {
    const auto* list = weak->get<TextAttr::List>();
    check_count("tessera.weak", list ? list->items.size() : 0);
    for (size_t r = 0; r < results.size(); ++r)
      type(r).weak =
          std::get<bool>(from_text(list->items[r], Attribute(false), "tessera.weak", reader));
  }
  if (const TextAttr* varying = reader.text.find("tessera.varying")) {
    const auto* list = varying->get<TextAttr::List>();
    check_count("tessera.varying", list ? list->items.size() : 0);
    for (size_t r = 0; r < results.size(); ++r) {
      AxisNames names = std::get<AxisNames>(
          from_text(list->items[r], Attribute(AxisNames()), "tessera.varying", reader));
      std::sort(names.begin(), names.end());
      names.erase(std::unique(names.begin(), names.end()), names.end());
      type(r).varying = std::move(names);
    }
  }
  const TextAttr* sharding = reader.text.find("sdy.sharding");
  if (!sharding) return;
  std::vector<NamedSharding> values;
  if (const auto one = read_sharding(*sharding)) values = {one->value};
  if (const auto all = read_shardings(*sharding))
    for (const WrittenSharding& one : *all) values.push_back(one.value);
  check_count("sdy.sharding", values.size());
  const TextAttr* skip = reader.text.find("tessera.unsharded");
  const Dims unsharded =
      skip ? std::get<Dims>(from_text(*skip, Attribute(Dims()), "tessera.unsharded", reader))
           : Dims();
  for (size_t r = 0; r < results.size(); ++r) {
    located(reader.offset(), [&] { check_rank("sdy.sharding", values[r], type(r).shape); });
    const bool none =
        std::find(unsharded.begin(), unsharded.end(), static_cast<int64_t>(r)) != unsharded.end();
    type(r).sharding = none ? nullptr : std::make_shared<const NamedSharding>(values[r]);
  }
}

void ModuleBuilder::check_results(Scope& scope, Reader& reader, std::span<const ValueId> results) {
  if (reader.result_types.empty()) return;
  if (reader.result_types.size() != results.size())
    reader.error(fmt::format("expected the types of {} results, got {}", results.size(),
                             reader.result_types.size()));
  for (size_t r = 0; r < results.size(); ++r)
    if (!fits(reader.result_types[r], scope.function.type(results[r])))
      reader.error(
          fmt::format("expected result {} to be {}, which the op gives for its operands, got {}", r,
                      scope.function.type(results[r]), reader.result_types[r]));
  for (size_t r = 0; open_ && r < results.size(); ++r)
    if (!is_readable(scope.function.type(results[r]).shape))
      reader.error(fmt::format("expected result {} to have at most 2^46 elements, got {}", r,
                               scope.function.type(results[r])));
}

}  // namespace tessera::interchange
