#include "tessera/per_example/per_example.h"

#include <gmock/gmock.h>

#include "tessera/ops/core/array_math.h"
#include "tessera/ops/core/batch_axis.h"
#include "tessera/ops/linear/dot_general.h"
#include "tessera/ops/reductions/reduce.h"
#include "tessera/ops/structural/broadcast.h"
#include "tessera/ops/structural/reshape.h"
#include "tessera/per_example/example_tiles.h"
#include "tessera/per_example/per_example_norms.h"
#include "tessera/trace/trace.h"
#include "tessera/transform/derivative.h"
#include "tests/evaluate/evaluate.h"
#include "tests/trace/control_flow.h"

namespace tessera::per_example_test {

using namespace per_example;

namespace {

using namespace array_math;
namespace loops = testing_control;
using Arrays = std::vector<Array>;
using Literals = std::vector<Literal>;

constexpr int64_t kBatch = 4;

Literal numbers(const Shape& shape, double seed) {
  Literal out(float64, shape);
  for (int64_t i = 0; i < out.elements(); ++i)
    out.mutable_data<double>()[i] = std::sin(seed + 1.7 * static_cast<double>(i));
  return out;
}

// A loss of one example (params..., example...) and the numbers it is tested with.
struct Model {
  FlatFn loss;
  std::vector<Shape> params, example;

