#include "checks.h"

#include <cmath>
#include <cstring>

#include "oracle.h"
#include "run.h"
#include "tessera/control/multiply_after_loops.h"
#include "tessera/interchange/programs/map_regions.h"
#include "tessera/interchange/text/parser.h"
#include "tessera/interchange/text/printer.h"
#include "tessera/ir/verifier.h"
#include "tessera/ops/core/convert.h"
#include "tessera/trace/trace.h"
#include "tests/evaluate/evaluate.h"

namespace tessera::generate {

using namespace fusion;
using namespace interchange;

namespace {

constexpr int64_t kExamples = 3;

Literals converted_to(const Case& c, const Literals& args) {
  Literals out;
  for (size_t k = 0; k < args.size(); ++k)
    out.push_back(convert_literal(args[k], c.main.inputs[k].type.dtype));
  return out;
}
Literals hosted(const Arrays& arrays) {
  Literals out;
  for (const Array& x : arrays) out.push_back(x.to_host());
  return out;
}
Arrays arrays_of(const Literals& literals) {
  Arrays out;
  for (const Literal& x : literals) out.push_back(Array(x));
  return out;
}

double tolerance(DType dtype) {
  switch (dtype) {
    case DType::kFloat64:
      return 1e-7;
    case DType::kFloat32:
      return 1e-3;
    case DType::kFloat16:
      return 0.05;
    default:
      return 0.3;
  }
}

// Returns a text about a difference; nullopt if all are equal up to `relative`, where NaNs are
// equal.
std::optional<std::string> compare(const Literals& got, const Literals& want, double relative) {
  if (got.size() != want.size())
    return fmt::format("{} results, expected {}", got.size(), want.size());
  for (size_t k = 0; k < got.size(); ++k) {
    if (got[k].shape() != want[k].shape())
      return fmt::format("result {} has shape {}, expected {}", k, got[k].shape(), want[k].shape());
    const auto a = numbers(got[k]), b = numbers(want[k]);
    for (size_t e = 0; e < a.size(); ++e) {
      const bool nan_a = std::isnan(a[e].real()) || std::isnan(a[e].imag()),
                 nan_b = std::isnan(b[e].real()) || std::isnan(b[e].imag());
      if (nan_a && nan_b) continue;
      if (a[e] == b[e]) continue;
      if (nan_a != nan_b || !(std::abs(a[e] - b[e]) <= relative * (1 + std::abs(b[e]))))
        return fmt::format("result {} [{}] is ({}, {}), expected ({}, {})", k, e, a[e].real(),
                           a[e].imag(), b[e].real(), b[e].imag());
    }
  }
  return std::nullopt;
}

// Returns the function after multiply_after_loops, also in calls and manual computations.
Function multiplied_after_loops(Function f) {
  for (Op& op : f.ops) op.params = map_regions(op, multiplied_after_loops);
  return control::multiply_after_loops(f, 0);
}

class Checker {
 public:
  Checker(const std::string& check, const Case& c)
      : check_(check), case_(c), wide_(widened(c)), args_(make_arguments(c)) {}

  Outcome run_it() {
    try {
      return dispatch();
    } catch (const std::exception& error) {
      return {Verdict::kDifferent, {check_, true, error.what()}};
    }
  }

 private:
  Outcome nothing() const { return {Verdict::kNothing, {}}; }
  Outcome verdict(const std::optional<std::string>& difference) const {
    if (!difference) return {};
    return {Verdict::kDifferent, {check_, false, *difference}};
  }

