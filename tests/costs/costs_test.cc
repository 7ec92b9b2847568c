// Tests the costs of generated programs: no cost grows faster than the work of the program, no load
// is outside of its operand, and no order of floats is interpreted. TESSERA_COST_SEEDS=3000 tests
// that many seeds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "allocations.h"
#include "comparisons.h"
#include "compiling.h"
#include "counts.h"
#include "loops.h"
#include "ops.h"
#include "outside.h"
#include "seeds.h"
#include "tessera/ops/core/array_math.h"
#include "tessera/ops/structural/sort.h"
#include "tessera/runtime/executable.h"
#include "tessera/tessera.h"
#include "tessera/trace/trace.h"
#include "tests/generate/make.h"
#include "tests/generate/print.h"
#include "tests/sanitizers.h"

namespace tessera::costs::costs_test {

using namespace tracing;

namespace {

using testing::HasSubstr;
using Arrays = std::vector<Array>;

constexpr uint32_t kParts = 4;

uint32_t seeds() {
  const char* value = std::getenv("TESSERA_COST_SEEDS");
  return value ? static_cast<uint32_t>(std::stoul(value)) : has_sanitizer() ? 12 : 300;
}

class Costs : public testing::Test {
 protected:
  void SetUp() override {
    initialize({.devices = "cpu:8"});
    enable_x64(true);
  }
  void TearDown() override { enable_x64(false); }
};

std::string text_of(const std::vector<Finding>& all) {
  std::string out;
  for (const Finding& finding : all) out += to_string(finding) + "\n";
  return out;
}

class Seeds : public Costs, public testing::WithParamInterface<uint32_t> {};

TEST_P(Seeds, CostWhatTheyAskFor) {
  const uint32_t end = seeds();
  for (uint32_t seed = GetParam(); seed < end; seed += kParts) {
    const generate::Case c = generate::make_case(seed);
    for (const Family& family : families_of(c)) {
      const auto all = findings(family);
      if (!all || all->empty()) continue;
      ADD_FAILURE() << text_of(*all) << "scripts/costs seeds 1 --from " << seed
                    << " makes it smaller:\n"
                    << generate::function_source(c);
    }
  }
}

// Returns whether a loop is known to cost more (docs/testing.md): a branch copies the arrays that
// it passes on, and the gradient of a read of an array adds a whole array in each iteration.
bool is_known_to_copy(const std::vector<LoopOp>& ops, bool gradient) {
  return std::any_of(ops.begin(), ops.end(), [&](const LoopOp& op) {
    return gradient || op.kind == LoopOp::Kind::kBranch || is_known_to_copy(op.body, gradient);
  });
}

TEST_P(Seeds, LoopsCostWhatTheyAskFor) {
  const uint32_t end = seeds();
  for (uint32_t seed = GetParam(); seed < end; seed += kParts) {
    const LoopProgram program = make_loop(seed);
    for (Grows grows : {Grows::kTrips, Grows::kTripsAndLength}) {
      if (grows == Grows::kTripsAndLength && is_known_to_copy(program.body, program.gradient))
        continue;
      const auto all = findings(family_of(program, grows));
      ASSERT_TRUE(all) << to_string(program);
      EXPECT_TRUE(all->empty()) << text_of(*all) << "loop " << seed << ": " << to_string(program);
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Parts, Seeds, testing::Range(0u, kParts));

TEST_F(Costs, FunctionsCostWhatTheyAskFor) {
  const std::vector<Family> families = families_of_functions();
  EXPECT_GT(families.size(), 400u);
  EXPECT_THAT(functions_without_family(), testing::IsEmpty());
  for (const Family& family : families) {
    const auto all = findings(family);
    ASSERT_TRUE(all) << family.name;
    EXPECT_TRUE(all->empty()) << text_of(*all);
  }
}

TEST_F(Costs, OpsCostWhatTheyAskFor) {
  size_t programs = 0;
  for (const Family& family : families_of_samples()) {
    const auto all = findings(family);
    if (!all) continue;  // an op without a rule for examples
    ++programs;
    EXPECT_TRUE(all->empty()) << text_of(*all);
  }
  EXPECT_GT(programs, 1500u);
}

TEST_F(Costs, CompilingTakesWhatTheTextIs) {
  for (const Family& family : families_of_compiling())
    EXPECT_TRUE(findings(family).value().empty()) << text_of(*findings(family));
}

// --- Costs that the checks must find ---

Family family_of(const FlatFn& body, const std::function<std::vector<Type>(int64_t)>& types) {
  Family out;
  out.name = "by hand";
  out.program = [=](int64_t size) { return trace_function(body, types(size)).function; };
  return out;
}
Type floats(Shape shape) { return {.dtype = float32, .shape = std::move(shape)}; }

std::vector<std::string> metrics_of(const std::vector<Finding>& all) {
  std::vector<std::string> out;
  for (const Finding& finding : all) out.push_back(finding.metric);
  return out;
}

// An iteration that reads the array after its update has to copy it. The work of the program
// includes the copy. Compared with the work of the loop without that read, the cost is quadratic.
TEST_F(Costs, CopiesOfACarryAreFound) {
  const auto loop = [](const Arrays& x, int64_t trips, bool keeps) {
    return scan(
               [&](const Arrays& c, const Array& i) {
                 const Array updated =
                     lax::dynamic_update_slice(c[0], expand_dims(c[1], 0), std::vector<Array>{i});
                 return std::pair(Arrays{updated, c[1] + (keeps ? sum(c[0]) : c[1])}, Arrays{});
               },
               x, lax::iota(int32, {trips}, 0))
        .first;
  };
  const auto program = [&](bool keeps) {
    return [=](int64_t size) {
      return trace_function([&](const Arrays& x) { return loop(x, size, keeps); },
                            std::vector<Type>{floats({size}), floats({})})
          .function;
    };
  };
  Family family{.name = "by hand", .program = program(false), .asks = {}, .size = 1024};
  EXPECT_THAT(findings(family).value(), testing::IsEmpty());
  family.program = program(true);
  EXPECT_THAT(findings(family).value(), testing::IsEmpty());  // the work includes the copies
  family.asks = program(false);
  const std::vector<Finding> all = findings(family).value();
  EXPECT_THAT(metrics_of(all), testing::Contains("bytes"));
  EXPECT_THAT(text_of(all), HasSubstr("loop"));
}

TEST_F(Costs, ProgramsThatGrowThemselvesAreFound) {
  Family family;
  family.name = "by hand";
  family.text_grows = true;
  family.size = 8;
  // `size` sines, each of the sum of all values before it.
  family.program = [](int64_t size) {
    return trace_function(
               [&](const Arrays& x) {
                 Arrays all = x;
                 for (int64_t k = 0; k < size; ++k) {
                   Array total = all[0];
                   for (const Array& one : all) total = total + one;
                   all.push_back(sin(total));
                 }
                 return Arrays{all.back()};
               },
               std::vector<Type>{floats({4})})
        .function;
  };
  EXPECT_THAT(metrics_of(findings(family).value()), testing::Contains("ops after trace"));
}

// A program of one device sorts by any comparator in machine code. What the host call of a sort
// interprets is counted.
TEST_F(Costs, NoComparatorIsInterpreted) {
  const auto sorted = [](const FlatFn& before) {
    return [=](const Arrays& x) {
      const Type number = floats({});
      const FunctionRef comparator = std::make_shared<const Function>(
          trace_function(before, std::vector<Type>{number, number}).function);
      return lax::sort(x, 0, comparator);
    };
  };
  const auto types = [](int64_t size) { return std::vector<Type>{floats({size})}; };
  const FlatFn by_square = [](const Arrays& x) { return Arrays{x[0] * x[0] < x[1] * x[1]}; };
  EXPECT_THAT(findings(family_of(sorted(by_square), types)).value(), testing::IsEmpty());

  const Function one = trace_function(sorted(by_square), types(64)).function;
  Literal zeros(float32, {64});
  std::fill_n(zeros.mutable_raw(), zeros.bytes(), std::byte{0});
  const int64_t before = ops::interpreted_comparisons();
  one.ops.back().def->evaluate(std::vector<Literal>{zeros}, one.ops.back().params);
  EXPECT_GE(ops::interpreted_comparisons() - before, 63);

  const FlatFn as_jax = [](const Arrays& x) {
    const DType dtypes[] = {float32};
    return lax::sort(x, 0, ops::sort_comparator(1, false, false, dtypes));
  };
  EXPECT_THAT(findings(family_of(as_jax, types)).value(), testing::IsEmpty());
}

// Kernels that choose among operands by position load only inside of their operands.
TEST_F(Costs, KernelsThatChooseByPositionAreWatched) {
  const Function f = trace_function(
                         [](const Arrays& x) {
                           return Arrays{concatenate({x[0], x[1]}, 1) * 2, roll(x[0], 5, 1)};
                         },
                         std::vector<Type>{floats({4, 1000}), floats({4, 3000})})
                         .function;
  const Counts counts = counts_of([&] { return f; });
  EXPECT_EQ(farthest_outside(counts.schedule).bytes, 0);
}

// Carries of these loops vary over axes, which have to be found for each.
TEST_F(Costs, AxesOfCarriesAreNotSearchedAnewForEachLoopAround) {
  if (!counts_allocations()) GTEST_SKIP() << "allocations are not counted here";
  const Family family = families_of(generate::make_case(113))[1];
  ASSERT_EQ(family.name, "seed 113, depth of the gradient");
  const auto allocations = [&](int64_t depth) {
    for (const PassCount& pass : counts_of([&] { return family.program(depth); }).passes)
      if (pass.name == "fuse") return pass.allocations;
    return 0.0;
  };
  const double shallow = allocations(12);
  ASSERT_GT(shallow, 0);
  // At twice the depth there are twice as many levels, each twice as large. The rest is allowed for
  // costs that grow with both.
  EXPECT_LT(allocations(24), 5 * shallow);
}

// A program of one device has no mesh, and one of several has.
TEST_F(Costs, TheProgramIsMadeToo) {
  const auto f = [](const Arrays& x) { return Arrays{sin(x[0]) + x[1]}; };
  const auto types = std::vector<Type>{floats({8}), floats({8})};
  const Mesh mesh(make_mesh({8}, {"x"}));
  for (const FlatFn& body :
       {FlatFn(f), FlatFn([&](const Arrays& x) {
          return f({with_sharding_constraint(x[0], NamedSharding(mesh, P("x"))), x[1]});
        })}) {
    const int64_t made = runtime::Executable::num_made();
    const Counts counts = counts_of([&] { return trace_function(body, types).function; });
    EXPECT_EQ(counts.passes.back().name, "program");
    EXPECT_GT(runtime::Executable::num_made(), made);
  }
}

TEST_F(Costs, CountsAreTheSameEveryTime) {
  const Family family = families_of(generate::make_case(3)).back();
  const auto program = [&] { return family.program(family.size); };
  counts_of(program);  // fills caches that are kept from program to program
  const Counts once = counts_of(program), again = counts_of(program);
  EXPECT_EQ(once.run.bytes(), again.run.bytes());
  for (size_t p = 0; p < once.passes.size(); ++p) {
    EXPECT_EQ(once.passes[p].ops, again.passes[p].ops);
    EXPECT_EQ(once.passes[p].allocations, again.passes[p].allocations) << once.passes[p].name;
  }
}

}  // namespace
}  // namespace tessera::costs::costs_test
