// Tests what every op in the registry promises the stages of the compiler, on the op's own samples.
#include <algorithm>
#include <map>

#include "tessera/ops/core/constant.h"
#include "tessera/ops/structural/slice.h"
#include "tessera/ops/structural/window_view.h"
#include "tests/ops/host_executor.h"
#include "tests/ops/scalar_interpreter.h"

namespace tessera::testing_ops::registry_test {

using namespace ops;

namespace {

std::string label(const OpDef& def, const Sample& sample) {
  std::string text(def.name);
  for (const Type& t : sample.operands) text += " " + describe(t);
  return text;
}

// Calls visit(def, sample, operands) for every sample of every op that is evaluated by itself.
void for_each_sample(auto visit) {
  int count = 0;
  for (const OpDef* def : all_ops()) {
    if (!def->samples || !def->evaluate) continue;
    std::mt19937 rng(7);
    for (const Sample& sample : def->samples()) {
      SCOPED_TRACE(label(*def, sample));
      visit(*def, sample, sample_operands(sample, rng));
      ++count;
    }
  }
  EXPECT_GT(count, 1000);
}

// Calls visit(def, sample) for every sample of every op.
void for_each_typed_sample(auto visit) {
  for (const OpDef* def : all_ops()) {
    if (!def->samples) continue;
    for (const Sample& sample : def->samples()) {
      SCOPED_TRACE(label(*def, sample));
      visit(*def, sample);
    }
  }
}

// The reasons why some ops have no samples.
const std::map<std::string_view, std::string_view>& without_samples() {
  static const auto& reasons = *new std::map<std::string_view, std::string_view>{
      {"custom_linear", "made by the derivative of custom_vjp_call, to be transposed"},
      {"custom_partitioning", "what it computes is what its partitioner says, on a mesh"},
      {"custom_partitioning_with_effect", "likewise"},
      {"checkpoint_linear", "made by the derivative of checkpoint, to be transposed"},
  };
  return reasons;
}

TEST(Registry, EveryOpHasWhatTheStagesNeed) {
  for (const OpDef* def : all_ops()) {
    SCOPED_TRACE(def->name);
    EXPECT_EQ(!def->samples || def->samples().empty(), without_samples().contains(def->name));
    EXPECT_TRUE(def->infer);
    EXPECT_EQ(find_op(def->dialect, def->name), def);
    EXPECT_FALSE(std::holds_alternative<std::monostate>(def->lower));
    if (std::holds_alternative<Pointwise>(def->lower) ||
        std::holds_alternative<IndexMap>(def->lower)) {
      EXPECT_TRUE(def->evaluate);
      EXPECT_TRUE(def->factors);
      EXPECT_TRUE(def->jvp || def->jvp.why_absent);
      EXPECT_TRUE(def->transpose || def->transpose.why_absent);
      EXPECT_TRUE(def->batch || def->batch.why_absent);
    }
  }
}

TEST(Registry, InferredTypesAreEvaluatedTypes) {
  for_each_sample([](const OpDef& def, const Sample& sample, const std::vector<Literal>& operands) {
    const std::vector<Type> types = def.infer(sample.operands, sample.params);
    const std::vector<Literal> values = def.evaluate(operands, sample.params);
    ASSERT_EQ(types.size(), values.size());
    for (size_t r = 0; r < types.size(); ++r) {
      EXPECT_EQ(types[r].dtype, values[r].dtype());
      EXPECT_EQ(types[r].shape, values[r].shape());
    }
  });
}

// Returns the first device with the same value of this type as device `d`: devices that differ only
// along axes over which the type does not vary have the same value.
int64_t first_alike(const Type& type, const Mesh& mesh, int64_t d) {
  const Dims at = mesh.coordinates(d);
  int64_t first = 0;
  for (int64_t a = 0; a < mesh.rank(); ++a) {
    const bool varies = axis_difference({mesh.axis_names()[a]}, type.varying).empty();
    first = first * mesh.axis_sizes()[a] + (varies ? at[a] : 0);
  }
  return first;
}

// Returns the values of an operand on the devices of a mesh.
std::vector<Literal> on_devices(const Sample& sample, size_t operand, const Mesh& mesh,
                                std::mt19937& rng) {
  const Type& type = sample.operands[operand];
  std::vector<Literal> out;
  for (int64_t d = 0; d < mesh.size(); ++d) {
    const int64_t first = first_alike(type, mesh, d);
    out.push_back(first < d                 ? out[first]
                  : sample.literals.empty() ? random_literal(type, rng)
                                            : sample.literals[operand]);
  }
  return out;
}

// The result of a collective on every device has the inferred type, and results are equal along
// axes over which this type does not vary.
TEST(Registry, CollectivesGiveTheTypesTheyInfer) {
  const Mesh mesh = Mesh::abstract({2, 4}, {"x", "y"});  // the mesh of all samples
  std::mt19937 rng(8);
  int tested = 0;
  for_each_typed_sample([&](const OpDef& def, const Sample& sample) {
    if (!def.evaluate_spmd) return;
    std::vector<std::vector<Literal>> operands;
    for (size_t k = 0; k < sample.operands.size(); ++k)
      operands.push_back(on_devices(sample, k, mesh, rng));
    const std::vector<Type> types = def.infer(sample.operands, sample.params);
    const std::vector<std::vector<Literal>> got = def.evaluate_spmd(operands, sample.params, mesh);
    ASSERT_EQ(got.size(), types.size());
    for (size_t r = 0; r < got.size(); ++r)
      for (int64_t d = 0; d < mesh.size(); ++d) {
        EXPECT_EQ(got[r][d].dtype(), types[r].dtype);
        EXPECT_EQ(got[r][d].shape(), types[r].shape);
        EXPECT_EQ(got[r][d], got[r][first_alike(types[r], mesh, d)]) << "device " << d;
      }
    ++tested;
  });
  EXPECT_GE(tested, 40);
}

TEST(Registry, ResultsVaryOverTheOperandsAxes) {
  for_each_sample([](const OpDef& def, const Sample& sample, const std::vector<Literal>&) {
    if (sample.operands.empty() || std::holds_alternative<CollectiveLowering>(def.lower) ||
        !is_computed(def.lower))
      return;
    std::vector<Type> operands = sample.operands;
    operands.back().varying = {"x"};
    for (const Type& t : def.infer(operands, sample.params)) {
      EXPECT_EQ(t.varying, AxisNames{"x"});
      EXPECT_EQ(t.sharding, nullptr);
    }
  });
}

TEST(Registry, ParamsSurviveTheirFields) {
  for_each_typed_sample([](const OpDef& def, const Sample& sample) {
    EXPECT_EQ(def.params.with_fields(sample.params.fields()), sample.params);
    EXPECT_EQ(def.params.with_fields(sample.params.fields()).hash(), sample.params.hash());
  });
}

TEST(Registry, EmittedExpressionsAgreeWithEvaluate) {
  for_each_sample([](const OpDef& def, const Sample& sample, const std::vector<Literal>& operands) {
    const auto* pointwise = std::get_if<Pointwise>(&def.lower);
    if (!pointwise) return;
    const Literal expected = def.evaluate(operands, sample.params)[0];
    const Type result = def.infer(sample.operands, sample.params)[0];
    if (&def == find_op("stablehlo", "constant") &&
        sample.params.as<ConstantParams>().value.shape().rank() > 0)
      return;
    ScalarInterpreter interpreter(result.shape);
    std::vector<Expr> args;
    for (const Literal& x : operands) args.push_back(interpreter.operand(x));
    const Literal value = interpreter.value(
        pointwise->emit(interpreter, args, sample.params, sample.operands, result));
    ASSERT_EQ(value.dtype(), expected.dtype());
    // A real operation is the same one in both; a complex function is a formula of many operations,
    // with cancellations.
    const bool formula = !operands.empty() && is_complex(operands[0].dtype());
    EXPECT_LE(largest_error(value, expected), formula ? 60 * epsilon(expected.dtype()) : 0);
  });
}

// --- Index maps, interpreted element by element ---

int64_t scalar_index(const Literal& x, int64_t max) {
  const int64_t value = convert_literal(x, int64).data<int64_t>()[0];
  const bool beyond = x.dtype() == uint64 && value < 0;
  return beyond ? max : std::clamp<int64_t>(value, 0, max);
}

Literal interpret(const IndexMapping& map, const std::vector<Literal>& operands,
                  const Type& result) {
  if (map.reshape) return operands[0].reshaped(result.shape);
  Literal out(result.dtype, result.shape);
  const auto item = static_cast<size_t>(itemsize(result.dtype));
  const Dims strides = row_major_strides(result.shape);
  for (int64_t i = 0; i < out.elements(); ++i) {
    Dims at;
    for (size_t d = 0; d < strides.size(); ++d) at.push_back(i / strides[d] % result.shape[d]);
    const std::byte* from = nullptr;
    for (const IndexPiece& piece : map.pieces) {
      bool applies = true;
      for (size_t d = 0; d < at.size(); ++d) {
        const bool shifted = !piece.start_dynamic.empty() && piece.start_dynamic[d] >= 0;
        const int64_t shift =
            shifted ? scalar_index(operands[piece.start_dynamic[d]], piece.start_dynamic_max[d])
                    : 0;
        applies = applies && (piece.start.empty() || at[d] >= piece.start[d] + shift);
        applies = applies && (piece.stop.empty() || at[d] < piece.stop[d] + shift);
      }
      const Literal& operand = operands[piece.operand];
      const Dims sources = row_major_strides(operand.shape());
      int64_t source = 0;
      for (size_t k = 0; k < piece.terms.size(); ++k) {
        const IndexTerm& term = piece.terms[k];
        int64_t index = term.offset;
        if (term.dynamic >= 0)
          index += term.dynamic_stride * scalar_index(operands[term.dynamic], term.dynamic_max);
        if (term.result_dim >= 0) {
          int64_t r = at[term.result_dim];
          if (term.divisor != 1) {
            if (!piece.start.empty()) r -= piece.start[term.result_dim];
            applies = applies && r % term.divisor == 0;
          }
          index += term.stride * (r / term.divisor);
        }
        if (applies)
          TESSERA_CHECK(index >= 0 && index < operand.shape()[k], "index {} of {}", index,
                        operand.shape());
        source += index * sources[k];
      }
      if (!applies) continue;
      from = operand.raw() + source * item;
      break;
    }
    if (!from) {
      TESSERA_CHECK(map.fill >= 0, "no piece applies at element {}", i);
      from = operands[map.fill].raw();
    }
    std::memcpy(out.mutable_raw() + i * item, from, item);
  }
  return out;
}

TEST(Registry, IndexMapsAgreeWithEvaluate) {
  for_each_sample([](const OpDef& def, const Sample& sample, const std::vector<Literal>& operands) {
    const auto* lower = std::get_if<IndexMap>(&def.lower);
    // The map of a view of windows has only the first element of each; fusion adds the others, as
    // tests/fusion/fold_windows_test.cc shows.
    if (!lower || as_window_view(Op{.def = &def, .params = sample.params})) return;
    const std::vector<Type> results = def.infer(sample.operands, sample.params);
    EXPECT_EQ(interpret(lower->map(sample.params, sample.operands, results), operands, results[0]),
              def.evaluate(operands, sample.params)[0]);
  });
}

// --- Factors ---

TEST(Registry, FactorsMultiplyToExtents) {
  for_each_typed_sample([](const OpDef& def, const Sample& sample) {
    if (!def.factors) return;
    const std::vector<Type> results = def.infer(sample.operands, sample.params);
    const Factors f = def.factors(sample.operands, results, sample.params);
    ASSERT_EQ(f.operands.size(), sample.operands.size());
    ASSERT_EQ(f.results.size(), results.size());
    std::vector<bool> in_operand(f.factors.size()), in_result(f.factors.size());
    auto check = [&](const TensorFactors& dims, const Type& type, std::vector<bool>& seen) {
      if (dims.empty()) return;  // carries no factors
      ASSERT_EQ(static_cast<int64_t>(dims.size()), type.rank());
      std::vector<bool> own(f.factors.size());
      for (size_t d = 0; d < dims.size(); ++d) {
        int64_t product = 1;
        bool window = false;  // both sides share a factor though their extents differ
        for (int id : dims[d]) {
          ASSERT_GE(id, 0);
          ASSERT_LT(id, static_cast<int>(f.factors.size()));
          EXPECT_FALSE(own[id]) << "a factor twice in one tensor";
          own[id] = seen[id] = true;
          product *= f.factors[id].size;
          window = window || f.factors[id].kind == FactorKind::kPermutation ||
                   f.factors[id].kind == FactorKind::kNeedReplication;
        }
        if (dims[d].empty() || (window && dims[d].size() == 1)) {
          EXPECT_LE(dims[d].empty() ? 1 : type.shape[d], product);
        } else {
          EXPECT_EQ(product, type.shape[d]) << to_string(f);
        }
      }
    };
    for (size_t k = 0; k < f.operands.size(); ++k)
      check(f.operands[k], sample.operands[k], in_operand);
    for (size_t r = 0; r < f.results.size(); ++r) check(f.results[r], results[r], in_result);
    for (size_t id = 0; id < f.factors.size(); ++id) {
      EXPECT_TRUE(in_operand[id] || in_result[id]) << to_string(f);
      EXPECT_FALSE(f.factors[id].kind == FactorKind::kReduction && in_result[id]) << to_string(f);
    }
  });
}

// Returns the half `part` (0 or 1) of a tensor along a factor that is the first of its dimension.
Literal half(const Literal& x, const TensorFactors& dims, int factor, int part) {
  for (size_t d = 0; d < dims.size(); ++d) {
    if (dims[d].empty() || dims[d][0] != factor) continue;
    Dims start(x.shape().size(), 0), limit = x.shape();
    const int64_t middle = x.shape()[d] / 2;
    (part == 0 ? limit[d] : start[d]) = middle;
    return lax::slice(Array(x), start, limit).to_host();
  }
  return x;
}

// A device needs to know only its own shard: f(half of the operands) is half of f(operands).
class FactorTest : public HostTest {};

struct HalfContext final : LocalContext {
  const std::vector<Type>&operands, &results;
  std::vector<Type> local_results;
  std::vector<Dims> operand_offsets, result_offsets;
  HalfContext(const std::vector<Type>& operands, const std::vector<Type>& results)
      : operands(operands), results(results) {}
  const Type& local_result(int r) const override { return local_results[r]; }
  const Type& global_operand(int k) const override { return operands[k]; }
  const Type& global_result(int r) const override { return results[r]; }
  Array result_offset(int r, int dim) const override {
    return Array(Literal::scalar(static_cast<int32_t>(result_offsets[r][dim])));
  }
  Array operand_offset(int k, int dim) const override {
    return Array(Literal::scalar(static_cast<int32_t>(operand_offsets[k][dim])));
  }
};

Dims offsets(const Shape& shape, const TensorFactors& dims, int factor, int part) {
  Dims out(shape.size(), 0);
  for (size_t d = 0; d < dims.size(); ++d)
    if (!dims[d].empty() && dims[d][0] == factor) out[d] = part * (shape[d] / 2);
  return out;
}

TEST_F(FactorTest, ShardsAlongPassFactorsAreIndependent) {
  int tested = 0;
  for_each_sample([&](const OpDef& def, const Sample& sample,
                      const std::vector<Literal>& operands) {
    if (!def.factors) return;
    const std::vector<Type> results = def.infer(sample.operands, sample.params);
    const Factors f = def.factors(sample.operands, results, sample.params);
    const std::vector<Literal> whole = def.evaluate(operands, sample.params);
    for (int factor = 0; factor < static_cast<int>(f.factors.size()); ++factor) {
      if (f.factors[factor].kind != FactorKind::kPass || f.factors[factor].size < 2 ||
          f.factors[factor].size % 2)
        continue;
      // A factor that is not the first of a dimension can be cut only after those before it.
      bool first = true;
      auto look = [&](const std::vector<TensorFactors>& tensors) {
        for (const TensorFactors& dims : tensors)
          for (const DimFactors& dim : dims)
            for (size_t i = 1; i < dim.size(); ++i) first = first && dim[i] != factor;
      };
      look(f.operands);
      look(f.results);
      if (!first) continue;
      for (int part : {0, 1}) {
        HalfContext context(sample.operands, results);
        std::vector<Array> local;
        for (size_t k = 0; k < operands.size(); ++k) {
          local.push_back(Array(half(operands[k], f.operands[k], factor, part)));
          context.operand_offsets.push_back(
              offsets(operands[k].shape(), f.operands[k], factor, part));
        }
        std::vector<Literal> expected;
        for (size_t r = 0; r < whole.size(); ++r) {
          expected.push_back(half(whole[r], f.results[r], factor, part));
          context.result_offsets.push_back(offsets(whole[r].shape(), f.results[r], factor, part));
          context.local_results.push_back(results[r].with_shape(expected.back().shape()));
        }
        const std::vector<Array> got = def.localize ? def.localize(local, sample.params, context)
                                                    : bind_op(def, sample.params, local);
        ASSERT_EQ(got.size(), expected.size());
        for (size_t r = 0; r < got.size(); ++r)
          EXPECT_LE(largest_error(got[r].to_host(), expected[r]), 4 * epsilon(expected[r].dtype()))
              << "factor " << factor << " of " << to_string(f);
        ++tested;
      }
    }
  });
  EXPECT_GT(tested, 300);
}

// The last shard of an uneven dimension reaches beyond the end; its elements are at their
// positions, and zeros follow.
TEST_F(FactorTest, UnevenShardsOfALiteral) {
  const OpParams params = ConstantParams{literal<float>({5}, {1, 2, 3, 4, 5}), {5}};
  const std::vector<Type> results = constant_op.infer({}, params), none;
  for (int64_t shard : {0, 1, 2}) {
    HalfContext context(none, results);
    context.local_results.push_back(results[0].with_shape({2}));
    context.result_offsets.push_back({2 * shard});
    const Literal got = constant_op.localize({}, params, context)[0].to_host();
    const float first = static_cast<float>(2 * shard + 1);
    EXPECT_EQ(got, literal<float>({2}, {first, shard == 2 ? 0 : first + 1}));
  }
}

}  // namespace
}  // namespace tessera::testing_ops::registry_test
