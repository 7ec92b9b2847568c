#include "tessera/control/call_rules.h"

#include <algorithm>

#include "tessera/control/index_of.h"
#include "tessera/ir/axis_env.h"
#include "tessera/ops/core/batch_axis.h"
#include "tessera/ops/core/constant.h"
#include "tessera/ops/core/elementwise.h"
#include "tessera/ops/core/tracer.h"
#include "tessera/ops/structural/reshape.h"
#include "tessera/trace/trace.h"
#include "tessera/transform/batch.h"
#include "tessera/transform/derivative.h"

namespace tessera::control {
namespace {

using SharedLinear = std::shared_ptr<const LinearizedFunction>;

// Returns the tangents of a function's results, given those of its inputs; undefined ones are zero.
std::vector<Array> push(const LinearizedFunction& at, std::span<const Array> tangents,
                        std::span<const Array> residuals) {
  std::vector<Array> inputs;
  for (const Array& t : tangents)
    if (t.defined()) inputs.push_back(t);
  inputs.insert(inputs.end(), residuals.begin(), residuals.end());
  const std::vector<Array> some = inline_function(at.linear, inputs);
  std::vector<Array> out(at.nonzero.size());
  size_t next = 0;
  for (size_t r = 0; r < out.size(); ++r)
    if (at.nonzero[r]) out[r] = some[next++];
  return out;
}

// Builds a manual computation: collects its operands and their specs, and binds it.
struct ManualBuilder {
  const ManualComputationParams& of;
  std::vector<Array> operands;
  std::vector<PartitionSpec> in_specs;

