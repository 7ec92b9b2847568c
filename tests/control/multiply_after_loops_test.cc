#include "tessera/control/multiply_after_loops.h"

#include <gmock/gmock.h>

#include <cmath>
#include <random>

#include "tessera/control/make_control_flow.h"
#include "tessera/ops/core/array_math.h"
#include "tessera/ops/core/constant.h"
#include "tessera/ops/linear/dot_general.h"
#include "tessera/ops/structural/broadcast.h"
#include "tessera/ops/structural/reshape.h"
#include "tests/evaluate/evaluate.h"
#include "tests/pass_text.h"
#include "tests/trace/control_flow.h"

namespace tessera::multiply_after_loops_test {

using namespace control;
using namespace testing_control;

namespace {

using namespace array_math;

int64_t count(const Function& f, const OpDef& def) {
  return std::count_if(f.ops.begin(), f.ops.end(), [&](const Op& op) { return op.def == &def; });
}
const ScanParams& scan_of(const Function& f) {
  const auto scan =
      std::find_if(f.ops.begin(), f.ops.end(), [](const Op& op) { return op.def == &scan_op; });
  TESSERA_CHECK(scan != f.ops.end(), "a scan");
  return scan->params.as<ScanParams>();
}

Literal whole_numbers(const Type& type, std::mt19937& engine) {
  Literal numbers(float32, type.shape);
  for (int64_t i = 0; i < numbers.elements(); ++i)
    numbers.mutable_data<float>()[i] = static_cast<float>(static_cast<int>(engine() % 7)) - 3;
  return convert_literal(numbers, type.dtype);
}

// The function after the pass, which rewrites carries of any size. It computes the same, exactly,
// from small whole numbers.
Function multiplied(const FlatFn& body, const std::vector<Type>& types, int64_t least_bytes = 0) {
  const Function before = trace_function(body, types).function;
  const Function after = multiply_after_loops(before, least_bytes);
  verify(after);
  EXPECT_EQ(before.output_types(), after.output_types());
  std::mt19937 engine(1);
  std::vector<Literal> inputs;
  for (const Type& type : types) inputs.push_back(whole_numbers(type, engine));
  const std::vector<Literal> want = evaluate(before, inputs), got = evaluate(after, inputs);
  EXPECT_EQ(want.size(), got.size());
  for (size_t k = 0; k < want.size(); ++k)
    EXPECT_EQ(want[k], got[k]) << interchange::to_mlir(after);
  return after;
}
Type floats(Shape shape, DType dtype = float32) { return {.dtype = dtype, .shape = shape}; }

const lax::DotDims kOverRows{{0}, {0}};

// carry [3, 4]; x [2, 3] and y [2, 4] are rows.
Arrays sums(const Arrays& x, const FlatFn& step, bool reverse = false) {
  return testing_control::scan(x[1].shape()[0], {}, {x[0]}, {x[1], x[2]}, step, reverse);
}
const std::vector<Type> kTypes{floats({3, 4}), floats({5, 2, 3}), floats({5, 2, 4})};

TEST(MultiplyAfterLoops, OfScannedOperands) {
  const Function f = multiplied(
      [](const Arrays& x) {
        return sums(x, [](const Arrays& v) {
          return Arrays{v[0] + lax::dot_general(v[1], v[2], kOverRows)};
        });
      },
      kTypes);
  EXPECT_EQ(test::text_of(f), R"(
func.func public @main(%arg0: tensor<3x4xf32>, %arg1: tensor<5x2x3xf32>, %arg2: tensor<5x2x4xf32>) -> (tensor<3x4xf32>) {
  %0 = stablehlo.dot_general %arg1, %arg2, contracting_dims = [0, 1] x [0, 1] : (tensor<5x2x3xf32>, tensor<5x2x4xf32>) -> tensor<3x4xf32>
  %1 = stablehlo.add %arg0, %0 : tensor<3x4xf32>
  return %1 : tensor<3x4xf32>
}
)");
}

TEST(MultiplyAfterLoops, NothingIsAddedToZeros) {
  const Function f = multiplied(
      [](const Arrays& x) {
        return sums({zero_of(x[0].type()), x[1], x[2]}, [](const Arrays& v) {
          return Arrays{v[0] + lax::dot_general(v[1], v[2], kOverRows)};
        });
      },
      kTypes);
  EXPECT_EQ(count(f, add_op), 0) << interchange::to_mlir(f);
}

// A recurrent state is an operand: the loop stacks it. One that it stacks already is used.
TEST(MultiplyAfterLoops, OperandsAreStacked) {
  for (bool stacks : {false, true})
    for (bool reverse : {false, true}) {
      const Function f = multiplied(
          [&](const Arrays& x) {
            return testing_control::scan(
                5, {}, {x[0], x[3]}, {x[1]},
                [&](const Arrays& v) {
                  const Array next = lax::sub(lax::full_like(v[1], 1), v[1]);
                  Arrays out{v[0] + lax::dot_general(v[2], v[1], kOverRows), next};
                  if (stacks) out.push_back(lax::reshape(v[1], {2, 4, 1}));
                  return out;
                },
                reverse);
          },
          {kTypes[0], kTypes[1], kTypes[2], floats({2, 4})});
      const ScanParams& p = scan_of(f);
      EXPECT_EQ(p.num_carry, 1);
      EXPECT_EQ(p.reverse, reverse);
      EXPECT_EQ(p.body->inputs.size(), 1u);  // nothing in the loop reads the rows
      EXPECT_EQ(p.body->outputs.size(), 2u);
      EXPECT_EQ(count(f, reshape_op), stacks ? 1 : 0);
    }
}

// One value that two products read is stacked once.
TEST(MultiplyAfterLoops, OperandsAreStackedOnce) {
  const Function f = multiplied(
      [&](const Arrays& x) {
        return testing_control::scan(5, {}, {x[0], x[0], x[3]}, {x[1], x[2]}, [&](const Arrays& v) {
          const Array state = v[2] + v[4];
          return Arrays{v[0] + lax::dot_general(v[3], state, kOverRows),
                        v[1] + lax::dot_general(v[3], state, kOverRows), v[4]};
        });
      },
      {kTypes[0], kTypes[1], kTypes[2], floats({2, 4})});
  EXPECT_EQ(scan_of(f).body->outputs.size(), 2u) << interchange::to_mlir(f);
}

struct Linear {
  const char* name;
  DType dtype;
  FlatFn step;  // (carry [3, 4], factor, x [2, 3], y [2, 4])
};
// What may be between the product and the sum.
TEST(MultiplyAfterLoops, LinearOpsComeAfterTheProduct) {
  const auto product = [](const Arrays& v, std::optional<DType> dtype = std::nullopt) {
    return lax::dot_general(v[2], v[3], kOverRows, dtype);
  };
  const auto spread = [](const Array& factor) { return lax::broadcast_in_dim(factor, {3, 4}, {}); };
  const std::vector<Linear> all{
      {"the product first", float32, [&](const Arrays& v) { return Arrays{product(v) + v[0]}; }},
      {"a difference", float32, [&](const Arrays& v) { return Arrays{v[0] - product(v)}; }},
      {"a negation", float32, [&](const Arrays& v) { return Arrays{v[0] + -product(v)}; }},
      {"two products", float32,
       [&](const Arrays& v) {
         return Arrays{v[0] + product(v) -
                       (lax::dot_general(v[2] + v[2], v[3], kOverRows) - product(v))};
       }},
      {"a transpose", float32,
       [&](const Arrays& v) {
         return Arrays{v[0] + lax::transpose(lax::dot_general(v[3], v[2], kOverRows), {1, 0})};
       }},
      {"a reshape", float32,
       [&](const Arrays& v) {
         return Arrays{
             v[0] + lax::reshape(lax::dot_general(lax::reshape(v[2], {2, 3, 1}), v[3], kOverRows),
                                 {3, 4})};
       }},
      {"an operand with other dimensions", float32,
       [&](const Arrays& v) {
         return Arrays{v[0] + lax::dot_general(lax::transpose(v[2], {1, 0}), v[3], {{1}, {0}})};
       }},
      {"a constant factor", float32,
       [&](const Arrays& v) { return Arrays{v[0] + lax::full_like(v[0], 2) * product(v)}; }},
      {"a quotient", float32,
       [&](const Arrays& v) { return Arrays{v[0] + product(v) / lax::full_like(v[0], 0.25)}; }},
      {"a conversion", bfloat16,
       [&](const Arrays& v) {
         return Arrays{v[0] + lax::convert_element_type(product(v, float32), bfloat16)};
       }},
      {"half precision", float16, [&](const Arrays& v) { return Arrays{v[0] + product(v)}; }},
      {"a factor in half precision", float16,
       [&](const Arrays& v) { return Arrays{v[0] + product(v) * lax::full_like(v[0], -4)}; }},
      {"integers", int32,
       [&](const Arrays& v) { return Arrays{v[0] - product(v) * spread(v[1])}; }},
      {"bytes, which wrap", uint8, [&](const Arrays& v) { return Arrays{v[0] + product(v)}; }},
      {"complex numbers", complex64, [&](const Arrays& v) { return Arrays{v[0] + product(v)}; }},
      {"double precision", float64, [&](const Arrays& v) { return Arrays{v[0] + product(v)}; }}};
  for (const Linear& linear : all) {
    SCOPED_TRACE(linear.name);
    const Function f = multiplied(
        [&](const Arrays& x) {
          return testing_control::scan(5, {x[3]}, {x[0]}, {x[1], x[2]}, [&](const Arrays& v) {
            return linear.step({v[1], v[0], v[2], v[3]});
          });
        },
        {floats({3, 4}, linear.dtype), floats({5, 2, 3}, linear.dtype),
         floats({5, 2, 4}, linear.dtype), floats({}, linear.dtype)});
    EXPECT_GE(count(f, dot_general_op), 1) << interchange::to_mlir(f);
    EXPECT_LE(count(f, scan_op), 1);
    if (count(f, scan_op) == 1) {
      EXPECT_EQ(scan_of(f).num_carry, 0);
    }
  }
}

TEST(MultiplyAfterLoops, ABatchStaysABatch) {
  const Function f = multiplied(
      [&](const Arrays& x) {
        return sums(x, [](const Arrays& v) {
          return Arrays{v[0] + lax::dot_general(v[1], v[2], {{2}, {1}, {0}, {0}})};
        });
      },
      {floats({2, 3, 4}), floats({5, 2, 3, 6}), floats({5, 2, 6, 4})});
  EXPECT_EQ(count(f, scan_op), 0);
}

TEST(MultiplyAfterLoops, TheInnerLoopFirst) {
  const Function f = multiplied(
      [&](const Arrays& x) {
        return sums(x, [](const Arrays& v) {
          return testing_control::scan(2, {}, {v[0]}, {v[1], v[2]}, [](const Arrays& w) {
            return Arrays{w[0] + lax::dot_general(w[1], w[2], {{}, {}})};
          });
        });
      },
      kTypes);
  EXPECT_EQ(test::text_of(f), R"(
func.func public @main(%arg0: tensor<3x4xf32>, %arg1: tensor<5x2x3xf32>, %arg2: tensor<5x2x4xf32>) -> (tensor<3x4xf32>) {
  %0 = stablehlo.dot_general %arg1, %arg2, contracting_dims = [0, 1] x [0, 1] : (tensor<5x2x3xf32>, tensor<5x2x4xf32>) -> tensor<3x4xf32>
  %1 = stablehlo.add %arg0, %0 : tensor<3x4xf32>
  return %1 : tensor<3x4xf32>
}
)");
}

TEST(MultiplyAfterLoops, SumsThatAreReadOtherwiseStay) {
  const auto product = [](const Arrays& v) { return lax::dot_general(v[1], v[2], kOverRows); };
  const std::vector<FlatFn> kept{
      [&](const Arrays& v) {
        return Arrays{v[0] + product(v), v[0]};
      },
      [&](const Arrays& v) {
        const Array sum = v[0] + product(v);
        return Arrays{sum, sum};
      },
      [&](const Arrays& v) { return Arrays{v[0] + v[0] + product(v)}; },
      [&](const Arrays& v) { return Arrays{product(v) - v[0]}; },
      [&](const Arrays& v) { return Arrays{product(v)}; },
      [&](const Arrays& v) { return Arrays{lax::full_like(v[0], 0.5) * v[0] + product(v)}; },
      [&](const Arrays& v) { return Arrays{v[0] + lax::sin(product(v))}; },
      [&](const Arrays& v) { return Arrays{v[0] + product(v) + lax::full_like(v[0], 1)}; },
      [&](const Arrays& v) {
        const Array p = product(v);
        return Arrays{v[0] + p, p};
      },
      // Factors that could make an overflowing sum small again, or are zero or infinite.
      [&](const Arrays& v) { return Arrays{v[0] + product(v) * lax::full_like(v[0], 0.5)}; },
      [&](const Arrays& v) { return Arrays{v[0] + product(v) / lax::full_like(v[0], 2)}; },
      [&](const Arrays& v) { return Arrays{v[0] + product(v) / lax::full_like(v[0], 0)}; },
      [&](const Arrays& v) { return Arrays{v[0] + product(v) * lax::full_like(v[0], INFINITY)}; },
      // A factor that differs from trip to trip, a divisor, and an operand that does not differ.
      [&](const Arrays& v) { return Arrays{v[0] + product(v) * product(v)}; },
      [&](const Arrays& v) {
        return Arrays{v[0] + lax::full_like(v[0], 2) / (product(v) + lax::full_like(v[0], 40))};
      },
      [&](const Arrays& v) {
        return Arrays{v[0] + lax::dot_general(lax::full_like(v[1], 2), v[2], kOverRows)};
      },
      [&](const Arrays& v) { return Arrays{v[0] + invariant_dot(v[1], v[2], {0}, {0}, {}, {})}; },
      [&](const Arrays& v) {
        return Arrays{v[0] + lax::convert_element_type(lax::convert_element_type(product(v), int32),
                                                       float32)};
      },
  };
  for (size_t k = 0; k < kept.size(); ++k) {
    const Function before =
        trace_function([&](const Arrays& x) { return sums(x, kept[k]); }, kTypes).function;
    EXPECT_EQ(scan_of(multiply_after_loops(before, 0)).num_carry, 1) << k;
    EXPECT_FALSE(sums_products_in_loops(before));
  }
}

TEST(MultiplyAfterLoops, AChainOfProductsStays) {
  const Function f = multiplied(
      [](const Arrays& x) {
        return sums(x, [](const Arrays& v) {
          return Arrays{lax::dot_general(v[0], v[1], {{1}, {0}})};
        });
      },
      {floats({3, 4}), floats({5, 4, 4}), floats({5, 1})});
  EXPECT_EQ(scan_of(f).num_carry, 1);
}

// The rest of these tests have arrays of sizes at which the pass rewrites them in programs.
struct Sizes {
  int64_t trips, batch, rows, columns;
};
bool rewrites(const Sizes& s, bool scanned) {
  const Function before =
      trace_function(
          [&](const Arrays& x) {
            return testing_control::scan(s.trips, {}, {x[0]}, {x[1], x[2]}, [&](const Arrays& v) {
              return Arrays{
                  v[0] + (scanned ? lax::dot_general(v[1], v[2], kOverRows)
                                  : lax::dot_general(lax::sin(v[1]), lax::cos(v[2]), kOverRows))};
            });
          },
          std::vector<Type>{floats({s.rows, s.columns}), floats({s.trips, s.batch, s.rows}),
                            floats({s.trips, s.batch, s.columns})})
          .function;
  const bool out = count(multiply_after_loops(before), dot_general_op) > 0;
  EXPECT_EQ(sums_products_in_loops(before), out);
  return out;
}

TEST(MultiplyAfterLoops, WhereItPays) {
  // A carry of 32 KiB or more.
  EXPECT_TRUE(rewrites({10, 1, 64, 128}, false));
  EXPECT_FALSE(rewrites({10, 1, 64, 127}, false));
  EXPECT_FALSE(rewrites({1, 1, 64, 128}, false));
  // A trip stacks 42 and 43 rows of 192 elements; the carry has 8192.
  EXPECT_TRUE(rewrites({10, 42, 64, 128}, false));
  EXPECT_FALSE(rewrites({10, 43, 64, 128}, false));
  EXPECT_TRUE(rewrites({10, 43, 64, 128}, true));
  // More than 16 MiB are stacked only if the loop reads as much by rows.
  EXPECT_TRUE(rewrites({40000, 1, 64, 128}, false));
  const auto from_state = [](int64_t trips) {
    const Function before =
        trace_function(
            [&](const Arrays& x) {
              return testing_control::scan(trips, {}, {x[0], x[1], x[2]}, {}, [&](const Arrays& v) {
                return Arrays{v[0] + lax::dot_general(v[1], v[2], {{}, {}}), lax::sin(v[1]),
                              lax::cos(v[2])};
              });
            },
            std::vector<Type>{floats({64, 128}), floats({64}), floats({128})})
            .function;
    return count(multiply_after_loops(before), dot_general_op) > 0;
  };
  EXPECT_TRUE(from_state((16 << 20) / (4 * 192)));
  EXPECT_FALSE(from_state((16 << 20) / (4 * 192) + 1));
}

// 16-bit sums are rounded once: 2048 + 1 + 1 + ... in float16 would stay 2048.
TEST(MultiplyAfterLoops, SumsOf16BitsAreRoundedOnce) {
  const Function before =
      trace_function(
          [](const Arrays& x) {
            return testing_control::scan(8, {}, {x[0]}, {x[1], x[2]}, [](const Arrays& v) {
              return Arrays{v[0] + lax::dot_general(v[1], v[2], kOverRows)};
            });
          },
          std::vector<Type>{floats({1, 1}, float16), floats({8, 1, 1}, float16),
                            floats({8, 1, 1}, float16)})
          .function;
  const auto filled = [](Shape shape, float value) {
    Literal out(float32, shape);
    std::fill_n(out.mutable_data<float>(), out.elements(), value);
    return convert_literal(out, float16);
  };
  const std::vector<Literal> in{filled({1, 1}, 2048), filled({8, 1, 1}, 1), filled({8, 1, 1}, 1)};
  EXPECT_EQ(evaluate(before, in)[0], filled({1, 1}, 2048));
  EXPECT_EQ(evaluate(multiply_after_loops(before, 0), in)[0], filled({1, 1}, 2056));
}

TEST(MultiplyAfterLoops, InBranchesAndWhileLoops) {
  const FlatFn inner = [](const Arrays& x) {
    return sums(
        x, [](const Arrays& v) { return Arrays{v[0] + lax::dot_general(v[1], v[2], kOverRows)}; });
  };
  const Function f = multiplied(
      [&](const Arrays& x) {
        return branch(x[3], {x[0], x[1], x[2]},
                      {inner, [](const Arrays& v) { return Arrays{v[0]}; }});
      },
      {kTypes[0], kTypes[1], kTypes[2], floats({}, int32)});
  EXPECT_THAT(interchange::to_mlir(f), testing::Not(testing::HasSubstr("scan")));
  const Function g = multiplied(
      [&](const Arrays& x) {
        return while_loop(
            {x[0], x[1], x[2], zero_of(floats({}, int32))},
            [](const Arrays& v) { return Arrays{lax::lt(v[3], lax::full_like(v[3], 3))}; },
            [&](const Arrays& v) {
              return Arrays{inner({v[0], v[1], v[2]})[0], v[1], v[2],
                            v[3] + lax::full_like(v[3], 1)};
            });
      },
      kTypes);
  EXPECT_THAT(interchange::to_mlir(g), testing::Not(testing::HasSubstr("scan")));
  EXPECT_TRUE(has_products_in_while_loops(g));
  EXPECT_FALSE(has_products_in_while_loops(f));
}

}  // namespace
}  // namespace tessera::multiply_after_loops_test