  Outcome dispatch() {
    if (check_ == "naive") return naive();
    if (check_ == "jit")
      return values(
          [](const Case& c, const Arrays& a) {
            return jit([&](const Arrays& x) { return run(c, x); })(a);
          },
          case_, arrays_of(args_));
    if (check_ == "eager")
      return values([](const Case& c, const Arrays& a) { return run(c, a); }, case_,
                    arrays_of(args_));
    if (check_ == "sharded")
      return values(
          [](const Case& c, const Arrays& a) {
            return jit([&](const Arrays& x) { return run(c, x); })(a);
          },
          case_, placed(args_, case_.placements, case_.mesh()));
    if (check_ == "devices") return devices_check();
    if (check_ == "text") return text();
    if (check_ == "after_loops") return after_loops();
    if (check_ == "grad_naive") return gradient(true, false, false);
    if (check_ == "grad") return gradient(false, false, false);
    if (check_ == "grad_sharded") return gradient(false, true, false);
    if (check_ == "grad_dtypes") return gradient_in_its_dtypes();
    if (check_ == "checkpoint") return gradient(case_.seed % 3 != 0, false, true);
    if (check_ == "jvp") return forward();
    if (check_ == "hvp") return second();
    if (check_ == "vmap") return mapped();
    if (check_ == "vmap_grad") return mapped_gradient();
    TESSERA_CHECK(false, "no check {}", check_);
    __builtin_unreachable();
  }

  // Returns the results of the oracle, on the host in float64; nullopt if a kink is near.
  std::optional<Literals> expected(uint32_t stream = 0) {
    Oracle oracle(wide_);
    const Literals args = stream == 0 ? args_ : make_arguments(case_, stream);
    Literals out = oracle.run(converted_to(wide_, args));
    if (oracle.unsteady()) return std::nullopt;
    return out;
  }

  static std::vector<Type> input_types(const Case& c) {
    std::vector<Type> out;
    for (const Var& var : c.main.inputs)
      out.push_back({.dtype = var.type.dtype, .shape = var.type.shape});
    return out;
  }
  // Evaluates f by the naive evaluator.
  static Literals naively(const FlatFn& f, const Case& c, const Literals& args) {
    return evaluated(trace_function(f, input_types(c)), converted_to(c, args));
  }
  // Evaluates a traced program. Its captures (large constants) are passed after its arguments.
  static Literals evaluated(const TracedFunction& traced, Literals args) {
    for (const Array& x : traced.captures) args.push_back(x.to_host());
    return evaluate(traced.function, args);
  }

  Outcome naive() {
    const auto want = expected();
    if (!want) return nothing();
    return verdict(compare(naively([&](const Arrays& x) { return run(wide_, x); }, wide_, args_),
                           *want, 1e-6));
  }

  template <class F>
  Outcome values(const F& call, const Case& c, const Arrays& args) {
    const auto want = expected();
    const Literals got = hosted(call(c, args));
    if (!want) return nothing();
    const DType dtype = coarsest(c);
    const auto difference = compare(got, *want, tolerance(dtype));
    if (!difference || dtype == float64) return verdict(difference);
    // A rounded number may be on the other side of a jump. So the result is compared with the naive
    // evaluation in the same dtypes, unless these are too coarse for this program.
    const Literals rounded = naively([&](const Arrays& x) { return run(c, x); }, c, args_);
    if (!compare(got, rounded, tolerance(dtype))) return {};
    if (compare(rounded, *want, tolerance(dtype)) || jumps(*want, dtype)) return nothing();
    return verdict(difference);
  }

  // Returns whether arguments that differ by roundings have other results: because near ties change
  // their order, or at a step.
  bool jumps(const Literals& want, DType dtype) const {
    std::mt19937 engine(case_.seed);
    std::uniform_real_distribution<double> part(-8, 8);
    for (int round = 0; round < 8; ++round) {
      Literals args = converted_to(wide_, args_);
      for (Literal& x : args) {
        if (!is_inexact(x.dtype())) continue;
        auto* numbers = reinterpret_cast<double*>(x.mutable_raw());
        const int64_t count = x.elements() * (is_complex(x.dtype()) ? 2 : 1);
        for (int64_t e = 0; e < count; ++e) numbers[e] *= 1 + part(engine) * finfo(dtype).eps;
      }
      Oracle oracle(wide_);
      if (compare(oracle.run(args), want, tolerance(dtype))) return true;
    }
    return false;
  }

  static Arrays placed(const Literals& args, const std::vector<PartitionSpec>& specs,
                       const Mesh& mesh) {
    Arrays out;
    for (size_t k = 0; k < args.size(); ++k) {
      const Array x(args[k]);
      out.push_back(mesh.rank() == 0 ? x : device_put(x, NamedSharding(mesh, specs[k])));
    }
    return out;
  }

