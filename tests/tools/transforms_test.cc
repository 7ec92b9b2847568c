// Transforms of programs by the command line: tessera grad, vmap and check, and run --repeat.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tessera/interchange/text/parser.h"
#include "tessera/io/npz.h"
#include "tests/tools/command_fixture.h"

namespace tessera::tools::transforms_test {

using namespace interchange;

namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

// Computes sum(sin(x)^n) by a loop of n iterations; also returns an integer.
constexpr const char* kLoop = R"(module @jit_power {
  func.func public @main(%x: tensor<3xf64>, %n: tensor<i32>) -> (tensor<f64>, tensor<i32>) {
    %one = stablehlo.constant dense<1.0> : tensor<3xf64>
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %r:3 = stablehlo.while(%i = %zero, %c = %one, %a = %x) : tensor<i32>, tensor<3xf64>, tensor<3xf64> cond {
      %three = stablehlo.constant dense<3> : tensor<i32>
      %more = stablehlo.compare LT, %i, %three, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    } do {
      %inc = stablehlo.constant dense<1> : tensor<i32>
      %next = stablehlo.add %i, %inc : tensor<i32>
      %s = stablehlo.sine %a : tensor<3xf64>
      %p = stablehlo.multiply %c, %s : tensor<3xf64>
      stablehlo.return %next, %p, %a : tensor<i32>, tensor<3xf64>, tensor<3xf64>
    }
    %0 = stablehlo.constant dense<0.0> : tensor<f64>
    %1 = stablehlo.reduce(%r#1 init: %0) applies stablehlo.add across dimensions = [0] : (tensor<3xf64>, tensor<f64>) -> tensor<f64>
    return %1, %n : tensor<f64>, tensor<i32>
  }
})";

// tanh(x w) on a mesh of four devices, with a sharded contraction.
constexpr const char* kSharded = R"(module @jit_layer {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%x: tensor<4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}, %w: tensor<8x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<4x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
    %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
    %1 = stablehlo.tanh %0 : tensor<4x2xf32>
    return %1 : tensor<4x2xf32>
  }
})";

class ProgramTransforms : public CommandTest {
 protected:
  // Writes kLoop's arguments to a file and returns its path.
  std::string loop_inputs() const {
    const std::vector<double> x{0.5, -1, 2};
    write_npz(path("in.npz"),
              {{"x", Literal::from<double>(x, {3})}, {"n", Literal::scalar(int32_t{4})}});
    return path("in.npz");
  }
  std::map<std::string, Literal> outputs() const { return read_npz(path("out.npz")); }
};

void fails(const Outcome& o, const char* what) {
  EXPECT_EQ(o.code, 1) << o.out;
  EXPECT_THAT(o.err, HasSubstr(what));
  EXPECT_THAT(o.out, IsEmpty());
}

TEST_F(ProgramTransforms, GradOfACountedLoop) {
  const Outcome o = tessera_command(
      {"grad", "-", "--value", "--inputs", loop_inputs(), "--outputs", path("out.npz")}, kLoop);
  ASSERT_EQ(o.code, 0) << o.err;
  EXPECT_EQ(o.out, "arr_0: float64[]\narr_1: float64[3]\n");
  const auto out = outputs();
  double value = 0;
  const std::vector<double> x{0.5, -1, 2};
  for (size_t i = 0; i < 3; ++i) {
    value += std::pow(std::sin(x[i]), 3);
    EXPECT_NEAR(out.at("arr_1").data<double>()[i], 3 * std::pow(std::sin(x[i]), 2) * std::cos(x[i]),
                1e-14);
  }
  EXPECT_NEAR(*out.at("arr_0").data<double>(), value, 1e-14);
}

// The result is printed as a program, as text or bytecode, that every command reads.
TEST_F(ProgramTransforms, GradPrintsAProgram) {
  const Outcome text = tessera_command({"grad", "-"}, kLoop),
                bytes = tessera_command({"grad", "-", "--emit", "bytecode"}, kLoop);
  ASSERT_EQ(text.code, 0) << text.err;
  ASSERT_EQ(bytes.code, 0) << bytes.err;
  EXPECT_THAT(text.out, AllOf(StartsWith("module @jit_power"), HasSubstr("stablehlo.while"),
                              Not(HasSubstr("tessera"))));
  EXPECT_THAT(bytes.out, StartsWith("ML\xefR"));
  for (const std::string& program : {text.out, bytes.out}) {
    const std::vector<double> x{0.5, -1, 2};
    write_npz(path("in.npz"),
              {{"arr_0", Literal::from<double>(x, {3})}, {"arr_1", Literal::scalar(int32_t{4})}});
    const Outcome ran = tessera_command(
        {"run", "-", "--inputs", path("in.npz"), "--outputs", path("out.npz")}, program);
    ASSERT_EQ(ran.code, 0) << ran.err;
    EXPECT_NEAR(outputs().at("arr_0").data<double>()[1],
                3 * std::pow(std::sin(-1.0), 2) * std::cos(-1.0), 1e-14);
  }
  const Outcome opt = opt_command({"-", "--passes=grad"}, kLoop);
  EXPECT_EQ(opt.code, 0) << opt.err;
}

