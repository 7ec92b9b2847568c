#include "tessera/privacy/clipping/one_example.h"

#include <algorithm>
#include <cstdlib>

#include "tessera/base/contains.h"
#include "tessera/base/format.h"
#include "tessera/control/control.h"
#include "tessera/ir/axis_env.h"
#include "tessera/ir/control_flow.h"
#include "tessera/ir/op_def.h"
#include "tessera/ops/collectives/collectives_groups.h"
#include "tessera/per_example/example_mixing.h"
#include "tessera/trace/example_scope.h"
#include "tessera/trace/trace.h"
#include "tessera/transform/uses.h"

namespace tessera::privacy::internal {

using ir::Function;
using ir::Op;

namespace {

// Returns the axes over which an op communicates; none if it does not.
std::vector<std::string> communicated_axes(const Op& op) {
  const auto* collective = std::get_if<ir::CollectiveLowering>(&op.def->lower);
  if (!collective || collective->kind == ir::CollectiveKind::kAxisIndex ||
      collective->kind == ir::CollectiveKind::kCast)
    return {};
  return ops::collective_info(op).axes;
}

struct Communication {
  std::string op, axis;
};

// Returns a collective over one of `axes` of a value that depends on examples.
std::optional<Communication> communication(const Function& f, const std::vector<bool>& of_examples,
                                           const ir::AxisNames& axes) {
  const std::vector<bool> reads = transforms::differs_between_examples(f, of_examples);
  for (const Op& op : f.ops) {
    std::vector<bool> operands;
    for (ir::ValueId v : op.operands) operands.push_back(reads[v]);
    if (!contains(operands, true)) continue;
    const std::vector<std::string> over = communicated_axes(op);
    for (const std::string& axis : axes)
      if (contains(over, axis)) return Communication{std::string(op.def->name), axis};
    if (!over.empty()) continue;
    std::vector<ir::FunctionRef> inside = ir::control_regions(op);
    if (std::holds_alternative<ir::Inlined>(op.def->lower) && !op.def->transpose)
      inside.push_back(ir::callee_of(op));
    if (std::holds_alternative<ir::ManualRegion>(op.def->lower))
      inside.push_back(op.params.as<ops::ManualComputationParams>().body);
    for (const ir::FunctionRef& region : inside)
      if (region)
        if (auto found =
                communication(*region, std::vector<bool>(region->inputs.size(), true), axes))
          return found;
  }
  return std::nullopt;
}

// Returns the function with its first output only, which is the loss.
Function loss_of(Function f) {
  f.outputs.resize(std::min<size_t>(f.outputs.size(), 1));
  return ir::remove_dead_ops(f);
}

tracing::TracedFunction traced(const ClipRequest& request, const ErasedCall& call,
                               const std::vector<ir::Type>& types) {
  return tracing::trace_function(
      [&](const std::vector<Array>& inputs) {
        std::optional<tracing::ExampleScope> scope;
        if (request.options.keep_batch_dim) scope.emplace();
        return call(inputs).leaves;
      },
      types, "example");
}

// Returns for each input, captured arrays included, whether it is of the batch.
std::vector<bool> batch_inputs(const ClipRequest& request, const Function& f) {
  std::vector<bool> out;
  for (LeafRole role : request.roles) out.push_back(role == LeafRole::kBatch);
  out.resize(f.inputs.size());
  return out;
}

// Returns the axes along which devices have examples of their own: all, except those that the
// options declare to share one.
ir::AxisNames axes_of_examples(const ClipRequest& request, const std::vector<ir::Type>& types) {
  const ir::AxisEnv& env = ir::AxisEnv::current();
  ir::AxisNames out;
  if (!env.manual_axes().empty() && !env.check_vma()) out = env.manual_axes();
  for (size_t i = 0; i < types.size(); ++i)
    if (request.roles[i] == LeafRole::kBatch) out = ir::axis_union(out, types[i].varying);
  std::erase_if(
      out, [&](const std::string& axis) { return contains(request.options.example_axes, axis); });
  return out;
}

void expect_no_collective(std::string_view op, const ErasedCall& call, const ClipRequest& request,
                          const std::vector<ir::Type>& types) {
  const ir::AxisNames axes = axes_of_examples(request, types);
  if (axes.empty()) return;
  Function f = traced(request, call, types).function;
  if (request.loss) f = loss_of(std::move(f));
  const auto found = communication(f, batch_inputs(request, f), axes);
  if (!found) return;
  value_error(
      op,
      "expected a function of one example, got one with a collective ({}) over \"{}\", along "
      "which the batch is cut: it mixes the examples of several devices; leave it out, and "
      "psum the clipped sum, or write .example_axes = {{\"{}\"}} if the devices along it "
      "have parts of one example",
      found->op, found->axis, found->axis);
}

// Returns extents for a batch of several examples: primes that no extent of the arguments equals,
// is a multiple of, or is near to, since such extents might be confused.
std::vector<int64_t> batch_extents(const std::vector<Array>& leaves) {
  std::vector<int64_t> out;
  for (int64_t prime : {53, 59, 61, 67, 71, 73, 79, 83, 89, 97, 101, 103, 107, 109, 113}) {
    const auto is_near = [&](int64_t extent) {
      return extent > 0 && (extent % prime == 0 || std::abs(extent - prime) <= 1 ||
                            std::abs(2 * extent - prime) <= 1);
    };
    const bool taken = std::any_of(leaves.begin(), leaves.end(), [&](const Array& leaf) {
      return std::any_of(leaf.shape().begin(), leaf.shape().end(), is_near);
    });
    if (!taken) out.push_back(prime);
  }
  return out;
}

// Returns the op that mixes examples in a batch of this extent; nullopt if there is none, or if the
// function does not accept a batch.
std::optional<per_example::Mixing> mixing(const ErasedCall& call, const ClipRequest& request,
                                          std::vector<ir::Type> types, int64_t size) {
  for (size_t i = 0; i < types.size(); ++i)
    if (request.roles[i] == LeafRole::kBatch) types[i].shape[0] = size;
  Function f;
  try {
    f = traced(request, call, types).function;
  } catch (const InternalError&) {
    throw;
  } catch (const std::exception&) {
    return std::nullopt;  // the function is written for one example
  }
  if (request.loss) f = loss_of(std::move(f));
  const std::vector<bool> of_examples = batch_inputs(request, f);
  return per_example::find_mixing(
      f, {.of_examples = of_examples, .size = size, .follow_sums = request.loss.has_value()});
}

void expect_no_mixing(std::string_view op, const ErasedCall& call, const ClipRequest& request,
                      const std::vector<Array>& leaves, const std::vector<ir::Type>& types) {
  const std::vector<int64_t> extents = batch_extents(leaves);
  if (extents.size() < 2) return;
  const auto found = mixing(call, request, types, extents[0]);
  // A second extent is tried, because another extent of the program may have equalled the first by
  // chance.
  if (!found || !mixing(call, request, types, extents[1])) return;
  value_error(
      op,
      "expected a function of one example, got one that mixes the examples of a batch: {}{}; "
      "it is called with one example, where this is something else: let it work along the "
      "other dimensions alone, or write it for an example without the first dimension and set "
      ".keep_batch_dim = false",
      found->what, found->source.empty() ? "" : fmt::format(" (in {})", found->source));
}

}  // namespace

void expect_one_example(std::string_view op, const ErasedCall& call, const ClipRequest& request,
                        const std::vector<Array>& leaves, const std::vector<ir::Type>& types) {
  const ErasedCall& checked = request.loss ? *request.loss : call;
  expect_no_collective(op, checked, request, types);
  if (request.options.keep_batch_dim) expect_no_mixing(op, checked, request, leaves, types);
}

void expect_no_captured_batch(std::string_view op, const ClipOptions& options,
                              const std::vector<Array>& captures, int64_t size) {
  if (size <= 1 || options.shared_captures) return;
  for (const Array& x : captures)
    if (x.ndim() > 0 && x.shape()[0] == size)
      value_error(
          op,
          "expected all arrays of the batch as arguments, got one of {} captured by the "
          "function, as long as the batch of {}: every example sees all of it; pass it as an "
          "argument, and add that to batch_argnums if each example has its own part of it or "
          "to shared_argnums if every example sees all, or set .shared_captures = true if it "
          "is no data",
          describe(x.type()), size);
}

}  // namespace tessera::privacy::internal