  Function function() const {
    std::vector<Type> types;
    for (const Shape& s : params) types.push_back({float64, s});
    for (const Shape& s : example) types.push_back({float64, s});
    return trace_function(loss, types).function;
  }
  std::vector<bool> wrt() const {
    std::vector<bool> out(params.size(), true);
    out.resize(params.size() + example.size(), false);
    return out;
  }
  std::vector<bool> differs() const {
    std::vector<bool> out = wrt();
    out.flip();
    return out;
  }
  ExampleProgram program() const { return example_program(function(), wrt(), differs()); }
  std::vector<int> dims() const {
    std::vector<int> out(params.size(), -1);
    out.resize(params.size() + example.size(), 0);
    return out;
  }
  std::vector<Type> batch_types() const {
    std::vector<Type> types;
    for (const Shape& s : params) types.push_back({float64, s});
    for (Shape s : example) {
      s.insert(s.begin(), kBatch);
      types.push_back({float64, s});
    }
    return types;
  }
  // Evaluates `body` on a batch.
  Literals run(const std::function<Arrays(const ExampleBatch&)>& body) const {
    const ExampleProgram p = program();
    const Function f = trace_function(
                           [&](const Arrays& x) {
                             const ops::BatchAxis::Scope scope({.size = kBatch});
                             return body(ExampleBatch(p, x, dims()));
                           },
                           batch_types())
                           .function;
    Literals inputs;
    for (const Type& t : batch_types())
      inputs.push_back(numbers(t.shape, static_cast<double>(inputs.size())));
    return evaluate(f, inputs);
  }
  // Returns the gradient of each example by a parameter, computed by the transforms alone.
  std::vector<Literal> gradients(size_t param) const {
    const Function f = function();
    const Function one =
        trace_function(
            [&](const Arrays& x) {
              const LinearizedFunction linear = linearize_function(f, x, wrt());
              std::vector<bool> mask(params.size(), true);
              Arrays operands(params.size());
              mask.resize(linear.linear.inputs.size(), false);
              operands.insert(operands.end(), linear.residuals.begin(), linear.residuals.end());
              const Arrays ct{lax::full({}, 1, float64)};
              return Arrays{transpose_function(linear.linear, mask, operands, ct)[param]};
            },
            f.input_types())
            .function;
    std::vector<Literal> out;
    for (int64_t b = 0; b < kBatch; ++b) {
      Literals inputs;
      for (const Type& t : batch_types()) {
        Literal all = numbers(t.shape, static_cast<double>(inputs.size()));
        if (inputs.size() >= params.size()) {
          Literal mine(float64, example[inputs.size() - params.size()]);
          for (int64_t i = 0; i < mine.elements(); ++i)
            mine.mutable_data<double>()[i] = all.data<double>()[b * mine.elements() + i];
          all = mine;
        }
        inputs.push_back(all);
      }
      out.push_back(evaluate(one, inputs)[0]);
    }
    return out;
  }
};

double square_of(const Literal& x) {
  double sum = 0;
  for (int64_t i = 0; i < x.elements(); ++i) sum += x.data<double>()[i] * x.data<double>()[i];
  return sum;
}

// Compares gradients, norms by every method, and weighted sums with gradients that are computed one
// by one.
void expect_gradients(const Model& model, const std::vector<NormWay>& cheapest) {
  const double weights[kBatch] = {.5, 1, 0, 2};
  for (size_t param = 0; param < model.params.size(); ++param) {
    SCOPED_TRACE(param);
    const std::vector<Literal> expected = model.gradients(param);
    std::vector<NormWay> methods;
    model.run([&](const ExampleBatch& batch) {
      for (const NormPlan& plan : norm_plans(batch, param)) methods.push_back(plan.method);
      return Arrays{batch.results()[0]};
    });
    EXPECT_EQ(methods[0], cheapest[param]);
    for (NormWay method : methods) {
      const Literal norms = model.run([&](const ExampleBatch& batch) {
        return Arrays{squared_norms(batch, param, method).norms};
      })[0];
      for (int64_t b = 0; b < kBatch; ++b)
        EXPECT_NEAR(norms.data<double>()[b], square_of(expected[static_cast<size_t>(b)]),
                    1e-9 * (1 + square_of(expected[static_cast<size_t>(b)])))
            << "way " << static_cast<int>(method) << " example " << b;
    }
    Literal w(float64, {kBatch});
    std::copy(weights, weights + kBatch, w.mutable_data<double>());
    const Literals sums = model.run([&](const ExampleBatch& batch) {
      const Array scales = lax::constant(w);
      return Arrays{batch.weighted_sums(scales, false)[param], batch.gradients(param),
                    tiled_sum(batch, param, scales, weighted),
                    batch.weighted_sums(scales, true)[param]};
    });
    for (int64_t i = 0; i < expected[0].elements(); ++i) {
      double sum = 0;
      for (int64_t b = 0; b < kBatch; ++b) {
        const double g = expected[static_cast<size_t>(b)].data<double>()[i];
        EXPECT_NEAR(sums[1].data<double>()[b * expected[0].elements() + i], g, 1e-12);
        sum += weights[b] * g;
      }
      EXPECT_NEAR(sums[0].data<double>()[i], sum, 1e-12);
      EXPECT_NEAR(sums[2].data<double>()[i], sum, 1e-12);
      EXPECT_NEAR(sums[3].data<double>()[i], sum, 1e-12);
    }
  }
}

Array total(const Array& x) { return lax::reduce_sum(x, iota_dims(x.ndim())); }

TEST(ExampleProgram, UsesAreWhatReadsAParameterAndGivesTheExamples) {
  const Model model{[](const Arrays& x) {
                      const Array bias = lax::broadcast_in_dim(x[1], {6, 3}, {1});
                      return Arrays{total(lax::tanh(lax::dot(x[2], x[0]) + bias))};
                    },
                    {{5, 3}, {3}},
                    {{6, 5}}};
  const ExampleProgram p = model.program();
  ASSERT_EQ(p.uses.size(), 2u);
  EXPECT_EQ(p.num_results, 1u);
  for (const ExampleUse& use : p.uses) {
    ASSERT_EQ(use.inputs.size(), 1u);
    EXPECT_EQ(use.num_cotangents, 1u);
    EXPECT_EQ(use.product.has_value(), use.inputs[0] == 0) << "a sum has no outer product";
  }
  // T = 6, p = 5, q = 3: 15 numbers are fewer than 6 * 8.
  expect_gradients(model, {NormWay::kKeep, NormWay::kKeep});
}

TEST(ExampleBatch, OneTermIsAProductOfLengths) {
  expect_gradients(
      {[](const Arrays& x) {
         return Arrays{total(lax::sin(lax::dot(lax::tanh(lax::dot(x[2], x[0])), x[1])))};
       },
       {{64, 65}, {65, 64}},
       {{1, 64}}},
      {NormWay::kVectors, NormWay::kVectors});
}

TEST(ExampleBatch, SequencesAreGramMatrices) {
  expect_gradients({[](const Arrays& x) {
                      return Arrays{total(lax::sin(lax::dot(lax::tanh(lax::dot(x[1], x[0])),
                                                            lax::transpose(x[0], {1, 0}))))};
                    },
                    {{96, 64}},
                    {{3, 96}}},
                   {NormWay::kGram});
}

TEST(ExampleBatch, UsesLeaveLoops) {
  const Model over_time{[](const Arrays& x) {
                          const Arrays out =
                              loops::scan(5, {x[0]}, {lax::full({1, 72}, 0.1, float64)}, {x[1]},
                                          [](const Arrays& b) {
                                            const Array row = lax::reshape(b[2], {1, 72});
                                            return Arrays{lax::tanh(lax::dot(b[1] + row, b[0]))};
                                          });
                          return Arrays{total(out[0])};
                        },
                        {{72, 72}},
                        {{5, 72}}};
  EXPECT_EQ(over_time.program().uses.size(), 1u) << "of all trips, not one a trip";
  expect_gradients(over_time, {NormWay::kGram});
  const Model over_layers{[](const Arrays& x) {
                            const Arrays out =
                                loops::scan(3, {}, {x[1]}, {x[0]}, [](const Arrays& b) {
                                  return Arrays{lax::tanh(lax::dot(b[0], b[1]))};
                                });
                            return Arrays{total(out[0])};
                          },
                          {{3, 48, 48}},
                          {{1, 48}}};
  expect_gradients(over_layers, {NormWay::kVectors});
}

TEST(ExampleBatch, OtherUsesAreMadeInTiles) {
  expect_gradients({[](const Arrays& x) {
                      return Arrays{total(lax::dot(x[1], lax::exp(x[0]))) + total(x[0] * x[0])};
                    },
                    {{70, 71}},
                    {{2, 70}}},
                   {NormWay::kTiles});
}

TEST(ExampleBatch, AParameterWithoutUsesHasNoGradient) {
  const Model model{[](const Arrays& x) { return Arrays{total(x[1] * x[1])}; }, {{3}}, {{2}}};
  const Literals out = model.run([](const ExampleBatch& batch) {
    return Arrays{batch.gradients(0),
                  batch.weighted_sums(lax::full({kBatch}, 1, float64), false)[0]};
  });
  EXPECT_EQ(square_of(out[0]), 0);
  EXPECT_EQ(square_of(out[1]), 0);
}

}  // namespace
}  // namespace tessera::per_example_test