  // Runs a program that names no mesh on meshes of several sizes.
  Outcome devices_check() {
    if (!case_.axis_sizes.empty()) return nothing();
    static const std::vector<Shape> meshes = {{1}, {2}, {3}, {4}, {8}, {2, 2}, {2, 4}, {2, 2, 2}};
    std::mt19937 engine(case_.seed);
    Case c = case_;
    c.axis_sizes = meshes[engine() % meshes.size()];
    for (int64_t k = 0; k < c.axis_sizes.rank(); ++k) c.axis_names.push_back(fmt::format("m{}", k));
    std::vector<PartitionSpec> specs;
    for (const Var& var : c.main.inputs) {
      std::vector<DimSpec> dims(static_cast<size_t>(var.type.shape.rank()));
      for (const std::string& name : c.axis_names)
        if (!dims.empty() && engine() % 4 != 0) dims[engine() % dims.size()].axes.push_back({name});
      specs.push_back(PartitionSpec(std::move(dims)));
    }
    return values(
        [](const Case& program, const Arrays& a) {
          return jit([&](const Arrays& x) { return run(program, x); })(a);
        },
        case_, placed(args_, specs, c.mesh()));
  }

  Outcome text() {
    const Function traced =
        trace_function([&](const Arrays& x) { return run(case_, x); }, input_types(case_)).function;
    const std::string printed = to_mlir(traced);
    const Function parsed = parse_mlir(printed);
    const std::string again = to_mlir(parsed);
    if (to_mlir(parse_mlir(again)) != again) return verdict("prints otherwise once parsed");
    const Literals want = evaluate(traced, args_), got = evaluate(parsed, args_);
    if (auto difference = compare(got, want, 0)) return verdict(difference);
    return values(
        [&](const Case&, const Arrays& a) {
          return jit([&](const Arrays& x) { return inline_function(parsed, x); })(a);
        },
        case_, arrays_of(args_));
  }

  // Compares the program and its gradient with the same after multiply_after_loops, which pays only
  // for arrays that are larger than those of generated programs.
  Outcome after_loops() {
    const auto with_gradients = [&](const Arrays& x) {
      Arrays out = run(wide_, x);
      if (differentiable(wide_))
        for (const Array& g : gradients(wide_, x, false)) out.push_back(g);
      return out;
    };
    TracedFunction traced = trace_function(with_gradients, input_types(wide_));
    if (!control::sums_products_in_loops(traced.function, 0)) return nothing();
    const Literals want = evaluated(traced, converted_to(wide_, args_));
    Function after = multiplied_after_loops(traced.function);
    verify(after);
    traced.function = std::move(after);
    return verdict(compare(evaluated(traced, converted_to(wide_, args_)), want, 1e-9));
  }

  bool differentiable(const Case& c) const {
    bool input = false, output = false;
    for (const Var& var : c.main.inputs) input = input || is_inexact(var.type.dtype);
    for (const Literal& x : result_types(c)) output = output || is_inexact(x.dtype());
    return input && output;
  }
  static Literals result_types(const Case& c) {
    Literals out;
    const auto add = [&](const Var& var) {
      for (int id : c.main.outputs)
        if (id == var.id) out.emplace_back(var.type.dtype, Shape{0});
    };
    for (const Var& var : c.main.inputs) add(var);
    for (const Node& node : c.main.nodes)
      for (const Var& var : node.results) add(var);
    return out;
  }

  // Returns random directions for the derivatives. Only those of inexact arguments are used.
  Literals directions(uint32_t stream) const {
    Case c = wide_;
    c.seed ^= 0x5bd1e995u;
    return make_arguments(c, stream);
  }
  double along(const Literals& gradients, const Literals& v, double* scale) const {
    double total = 0;
    size_t next = 0;
    const std::vector<bool> inexact = inexact_inputs(wide_);
    for (size_t k = 0; k < v.size(); ++k) {
      if (!inexact[k]) continue;
      const auto g = numbers(gradients[next++]), d = numbers(v[k]);
      for (size_t e = 0; e < g.size(); ++e) {
        total += (g[e] * d[e]).real();
        *scale += std::abs(g[e] * d[e]);
      }
    }
    return total;
  }
  // Returns the derivative of the loss along v, by differences of the oracle; nullopt near a kink.
  std::optional<double> difference_quotient(const Literals& v, uint32_t stream = 0) {
    Oracle oracle(wide_);
    const Literals args = converted_to(wide_, stream == 0 ? args_ : make_arguments(case_, stream));
    oracle.run(args);
    bool steady = true;
    const auto d = derivative(
        [&](double h) {
          Literals moved_args;
          for (size_t k = 0; k < args.size(); ++k) moved_args.push_back(moved(args[k], h, v[k]));
          return std::vector<double>{loss_of(oracle.run(moved_args, true))};
        },
        &steady);
    if (!steady || oracle.unsteady() || !std::isfinite(d[0])) return std::nullopt;
    return d[0];
  }

