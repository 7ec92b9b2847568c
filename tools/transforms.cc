#include "tools/transforms.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "tessera/compile/linearization.h"
#include "tessera/compile/vmap_flat.h"
#include "tessera/control/control_flow_ops.h"
#include "tessera/control/custom_derivative.h"
#include "tessera/interchange/programs/clamp_gathers.h"
#include "tessera/interchange/programs/count_loops.h"
#include "tessera/interchange/programs/guard_infinities.h"
#include "tessera/interchange/programs/lower_scans.h"
#include "tessera/interchange/programs/map_regions.h"
#include "tessera/ir/op_def.h"
#include "tessera/ops/core/array_math.h"
#include "tessera/ops/core/complex.h"
#include "tessera/ops/core/constant.h"
#include "tessera/ops/reductions/reduce.h"
#include "tessera/ops/structural/reshape.h"
#include "tessera/trace/trace.h"

namespace tessera::tools {

using namespace compile;

namespace {

using Arrays = std::vector<Array>;

// Traces `body` over inputs of the given types. Inputs keep their shardings.
Program traced(const Program& like, std::vector<Type> types, const FlatFn& body) {
  std::vector<std::shared_ptr<const NamedSharding>> shardings;
  for (Type& type : types) shardings.push_back(std::exchange(type.sharding, nullptr));
  TracedFunction made = trace_function(body, types, like.function.name);
  TESSERA_CHECK(made.captures.empty(), "a program that captures {} arrays", made.captures.size());
  Program out{remove_dead_ops(made.function), {}, like.input_names};
  for (size_t k = 0; k < shardings.size(); ++k)
    out.function.types[out.function.inputs[k]].sharding = shardings[k];
  out.request.inputs = like.request.inputs;
  out.request.outputs.resize(out.function.outputs.size());
  return out;
}

void expect_traced(std::string_view op, const Function& f) {
  for (const Op& made : f.ops)
    for (ValueId v : made.results)
      if (f.type(v).sharding)
        value_error(op,
                    "expected a program before propagation, got one whose values have shardings; "
                    "name it before the passes");
}

// Returns, for each argument, whether the gradient is by it. Each of `argnums` must exist and be
// floating-point.
std::vector<bool> chosen_arguments(const Program& program, const std::vector<int64_t>& argnums) {
  constexpr std::string_view kOp = "grad";
  const std::vector<Type> types = program.function.input_types();
  const auto count = static_cast<int64_t>(types.size());
  std::vector<bool> out(types.size(), false);
  for (int64_t k : argnums) {
    if (k < 0 || k >= count)
      value_error(kOp, "expected argnums among the program's {} arguments, 0 to {}, got {}", count,
                  count - 1, k);
    if (!is_inexact(types[static_cast<size_t>(k)].dtype))
      type_error(kOp,
                 "expected a float or complex argument to differentiate by, got {} for {}; leave "
                 "it out of argnums",
                 describe(types[static_cast<size_t>(k)]),
                 program.input_names[static_cast<size_t>(k)]);
    out[static_cast<size_t>(k)] = true;
  }
  if (argnums.empty())
    for (size_t k = 0; k < out.size(); ++k) out[k] = is_inexact(types[k].dtype);
  if (std::find(out.begin(), out.end(), true) == out.end())
    type_error(kOp,
               "expected a program with floating-point arguments to differentiate by, got {} "
               "arguments of other dtypes",
               count);
  return out;
}

// Returns the number of the only scalar result, which is differentiated if there is no seed.
size_t scalar_result(const Function& f) {
  constexpr std::string_view kOp = "grad";
  std::vector<size_t> scalars;
  for (size_t r = 0; r < f.outputs.size(); ++r) {
    const Type& type = f.type(f.outputs[r]);
    if (type.rank() == 0 && is_floating(type.dtype)) scalars.push_back(r);
  }
  if (scalars.size() == 1) return scalars[0];
  std::vector<std::string> types;
  for (const Type& type : f.output_types()) types.push_back(describe(type));
  shape_error(kOp,
              "expected a program with one real floating-point scalar among its results, got {} of "
              "them in ({}); --seed N differentiates a weighted sum over all results",
              scalars.size(), fmt::join(types, ", "));
}

// Returns an array with cos(seed + r + i) as element i, in the real dtype of `type`.
Array weights(const Type& type, int64_t seed_and_result) {
  const DType dtype = accumulation_dtype(real_dtype(type.dtype));
  const Array i = lax::iota(dtype, {type.elements()});
  const Array flat = lax::cos(lax::add(i, lax::full_like(i, static_cast<double>(seed_and_result))));
  return lax::convert_element_type(lax::reshape(flat, type.shape), real_dtype(type.dtype));
}

Array real_part(const Array& x) { return is_complex(x.dtype()) ? lax::real(x) : x; }

}  // namespace

Program gradient_of(const Program& program, const TransformOptions& options) {
  expect_traced("grad", program.function);
  const std::vector<bool> wrt = chosen_arguments(program, options.argnums);
  const Function f = interchange::guard_infinities(
      interchange::clamp_gathers(interchange::count_loops(program.function)));
  const std::optional<size_t> scalar =
      options.seed ? std::nullopt : std::optional(scalar_result(f));
  Program out = traced(program, f.input_types(), [&](const Arrays& x) {
    const internal::Linearization at = internal::linearize_flat(
        "grad", [&](const Arrays& inputs) { return inline_function(f, inputs); }, x, wrt,
        program.input_names);
    Arrays cotangents(at.results.size());
    Array value;
    for (size_t r = 0; r < at.results.size(); ++r) {
      const Array& result = at.results[r];
      if (scalar ? r != *scalar : !is_inexact(result.dtype())) continue;
      const Array weight = scalar ? lax::full_like(result, 1)
                                  : weights(result.type(), *options.seed + static_cast<int64_t>(r));
      cotangents[r] =
          is_complex(result.dtype()) ? lax::complex(weight, lax::full_like(weight, 0)) : weight;
      Dims all;
      for (int64_t d = 0; d < result.ndim(); ++d) all.push_back(d);
      const Array term =
          scalar ? result
                 : lax::reduce_sum(
                       lax::convert_element_type(lax::mul(weight, real_part(result)),
                                                 accumulation_dtype(real_dtype(result.dtype()))),
                       all);
      if (!value.defined()) {
        value = term;
      } else {
        const DType wider =
            itemsize(value.dtype()) < itemsize(term.dtype()) ? term.dtype() : value.dtype();
        value = lax::add(lax::convert_element_type(value, wider),
                         lax::convert_element_type(term, wider));
      }
    }
    if (!value.defined())
      type_error("grad",
                 "expected a program with floating-point results, got {} results of other dtypes",
                 at.results.size());
    Arrays outputs;
    if (options.value) outputs.push_back(value);
    for (const Array& gradient : at.pull(cotangents)) outputs.push_back(gradient);
    return outputs;
  });
  // A gradient has the sharding of its argument.
  size_t next = options.value ? 1 : 0;
  for (size_t k = 0; k < wrt.size(); ++k)
    if (wrt[k]) out.request.outputs[next++] = program.request.inputs[k];
  if (options.value && scalar) out.request.outputs[0] = program.request.outputs[*scalar];
  return out;
}

namespace {

// Returns the mapped axis of each argument, in [0, rank]; nullopt: it is not mapped.
std::vector<std::optional<int>> mapped_axes(const Program& program,
                                            const std::vector<std::string>& in_axes) {
  constexpr std::string_view kOp = "vmap";
  const std::vector<Type> types = program.function.input_types();
  if (in_axes.size() > 1 && in_axes.size() != types.size())
    value_error(kOp, "expected in_axes of one for all arguments or of {}, got {}", types.size(),
                in_axes.size());
  std::vector<std::optional<int>> out;
  for (size_t k = 0; k < types.size(); ++k) {
    const std::string text = in_axes.empty() ? "0" : in_axes[in_axes.size() == 1 ? 0 : k];
    if (text == "None") {
      out.emplace_back();
      continue;
    }
    int axis = 0;
    const auto end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, axis);
    const auto rank = static_cast<int>(types[k].rank()) + 1;
    if (error != std::errc() || stop != end || axis < -rank || axis >= rank)
      value_error(kOp, "expected an axis of the mapped {}, {}, in [-{}, {}), or None, got '{}'",
                  program.input_names[k], describe(types[k]), rank, rank, text);
    out.emplace_back(axis < 0 ? axis + rank : axis);
  }
  return out;
}

std::optional<NamedSharding> with_dimension(const std::optional<NamedSharding>& sharding,
                                            std::optional<int> axis, int64_t rank) {
  if (!sharding || !axis) return sharding;
  std::vector<DimSpec> dims;
  for (int64_t d = 0; d < rank; ++d) dims.push_back(sharding->spec().dim(d));
  dims.insert(dims.begin() + *axis, DimSpec(None));
  return NamedSharding(sharding->mesh(), PartitionSpec(dims, sharding->spec().replicated()));
}

}  // namespace

