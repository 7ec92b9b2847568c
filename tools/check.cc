// `tessera check`: runs a program on its mesh, on one device, and by the naive evaluator, and
// compares the results.
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <ostream>
#include <random>

#include "tessera/compile/compiled.h"
#include "tessera/compile/program_cache.h"
#include "tessera/ir/append_ops.h"
#include "tessera/ir/control_flow.h"
#include "tessera/ir/op_def.h"
#include "tessera/ops/core/convert.h"
#include "tessera/sharding/flatten_regions.h"
#include "tests/evaluate/evaluate.h"
#include "tools/program.h"

namespace tessera::tools {

using namespace compile;

namespace {

// Returns random numbers: floats in [-1, 1), integers in [0, 4).
Literal random_literal(const Type& type, std::mt19937_64& engine) {
  Literal wide(complex128, type.shape);
  auto* to = wide.mutable_data<std::complex<double>>();
  const auto unit = [&] { return static_cast<double>(engine() >> 11) * 0x1p-53; };
  for (int64_t i = 0; i < wide.elements(); ++i)
    to[i] = is_inexact(type.dtype) ? std::complex(2 * unit() - 1, 2 * unit() - 1)
                                   : std::complex(std::floor(4 * unit()), 0.0);
  return convert_literal(is_complex(type.dtype) ? wide : convert_literal(wide, float64),
                         type.dtype);
}

bool has_manual_computation(const Function& f) {
  return std::any_of(f.ops.begin(), f.ops.end(), [](const Op& op) {
    if (std::holds_alternative<ManualRegion>(op.def->lower)) return true;
    std::vector<FunctionRef> inside = control_regions(op);
    if (const FunctionRef callee = callee_of(op)) inside.push_back(callee);
    return std::any_of(inside.begin(), inside.end(),
                       [](const FunctionRef& region) { return has_manual_computation(*region); });
  });
}

// Returns the function flat and without shardings, for one device.
Function without_shardings(const Function& f) {
  Function out;
  out.name = f.name;
  const auto bare = [](Type type) {
    type.sharding = nullptr;
    return type;
  };
  for (ValueId v : f.inputs) out.add_input(bare(f.type(v)));
  const ValueIds inputs(out.inputs.begin(), out.inputs.end());
  const ValueIds outputs = append_ops(f, inputs, [&](const Op& op, ValueIds operands) -> ValueIds {
    if (std::holds_alternative<Constraint>(op.def->lower)) return operands;
    std::vector<Type> types;
    for (ValueId v : op.results) types.push_back(bare(f.type(v)));
    return out.add_op(*op.def, map_control_regions(op, without_shardings), std::move(operands),
                      types, op.source);
  });
  out.outputs.assign(outputs.begin(), outputs.end());
  return out;
}

std::vector<Literal> run_compiled(const Function& f, const ShardingRequest& request,
                                  const std::vector<Literal>& inputs) {
  std::vector<Literal> out;
  const std::vector<Array> arrays(inputs.begin(), inputs.end());
  for (const Array& result : compile_cached(f, request, devices()[0])->run(arrays))
    out.push_back(result.to_host());
  return out;
}

// Returns the largest |a - b| / (1 + |b|); two NaNs are equal.
double difference(const Literal& a, const Literal& b) {
  const Literal x = convert_literal(a, complex128), y = convert_literal(b, complex128);
  double out = 0;
  for (int64_t i = 0; i < x.elements(); ++i) {
    const auto p = x.data<std::complex<double>>()[i], q = y.data<std::complex<double>>()[i];
    if (p == q || (std::isnan(std::abs(p)) && std::isnan(std::abs(q)))) continue;
    const double relative = std::abs(p - q) / (1 + std::abs(q));
    out = std::max(out, std::isnan(relative) ? std::numeric_limits<double>::infinity() : relative);
  }
  return out;
}

// Returns the tolerance for results whose sums are added in another order.
double tolerance_of(DType dtype, const std::optional<double>& given) {
  if (!is_inexact(dtype)) return 0;
  if (given) return *given;
  const DType real = real_dtype(dtype);
  return is_half(real) ? 3e-2 : real == float64 ? 1e-10 : 1e-4;
}

}  // namespace

void check_file(const CheckOptions& options, const Streams& streams) {
  const ParsedModule module = load_program({.file = options.file,
                                            .devices = options.devices,
                                            .shapes = options.shapes,
                                            .inputs = options.inputs,
                                            .enough = true},
                                           streams);
  expect_devices(module);
  const Program program = program_of(module);
  std::vector<Literal> inputs;
  if (options.inputs.empty()) {
    std::mt19937_64 engine(static_cast<uint64_t>(options.seed));
    for (const Type& type : program.function.input_types())
      inputs.push_back(random_literal(type, engine));
  } else {
    for (const Array& x : read_arguments(program, options.inputs)) inputs.push_back(x.to_host());
  }
  const int64_t devices = program_mesh(program.function, program.request).size();
  const bool on_one = devices > 1 && !has_manual_computation(program.function);
  const std::vector<Literal> compiled = run_compiled(program.function, program.request, inputs);
  std::vector<Literal> single, naive;
  if (on_one)
    single =
        run_compiled(without_shardings(sharding::flatten_regions(program.function)), {}, inputs);
  if (options.evaluate) naive = tessera::evaluate(program.function, inputs);
  std::vector<std::string> different;
  for (size_t r = 0; r < compiled.size(); ++r) {
    const Type type = program.function.type(program.function.outputs[r]);
    const double tolerance = tolerance_of(type.dtype, options.tolerance);
    std::string line = fmt::format("arr_{}: {}", r, describe({type.dtype, type.shape}));
    bool equal = true;
    const auto compare = [&](const std::string& what, const Literal& with) {
      const double by = difference(compiled[r], with);
      equal = equal && by <= tolerance;
      line += fmt::format(", {} {:.3g}", what, by);
    };
    if (on_one) compare(fmt::format("{} devices against one", devices), single[r]);
    if (options.evaluate) compare("compiled against evaluated", naive[r]);
    streams.out << line << (equal ? "" : "  DIFFERENT") << "\n";
    if (!equal) different.push_back(fmt::format("arr_{}", r));
  }
  if (!different.empty())
    value_error("check",
                "expected results that differ by rounding only, got {} that differ more; "
                "--tolerance allows what is wanted",
                fmt::join(different, ", "));
}

}  // namespace tessera::tools
