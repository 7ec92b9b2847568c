#include "tessera/per_example/per_example.h"

#include <algorithm>

#include "tessera/base/contains.h"
#include "tessera/ops/core/batch_axis.h"
#include "tessera/ops/core/constant.h"
#include "tessera/ops/core/convert.h"
#include "tessera/ops/core/elementwise.h"
#include "tessera/ops/linear/dot_general.h"
#include "tessera/ops/reductions/reduce.h"
#include "tessera/ops/structural/broadcast.h"
#include "tessera/ops/structural/reshape.h"
#include "tessera/per_example/round_halves.h"
#include "tessera/per_example/widen.h"
#include "tessera/trace/trace.h"
#include "tessera/transform/batch.h"
#include "tessera/transform/derivative.h"
#include "tessera/transform/uses.h"

namespace tessera::per_example {
namespace {

Array wide(const Array& x) {
  return is_half(x.dtype()) ? lax::convert_element_type(x, accumulation_dtype(x.dtype())) : x;
}

// A function that returns the loss's results and then the residuals of its tangent program.
struct Forward {
  Function function;
  LinearizedFunction at;  // the linearized loss; its arrays can no longer be used
};
Forward forward_of(const Function& loss, const std::vector<bool>& wrt) {
  Forward out;
  TracedFunction traced = trace_function(
      [&](const std::vector<Array>& inputs) {
        out.at = linearize_function(loss, inputs, wrt);
        std::vector<Array> results = out.at.primals;
        results.insert(results.end(), out.at.residuals.begin(), out.at.residuals.end());
        return results;
      },
      loss.input_types(), "example");
  TESSERA_CHECK(traced.captures.empty(), "{}: a closed function captured", loss.name);
  out.function = std::move(traced.function);
  return out;
}

// Returns the uses of the tangent program. `results` are the results of the forward function.
std::vector<Use> uses_at(const Forward& forward, const std::vector<bool>& wrt,
                         const std::vector<bool>& differs, const std::vector<Array>& results) {
  const LinearizedFunction& at = forward.at;
  if (!at.nonzero[0]) return {};
  const size_t num_results = at.primals.size();
  const std::vector<bool> of_example = differs_between_examples(forward.function, differs);
  std::vector<Sharing> sharing(static_cast<size_t>(std::count(wrt.begin(), wrt.end(), true)),
                               Sharing::kSharedLinear);
  std::vector<Array> operands(sharing.size());
  for (size_t i = num_results; i < results.size(); ++i) {
    sharing.push_back(of_example[forward.function.outputs[i]] ? Sharing::kExample
                                                              : Sharing::kShared);
    operands.push_back(results[i]);
  }
  std::vector<Array> cotangents(at.linear.outputs.size());
  cotangents[0] = lax::full({}, 1, results[0].dtype());
  return transpose_to_uses(at.linear, sharing, operands, cotangents).uses;
}

// Returns whether devices of an enclosing shard_map add up the gradient of this use: then each has
// only a part of the factors of an example.
bool is_added_up(const Use& use) {
  const AxisNames& own = use.apply.type(use.apply.inputs[0]).varying;
  const auto varies = [&](const Array& x) { return !axis_subset(traced_type(x).varying, own); };
  return std::any_of(use.operands.begin(), use.operands.end(), varies) ||
         std::any_of(use.cotangents.begin(), use.cotangents.end(), varies);
}

}  // namespace

ExampleProgram example_program(const Function& loss, const std::vector<bool>& wrt,
                               const std::vector<bool>& differs) {
  ExampleProgram out;
  const Forward forward = forward_of(loss, wrt);
  out.num_results = loss.outputs.size();
  for (size_t i = 0; i < wrt.size(); ++i)
    if (wrt[i]) out.inputs.push_back(loss.type(loss.inputs[i]));
  TracedFunction traced = trace_function(
      [&](const std::vector<Array>& inputs) {
        std::vector<Array> results = inline_function(forward.function, inputs);
        std::vector<Use> uses = uses_at(forward, wrt, differs, results);
        results.resize(out.num_results);
        for (Use& use : uses) {
          ExampleUse& kept = out.uses.emplace_back();
          kept.inputs = use.inputs;
          kept.num_operands = use.operands.size();
          kept.num_cotangents = use.cotangents.size();
          // From here on values are float32 or wider, so that norms are computed of the same values
          // that are summed.
          if (has_halves(use.apply)) use.apply = widened(use.apply);
          for (std::vector<Array>* arrays : {&use.operands, &use.cotangents})
            for (Array& x : *arrays) results.push_back(x = wide(x));
          if (!is_added_up(use)) kept.product = product_of(use);
          if (kept.product) {
            results.push_back(kept.product->product.x);
            results.push_back(kept.product->product.y);
            kept.product->product.x = kept.product->product.y = Array();
          }
          kept.apply = std::move(use.apply);
        }
        return results;
      },
      loss.input_types(), "example");
  TESSERA_CHECK(traced.captures.empty(), "{}: a closed function captured", loss.name);
  out.function = remove_dead_ops(traced.function);
  // The values of an example must not depend on which ops become one kernel, because that depends
  // on the size of the batch.
  if (has_halves(out.function)) out.function = round_halves(out.function);
  return out;
}

ExampleBatch::ExampleBatch(const ExampleProgram& program, std::span<const Array> operands,
                           std::span<const int> dims)
    : program_(program), size_(BatchAxis::current().size) {
  BatchResult batch = batch_function(program.function, operands, dims);
  size_t next = 0;
  const auto first = [&] {
    const Array out = lax::with_batch_first(batch.results[next], batch.dims[next], size_);
    ++next;
    return out;
  };
  for (size_t r = 0; r < program.num_results; ++r) results_.push_back(first());
  for (const ExampleUse& use : program.uses) {
    BatchUse& out = uses_.emplace_back();
    out.use = &use;
    for (size_t k = 0; k < use.num_operands; ++k) {
      const bool mapped = batch.dims[next] >= 0;
      out.dims.push_back(mapped ? 0 : -1);
      out.operands.push_back(mapped ? first() : batch.results[next++]);
    }
    for (size_t r = 0; r < use.num_cotangents; ++r) out.cotangents.push_back(first());
    if (!use.product) continue;
    out.x = first();
    out.y = first();
  }
}

std::vector<Array> ExampleBatch::mapped() const {
  std::vector<Array> out;
  for (const BatchUse& use : uses_) {
    for (size_t k = 0; k < use.operands.size(); ++k)
      if (use.dims[k] >= 0) out.push_back(use.operands[k]);
    out.insert(out.end(), use.cotangents.begin(), use.cotangents.end());
  }
  return out;
}

ExampleBatch ExampleBatch::with_mapped(std::span<const Array> mapped) const {
  ExampleBatch out = *this;
  out.results_.clear();
  if (!mapped.empty()) out.size_ = mapped[0].shape()[0];
  size_t next = 0;
  for (BatchUse& use : out.uses_) {
    for (size_t k = 0; k < use.operands.size(); ++k)
      if (use.dims[k] >= 0) use.operands[k] = mapped[next++];
    for (Array& ct : use.cotangents) ct = mapped[next++];
    use.x = use.y = Array();
  }
  return out;
}

ExampleBatch ExampleBatch::only(const std::vector<size_t>& inputs) const {
  ExampleBatch out = *this;
  out.results_.clear();
  std::erase_if(out.uses_, [&](const BatchUse& use) {
    return std::none_of(inputs.begin(), inputs.end(),
                        [&](size_t input) { return contains(use.use->inputs, input); });
  });
  return out;
}

std::vector<const BatchUse*> ExampleBatch::uses_of(size_t input) const {
  std::vector<const BatchUse*> out;
  for (const BatchUse& use : uses_)
    if (contains(use.use->inputs, input)) out.push_back(&use);
  return out;
}

Array ExampleBatch::gradients(size_t input) const {
  const std::vector<const BatchUse*> uses = uses_of(input);
  const Type& type = program_.inputs[input];
  std::vector<Array> operands;
  std::vector<int> dims;
  std::vector<Type> types;
  for (const BatchUse* u : uses) {
    const Function& f = u->use->apply;
    for (size_t k = 0; k < u->operands.size(); ++k) {
      types.push_back(f.type(f.inputs[u->use->inputs.size() + k]));
      operands.push_back(u->operands[k]);
      dims.push_back(u->dims[k]);
    }
    for (size_t r = 0; r < u->cotangents.size(); ++r) {
      types.push_back(f.type(f.outputs[r]));
      operands.push_back(u->cotangents[r]);
      dims.push_back(0);
    }
  }
  const TracedFunction one = trace_function(
      [&](const std::vector<Array>& x) {
        Array sum;
        size_t next = 0;
        for (const BatchUse* u : uses) {
          const size_t n = u->use->inputs.size();
          std::vector<Array> given(n), cotangents;
          std::vector<bool> linear(n, true);
          for (size_t k = 0; k < u->operands.size(); ++k) given.push_back(x[next++]);
          for (size_t r = 0; r < u->cotangents.size(); ++r) cotangents.push_back(x[next++]);
          linear.resize(u->use->apply.inputs.size(), false);
          const size_t at =
              static_cast<size_t>(std::find(u->use->inputs.begin(), u->use->inputs.end(), input) -
                                  u->use->inputs.begin());
          const Array term = transpose_function(u->use->apply, linear, given, cotangents)[at];
          if (term.defined()) sum = sum.defined() ? lax::add(sum, term) : term;
        }
        if (!sum.defined()) sum = lax::full(type.shape, 0, accumulation_dtype(type.dtype));
        return std::vector<Array>{sum};
      },
      types, "gradient");
  const BatchAxis::Scope scope(
      {.size = size_, .indivisible = Indivisible::kHoist, .invariant = true});
  const BatchResult out = batch_function(remove_dead_ops(one.function), operands, dims);
  return lax::with_batch_first(out.results[0], out.dims[0], size_);
}

// Returns, for each input of this use, its terms of the input's gradient, summed over the examples.
// `read` are the use's operands; `scaled` are its cotangents times the weights.
std::vector<Array> ExampleBatch::sums_of_use(const BatchUse& use, const Function& apply,
                                             const std::vector<Array>& read,
                                             const std::vector<Array>& scaled) const {
  const size_t n = use.use->inputs.size();
  std::vector<Type> types;
  std::vector<int> dims(n, -1);
  std::vector<bool> linear(n, true);
  std::vector<Array> operands(n);
  for (size_t k = 0; k < n; ++k) types.push_back(apply.type(apply.inputs[k]));
  for (const Array& x : read) types.push_back(traced_type(x));
  dims.insert(dims.end(), use.dims.begin(), use.dims.end());
  linear.resize(types.size(), false);
  operands.insert(operands.end(), read.begin(), read.end());
  const TracedFunction all = trace_function(
      [&](const std::vector<Array>& x) {
        const BatchAxis::Scope scope({.size = size_,
                                      .indivisible = Indivisible::kHoist,
                                      .invariant = true,
                                      .sums_examples = true});
        BatchResult out = batch_function(apply, x, dims);
        for (size_t r = 0; r < out.results.size(); ++r)
          out.results[r] = lax::with_batch_first(out.results[r], out.dims[r], size_);
        return out.results;
      },
      types, "use");
  return transpose_function(all.function, linear, operands, scaled);
}

std::vector<Array> ExampleBatch::weighted_sums(const Array& weights, bool in_double) const {
  const auto doubled = [](std::vector<Array> arrays) {
    for (Array& x : arrays)
      if (x.defined() && is_inexact(x.dtype()))
        x = lax::convert_element_type(x, sum_dtype(x.dtype()));
    return arrays;
  };
  std::vector<Array> sums(program_.inputs.size());
  for (const BatchUse& u : uses_) {
    std::vector<Array> scaled;
    for (const Array& ct : u.cotangents)
      scaled.push_back(lax::mul(
          ct,
          lax::broadcast_in_dim(lax::convert_element_type(weights, ct.dtype()), ct.shape(), {0})));
    std::vector<Array> back;
    if (!in_double && u.use->product && u.use->product->is_dot) {
      back = sums_of_use(u, u.use->apply, u.operands, scaled);
    } else {
      back = sums_of_use(u, in_float64(u.use->apply), doubled(u.operands), doubled(scaled));
    }
    back = doubled(back);
    for (size_t k = 0; k < back.size() && k < u.use->inputs.size(); ++k) {
      Array& sum = sums[u.use->inputs[k]];
      if (back[k].defined()) sum = sum.defined() ? lax::add(sum, back[k]) : back[k];
    }
  }
  for (size_t i = 0; i < sums.size(); ++i)
    if (!sums[i].defined())
      sums[i] = lax::full(program_.inputs[i].shape, 0, sum_dtype(program_.inputs[i].dtype));
  return sums;
}

}  // namespace tessera::per_example