  // Returns the gradients of the loss by all inexact arguments.
  static Arrays gradients(const Case& c, const Arrays& args, bool with_checkpoint) {
    const std::vector<bool> inexact = inexact_inputs(c);
    const auto loss = [&](const Arrays& x, const Arrays& rest) {
      const auto f = [&](const Arrays& all) { return run(c, all); };
      const Arrays all = joined(x, rest, inexact);
      return loss_of(with_checkpoint ? checkpoint(f)(all) : f(all));
    };
    const Split parts = split(args);
    return grad(loss)(parts.inexact, parts.rest);
  }

  Outcome gradient(bool naive, bool sharded, bool with_checkpoint) {
    if (!differentiable(wide_)) return nothing();
    const Literals v = directions(1);
    const auto want = difference_quotient(v);
    const auto f = [&](const Arrays& x) { return gradients(wide_, x, with_checkpoint); };
    const Literals args = converted_to(wide_, args_);
    const Literals got = naive
                             ? naively(f, wide_, args_)
                             : hosted(jit(f)(sharded ? placed(args, wide_.placements, wide_.mesh())
                                                     : arrays_of(args)));
    if (!want) return nothing();
    double scale = 1;
    const double g = along(got, v, &scale);
    if (std::abs(g - *want) <= 1e-5 * scale) return {};
    return verdict(
        fmt::format("the derivative along a direction is {}, by differences {}", g, *want));
  }

  // Checks the compiled gradient in the dtypes of the program.
  Outcome gradient_in_its_dtypes() {
    const DType dtype = coarsest(case_);
    if (dtype == float64 || !differentiable(case_)) return nothing();
    const Literals v = directions(1);
    const auto want = difference_quotient(v);
    const auto f = [&](const Arrays& x) { return gradients(case_, x, false); };
    const Literals got = hosted(jit(f)(placed(args_, case_.placements, case_.mesh())));
    if (!want) return nothing();
    double scale = 1, ignored = 0;
    const double g = along(got, v, &scale), close = 3 * tolerance(dtype) * scale;
    if (std::abs(g - *want) <= close) return {};
    // After rounding another element may be the largest. So the naive evaluation decides, and in 16
    // bits only a result that is not finite counts as a difference.
    const double rounded = along(naively(f, case_, args_), v, &ignored);
    if (std::abs(g - rounded) <= close) return {};
    const bool coarse = itemsize(dtype) < 4 || std::abs(rounded - *want) > close;
    if (!std::isfinite(rounded) || (std::isfinite(g) && coarse)) return nothing();
    return verdict(
        fmt::format("the derivative along a direction is {}, evaluated {}, by differences {}", g,
                    rounded, *want));
  }

  bool has_forward_derivative() const { return !contains(case_.main, NodeKind::kCustomVjp); }

