// Helpers for the tests of fusion: traced functions, random inputs, and the comparison of a
// schedule with the naive evaluator.
#pragma once

#include <gtest/gtest.h>

#include <random>

#include "interpret.h"
#include "tessera/base/narrow.h"
#include "tessera/fusion/fuse.h"
#include "tessera/fusion/rewrites/expected_branches.h"
#include "tessera/fusion/rewrites/loop_over_windows.h"
#include "tessera/fusion/rewrites/merge_sorts.h"
#include "tessera/fusion/rewrites/simplify.h"
#include "tessera/fusion/rewrites/unroll_windows.h"
#include "tessera/ops/core/array_math.h"
#include "tessera/ops/core/compare.h"
#include "tessera/ops/core/constant.h"
#include "tessera/ops/core/convert.h"
#include "tessera/ops/core/elementwise.h"
#include "tessera/ops/core/select.h"
#include "tessera/ops/linear/dot_general.h"
#include "tessera/ops/reductions/reduce.h"
#include "tessera/ops/structural/broadcast.h"
#include "tessera/ops/structural/reshape.h"
#include "tessera/ops/structural/slice.h"
#include "tessera/sharding/prune_control.h"
#include "tessera/trace/trace.h"
#include "tests/evaluate/evaluate.h"

namespace tessera::fusion_testing {

using namespace fusion;

using Arrays = std::vector<Array>;

inline Type array_type(DType dtype, const Shape& shape) {
  Type type;
  type.dtype = dtype;
  type.shape = shape;
  return type;
}
inline Type f32(const Shape& shape) { return array_type(float32, shape); }

// Returns the function that `body`, a callable Arrays -> Arrays, records on inputs of these types.
template <class F>
Function trace(const std::vector<Type>& types, F body) {
  FunctionTrace recorder("main");
  Arrays inputs;
  for (const Type& type : types) inputs.push_back(recorder.add_input(type));
  const Arrays outputs = body(inputs);
  return recorder.finish(outputs);
}

inline Literal random_literal(const Type& type, uint32_t seed, double low = -2, double high = 2) {
  if (is_narrow(type.dtype))
    return convert_literal(random_literal(type.with_dtype(float32), seed, low, high), type.dtype);
  std::mt19937 engine(seed);
  Literal out(type.dtype, type.shape);
  visit_dtype(type.dtype, [&]<class T>(TypeTag<T>) {
    std::uniform_real_distribution<double> real(low, high);
    for (int64_t i = 0; i < out.elements(); ++i) {
      T* data = out.mutable_data<T>();
      if constexpr (std::is_same_v<T, Float16> || std::is_same_v<T, Bfloat16>) {
        data[i] = T(static_cast<float>(real(engine)));
      } else if constexpr (std::is_same_v<T, bool>) {
        data[i] = real(engine) > 0;
      } else if constexpr (std::is_integral_v<T>) {
        data[i] = static_cast<T>(std::llround(real(engine) * 4));
      } else {
        data[i] = T(static_cast<float>(real(engine)));
      }
    }
  });
  return out;
}

// Expects equal values, or for inexact dtypes values within a few roundings of the dtype (sums are
// added up in another order).
inline void expect_close(const Literal& got, const Literal& want, const std::string& what) {
  ASSERT_EQ(got.dtype(), want.dtype()) << what;
  ASSERT_EQ(got.shape(), want.shape()) << what;
  if (is_narrow(want.dtype())) return expect_close(widened(got), widened(want), what);
  visit_dtype(want.dtype(), [&]<class T>(TypeTag<T>) {
    for (int64_t i = 0; i < want.elements(); ++i) {
      const T a = got.data<T>()[i], b = want.data<T>()[i];
      if constexpr (std::is_integral_v<T>) {
        ASSERT_EQ(a, b) << what << " at " << i;
      } else {
        const auto x = interpreter::widen(a), y = interpreter::widen(b);
        const double tolerance = is_half_type<T> ? 2e-2 : sizeof(T) == sizeof(float) ? 2e-5 : 1e-5;
        const bool equal =
            (x == y) || (x != x && y != y) || std::abs(x - y) <= tolerance * (1 + std::abs(y));
        ASSERT_TRUE(equal) << what << " at " << i << ": got " << std::abs(x) << ", want "
                           << std::abs(y);
      }
    }
  });
}

inline std::vector<Literal> random_inputs(const Function& f, uint32_t seed = 1) {
  std::vector<Literal> out;
  for (const Type& type : f.input_types()) out.push_back(random_literal(type, seed++));
  return out;
}

// Applies the passes before fuse() (compile/pipeline.cc).
inline Function simplified(const Function& f) {
  return loop_over_windows(
      simplify(unroll_windows(take_expected_branches(merge_sorts(prune_control(f))))));
}

// Fuses f for one device, runs the schedule, and compares the results with the evaluator. Returns
// the schedule.
inline Schedule check(const Function& f, std::vector<Literal> inputs = {}) {
  if (inputs.empty()) inputs = random_inputs(f);
  Schedule schedule = fuse(simplified(f), Mesh());
  std::vector<std::vector<Literal>> instances;
  for (const Literal& input : inputs) instances.push_back({input});
  const std::vector<Literal> want = evaluate(f, inputs);
  const auto got = ScheduleInterpreter(schedule).run(instances);
  EXPECT_EQ(got.size(), want.size());
  for (size_t k = 0; k < want.size(); ++k)
    expect_close(got[k][0], want[k], fmt::format("result {}\n{}", k, to_string(schedule)));
  return schedule;
}

// Returns a text with one line for each step, which tests compare.
inline std::string outline(const Schedule& schedule) {
  std::string out;
  auto it = std::back_inserter(out);
  for (const Step& step : schedule.steps) {
    if (const auto* kernel = std::get_if<KernelStep>(&step)) {
      const Kernel& k = kernel->kernel;
      fmt::format_to(it, "kernel {} {}", k.parallel,
                     k.vectorize == Kernel::Vectorize::kInner ? "rows" : "lanes");
      for (const KernelLoop& loop : k.loops) {
        fmt::format_to(it, "; loop {}", loop.extents);
        for (const KernelReduction& r : loop.reductions)
          fmt::format_to(it, " {}", enum_names(r.kind)[static_cast<size_t>(r.kind)]);
        for (const KernelStore& s : loop.stores)
          out += k.buffers[s.buffer].kind == BufferKind::kScratch ? " scratch" : " store";
      }
      out += '\n';
    } else if (const auto* dot = std::get_if<DotStep>(&step)) {
      out += "dot";
      if (dot->bias >= 0) out += " bias";
      if (dot->activation == DotStep::Activation::kRelu) out += " relu";
      if (dot->symmetric) out += " symmetric";
      if (!dot->reduce_axes.empty()) out += " reduced";
      out += '\n';
    } else if (const auto* view = std::get_if<ViewStep>(&step)) {
      fmt::format_to(it, "view {} as {}\n", schedule.slots[view->in].shape,
                     schedule.slots[view->out].shape);
    } else if (std::holds_alternative<CollectiveStep>(step)) {
      out += "collective\n";
    } else if (std::holds_alternative<InstanceTableStep>(step)) {
      out += "table\n";
    }
  }
  return out;
}

}  // namespace tessera::fusion_testing
