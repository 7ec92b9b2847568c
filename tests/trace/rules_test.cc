// Tests the rules of reduce, dot_general and the collectives: jvp against finite differences,
// transpose against the inner-product identity, batch against a loop. Rules are traced, then
// evaluated naively.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "tessera/base/visit_dtype.h"
#include "tessera/ir/axis_env.h"
#include "tessera/ops/collectives/collectives.h"
#include "tessera/ops/core/batch_axis.h"
#include "tessera/ops/linear/dot_general.h"
#include "tessera/ops/reductions/reduce.h"
#include "tessera/trace/trace.h"
#include "tests/evaluate/evaluate.h"

namespace tessera::rules_test {

using namespace tracing;

namespace {

using Arrays = std::vector<Array>;
using Literals = std::vector<Literal>;

Literal random_literal(const Type& type, std::mt19937& rng) {
  std::uniform_real_distribution<double> uniform(-2, 2);
  Literal out(type.dtype, type.shape);
  for (int64_t i = 0; i < out.elements(); ++i) {
    const double value = uniform(rng);
    visit_dtype(type.dtype, [&]<class T>(TypeTag<T>) {
      if constexpr (std::is_arithmetic_v<T>) out.mutable_data<T>()[i] = static_cast<T>(value);
    });
  }
  return out;
}
std::vector<double> doubles(const Literal& x) {
  std::vector<double> out;
  visit_dtype(x.dtype(), [&]<class T>(TypeTag<T>) {
    if constexpr (std::is_arithmetic_v<T>)
      for (int64_t i = 0; i < x.elements(); ++i) out.push_back(static_cast<double>(x.data<T>()[i]));
  });
  return out;
}
double inner(const Literal& a, const Literal& b) {
  const std::vector<double> x = doubles(a), y = doubles(b);
  double sum = 0;
  for (size_t i = 0; i < x.size(); ++i) sum += x[i] * y[i];
  return sum;
}
// Returns a + h b.
Literal moved(const Literal& a, double h, const Literal& b) {
  Literal out = a;
  for (int64_t i = 0; i < out.elements(); ++i)
    out.mutable_data<double>()[i] += h * b.data<double>()[i];
  return out;
}

// Returns the samples of an op whose operands are all floats, in float64.
std::vector<Sample> float64_samples(const OpDef& def) {
  std::vector<Sample> out;
  for (Sample s : def.samples()) {
    bool usable = s.literals.empty();
    for (Type& t : s.operands) {
      usable = usable && (t.dtype == float32 || t.dtype == float64);
      t.dtype = float64;
    }
    if (usable && &def == &dot_general_op) {
      DotParams p = s.params.as<DotParams>();
      p.result = float64;
      s.params = p;
    }
    if (usable) out.push_back(std::move(s));
  }
  return out;
}
std::vector<Sample> reduce_and_dot_samples(std::vector<const OpDef*>& defs) {
  std::vector<Sample> out;
  for (const OpDef* def : {&reduce_op, &dot_general_op})
    for (Sample& s : float64_samples(*def)) {
      defs.push_back(def);
      out.push_back(std::move(s));
    }
  // Adds products of zero, one, an even and an odd number of elements, and of several dimensions.
  for (const Shape& shape :
       {Shape{0, 2}, Shape{1, 2}, Shape{2, 3}, Shape{3, 2}, Shape{5, 2}, Shape{7, 3}}) {
    defs.push_back(&reduce_op);
    out.push_back({.operands = {{float64, shape}, {float64, {}}},
                   .params = ReduceParams{{0}, ReduceKind::kProduct}});
  }
  defs.push_back(&reduce_op);
  out.push_back({.operands = {{float64, {3, 2, 2}}, {float64, {}}},
                 .params = ReduceParams{{0, 2}, ReduceKind::kProduct}});
  return out;
}
// Sets the initial value of a fold to its identity.
void set_inits(const OpDef& def, const Sample& s, Literals& x) {
  if (&def == &reduce_op) x[1] = reduce_identity(s.params.as<ReduceParams>().kind, float64);
}

TEST(Rules, JvpIsTheFiniteDifference) {
  std::mt19937 rng(1);
  std::vector<const OpDef*> defs;
  const std::vector<Sample> samples = reduce_and_dot_samples(defs);
  int tested = 0;
  for (size_t s = 0; s < samples.size(); ++s) {
    const OpDef& def = *defs[s];
    const Sample& sample = samples[s];
    SCOPED_TRACE(fmt::format("{} {}", def.name, describe(sample.operands[0])));
    Literals x, t;
    for (const Type& type : sample.operands)
      x.push_back(random_literal(type, rng)), t.push_back(random_literal(type, rng));
    set_inits(def, sample, x);
    const size_t moving = &def == &reduce_op ? 1 : 2;
    std::vector<Type> types = sample.operands;
    types.insert(types.end(), sample.operands.begin(), sample.operands.begin() + moving);
    const Function f = trace_function(
                           [&](const Arrays& a) {
                             const Arrays primals(a.begin(), a.begin() + 2);
                             Arrays tangents(a.begin() + 2, a.end());
                             tangents.resize(2);
                             return def.jvp(primals, tangents, sample.params).tangents;
                           },
                           types)
                           .function;
    Literals all = x;
    all.insert(all.end(), t.begin(), t.begin() + moving);
    const Literal got = evaluate(f, all)[0];
    Literals up = x, down = x;
    const double h = 1e-5;
    for (size_t k = 0; k < moving; ++k)
      up[k] = moved(x[k], h, t[k]), down[k] = moved(x[k], -h, t[k]);
    const std::vector<double> a = doubles(def.evaluate(up, sample.params)[0]),
                              b = doubles(def.evaluate(down, sample.params)[0]), g = doubles(got);
    ASSERT_EQ(a.size(), g.size());
    for (size_t i = 0; i < g.size(); ++i) {
      const double want = sample.operands[0].elements() == 0 ? 0 : (a[i] - b[i]) / (2 * h);
      EXPECT_NEAR(g[i], want, 1e-5 * (1 + std::abs(want)));
    }
    ++tested;
  }
  EXPECT_GT(tested, 20);
}

TEST(Rules, ProductTangentIsRightAtZero) {
  const Function f = trace_function(
                         [](const Arrays& a) {
                           return reduce_op
                               .jvp(Arrays{a[0], Array(Literal::scalar(1.0))},
                                    Arrays{a[1], Array()}, ReduceParams{{0}, ReduceKind::kProduct})
                               .tangents;
                         },
                         std::vector<Type>{{float64, {3}}, {float64, {3}}})
                         .function;
  const std::vector<double> x{2, 0, 5}, t{1, 3, 1};
  EXPECT_EQ(evaluate(f, Literals{Literal::from<double>(x, {3}), Literal::from<double>(t, {3})})[0],
            Literal::scalar(30.0));
}

// An initial value that is the extremum gets all of the tangent; one that ties gets its share.
TEST(Rules, InitialValuesHaveTangents) {
  auto tangent = [](ReduceKind kind, double init) {
    const Function f =
        trace_function(
            [&](const Arrays& a) {
              return reduce_op.jvp(Arrays{a[0], a[1]}, Arrays{a[2], a[3]}, ReduceParams{{0}, kind})
                  .tangents;
            },
            std::vector<Type>{{float64, {2}}, {float64, {}}, {float64, {2}}, {float64, {}}})
            .function;
    const std::vector<double> x{2, 3}, t{10, 100};
    return evaluate(f, Literals{Literal::from<double>(x, {2}), Literal::scalar(init),
                                Literal::from<double>(t, {2}), Literal::scalar(1.0)})[0]
        .data<double>()[0];
  };
  EXPECT_EQ(tangent(ReduceKind::kSum, 5), 111);
  EXPECT_EQ(tangent(ReduceKind::kProduct, 5), 10 * 3 * 5 + 2 * 100 * 5 + 2 * 3);
  EXPECT_EQ(tangent(ReduceKind::kMax, 5), 1);
  EXPECT_EQ(tangent(ReduceKind::kMax, 1), 100);
  EXPECT_EQ(tangent(ReduceKind::kMax, 3), 50.5);
  EXPECT_EQ(tangent(ReduceKind::kMin, 2), 5.5);
}

// Each device has half of the operand. Partial results add up to the whole, whatever the initial
// value.
class HalfContext final : public LocalContext {
 public:
  HalfContext(Type operand, Type result, Array offset)
      : operand_(std::move(operand)), result_(std::move(result)), offset_(std::move(offset)) {}
  const Type& local_result(int) const override { return result_; }
  const Type& global_operand(int) const override { return operand_; }
  const Type& global_result(int) const override { return result_; }
  Array result_offset(int, int) const override { return offset_; }
  Array operand_offset(int, int) const override { return offset_; }