TEST_F(ProgramTransforms, GradOfAWeightedSum) {
  const std::string square =
      "func.func @main(%x: tensor<2x2xf64>, %z: tensor<complex<f64>>) -> "
      "(tensor<2x2xf64>, tensor<complex<f64>>) {\n"
      "%0 = stablehlo.multiply %x, %x : tensor<2x2xf64>\n"
      "%1 = stablehlo.multiply %z, %z : tensor<complex<f64>>\n"
      "return %0, %1 : tensor<2x2xf64>, tensor<complex<f64>> }";
  const std::vector<double> x{1, 2, 3, 4};
  write_npz(path("in.npz"), {{"x", Literal::from<double>(x, {2, 2})},
                             {"z", Literal::scalar(std::complex<double>(2, 3))}});
  const Outcome o = tessera_command({"grad", "-", "--value", "--seed", "7", "--inputs",
                                     path("in.npz"), "--outputs", path("out.npz")},
                                    square);
  ASSERT_EQ(o.code, 0) << o.err;
  const auto out = outputs();
  double value = std::cos(8) * (4 - 9);
  for (size_t i = 0; i < 4; ++i) {
    const double weight = std::cos(7 + static_cast<double>(i));
    value += weight * x[i] * x[i];
    EXPECT_NEAR(out.at("arr_1").data<double>()[i], 2 * weight * x[i], 1e-14);
  }
  EXPECT_NEAR(*out.at("arr_0").data<double>(), value, 1e-13);
  const auto dz = *out.at("arr_2").data<std::complex<double>>();  // not conjugated, as in JAX
  EXPECT_NEAR(std::abs(dz - 2 * std::cos(8) * std::complex<double>(2, 3)), 0, 1e-14);
}

TEST_F(ProgramTransforms, GradErrors) {
  fails(tessera_command({"grad", "-", "--argnums", "2"}, kLoop),
        "[grad] expected argnums among the program's 2 arguments, 0 to 1, got 2");
  fails(tessera_command({"grad", "-", "--argnums", "0,1"}, kLoop),
        "[grad] expected a float or complex argument to differentiate by, got int32[] for n");
  fails(tessera_command({"grad", "-"}, kSharded),
        "[grad] expected a program with one real floating-point scalar among its results, got 0 of "
        "them in (float32[4,2]); --seed N");
  fails(tessera_command({"grad", "-"},
                        "func.func @main(%x: tensor<i32>) -> tensor<i32> { return %x : tensor<i32> "
                        "}"),
        "[grad] expected a program with floating-point arguments");
  fails(tessera_command({"grad", "-", "--seed", "1"},
                        "func.func @main(%x: tensor<f32>, %n: tensor<i32>) -> tensor<i32> { return "
                        "%n : tensor<i32> }"),
        "[grad] expected a program with floating-point results, got 1 results of other dtypes");
  fails(tessera_command({"grad", "-", "--inputs", loop_inputs()}, kLoop),
        "[grad] expected --outputs with --inputs");
  std::string open = kLoop;
  open.replace(open.find("%three, SIGNED"), 6, "%i");
  const std::string sine = "stablehlo.sine %a";
  open.replace(open.find(sine), sine.size(), "stablehlo.reverse %a, dims = [0]");
  fails(tessera_command({"grad", "-"}, open), "[while] expected a loop of known length");
  EXPECT_EQ(tessera_command({"grad", "-", "--argnums", "x"}, kLoop).code, 2);
}

TEST_F(ProgramTransforms, GradOfAShardedProgram) {
  const Outcome o = tessera_command({"grad", "-", "--seed", "0"}, kSharded);
  ASSERT_EQ(o.code, 0) << o.err;
  const ParsedModule module = parse_module(o.out);
  ASSERT_EQ(module.input_shardings.size(), 2u);
  EXPECT_TRUE(module.input_shardings[0] && module.input_shardings[1]) << o.out;
  EXPECT_THAT(o.out, HasSubstr("sdy.sharding_constraint")) << "a gradient lies as its argument";
  const Outcome checked = tessera_command({"check", "-"}, o.out);
  EXPECT_EQ(checked.code, 0) << checked.err;
}

TEST_F(ProgramTransforms, VmapIsTheProgramOfEachExample) {
  const std::vector<double> x{0.5, 3, -1, 4, 2, 5};
  write_npz(path("in.npz"),
            {{"x", Literal::from<double>(x, {3, 2})}, {"n", Literal::scalar(int32_t{4})}});
  const Outcome o = tessera_command({"vmap", "-", "--size", "2", "--in-axes", "-1,None", "--inputs",
                                     path("in.npz"), "--outputs", path("out.npz")},
                                    kLoop);
  ASSERT_EQ(o.code, 0) << o.err;
  EXPECT_EQ(o.out, "arr_0: float64[2]\narr_1: int32[2]\n");
  for (size_t b = 0; b < 2; ++b) {
    double want = 0;
    for (size_t i = 0; i < 3; ++i) want += std::pow(std::sin(x[2 * i + b]), 3);
    EXPECT_NEAR(outputs().at("arr_0").data<double>()[b], want, 1e-14);
    EXPECT_EQ(outputs().at("arr_1").data<int32_t>()[b], 4);
  }
  const Outcome sharded = tessera_command({"vmap", "-", "--size", "3"}, kSharded);
  EXPECT_THAT(sharded.out, HasSubstr("tensor<3x4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, "
                                     "{}, {\"x\"}]>}"));
  EXPECT_EQ(tessera_command({"check", "-"}, sharded.out).code, 0);
  // The two passes give the gradient of each example.
  EXPECT_EQ(opt_command({"-", "--passes=grad,vmap", "--size", "5"}, kLoop).code, 0);
}

