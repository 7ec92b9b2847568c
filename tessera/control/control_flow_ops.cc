#include "tessera/control/control_flow_ops.h"

#include "tessera/control/control_flow_rules.h"
#include "tessera/control/samples.h"
#include "tessera/ir/retype.h"
#include "tessera/ops/core/use_rule.h"

namespace tessera::ops {
namespace {

// Throws UserError unless `function` accepts operands of these types; `what` is a word such as
// "body".
void expect_inputs(std::string_view op, const char* what, const Function& function,
                   std::span<const Type> types) {
  if (function.inputs.size() != types.size())
    type_error(op, "expected a {} of {} arguments, got one of {}", what, types.size(),
               function.inputs.size());
  for (size_t k = 0; k < types.size(); ++k)
    if (!function.type(function.inputs[k]).same_array(types[k]))
      type_error(op, "expected operand {} of type {}, as the {} takes it, got {}", k,
                 describe(function.type(function.inputs[k])), what, describe(types[k]));
}

void expect_carry(std::string_view op, const Function& body, size_t index, const Type& carry) {
  const Type& out = body.type(body.outputs[index]);
  if (!out.same_array(carry))
    type_error(op,
               "expected carry {} to keep its type {}, got {} from the body; convert it in the "
               "body or start with that type",
               index, describe(carry), describe(out));
}

// Retypes the loop for these operands. The condition gets the carry with the types that the body
// returns.
WhileParams retype_while(std::span<const Type> operands, const WhileParams& p) {
  const size_t n = operands.size();
  if (p.body->inputs.size() != n || p.body->outputs.size() != n || p.cond->inputs.size() != n)
    return p;  // infer throws UserError
  const FunctionRef body = retyped_loop(p.body, variance_of(operands), 0, n);
  return {retyped(p.cond, variance_of(body->input_types())), body};
}

std::vector<Type> infer_while(std::span<const Type> operands, const WhileParams& p) {
  constexpr std::string_view kOp = "while";
  expect_inputs(kOp, "cond", *p.cond, operands);
  expect_inputs(kOp, "body", *p.body, operands);
  if (p.cond->outputs.size() != 1 ||
      !p.cond->type(p.cond->outputs[0]).same_array({.dtype = bool_, .shape = {}}))
    type_error(kOp, "expected cond to return one bool scalar, got {}",
               p.cond->outputs.size() == 1 ? describe(p.cond->type(p.cond->outputs[0]))
                                           : fmt::format("{} values", p.cond->outputs.size()));
  if (p.body->outputs.size() != operands.size())
    type_error(kOp, "expected the body to return {} carries, got {}", operands.size(),
               p.body->outputs.size());
  std::vector<Type> results;
  for (size_t k = 0; k < operands.size(); ++k) {
    expect_carry(kOp, *p.body, k, operands[k]);
    const Type& out = p.body->type(p.body->outputs[k]);
    results.push_back(out.with_varying(p.body->type(p.body->inputs[k]).varying));
    results.back().sharding = nullptr;
  }
  return results;
}

Type stacked(const Type& slice, int64_t length) {
  Type out = slice;
  out.shape.insert(out.shape.begin(), length);
  out.sharding = nullptr;
  return out;
}

Type slice_of(std::string_view op, const Type& scanned, size_t index, int64_t length) {
  if (scanned.rank() == 0 || scanned.shape[0] != length)
    shape_error(op, "expected scanned operand {} to have leading dimension {}, got {}", index,
                length, describe(scanned));
  Type out = scanned;
  out.shape.erase(out.shape.begin());
  out.sharding = nullptr;
  return out;
}

// Retypes the body: its inputs vary over the axes of their operands, also slices of scanned
// operands.
ScanParams retype_scan(std::span<const Type> operands, const ScanParams& p) {
  const auto count = static_cast<int64_t>(operands.size());
  if (p.num_consts < 0 || p.num_carry < 0 || p.body->inputs.size() != operands.size() ||
      p.num_consts > count || p.num_carry > count - p.num_consts ||
      p.num_carry > static_cast<int64_t>(p.body->outputs.size()))
    return p;  // infer throws UserError
  ScanParams q = p;
  q.body = retyped_loop(p.body, variance_of(operands), static_cast<size_t>(p.num_consts),
                        static_cast<size_t>(p.num_carry));
  return q;
}

std::vector<Type> infer_scan(std::span<const Type> operands, const ScanParams& p) {
  constexpr std::string_view kOp = "scan";
  if (p.length < 0 || p.num_consts < 0 || p.num_carry < 0)
    value_error(kOp, "expected length, num_consts and num_carry of 0 or more, got {}, {} and {}",
                p.length, p.num_consts, p.num_carry);
  const auto count = static_cast<int64_t>(operands.size());
  if (p.num_consts > count || p.num_carry > count - p.num_consts)
    value_error(kOp, "expected operands for {} constants and {} carries, got {}", p.num_consts,
                p.num_carry, count);
  const auto fixed = static_cast<size_t>(p.num_consts + p.num_carry);
  std::vector<Type> inputs(operands.begin(), operands.begin() + static_cast<int64_t>(fixed));
  for (size_t k = fixed; k < operands.size(); ++k)
    inputs.push_back(slice_of(kOp, operands[k], k, p.length));
  expect_inputs(kOp, "body", *p.body, inputs);
  if (p.body->outputs.size() < static_cast<size_t>(p.num_carry))
    type_error(kOp, "expected the body to return {} carries first, got {} values", p.num_carry,
               p.body->outputs.size());
  std::vector<Type> results;
  for (size_t r = 0; r < p.body->outputs.size(); ++r) {
    Type out = p.body->type(p.body->outputs[r]);
    if (r < static_cast<size_t>(p.num_carry)) {
      const size_t carry = static_cast<size_t>(p.num_consts) + r;
      expect_carry(kOp, *p.body, r, operands[carry]);
      out.varying = p.body->type(p.body->inputs[carry]).varying;
      out.sharding = nullptr;
      results.push_back(std::move(out));
    } else {
      results.push_back(stacked(out, p.length));
    }
  }
  return results;
}

CaseParams retype_case(std::span<const Type> operands, const CaseParams& p) {
  CaseParams q = p;
  for (FunctionRef& branch : q.branches)
    if (operands.size() == branch->inputs.size() + 1)
      branch = retyped(branch, variance_of(operands.subspan(1)));
  return q;
}

std::vector<Type> infer_case(std::span<const Type> operands, const CaseParams& p) {
  constexpr std::string_view kOp = "case";
  if (p.branches.empty()) value_error(kOp, "expected at least one branch");
  if (operands.empty() || operands[0].rank() != 0 ||
      (operands[0].dtype != int32 && operands[0].dtype != bool_))
    type_error(kOp, "expected an int32 or bool scalar as index, got {}",
               operands.empty() ? "nothing" : describe(operands[0]));
  if (operands[0].dtype == bool_ && p.branches.size() != 2)
    value_error(kOp, "expected two branches for a bool, got {}", p.branches.size());
  std::vector<Type> results;
  for (size_t b = 0; b < p.branches.size(); ++b) {
    const Function& branch = *p.branches[b];
    expect_inputs(kOp, "branch", branch, operands.subspan(1));
    if (b > 0 && branch.outputs.size() != results.size())
      type_error(kOp,
                 "expected every branch to return {} values as branch 0, got {} from branch {}",
                 results.size(), branch.outputs.size(), b);
    for (size_t r = 0; r < branch.outputs.size(); ++r) {
      Type out = branch.type(branch.outputs[r]);
      out.varying = axis_union(out.varying, operands[0].varying);
      out.sharding = nullptr;
      if (b == 0) {
        results.push_back(std::move(out));
        continue;
      }
      if (!out.same_array(results[r]))
        type_error(kOp, "expected result {} of branch {} to be {} as that of branch 0, got {}", r,
                   b, describe(results[r]), describe(out));
      results[r].varying = axis_union(results[r].varying, out.varying);
      results[r].weak = results[r].weak && out.weak;
    }
  }
  return results;
}

// A while loop has no constants: values that the body returns unchanged stay in the carry.
ControlFlow describe_while(const WhileParams& p) {
  return {.regions = {p.cond, p.body},
          .num_carry = p.body->inputs.size(),
          .trip_count = std::nullopt,
          .has_constants = false};
}
WhileParams while_of(const WhileParams&, const ControlFlow& flow) {
  return {flow.regions.at(0), flow.regions.at(1)};
}

ControlFlow describe_scan(const ScanParams& p) {
  return {.regions = {p.body},
          .num_consts = static_cast<size_t>(p.num_consts),
          .num_carry = static_cast<size_t>(p.num_carry),
          .trip_count = p.length,
          .reverse = p.reverse};
}
ScanParams scan_of(const ScanParams&, const ControlFlow& flow) {
  return {.body = flow.regions.at(0),
          .length = flow.trip_count.value(),
          .num_consts = static_cast<int64_t>(flow.num_consts),
          .num_carry = static_cast<int64_t>(flow.num_carry),
          .reverse = flow.reverse};
}

ControlFlow describe_case(const CaseParams& p) {
  return {.kind = ControlFlow::Kind::kBranch,
          .regions = p.branches,
          .num_consts = p.branches.empty() ? 0 : p.branches[0]->inputs.size()};
}
CaseParams case_of(const CaseParams&, const ControlFlow& flow) { return {flow.regions}; }

}  // namespace

const OpDef& while_op = define<WhileParams>({
    .name = "while",
    .attributes = {"cond", "body"},
    .infer = infer_retyped<retype_while, infer_while>,
    .retype = retype_while,
    .regions = {describe_while, while_of},
    .jvp = {control::jvp_while},
    .linearize = {control::linearize_while},
    .transpose = absent("how often a while loop runs is not known when it is taken backwards"),
    .batch = {control::batch_while},
    .samples = control::samples::while_samples,
    .narrow = NarrowOperands::kAsTheyAre,
});

const OpDef& scan_op = define<ScanParams>({
    .name = "scan",
    .dialect = "tessera",
    .attributes = {"body", "length", "num_consts", "num_carry", "reverse"},
    .infer = infer_retyped<retype_scan, infer_scan>,
    .retype = retype_scan,
    .regions = {describe_scan, scan_of},
    .jvp = {control::jvp_scan},
    .linearize = {control::linearize_scan},
    .transpose = {control::transpose_scan},
    .batch = {control::batch_scan},
    .samples = control::samples::scan_samples,
    .narrow = NarrowOperands::kAsTheyAre,
});

namespace {
[[maybe_unused]] const bool kScanUses = register_uses(scan_op, control::uses_scan);
}  // namespace

const OpDef& case_op = define<CaseParams>({
    .name = "case",
    .attributes = {"branches"},
    .infer = infer_retyped<retype_case, infer_case>,
    .retype = retype_case,
    .regions = {describe_case, case_of},
    .jvp = {control::jvp_case},
    .linearize = {control::linearize_case},
    .transpose = {control::transpose_case},
    .batch = {control::batch_case},
    .samples = control::samples::case_samples,
    .narrow = NarrowOperands::kAsTheyAre,
});

}  // namespace tessera::ops