 private:
  Type operand_, result_;
  Array offset_;
};

TEST(Rules, ShardsOfAFoldCountTheInitialValueOnce) {
  std::mt19937 rng(6);
  const Type whole{float64, {4, 3}}, half{float64, {2, 3}}, scalar{float64, {}},
      result{float64, {3}};
  for (ReduceKind kind : {ReduceKind::kSum, ReduceKind::kProduct, ReduceKind::kMax}) {
    const ReduceParams p{{0}, kind};
    const Function local =
        trace_function(
            [&](const Arrays& a) {
              return reduce_op.localize(Arrays{a[0], a[1]}, p, HalfContext(whole, result, a[2]));
            },
            std::vector<Type>{half, scalar, {int32, {}}})
            .function;
    const Literal x = random_literal(whole, rng), init = Literal::scalar(3.0);
    const Literal want = reduce_op.evaluate(Literals{x, init}, p)[0];
    Literals parts;
    for (int32_t device : {0, 1}) {
      Literal part(float64, {2, 3});
      std::memcpy(part.mutable_raw(), x.raw() + device * part.bytes(),
                  static_cast<size_t>(part.bytes()));
      parts.push_back(evaluate(local, Literals{part, init, Literal::scalar(2 * device)})[0]);
    }
    for (int i = 0; i < 3; ++i) {
      const double a = parts[0].data<double>()[i], b = parts[1].data<double>()[i];
      const double got = kind == ReduceKind::kSum       ? a + b
                         : kind == ReduceKind::kProduct ? a * b
                                                        : std::max(a, b);
      EXPECT_NEAR(got, want.data<double>()[i], 1e-12);
    }
  }
  // If the initial value is the identity, no mask is needed.
  const Function plain = trace_function(
                             [&](const Arrays& a) {
                               return reduce_op.localize(Arrays{a[0], Array(Literal::scalar(0.0))},
                                                         ReduceParams{{0}, ReduceKind::kSum},
                                                         HalfContext(whole, result, a[1]));
                             },
                             std::vector<Type>{half, {int32, {}}})
                             .function;
  EXPECT_EQ(plain.ops.size(), 2u);  // the constant and the fold
}

TEST(Rules, TransposeIsTheAdjoint) {
  std::mt19937 rng(2);
  std::vector<const OpDef*> defs;
  const std::vector<Sample> samples = reduce_and_dot_samples(defs);
  int tested = 0;
  for (size_t s = 0; s < samples.size(); ++s) {
    const OpDef& def = *defs[s];
    const Sample& sample = samples[s];
    if (&def == &reduce_op && sample.params.as<ReduceParams>().kind != ReduceKind::kSum) continue;
    SCOPED_TRACE(fmt::format("{} {}", def.name, describe(sample.operands[0])));
    Literals x;
    for (const Type& type : sample.operands) x.push_back(random_literal(type, rng));
    set_inits(def, sample, x);
    const Literal y = def.evaluate(x, sample.params)[0];
    const Literal ct = random_literal({float64, y.shape()}, rng);
    for (int linear = 0; linear < (&def == &reduce_op ? 1 : 2); ++linear) {
      const std::vector<Type> types{sample.operands[0], sample.operands[1], {float64, y.shape()}};
      const Function f =
          trace_function(
              [&](const Arrays& a) {
                return Arrays{def.transpose(Arrays{a[2]}, Arrays{a[0], a[1]},
                                            {linear == 0, linear == 1}, sample.params)[linear]};
              },
              types)
              .function;
      const Literal got = evaluate(f, Literals{x[0], x[1], ct})[0];
      ASSERT_EQ(got.shape(), x[linear].shape());
      EXPECT_NEAR(inner(ct, y), inner(got, x[linear]), 1e-9);
      ++tested;
    }
  }
  EXPECT_GT(tested, 20);
}

// Returns the i-th element of a literal along `dim`.
Literal element(const Literal& x, int dim, int64_t i) {
  Shape shape = x.shape();
  int64_t outer = 1, inner = itemsize(x.dtype());
  for (int64_t d = 0; d < shape.rank(); ++d) (d < dim ? outer : inner) *= d == dim ? 1 : shape[d];
  const int64_t n = shape[dim];
  shape.erase(shape.begin() + dim);
  Literal out(x.dtype(), shape);
  for (int64_t o = 0; o < outer; ++o)
    std::memcpy(out.mutable_raw() + o * inner, x.raw() + (o * n + i) * inner,
                static_cast<size_t>(inner));
  return out;
}

TEST(Rules, BatchIsTheLoop) {
  std::mt19937 rng(3);
  std::vector<const OpDef*> defs;
  const std::vector<Sample> samples = reduce_and_dot_samples(defs);
  int tested = 0;
  for (size_t s = 0; s < samples.size(); ++s) {
    const OpDef& def = *defs[s];
    const Sample& sample = samples[s];
    for (int mapped = 1; mapped < 4; ++mapped)
      for (bool last : {false, true}) {
        SCOPED_TRACE(fmt::format("{} {} mapped {} {}", def.name, describe(sample.operands[0]),
                                 mapped, last));
        std::vector<Type> types = sample.operands;
        std::vector<int> dims(2, -1);
        for (int k = 0; k < 2; ++k) {
          if (!(mapped >> k & 1)) continue;
          dims[k] = last ? static_cast<int>(types[k].rank()) : 0;
          types[k].shape.insert(types[k].shape.begin() + dims[k], 3);
        }
        Literals x;
        for (const Type& type : types) x.push_back(random_literal(type, rng));
        std::vector<int> out_dims;
        const Function f = trace_function(
                               [&](const Arrays& a) {
                                 const BatchAxis::Scope scope({.size = 3});
                                 BatchResult r = def.batch(a, dims, sample.params);
                                 out_dims = r.dims;
                                 return r.results;
                               },
                               types)
                               .function;
        const Literal got = evaluate(f, x)[0];
        for (int64_t i = 0; i < 3; ++i) {
          Literals one;
          for (int k = 0; k < 2; ++k) one.push_back(dims[k] < 0 ? x[k] : element(x[k], dims[k], i));
          const Literal want = def.evaluate(one, sample.params)[0],
                        mine = element(got, out_dims[0], i);
          ASSERT_EQ(mine.shape(), want.shape());
          const std::vector<double> a = doubles(mine), b = doubles(want);
          for (size_t j = 0; j < a.size(); ++j)
            EXPECT_NEAR(a[j], b[j], 1e-9 * (1 + std::abs(b[j])));
        }
        ++tested;
      }
  }
  EXPECT_GT(tested, 100);
}

// --- Collectives ---

const Mesh& mesh() {
  static const Mesh m = Mesh::abstract({2, 4}, {"x", "y"});
  return m;
}
struct Case {
  const char* name;
  const OpDef* def;
  OpParams params;
  Shape shape;
};
std::vector<Case> collective_cases() {
  const std::vector<Dims> pairs_of_y{{0, 2}, {3, 1}};
  return {
      {"psum", &all_reduce_op, AllReduceParams{mesh(), {"x"}}, {4}},
      {"psum both", &all_reduce_op, AllReduceParams{mesh(), {"y", "x"}}, {4}},
      {"psum groups", &all_reduce_op, AllReduceParams{mesh(), {"y"}, pairs_of_y}, {4}},
      {"all_gather", &all_gather_op, AllGatherParams{mesh(), {"y"}, {}, 1}, {2, 3}},
      {"all_gather both", &all_gather_op, AllGatherParams{mesh(), {"y", "x"}, {}, 0}, {2, 3}},
      {"all_gather groups", &all_gather_op, AllGatherParams{mesh(), {"y"}, pairs_of_y, 0}, {2, 3}},
      {"all_gather invariant", &all_gather_op, AllGatherParams{mesh(), {"y"}, {}, 1, true}, {2, 3}},
      {"all_gather both, invariant",
       &all_gather_op,
       AllGatherParams{mesh(), {"y", "x"}, {}, 0, true},
       {2}},
      {"psum_scatter",
       &reduce_scatter_op,
       ReduceScatterParams{mesh(), {"y"}, {}, ReduceKind::kSum, 1},
       {2, 8}},
      {"psum_scatter groups",
       &reduce_scatter_op,
       ReduceScatterParams{mesh(), {"y"}, pairs_of_y, ReduceKind::kSum, 0},
       {2, 3}},
      {"all_to_all", &all_to_all_op, AllToAllParams{mesh(), {"y"}, {}, 1, 0}, {2, 8}},
      {"all_to_all same", &all_to_all_op, AllToAllParams{mesh(), {"x"}, {}, 1, 1}, {2, 8}},
      {"all_to_all groups",
       &all_to_all_op,
       AllToAllParams{mesh(), {"y"}, pairs_of_y, 0, 1},
       {2, 3}},
      {"ppermute",
       &collective_permute_op,
       CollectivePermuteParams{mesh(), {"y"}, {{0, 1}, {1, 3}}},
       {3}},
      {"pbroadcast",
       &collective_broadcast_op,
       CollectiveBroadcastParams{mesh(), {"y"}, {}, 2},
       {3}},
      {"pbroadcast groups",
       &collective_broadcast_op,
       CollectiveBroadcastParams{mesh(), {"y"}, pairs_of_y, 1},
       {3}},
      {"pbroadcast unequal groups",
       &collective_broadcast_op,
       CollectiveBroadcastParams{mesh(), {"y"}, {{2, 1, 3}, {0}}, 0},
       {3}},
      {"pcast", &pcast_op, PcastParams{mesh(), {"x"}}, {3}},
  };
}
// Returns device values of a type, which are equal along the axes over which it does not vary.
DeviceLiterals random_on_devices(const Type& type, std::mt19937& rng) {
  DeviceLiterals out;
  for (int64_t d = 0; d < mesh().size(); ++d) out.push_back(random_literal(type, rng));
  for (int64_t d = 0; d < mesh().size(); ++d) {
    Dims at = mesh().coordinates(d);
    for (int64_t a = 0; a < 2; ++a)
      if (std::find(type.varying.begin(), type.varying.end(), mesh().axis_names()[a]) ==
          type.varying.end())
        at[a] = 0;
    out[d] = out[at[0] * 4 + at[1]];
  }
  return out;
}
// Returns the inner product, in which each distinct value counts once.
double inner_on_devices(const Type& type, const DeviceLiterals& a, const DeviceLiterals& b) {
  double sum = 0;
  for (int64_t d = 0; d < mesh().size(); ++d) {
    bool counts = true;
    for (int64_t axis = 0; axis < 2; ++axis)
      counts = counts && (mesh().coordinates(d)[axis] == 0 ||
                          std::find(type.varying.begin(), type.varying.end(),
                                    mesh().axis_names()[axis]) != type.varying.end());
    if (counts) sum += inner(a[d], b[d]);
  }
  return sum;
}

TEST(CollectiveRules, TransposeIsTheAdjoint) {
  std::mt19937 rng(4);
  const AxisEnv::Scope scope(mesh(), {"x", "y"}, true);
  for (const Case& c : collective_cases()) {
    SCOPED_TRACE(c.name);
    const Type in{.dtype = float64,
                  .shape = c.shape,
                  .varying = c.def == &pcast_op ? AxisNames{"y"} : AxisNames{"x", "y"}};
    const Function forward =
        trace_function([&](const Arrays& a) { return bind_op(*c.def, c.params, a); },
                       std::vector{in})
            .function;
    const Type out = forward.type(forward.outputs[0]);
    const Function backward =
        trace_function(
            [&](const Arrays& a) {
              return c.def->transpose(Arrays{a[0]}, Arrays{Array()}, {true}, c.params);
            },
            std::vector{out})
            .function;
    const Type back = backward.type(backward.outputs[0]);
    EXPECT_EQ(back.shape, in.shape);
    EXPECT_EQ(back.varying, in.varying);
    const DeviceLiterals x = random_on_devices(in, rng), ct = random_on_devices(out, rng);
    EXPECT_NEAR(inner_on_devices(out, ct, evaluate_spmd(forward, {x}, mesh())[0]),
                inner_on_devices(in, evaluate_spmd(backward, {ct}, mesh())[0], x), 1e-9);
  }
}

TEST(CollectiveRules, JvpIsTheOpItself) {
  const AxisEnv::Scope scope(mesh(), {"x", "y"}, true);
  for (const Case& c : collective_cases()) {
    SCOPED_TRACE(c.name);
    const Type in{.dtype = float64, .shape = c.shape, .varying = {"x", "y"}};
    const Function f =
        trace_function(
            [&](const Arrays& a) {
              const JvpResult r = c.def->jvp(Arrays{a[0]}, Arrays{a[1]}, c.params);
              EXPECT_FALSE(
                  c.def->jvp(Arrays{a[0]}, Arrays{Array()}, c.params).tangents[0].defined());
              return Arrays{r.primals[0], r.tangents[0]};
            },
            std::vector{in, in})
            .function;
    EXPECT_EQ(f.type(f.outputs[0]), f.type(f.outputs[1]));
  }
}

TEST(CollectiveRules, BatchIsTheLoop) {
  std::mt19937 rng(5);
  const AxisEnv::Scope scope(mesh(), {"x", "y"}, true);
  for (const Case& c : collective_cases())
    for (bool last : {false, true}) {
      SCOPED_TRACE(c.name);
      const Type one{.dtype = float64, .shape = c.shape, .varying = {"x", "y"}};
      Type in = one;
      const int dim = last ? static_cast<int>(c.shape.rank()) : 0;
      in.shape.insert(in.shape.begin() + dim, 3);
      std::vector<int> out_dims;
      const Function batched = trace_function(
                                   [&](const Arrays& a) {
                                     const BatchAxis::Scope scope({.size = 3});
                                     BatchResult r = c.def->batch(a, std::vector{dim}, c.params);
                                     out_dims = r.dims;
                                     return r.results;
                                   },
                                   std::vector{in})
                                   .function;
      const Function single =
          trace_function([&](const Arrays& a) { return bind_op(*c.def, c.params, a); },
                         std::vector{one})
              .function;
      const DeviceLiterals x = random_on_devices(in, rng),
                           got = evaluate_spmd(batched, {x}, mesh())[0];
      for (int64_t i = 0; i < 3; ++i) {
        DeviceLiterals slice;
        for (const Literal& l : x) slice.push_back(element(l, dim, i));
        const DeviceLiterals want = evaluate_spmd(single, {slice}, mesh())[0];
        for (int64_t d = 0; d < mesh().size(); ++d)
          EXPECT_EQ(element(got[d], out_dims[0], i), want[d]);
      }
    }
}

}  // namespace
}  // namespace tessera::rules_test