  // Adds the operand and returns its position.
  size_t add(const Array& x, const PartitionSpec& spec) {
    operands.push_back(x);
    in_specs.push_back(spec);
    return operands.size() - 1;
  }
  // Binds the computation and returns its results. `body` gets the local operands; `out_specs` is
  // called once its results are known.
  std::vector<Array> bind(const FlatFn& body,
                          const std::function<std::vector<PartitionSpec>()>& out_specs) {
    std::vector<Type> local;
    for (size_t k = 0; k < operands.size(); ++k)
      local.push_back(manual_local_type(operands[k].type(), of.mesh, in_specs[k]));
    ManualComputationParams params{.mesh = of.mesh,
                                   .in_specs = in_specs,
                                   .manual_axes = of.manual_axes,
                                   .check_vma = of.check_vma};
    TracedFunction traced;
    {
      const AxisEnv::Scope scope(of.mesh, of.manual_axes, of.check_vma);
      traced = trace_function(body, local, of.body->name);
    }
    params.out_specs = out_specs();
    for (Array& captured : traced.captures) {
      operands.push_back(std::move(captured));
      params.in_specs.emplace_back();
    }
    params.body = std::make_shared<const Function>(remove_dead_ops(traced.function));
    return bind_op(manual_computation_op, std::move(params), operands);
  }
};

// Returns the spec with which a residual of one device leaves a manual computation: a new first
// dimension is sharded along all axes over which the value varies.
PartitionSpec residual_spec(const Type& local, const AxisNames& manual) {
  DimSpec stacked;
  for (const std::string& axis : local.varying)
    if (std::find(manual.begin(), manual.end(), axis) != manual.end())
      stacked.axes.push_back(AxisRef{axis});
  if (stacked.axes.empty()) return {};
  return PartitionSpec(std::vector<DimSpec>{stacked});
}
Array with_leading_one(const Array& x) {
  Shape shape = x.shape();
  shape.insert(shape.begin(), 1);
  return lax::reshape(x, shape);
}
Array without_leading_one(const Array& x) {
  Shape shape = x.shape();
  shape.erase(shape.begin());
  return lax::reshape(x, shape);
}

}  // namespace

LinearizeResult linearize_inline(const Function& function, std::span<const Array> primals,
                                 const std::vector<bool>& has_tangent) {
  auto at =
      std::make_shared<LinearizedFunction>(linearize_function(function, primals, has_tangent));
  return {at->primals,
          [at](std::span<const Array> tangents) { return push(*at, tangents, at->residuals); }};
}

JvpResult jvp_call(std::span<const Array> primals, std::span<const Array> tangents,
                   const CallParams& p) {
  return jvp_function(*p.callee, primals, tangents);
}
LinearizeResult linearize_call(std::span<const Array> primals, const std::vector<bool>& has_tangent,
                               const CallParams& p) {
  return linearize_inline(*p.callee, primals, has_tangent);
}
BatchResult batch_call(std::span<const Array> operands, std::span<const int> dims,
                       const CallParams& p) {
  return batch_function(*p.callee, operands, dims);
}

// Returns values and residuals from one manual computation, and tangents from another. A residual
// that is an operand is passed to the second one again, instead of being a result of the first.
LinearizeResult linearize_manual(std::span<const Array> primals,
                                 const std::vector<bool>& has_tangent,
                                 const ManualComputationParams& p) {
  struct Residual {
    Array value;
    PartitionSpec spec;
    bool stacked = false;
  };
  ManualBuilder forward{p, {}, {}};
  for (size_t k = 0; k < primals.size(); ++k) forward.add(primals[k], p.in_specs[k]);
  auto at = std::make_shared<LinearizedFunction>();
  auto residuals = std::make_shared<std::vector<Residual>>();
  std::vector<PartitionSpec> out_specs = p.out_specs;
  std::vector<size_t> returned;  // residuals that are results of the first computation
  std::vector<Array> results = forward.bind(
      [&](const std::vector<Array>& shards) {
        *at = linearize_function(*p.body, shards, has_tangent);
        std::vector<Array> out = at->primals;
        for (const Array& residual : at->residuals) {
          const int operand = index_of(residual, shards);
          if (operand >= 0) {
            const auto k = static_cast<size_t>(operand);
            residuals->push_back({primals[k], p.in_specs[k], false});
            continue;
          }
          const PartitionSpec spec = residual_spec(residual.type(), p.manual_axes);
          returned.push_back(residuals->size());
          out_specs.push_back(spec);
          residuals->push_back({Array(), spec, spec.rank() > 0});
          out.push_back(spec.rank() > 0 ? with_leading_one(residual) : residual);
        }
        return out;
      },
      [&] { return out_specs; });
  for (size_t i = 0; i < returned.size(); ++i)
    (*residuals)[returned[i]].value = results[p.out_specs.size() + i];
  results.resize(p.out_specs.size());
  auto tangents = [at, residuals, p, has_tangent](std::span<const Array> given) {
    ManualBuilder linear{p, {}, {}};
    for (size_t k = 0; k < given.size(); ++k)
      if (given[k].defined()) linear.add(given[k], p.in_specs[k]);
    const size_t num_tangents = linear.operands.size();
    for (const Residual& r : *residuals) linear.add(r.value, r.spec);
    std::vector<PartitionSpec> specs;
    for (size_t r = 0; r < at->nonzero.size(); ++r)
      if (at->nonzero[r]) specs.push_back(p.out_specs[r]);
    std::vector<Array> out(at->nonzero.size());
    if (specs.empty()) return out;
    const std::vector<Array> some = linear.bind(
        [&](const std::vector<Array>& shards) {
          std::vector<Array> inputs = shards;
          for (size_t i = 0; i < residuals->size(); ++i)
            if ((*residuals)[i].stacked)
              inputs[num_tangents + i] = without_leading_one(inputs[num_tangents + i]);
          return inline_function(at->linear, inputs);
        },
        [&] { return specs; });
    size_t next = 0;
    for (size_t r = 0; r < out.size(); ++r)
      if (at->nonzero[r]) out[r] = some[next++];
    return out;
  };
  return {std::move(results), std::move(tangents)};
}

std::vector<Array> transpose_manual(std::span<const Array> cotangents,
                                    std::span<const Array> operands,
                                    const std::vector<bool>& linear,
                                    const ManualComputationParams& p) {
  ManualBuilder builder{p, {}, {}};
  std::vector<int> operand_at(operands.size(), -1), cotangent_at(cotangents.size(), -1);
  for (size_t k = 0; k < operands.size(); ++k)
    if (!linear[k]) operand_at[k] = static_cast<int>(builder.add(operands[k], p.in_specs[k]));
  for (size_t r = 0; r < cotangents.size(); ++r)
    if (cotangents[r].defined())
      cotangent_at[r] = static_cast<int>(builder.add(cotangents[r], p.out_specs[r]));
  std::vector<size_t> defined;
  std::vector<PartitionSpec> specs;
  const std::vector<Array> some = builder.bind(
      [&](const std::vector<Array>& shards) {
        std::vector<Array> x(operands.size()), ct(cotangents.size());
        for (size_t k = 0; k < x.size(); ++k)
          if (operand_at[k] >= 0) x[k] = shards[static_cast<size_t>(operand_at[k])];
        for (size_t r = 0; r < ct.size(); ++r) {
          if (cotangent_at[r] < 0) continue;
          ct[r] = shards[static_cast<size_t>(cotangent_at[r])];
          // Without check_vma, a result may vary along axes along which its spec says that it does
          // not. Then each of the n copies gets 1 / n of the cotangent.
          const AxisNames copies =
              axis_difference(p.body->type(p.body->outputs[r]).varying, axes_of(p.out_specs[r]));
          double n = 1;
          for (const std::string& axis : copies)
            if (std::find(p.manual_axes.begin(), p.manual_axes.end(), axis) != p.manual_axes.end())
              n *= static_cast<double>(p.mesh.axis_size(axis));
          if (n > 1) ct[r] = lax::div(ct[r], lax::full_like(ct[r], n));
        }
        const std::vector<Array> back = transpose_function(*p.body, linear, x, ct);
        std::vector<Array> out;
        for (size_t k = 0; k < back.size(); ++k) {
          if (!back[k].defined()) continue;
          defined.push_back(k);
          specs.push_back(p.in_specs[k]);
          out.push_back(back[k]);
        }
        return out;
      },
      [&] { return specs; });
  std::vector<Array> out(operands.size());
  for (size_t i = 0; i < defined.size(); ++i) out[defined[i]] = some[i];
  return out;
}

// Maps a manual computation. A mapped dimension is sharded along those of vmap's spmd axes that are
// manual here; if there are none, every device has all of it.
BatchResult batch_manual(std::span<const Array> operands, std::span<const int> dims,
                         const ManualComputationParams& p) {
  BatchAxis axis = BatchAxis::current();
  DimSpec mapped;
  for (const std::string& name : axis.spmd_axes) {
    if (std::find(p.manual_axes.begin(), p.manual_axes.end(), name) == p.manual_axes.end())
      continue;
    mapped.axes.push_back(AxisRef{name});
    const int64_t n = p.mesh.axis_size(name);
    if (axis.size % n)
      sharding_error("vmap",
                     "expected a mapped dimension that spmd_axis_name '{}' ({}) divides, got {}",
                     name, n, axis.size);
    axis.size /= n;
  }
  auto with_mapped = [&](const PartitionSpec& spec, int dim) {
    if (dim < 0) return spec;
    std::vector<DimSpec> entries = spec.dims();
    while (static_cast<int>(entries.size()) < dim) entries.push_back(None);
    entries.insert(entries.begin() + dim, mapped);
    return PartitionSpec(std::move(entries), spec.replicated());
  };
  ManualBuilder builder{p, {}, {}};
  for (size_t k = 0; k < operands.size(); ++k)
    builder.add(operands[k], with_mapped(p.in_specs[k], dims[k]));
  BatchResult out;
  const std::vector<int> operand_dims(dims.begin(), dims.end());
  out.results = builder.bind(
      [&](const std::vector<Array>& shards) {
        const BatchAxis::Scope scope(axis);
        BatchResult body = batch_function(*p.body, shards, operand_dims);
        out.dims = body.dims;
        return body.results;
      },
      [&] {
        std::vector<PartitionSpec> specs;
        for (size_t r = 0; r < p.out_specs.size(); ++r)
          specs.push_back(with_mapped(p.out_specs[r], out.dims[r]));
        return specs;
      });
  return out;
}

}  // namespace tessera::control