  Outcome forward() {
    if (!differentiable(wide_) || !has_forward_derivative()) return nothing();
    const Literals v = directions(1), args = converted_to(wide_, args_);
    Oracle oracle(wide_);
    oracle.run(args);
    bool steady = true;
    const auto want = derivative(
        [&](double h) {
          Literals moved_args;
          for (size_t k = 0; k < args.size(); ++k) moved_args.push_back(moved(args[k], h, v[k]));
          return std::vector<double>{loss_of(oracle.run(moved_args, true))};
        },
        &steady);
    const std::vector<bool> inexact = inexact_inputs(wide_);
    const auto f = [&](const Arrays& x) {
      const Arrays tangents = arrays_of(v);
      const Split parts = split(x), t = split(tangents);
      const auto loss = [&](const Arrays& a) {
        return loss_of(run(wide_, joined(a, parts.rest, inexact)));
      };
      return Arrays{jvp(loss, std::tuple(parts.inexact), std::tuple(t.inexact)).second};
    };
    const Literals got =
        case_.seed % 2 ? naively(f, wide_, args_) : hosted(jit(f)(arrays_of(args)));
    if (!steady || oracle.unsteady() || !std::isfinite(want[0])) return nothing();
    const double t = numbers(got[0])[0].real();
    if (std::abs(t - want[0]) <= 1e-5 * (1 + std::abs(t))) return {};
    return verdict(fmt::format("the tangent is {}, by differences {}", t, want[0]));
  }

  // Checks the gradient's derivative along v: forward over reverse, reverse over reverse, and by
  // differences of the gradient.
  Outcome second() {
    if (!differentiable(wide_)) return nothing();
    for (const Var& var : wide_.main.inputs)
      if (is_complex(var.type.dtype)) return nothing();
    constexpr double kStep = 1e-3;
    const Literals v = directions(1), w = directions(2), args = converted_to(wide_, args_);
    const std::vector<bool> inexact = inexact_inputs(wide_);
    const auto f = [&](const Arrays& x) {
      const Split parts = split(x);
      const Arrays vs = split(arrays_of(v)).inexact, ws = split(arrays_of(w)).inexact;
      const auto gradient_at = [&](const Arrays& a) {
        return gradients(wide_, joined(a, parts.rest, inexact), false);
      };
      const auto dot = [&](const Arrays& a, const Arrays& b) {
        Array total = sum(a[0] * b[0]);
        for (size_t k = 1; k < a.size(); ++k) total = total + sum(a[k] * b[k]);
        return total;
      };
      const auto along_v = [&](const Arrays& a) { return dot(gradient_at(a), vs); };
      Arrays out{dot(grad(along_v)(parts.inexact), ws),
                 jvp(along_v, std::tuple(parts.inexact), std::tuple(ws)).second};
      for (int steps = -2; steps <= 2; ++steps) {
        Arrays moved_args;
        for (size_t k = 0; k < ws.size(); ++k)
          moved_args.push_back(parts.inexact[k] + steps * kStep * ws[k]);
        out.push_back(along_v(moved_args));
      }
      return out;
    };
    if (!has_forward_derivative()) return nothing();
    const Literals got =
        case_.seed % 3 ? naively(f, wide_, args_) : hosted(jit(f)(arrays_of(args)));
    std::vector<double> x;
    for (const Literal& r : got) x.push_back(numbers(r)[0].real());
    const double scale = 1 + std::abs(x[0]) + std::abs(x[1]);
    if (!std::isfinite(scale)) return nothing();
    if (std::abs(x[0] - x[1]) > 1e-6 * scale)
      return verdict(
          fmt::format("reverse over reverse gives {}, forward over reverse {}", x[0], x[1]));
    // Differences of the gradient are not comparable if there is a stop_gradient or an inner
    // gradient.
    bool constants = false;
    for_each_node(wide_.main, [&](const Node& node) {
      constants = constants || (node.op && node.op->name == "stop_gradient") ||
                  node.kind == NodeKind::kGrad;
    });
    bool steady = true;
    const double difference = derivative({x[2], x[3], x[4], x[5], x[6]}, kStep, &steady);
    if (constants || !steady || std::abs(x[0] - difference) <= 1e-4 * scale) return {};
    return verdict(fmt::format("the second derivative is {}, by differences of the first {}", x[0],
                               difference));
  }