TEST_F(ProgramTransforms, VmapErrors) {
  fails(tessera_command({"vmap", "-"}, kLoop), "[vmap] expected the size of the batch");
  fails(tessera_command({"vmap", "-", "--size", "-1"}, kLoop), "as --size, got -1");
  fails(tessera_command({"vmap", "-", "--size", "2", "--in-axes", "0,0,0"}, kLoop),
        "[vmap] expected in_axes of one for all arguments or of 2, got 3");
  for (const char* axis : {"2,0", "-3,0", "one,0", "1.5,0", "0,1"})
    fails(tessera_command({"vmap", "-", "--size", "2", fmt::format("--in-axes={}", axis)}, kLoop),
          "[vmap] expected an axis of the mapped");
  fails(opt_command({"-", "--passes=vmap"}, kLoop), "[vmap] expected the size of the batch");
}

TEST_F(ProgramTransforms, CheckpointedBodiesAreComputedAgain) {
  const Outcome o = opt_command({"-", "--passes=checkpoint"}, kLoop);
  ASSERT_EQ(o.code, 0) << o.err;
  EXPECT_THAT(o.out, AllOf(HasSubstr("tessera.scan"), HasSubstr("tessera.checkpoint")));
  const Outcome grad = tessera_command(
      {"grad", "-", "--inputs", loop_inputs(), "--outputs", path("out.npz")}, o.out);
  EXPECT_EQ(grad.code, 1) << "the arguments of printed text are arg0, arg1";
  write_npz(path("in.npz"), {{"arr_0", Literal::from<double>(std::vector<double>{0.5, -1, 2}, {3})},
                             {"arr_1", Literal::scalar(int32_t{4})}});
  const Outcome again = tessera_command(
      {"grad", "-", "--inputs", path("in.npz"), "--outputs", path("out.npz")}, o.out);
  ASSERT_EQ(again.code, 0) << again.err;
  EXPECT_NEAR(outputs().at("arr_0").data<double>()[1],
              3 * std::pow(std::sin(-1.0), 2) * std::cos(-1.0), 1e-14);
}

TEST_F(ProgramTransforms, CheckComparesMeshAndEvaluator) {
  const Outcome o = tessera_command({"check", "-"}, kSharded);
  ASSERT_EQ(o.code, 0) << o.err;
  EXPECT_THAT(o.out,
              ContainsRegex("arr_0: float32\\[4,2\\], 4 devices against one [-0-9.e]+, compiled "
                            "against evaluated [-0-9.e]+\n"));
  EXPECT_THAT(tessera_command({"check", "-", "--no-evaluate", "--seed", "3"}, kSharded).out,
              Not(HasSubstr("evaluated")));
  EXPECT_THAT(tessera_command({"check", "-", "--inputs", loop_inputs()}, kLoop).out,
              ContainsRegex("arr_0: float64\\[\\], compiled against evaluated [-0-9.e]+\n"
                            "arr_1: int32\\[\\], compiled against evaluated 0\n"));
}

// Sums in another order are not equal.
TEST_F(ProgramTransforms, CheckSaysWhatDiffers) {
  const Outcome o = tessera_command({"check", "-", "--tolerance", "0"}, kSharded);
  EXPECT_EQ(o.code, 1);
  EXPECT_THAT(o.out, HasSubstr("DIFFERENT"));
  EXPECT_THAT(o.err, HasSubstr("[check] expected results that differ by rounding only, got arr_0"));
  fails(tessera_command({"check", "-", "--devices", "cpu:2"}, kSharded),
        "expected the 4 devices of the program's mesh, got 2");
}

TEST_F(ProgramTransforms, RunRepeatedSaysWhatItTook) {
  const Outcome o = tessera_command(
      {"run", "-", "--repeat", "4", "--inputs", loop_inputs(), "--outputs", path("out.npz")},
      kLoop);
  ASSERT_EQ(o.code, 0) << o.err;
  EXPECT_THAT(o.out, ContainsRegex("first [0-9.]+ ms \\(compiling [0-9.]+ ms\\), then 3 runs: "
                                   "median [0-9.]+ ms, min [0-9.]+ ms\n"));
  fails(tessera_command(
            {"run", "-", "--repeat", "0", "--inputs", loop_inputs(), "--outputs", path("none.npz")},
            kLoop),
        "[run] expected to run the program at least once, got --repeat 0");
}

}  // namespace
}  // namespace tessera::tools::transforms_test