Program batched(const Program& program, const TransformOptions& options) {
  constexpr std::string_view kOp = "vmap";
  expect_traced(kOp, program.function);
  if (!options.size || *options.size < 0)
    value_error(kOp, "expected the size of the batch, a number of at least 0, as --size, got {}",
                options.size ? std::to_string(*options.size) : "none");
  const Function& f = program.function;
  const std::vector<std::optional<int>> axes = mapped_axes(program, options.in_axes);
  std::vector<Type> types = f.input_types();
  Program like = program;
  for (size_t k = 0; k < types.size(); ++k) {
    std::optional<NamedSharding>& sharding = like.request.inputs[k];
    sharding = with_dimension(sharding, axes[k], types[k].rank());
    types[k].sharding = sharding ? std::make_shared<const NamedSharding>(*sharding) : nullptr;
    if (axes[k]) types[k].shape.insert(types[k].shape.begin() + *axes[k], *options.size);
  }
  Program out = traced(like, types, [&](const Arrays& x) {
    return internal::vmap_flat(
        [&](const Arrays& inputs) { return inline_function(f, inputs); }, x,
        {.in_axes = axes,
         .paths = program.input_names,
         .axis_size = options.size,
         .axis = {.indivisible = Indivisible::kReplicate}},
        [&] { return std::vector<MappedAxis>(f.outputs.size(), MappedAxis(0)); });
  });
  for (size_t r = 0; r < f.outputs.size(); ++r)
    out.request.outputs[r] =
        with_dimension(program.request.outputs[r], 0, f.type(f.outputs[r]).rank());
  return out;
}

