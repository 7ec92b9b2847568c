#include "tessera/ops/control_flow.h"

#include <algorithm>
#include <cstring>

#include "tessera/ir/retype.h"
#include "tessera/ops/control_flow_rules.h"
#include "tessera/ops/control_samples.h"
#include "tessera/ops/formats.h"

namespace tessera {
namespace {

// Checks that `function` takes operands of these types; `what` is "body" or so.
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

// The condition takes the carry as the body leaves it.
WhileParams retype_while(std::span<const Type> operands, const WhileParams& p) {
  const size_t n = operands.size();
  if (p.body->inputs.size() != n || p.body->outputs.size() != n || p.cond->inputs.size() != n)
    return p;  // infer says what is wrong
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

// What the body takes varies as the operands do, slices included.
ScanParams retype_scan(std::span<const Type> operands, const ScanParams& p) {
  const auto count = static_cast<int64_t>(operands.size());
  if (p.num_consts < 0 || p.num_carry < 0 || p.body->inputs.size() != operands.size() ||
      p.num_consts > count || p.num_carry > count - p.num_consts ||
      p.num_carry > static_cast<int64_t>(p.body->outputs.size()))
    return p;  // infer says what is wrong
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

std::vector<Literal> evaluate_while(std::span<const Literal> operands, const WhileParams& p) {
  std::vector<Literal> carry(operands.begin(), operands.end());
  while (*evaluate_function(*p.cond, carry)[0].data<bool>())
    carry = evaluate_function(*p.body, carry);
  return carry;
}

Literal row(const Literal& x, int64_t index) {
  Shape shape = x.shape();
  shape.erase(shape.begin());
  Literal out(x.dtype(), shape);
  const auto bytes = static_cast<size_t>(out.elements() * itemsize(x.dtype()));
  std::memcpy(out.mutable_raw(), x.raw() + static_cast<size_t>(index) * bytes, bytes);
  return out;
}

std::vector<Literal> evaluate_scan(std::span<const Literal> operands, const ScanParams& p) {
  const auto consts = static_cast<size_t>(p.num_consts), carries = static_cast<size_t>(p.num_carry);
  std::vector<Literal> state(operands.begin(), operands.end());
  std::vector<Literal> ys;
  for (size_t r = carries; r < p.body->outputs.size(); ++r) {
    const Type type = stacked(p.body->type(p.body->outputs[r]), p.length);
    ys.emplace_back(type.dtype, type.shape);
  }
  for (int64_t i = 0; i < p.length; ++i) {
    const int64_t at = p.reverse ? p.length - 1 - i : i;
    std::vector<Literal> args(state.begin(),
                              state.begin() + static_cast<int64_t>(consts + carries));
    for (size_t k = consts + carries; k < operands.size(); ++k)
      args.push_back(row(operands[k], at));
    const std::vector<Literal> out = evaluate_function(*p.body, args);
    for (size_t c = 0; c < carries; ++c) state[consts + c] = out[c];
    for (size_t y = 0; y < ys.size(); ++y) {
      const Literal& value = out[carries + y];
      const auto bytes = static_cast<size_t>(value.elements() * itemsize(value.dtype()));
      std::memcpy(ys[y].mutable_raw() + static_cast<size_t>(at) * bytes, value.raw(), bytes);
    }
  }
  std::vector<Literal> results(state.begin() + static_cast<int64_t>(consts),
                               state.begin() + static_cast<int64_t>(consts + carries));
  results.insert(results.end(), ys.begin(), ys.end());
  return results;
}

std::vector<Literal> evaluate_case(std::span<const Literal> operands, const CaseParams& p) {
  int64_t index = operands[0].dtype() == bool_ ? static_cast<int64_t>(*operands[0].data<bool>())
                                               : *operands[0].data<int32_t>();
  const auto last = static_cast<int64_t>(p.branches.size()) - 1;
  if (index < 0 || index > last) index = last;
  return evaluate_function(*p.branches[static_cast<size_t>(index)], operands.subspan(1));
}

}  // namespace

const OpDef& while_op = define<WhileParams>({
    .name = "while",
    .attributes = {"cond", "body"},
    .format = formats::while_loop(),
    .infer = infer_while,
    .retype = retype_while,
    .evaluate = evaluate_while,
    .lower = Control{ControlKind::kWhile},
    .jvp = {control_flow::jvp_while},
    .linearize = {control_flow::linearize_while},
    .transpose = absent("how often a while loop runs is not known when it is taken backwards"),
    .batch = {control_flow::batch_while},
    .samples = control_samples::while_samples,
});

const OpDef& scan_op = define<ScanParams>({
    .name = "scan",
    .dialect = "tessera",
    .attributes = {"body", "length", "num_consts", "num_carry", "reverse"},
    .format = {.typed_inputs = true},
    .infer = infer_scan,
    .retype = retype_scan,
    .evaluate = evaluate_scan,
    .lower = Control{ControlKind::kScan},
    .jvp = {control_flow::jvp_scan},
    .linearize = {control_flow::linearize_scan},
    .transpose = {control_flow::transpose_scan},
    .batch = {control_flow::batch_scan},
    .samples = control_samples::scan_samples,
});

const OpDef& case_op = define<CaseParams>({
    .name = "case",
    .attributes = {"branches"},
    .format = formats::branches(),
    .infer = infer_case,
    .retype = retype_case,
    .evaluate = evaluate_case,
    .lower = Control{ControlKind::kCase},
    .jvp = {control_flow::jvp_case},
    .linearize = {control_flow::linearize_case},
    .transpose = {control_flow::transpose_case},
    .batch = {control_flow::batch_case},
    .samples = control_samples::case_samples,
});

bool is_control_flow(const Op& op) {
  return op.def == &while_op || op.def == &scan_op || op.def == &case_op;
}

std::vector<FunctionRef> control_regions(const Op& op) {
  if (op.def == &while_op)
    return {op.params.as<WhileParams>().cond, op.params.as<WhileParams>().body};
  if (op.def == &scan_op) return {op.params.as<ScanParams>().body};
  if (op.def == &case_op) return op.params.as<CaseParams>().branches;
  return {};
}

OpParams with_control_regions(const Op& op, std::vector<FunctionRef> regions) {
  if (op.def == &while_op) return WhileParams{std::move(regions.at(0)), std::move(regions.at(1))};
  if (op.def == &scan_op) {
    ScanParams params = op.params.as<ScanParams>();
    params.body = std::move(regions.at(0));
    return params;
  }
  TESSERA_CHECK(op.def == &case_op, "{} is no control flow", op.def->name);
  return CaseParams{std::move(regions)};
}

OpParams map_control_regions(const Op& op,
                             const std::function<Function(const Function&)>& rewrite) {
  std::vector<FunctionRef> regions = control_regions(op);
  if (regions.empty()) return op.params;
  for (FunctionRef& region : regions) region = std::make_shared<const Function>(rewrite(*region));
  return with_control_regions(op, std::move(regions));
}

}  // namespace tessera