  Literals stacked_arguments(const Case& c) const {
    Literals out;
    for (size_t k = 0; k < args_.size(); ++k) {
      Shape shape = args_[k].shape();
      shape.insert(shape.begin(), kExamples);
      Literal all(c.main.inputs[k].type.dtype, shape);
      int64_t offset = 0;
      for (int64_t e = 0; e < kExamples; ++e) {
        const Literal one = converted_to(c, make_arguments(case_, static_cast<uint32_t>(e + 1)))[k];
        if (one.bytes() > 0)
          std::memcpy(all.mutable_raw() + offset, one.raw(), static_cast<size_t>(one.bytes()));
        offset += one.bytes();
      }
      out.push_back(std::move(all));
    }
    return out;
  }
  Literals over_examples(const std::function<Arrays(const Arrays&)>& one) {
    const auto f = [&](const Arrays& x) {
      return vmap(one, {.indivisible = Indivisible::kReplicate})(x);
    };
    const Literals args = stacked_arguments(wide_);
    if (case_.seed % 2) {
      std::vector<Type> types;
      for (const Literal& x : args) types.push_back({.dtype = x.dtype(), .shape = x.shape()});
      return evaluated(trace_function(f, types), args);
    }
    return hosted(jit(f)(arrays_of(args)));
  }
  static Literal example(const Literal& x, int64_t e) {
    Shape shape(x.shape().begin() + 1, x.shape().end());
    Literal out(x.dtype(), shape);
    if (out.bytes() > 0)
      std::memcpy(out.mutable_raw(), x.raw() + e * out.bytes(), static_cast<size_t>(out.bytes()));
    return out;
  }

  Outcome mapped() {
    const Literals got = over_examples([&](const Arrays& x) { return run(wide_, x); });
    for (int64_t e = 0; e < kExamples; ++e) {
      const auto want = expected(static_cast<uint32_t>(e + 1));
      if (!want) continue;
      Literals mine;
      for (const Literal& x : got) mine.push_back(example(x, e));
      if (auto difference = compare(mine, *want, 1e-6)) return verdict(difference);
    }
    return {};
  }

  Outcome mapped_gradient() {
    if (!differentiable(wide_)) return nothing();
    const Literals v = directions(1);
    const Literals got = over_examples([&](const Arrays& x) { return gradients(wide_, x, false); });
    for (int64_t e = 0; e < kExamples; ++e) {
      const auto want = difference_quotient(v, static_cast<uint32_t>(e + 1));
      if (!want) continue;
      Literals mine;
      for (const Literal& x : got) mine.push_back(example(x, e));
      double scale = 1;
      const double g = along(mine, v, &scale);
      if (std::abs(g - *want) > 1e-5 * scale)
        return verdict(fmt::format(
            "example {}: the derivative along a direction is {}, by differences {}", e, g, *want));
    }
    return {};
  }

  const std::string check_;
  const Case& case_;
  const Case wide_;
  const Literals args_;
};

}  // namespace

const std::vector<std::string>& all_checks() {
  static const auto& checks = *new std::vector<std::string>{
      "naive",      "jit",       "eager",        "sharded",    "devices", "text",
      "grad_naive", "grad",      "grad_sharded", "checkpoint", "jvp",     "hvp",
      "vmap",       "vmap_grad", "grad_dtypes",  "after_loops"};
  return checks;
}

std::vector<std::string> checks_of(const Case& c) {
  std::mt19937 engine(c.seed + 77);
  const auto chance = [&](uint32_t percent) { return engine() % 100 < percent; };
  std::vector<std::string> out{"naive"};
  const bool on_mesh = !c.axis_sizes.empty();
  out.push_back(on_mesh ? (chance(65) ? "sharded" : "jit") : (chance(60) ? "jit" : "devices"));
  const bool manual = contains(c.main, NodeKind::kShardMap);
  if (manual || chance(60))
    out.push_back(chance(55) ? "grad_naive" : on_mesh && chance(60) ? "grad_sharded" : "grad");
  static const char* others[] = {"eager", "text", "checkpoint", "jvp",
                                 "hvp",   "vmap", "vmap_grad",  "grad_dtypes"};
  // grad_dtypes is the only check that differentiates in 16 bits.
  out.push_back(itemsize(coarsest(c)) == 2 ? "grad_dtypes" : others[engine() % std::size(others)]);
  if (contains(c.main, NodeKind::kScan) || contains(c.main, NodeKind::kFori))
    out.push_back("after_loops");
  return out;
}

Outcome run_check(const std::string& check, const Case& c) { return Checker(check, c).run_it(); }

}  // namespace tessera::generate