Function checkpoint_loops(const Function& function) {
  Function out = function;
  for (Op& op : out.ops) {
    op.params = interchange::map_regions(op, checkpoint_loops);
    if (op.def != &scan_op) continue;
    auto p = op.params.as<ScanParams>();
    Function body;
    body.name = p.body->name;
    for (const Type& type : p.body->input_types()) body.add_input(type);
    const ValueIds& results =
        body.add_op(checkpoint_op, CheckpointParams{p.body},
                    {body.inputs.begin(), body.inputs.end()}, p.body->output_types(), op.source);
    body.outputs.assign(results.begin(), results.end());
    p.body = std::make_shared<const Function>(std::move(body));
    op.params = p;
  }
  return out;
}

const std::vector<std::string_view>& transform_names() {
  static const std::vector<std::string_view> names{"count_loops", "lower_scans", "checkpoint",
                                                   "grad", "vmap"};
  return names;
}

std::optional<Program> transformed(std::string_view name, const Program& program,
                                   const TransformOptions& options) {
  if (name == "grad") return gradient_of(program, options);
  if (name == "vmap") return batched(program, options);
  Program out = program;
  if (name == "count_loops") {
    out.function = interchange::count_loops(program.function);
  } else if (name == "lower_scans") {
    out.function = interchange::lower_scans(program.function);
  } else if (name == "checkpoint") {
    out.function = checkpoint_loops(interchange::count_loops(program.function));
  } else {
    return std::nullopt;
  }
  return out;
}

}  // namespace tessera::tools
