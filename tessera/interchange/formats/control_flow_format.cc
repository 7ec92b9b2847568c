// Text of stablehlo.while, stablehlo.case and stablehlo.if. In text a region may use values of the
// outer scope. Here these are inputs: a loop carries them unchanged, branches get them as operands.
// Text does not list the operands of branches. The parser makes operands of the values that the
// branches use, in the order of first use, except constants, which it copies into the branches.
#include <fmt/ranges.h>

#include <algorithm>

#include "tessera/control/control_flow_ops.h"
#include "tessera/interchange/formats/formats.h"

namespace tessera::interchange::formats {
namespace {

// Returns the outer values that the regions of the op use, each once, in the order of first use.
std::vector<ValueId> all_captures(const OpReader& reader) {
  std::vector<ValueId> all;
  for (const std::vector<ValueId>& mine : reader.captures)
    for (ValueId v : mine)
      if (std::find(all.begin(), all.end(), v) == all.end()) all.push_back(v);
  return all;
}

// Returns the number of arguments that region k has in the text.
size_t num_arguments(const OpReader& reader, size_t k) {
  const size_t captured = k < reader.captures.size() ? reader.captures[k].size() : 0;
  return reader.text.regions[k]->inputs.size() - captured;
}

std::string count_of(size_t n, std::string_view what) {
  return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
}

// Region k with an input for each of `all` instead of its own captures, which are its last inputs.
struct Opened {
  Function function;
  std::vector<ValueId> captured;
};
Opened open_region(const OpReader& reader, size_t k, const std::vector<ValueId>& all) {
  static const auto& none = *new std::vector<ValueId>;
  const std::vector<ValueId>& mine = k < reader.captures.size() ? reader.captures[k] : none;
  Opened out{*reader.text.regions[k], {}};
  std::vector<ValueId>& inputs = out.function.inputs;
  const std::vector<ValueId> own(inputs.end() - static_cast<ptrdiff_t>(mine.size()), inputs.end());
  inputs.resize(inputs.size() - mine.size());
  for (ValueId v : all) {
    const auto at = std::find(mine.begin(), mine.end(), v);
    Type type = reader.type(v);
    type.sharding = nullptr;
    out.captured.push_back(at == mine.end() ? out.function.add_value(std::move(type))
                                            : own[static_cast<size_t>(at - mine.begin())]);
  }
  inputs.insert(inputs.end(), out.captured.begin(), out.captured.end());
  return out;
}

FunctionRef share(Function f) { return std::make_shared<const Function>(std::move(f)); }

// --- while ---

OpText write_while(const Op& op, const Function&) {
  OpText text;
  text.regions = control_regions(op);
  return text;
}

void print_while(const OpText& text, const Op& op, const Function& function, OpWriter& writer) {
  const std::vector<std::string> names = writer.new_arguments(op.operands.size());
  std::vector<std::string> carries, types;
  for (size_t k = 0; k < names.size(); ++k) {
    carries.push_back(fmt::format("{} = {}", names[k], writer.operand_name(static_cast<int>(k))));
    types.push_back(fmt::format("{}", function.type(op.operands[k])));
  }
  writer.write(fmt::format("({})", fmt::join(carries, ", ")));
  if (!types.empty()) writer.write(fmt::format(" : {}", fmt::join(types, ", ")));
  if (writer.has_extra()) {
    writer.write(" attributes");
    writer.write_extra();
  }
  const char* before = " cond {\n";
  for (const FunctionRef& region : text.regions) {
    writer.write(before);
    writer.enter_region(*region, names);
    writer.write_region_body(*region);
    before = "} do {\n";
  }
  writer.write("}");
}

void parse_while(OpScanner& scanner, OpReader& reader) {
  std::vector<RegionInput> carries;
  scanner.expect("(");
  while (!scanner.accept(")")) {
    if (!carries.empty()) scanner.expect(",");
    RegionInput& carry = carries.emplace_back();
    carry.name = scanner.new_value();
    scanner.expect("=");
    reader.operands.push_back(scanner.operand());
    carry.type = scanner.type(reader.operands.back());
    carry.type.sharding = nullptr;
  }
  if (!carries.empty()) scanner.signature(reader);
  if (scanner.accept("attributes")) scanner.extra(reader.text);
  for (const char* word : {"cond", "do"}) {
    scanner.expect(word);
    scanner.expect("{");
    std::vector<ValueId> captures;
    reader.text.regions.push_back(scanner.region_body(carries, &captures));
    reader.captures.push_back(std::move(captures));
  }
}

OpParams read_while(const OpDef&, OpReader& reader) {
  if (reader.text.regions.size() != 2)
    reader.error(fmt::format("[while] expected the regions cond and body, got {}",
                             reader.text.regions.size()));
  // This is checked here, since the op has an additional carry for each captured value.
  const size_t carries = reader.operands.size(), returned = reader.text.regions[1]->outputs.size();
  for (size_t k = 0; k < 2; ++k)
    if (num_arguments(reader, k) != carries)
      reader.error(fmt::format("[while] expected a {} of {}, one a carry, got one of {}",
                               k == 0 ? "cond" : "body", count_of(carries, "argument"),
                               num_arguments(reader, k)));
  if (returned != carries)
    reader.error(fmt::format("[while] expected the body to return {}, one a carry, got {}",
                             count_of(carries, "value"), returned));
  const std::vector<ValueId> captured = all_captures(reader);
  Opened cond = open_region(reader, 0, captured), body = open_region(reader, 1, captured);
  body.function.outputs.insert(body.function.outputs.end(), body.captured.begin(),
                               body.captured.end());
  reader.operands.insert(reader.operands.end(), captured.begin(), captured.end());
  reader.hidden_results = captured.size();
  return WhileParams{share(std::move(cond.function)), share(std::move(body.function))};
}

// --- case, if ---

OpText write_case(const Op& op, const Function& function) {
  OpText text;
  text.regions = control_regions(op);
  if (function.type(op.operands[0]).dtype == bool_) std::swap(text.regions[0], text.regions[1]);
  return text;
}

void print_case(const OpText& text, const Op& op, const Function& function, OpWriter& writer) {
  const Type& index = function.type(op.operands[0]);
  writer.write(fmt::format("\"stablehlo.{}\"({}) (", index.dtype == bool_ ? "if" : "case",
                           writer.operand_name(0)));
  std::vector<std::string> names, types;
  for (size_t k = 1; k < op.operands.size(); ++k)
    names.push_back(writer.operand_name(static_cast<int>(k)));
  for (size_t b = 0; b < text.regions.size(); ++b) {
    writer.write(b ? ", {\n" : "{\n");
    writer.enter_region(*text.regions[b], names);
    writer.write_region_body(*text.regions[b]);
    writer.write("}");
  }
  writer.write(")");
  writer.write_extra();
  for (ValueId v : op.results) types.push_back(fmt::format("{}", function.type(v)));
  writer.write(fmt::format(" : ({}) -> ", index));
  writer.write(types.size() == 1 ? types[0] : fmt::format("({})", fmt::join(types, ", ")));
}

// Checks that the one operand is a scalar of `dtype`, and that regions have no arguments.
void check_branches(std::string_view op, DType dtype, OpReader& reader) {
  const std::vector<Type> operands = reader.operand_types();
  if (operands.size() != 1)
    reader.error(
        fmt::format("[{}] expected one operand, which says what branch to take, got {}; "
                    "branches use values around them by name",
                    op, operands.size()));
  if (!operands[0].same_array({.dtype = dtype, .shape = {}}))
    reader.error(fmt::format(
        "[{}] expected a scalar of type {}, got {}{}", op, dtype_name(dtype), describe(operands[0]),
        op == "if" ? "; stablehlo.case takes an int32" : "; stablehlo.if takes a bool"));
  for (size_t b = 0; b < reader.text.regions.size(); ++b)
    if (const size_t n = num_arguments(reader, b); n != 0)
      reader.error(
          fmt::format("[{}] expected branches without arguments, got {} in branch {}; "
                      "branches use values around them by name",
                      op, n, b));
}

OpParams branch_params(OpReader& reader) {
  const std::vector<ValueId> captured = all_captures(reader);
  CaseParams p;
  for (size_t b = 0; b < reader.text.regions.size(); ++b)
    p.branches.push_back(share(open_region(reader, b, captured).function));
  reader.operands.insert(reader.operands.end(), captured.begin(), captured.end());
  return p;
}

OpParams read_case(const OpDef&, OpReader& reader) {
  check_branches("case", int32, reader);
  return branch_params(reader);
}

}  // namespace

std::vector<ValueId> read_if(OpReader& reader) {
  if (reader.text.regions.size() != 2)
    reader.error(fmt::format("[if] expected the regions for true and for false, got {}",
                             reader.text.regions.size()));
  check_branches("if", bool_, reader);
  // This is checked here, since the op counts the branches in the other order.
  std::vector<std::string> results;
  for (const FunctionRef& region : reader.text.regions) {
    std::vector<std::string> types;
    for (const Type& type : region->output_types()) types.push_back(fmt::format("{}", type));
    results.push_back(fmt::format("({})", fmt::join(types, ", ")));
  }
  if (results[0] != results[1])
    reader.error(
        fmt::format("[if] expected both regions to return values of the same types, got "
                    "{} for true and {} for false",
                    results[0], results[1]));
  std::swap(reader.text.regions[0], reader.text.regions[1]);
  std::swap(reader.captures[0], reader.captures[1]);
  OpParams params = branch_params(reader);
  return reader.insert(case_op, std::move(params), reader.operands);
}

OpFormat while_loop() {
  return {.write = write_while,
          .read = read_while,
          .print = print_while,
          .parse = parse_while,
          .captures = true};
}

OpFormat branches() {
  return {.write = write_case,
          .read = read_case,
          .print = print_case,
          .prints_name = true,
          .captures = true};
}

}  // namespace tessera::interchange::formats
