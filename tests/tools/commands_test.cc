#include "tools/commands.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <complex>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <sstream>

#include "tessera/interchange/text/parser.h"
#include "tessera/io/npz.h"
#include "tests/tools/command_fixture.h"

namespace tessera::tools::commands_test {

using namespace compile;

namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

// A matrix product whose contraction is sharded, so that it ends in an all_reduce.
constexpr const char* kProduct = R"(module @jit_product {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%x: tensor<4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}, %w: tensor<8x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<4x2xf32>) {
    %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
    return %0 : tensor<4x2xf32>
  }
}
)";

using Commands = CommandTest;

Literal counting(const Shape& shape) {
  Literal out(float32, shape);
  std::iota(out.mutable_data<float>(), out.mutable_data<float>() + out.elements(), 0.0f);
  return out;
}

TEST_F(Commands, HelpAndVersion) {
  for (const auto& arguments : std::vector<std::vector<std::string>>{
           {"--help"}, {"run", "--help"}, {"explain", "--help"}}) {
    const Outcome o = tessera_command(arguments);
    EXPECT_EQ(o.code, 0);
    EXPECT_THAT(o.out, HasSubstr("Usage:"));
    EXPECT_THAT(o.err, IsEmpty());
  }
  EXPECT_THAT(tessera_command({"--version"}).out, StartsWith("tessera "));
  EXPECT_THAT(opt_command({"--help"}).out, HasSubstr("merge_equal_ops"));
}

TEST_F(Commands, AWrongCommandLineIsExitCode2) {
  for (const auto& arguments : std::vector<std::vector<std::string>>{
           {}, {"frobnicate"}, {"run"}, {"run", "f.mlir", "--what"}}) {
    const Outcome o = tessera_command(arguments);
    EXPECT_EQ(o.code, 2);
    EXPECT_THAT(o.out, IsEmpty());
    EXPECT_THAT(o.err, Not(IsEmpty()));
  }
}

TEST_F(Commands, Devices) {
  const Outcome o = tessera_command({"devices", "tpu_v2:2x2"});
  EXPECT_EQ(o.code, 0) << o.err;
  EXPECT_THAT(o.out,
              StartsWith("id  kind    process  coords   core\n0   tpu_v2  0        (0,0,0)  0\n"));
  EXPECT_THAT(o.out, HasSubstr("create_device_mesh((2, 4)):"));
  EXPECT_THAT(o.out, HasSubstr("TPU 0"));
  EXPECT_THAT(tessera_command({"devices", "cpu:3"}).out, HasSubstr("create_device_mesh((3,)):"));
  EXPECT_THAT(tessera_command({"devices", "tpu_v4:2x2x1*2"}).out, HasSubstr("slice"));
  const Outcome wrong = tessera_command({"devices", "abacus:3"});
  EXPECT_EQ(wrong.code, 1);
  EXPECT_THAT(wrong.err, HasSubstr("abacus:3"));
}

constexpr const char* kOpen =
    R"(func.func @main(%x: tensor<?x2xf32>, %y: tensor<?x2xf32>, %z: tensor<2xf32>) -> tensor<?x2xf32> {
  %0 = stablehlo.concatenate %x, %y, dim = 0 : (tensor<?x2xf32>, tensor<?x2xf32>) -> tensor<?x2xf32>
  %1 = stablehlo.get_dimension_size %0, dim = 0 : (tensor<?x2xf32>) -> tensor<i32>
  %2 = stablehlo.reshape %1 : (tensor<i32>) -> tensor<1xi32>
  %c = stablehlo.constant dense<2> : tensor<1xi32>
  %3 = stablehlo.concatenate %2, %c, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
  %4 = stablehlo.dynamic_broadcast_in_dim %z, %3, dims = [1] : (tensor<2xf32>, tensor<2xi32>) -> tensor<?x2xf32>
  %5 = stablehlo.add %0, %4 : tensor<?x2xf32>
  return %5 : tensor<?x2xf32>
})";

TEST_F(Commands, OpenExtentsAreThoseOfTheInputsOrAreGiven) {
  const std::string file = write("open.mlir", kOpen);
  write_npz(path("in.npz"),
            {{"x", counting({1, 2})}, {"arr_1", counting({2, 2})}, {"z", counting({2})}});
  const Outcome run =
      tessera_command({"run", file, "--inputs", path("in.npz"), "--outputs", path("out.npz")});
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(run.out, "arr_0: float32[3,2]\n");
  const Literal sum = read_npz(path("out.npz")).at("arr_0");
  EXPECT_EQ(std::vector<float>(sum.data<float>(), sum.data<float>() + 6),
            (std::vector<float>{0, 2, 0, 2, 2, 4}));

  const std::vector<std::string> shapes = {"--shape", "x=4x2", "--shape", "arr_1=3x2"};
  const auto with_shapes = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), shapes.begin(), shapes.end());
    return arguments;
  };
  EXPECT_THAT(opt_command(with_shapes({file})).out, HasSubstr("-> (tensor<7x2xf32>"));
  EXPECT_THAT(tessera_command(with_shapes({"explain", file})).out,
              HasSubstr("%3: float32(7, 2) over {} output 0"));
  const Outcome batched = tessera_command(with_shapes({"vmap", file, "--size", "5"}));
  EXPECT_THAT(batched.out, HasSubstr("5x7x2xf32>")) << batched.err;
  EXPECT_EQ(tessera_command(with_shapes({"check", file})).code, 0);
}

TEST_F(Commands, ShapesThatDoNotFit) {
  const std::string file = write("open.mlir", kOpen);
  const auto error = [&](std::vector<std::string> shapes) {
    std::vector<std::string> arguments = {"explain", file};
    for (const std::string& shape : shapes) {
      arguments.emplace_back("--shape");
      arguments.push_back(shape);
    }
    const Outcome o = tessera_command(arguments);
    EXPECT_EQ(o.code, 1);
    return o.err;
  };
  EXPECT_THAT(error({"x=4x2"}), HasSubstr("expected static extents of %y, or its shape"));
  EXPECT_THAT(error({"x=4x3", "y=1x2"}), HasSubstr("expected %x to be tensor<?x2xf32>, of at most "
                                                   "2^46 elements, got the shape (4, 3) for it"));
  EXPECT_THAT(error({"x=4x2", "y=1x2", "w=3"}),
              HasSubstr("expected shapes of the arguments x, y, z, got one of 'w'"));
  EXPECT_THAT(error({"x=4x2", "y=1x2", "z=3"}),
              HasSubstr("expected z to be float32[2], as the program says, got the shape (3,)"));
  for (const char* wrong :
       {"x", "=3", "x=3x", "x=-3", "x=3*2", "x=threeby2", "x=99999999999999999999"})
    EXPECT_THAT(error({wrong}), HasSubstr("expected the shape of an argument, as arg0=8x4, got '"))
        << wrong;
}

TEST_F(Commands, RunTakesArraysByNameOrPosition) {
  const std::string file = write("product.mlir", kProduct);
  const Literal x = counting({4, 8}), w = counting({8, 2});
  for (const char* second : {"w", "arr_1"}) {
    write_npz(path("in.npz"), {{"arr_0", x}, {second, w}});
    const Outcome o =
        tessera_command({"run", file, "--inputs", path("in.npz"), "--outputs", path("out.npz")});
    ASSERT_EQ(o.code, 0) << o.err;
    EXPECT_EQ(o.out, "arr_0: float32[4,2]\n");
    const Literal product = read_npz(path("out.npz")).at("arr_0");
    for (int i = 0; i < 4; ++i)
      for (int j = 0; j < 2; ++j) {
        float sum = 0;
        for (int k = 0; k < 8; ++k) sum += x.data<float>()[8 * i + k] * w.data<float>()[2 * k + j];
        EXPECT_EQ(product.data<float>()[2 * i + j], sum);
      }
  }
}

TEST_F(Commands, RunReadsTheStandardInput) {
  const Outcome o = tessera_command({"run", "-", "--outputs", path("out.npz")},
                                    "func.func @main() -> tensor<i32> { %0 = stablehlo.constant "
                                    "dense<7> : tensor<i32> return %0 : tensor<i32> }");
  ASSERT_EQ(o.code, 0) << o.err;
  EXPECT_EQ(read_npz(path("out.npz")).at("arr_0"), Literal::scalar(int32_t{7}));
}

TEST_F(Commands, RunErrors) {
  const std::string file = write("product.mlir", kProduct);
  auto fails = [&](const std::vector<std::string>& arguments, const char* what) {
    const Outcome o = tessera_command(arguments);
    EXPECT_EQ(o.code, 1);
    EXPECT_THAT(o.err, HasSubstr(what));
    EXPECT_THAT(o.out, IsEmpty());
    EXPECT_FALSE(std::filesystem::exists(path("out.npz")));
  };
  const std::string in = path("in.npz"), out = path("out.npz");
  fails({"run", path("none.mlir"), "--outputs", out}, "expected a file that can be read");
  fails({"run", write("bad.mlir", "module {"), "--outputs", out},
        "bad.mlir:1:9: expected '}' at the end of the module");
  fails({"run", file, "--outputs", out},
        "expected an array 'x' or 'arr_0' for input 0, float32[4,8], got none");
  write_npz(in, {{"x", counting({4, 8})}, {"w", counting({2, 8})}});
  fails({"run", file, "--inputs", in, "--outputs", out},
        "expected input 1 to be float32[8,2], got float32[2,8] from 'w'");
  write_npz(in, {{"x", counting({4, 8})}, {"w", counting({8, 2})}, {"y", counting({1})}});
  fails({"run", file, "--inputs", in, "--outputs", out},
        "expected the 2 arrays that the program takes, got 3");
  write_npz(in, {{"x", counting({4, 8})}, {"w", counting({8, 2})}});
  fails({"run", file, "--inputs", in, "--outputs", out, "--devices", "cpu:2"},
        "expected the 4 devices of the program's mesh, got 2; pass --devices cpu:4");
}

// JAX writes these for one device: a mesh without axes, and collectives without a mesh.
TEST_F(Commands, RunProgramsOfOneDevice) {
  write_npz(path("in.npz"), {{"x", counting({4})}});
  const auto run = [&](const std::string& text) {
    const Outcome o = tessera_command(
        {"run", write("one.mlir", text), "--inputs", path("in.npz"), "--outputs", path("out.npz")});
    EXPECT_EQ(o.code, 0) << o.err;
    EXPECT_EQ(read_npz(path("out.npz")).at("arr_0"), counting({4}));
  };
  run(R"(module @m attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
    sdy.mesh @empty_mesh = <[]> {stablehlo.mesh = {axes = []}}
    func.func public @main(%x: tensor<4xf32> {sdy.sharding = #sdy.sharding<@empty_mesh, [{}]>}) -> (tensor<4xf32> {sdy.sharding = #sdy.sharding<@empty_mesh, [{}]>}) {
      %0 = sdy.sharding_constraint %x <@empty_mesh, [{}]> : tensor<4xf32>
      return %0 : tensor<4xf32>
    }
  })");
  run(R"(module @m attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
    func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = "stablehlo.all_reduce"(%x) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<0> : tensor<1x1xi64>, use_global_device_ids}> ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %1 = stablehlo.add %a, %b : tensor<f32>
        stablehlo.return %1 : tensor<f32>
      }) : (tensor<4xf32>) -> tensor<4xf32>
      return %0 : tensor<4xf32>
    }
  })");
}

// Elements are split and joined as in lax.bitcast_convert_type.
TEST_F(Commands, RunBitcastsBetweenWidths) {
  write_npz(path("in.npz"), {{"x", counting({3})}});
  const Outcome o =
      tessera_command({"run", "-", "--inputs", path("in.npz"), "--outputs", path("out.npz")},
                      R"(func.func @main(%x: tensor<3xf32>) -> (tensor<3x4xui8>, tensor<3xf32>) {
        %0 = stablehlo.bitcast_convert %x : (tensor<3xf32>) -> tensor<3x4xui8>
        %1 = stablehlo.bitcast_convert %0 : (tensor<3x4xui8>) -> tensor<3xf32>
        return %0, %1 : tensor<3x4xui8>, tensor<3xf32>
      })");
  ASSERT_EQ(o.code, 0) << o.err;
  const auto out = read_npz(path("out.npz"));
  EXPECT_EQ(out.at("arr_0"),
            Literal::from<uint8_t>(
                std::initializer_list<uint8_t>{0, 0, 0, 0, 0, 0, 128, 63, 0, 0, 0, 64}, {3, 4}));
  EXPECT_EQ(out.at("arr_1"), counting({3}));
  const Outcome bad =
      tessera_command({"explain", "-"},
                      "func.func @main(%x: tensor<3xf32>) -> tensor<3xf64> {\n"
                      "%0 = stablehlo.bitcast_convert %x : (tensor<3xf32>) -> tensor<3xf64>\n"
                      "return %0 : tensor<3xf64> }");
  EXPECT_EQ(bad.code, 1);
  EXPECT_THAT(bad.err, AllOf(HasSubstr("-:2:6: [bitcast_convert]"), HasSubstr("(C1)")));
}

// Bools are bits. Complex numbers are split and joined, too. The first values are those of
// StableHLO's bitcast_convert.mlir.
TEST_F(Commands, RunBitcastsOfBoolsAndComplexNumbers) {
  const Outcome o = tessera_command({"run", "-", "--outputs", path("out.npz")},
                                    R"(func.func @main() -> (tensor<64xi1>, tensor<i64>,
          tensor<3x16xi1>, tensor<3xf16>, tensor<1x2xcomplex<f32>>, tensor<1xcomplex<f64>>) {
        %x = stablehlo.constant dense<0x0123456789ABCDEF> : tensor<f64>
        %0 = stablehlo.bitcast_convert %x : (tensor<f64>) -> tensor<64xi1>
        %1 = stablehlo.bitcast_convert %0 : (tensor<64xi1>) -> tensor<i64>
        %h = stablehlo.constant dense<[1.0, -2.0, 0.0]> : tensor<3xf16>
        %2 = stablehlo.bitcast_convert %h : (tensor<3xf16>) -> tensor<3x16xi1>
        %3 = stablehlo.bitcast_convert %2 : (tensor<3x16xi1>) -> tensor<3xf16>
        %z = stablehlo.constant dense<(0x0123456789ABCDEF, 0x0000000011111111)> : tensor<1xcomplex<f64>>
        %4 = stablehlo.bitcast_convert %z : (tensor<1xcomplex<f64>>) -> tensor<1x2xcomplex<f32>>
        %5 = stablehlo.bitcast_convert %4 : (tensor<1x2xcomplex<f32>>) -> tensor<1xcomplex<f64>>
        return %0, %1, %2, %3, %4, %5 : tensor<64xi1>, tensor<i64>, tensor<3x16xi1>, tensor<3xf16>, tensor<1x2xcomplex<f32>>, tensor<1xcomplex<f64>>
      })");
  ASSERT_EQ(o.code, 0) << o.err;
  const auto out = read_npz(path("out.npz"));
  constexpr uint64_t kBits = 0x0123456789ABCDEF;
  Literal bits(bool_, {64}), halves(bool_, {3, 16});
  for (int i = 0; i < 64; ++i) bits.mutable_data<bool>()[i] = (kBits >> i) % 2 != 0;
  EXPECT_EQ(out.at("arr_0"), bits);
  EXPECT_EQ(out.at("arr_1"), Literal::scalar(static_cast<int64_t>(kBits)));
  for (int i : {10, 11, 12, 13, 16 + 14, 16 + 15}) halves.mutable_data<bool>()[i] = true;
  EXPECT_EQ(out.at("arr_2"), halves);  // 0x3C00, 0xC000, 0
  const std::vector<Float16> numbers = {Float16(1.F), Float16(-2.F), Float16(0.F)};
  EXPECT_EQ(out.at("arr_3"), Literal::from<Float16>(numbers, {3}));
  const auto real = [](uint32_t code) { return std::bit_cast<float>(code); };
  const std::vector<std::complex<float>> split = {{real(0x89ABCDEF), real(0x01234567)},
                                                  {real(0x11111111), real(0)}};
  EXPECT_EQ(out.at("arr_4"), Literal::from<std::complex<float>>(split, {1, 2}));
  const std::vector<std::complex<double>> joined = {
      {std::bit_cast<double>(kBits), std::bit_cast<double>(uint64_t{0x11111111})}};
  EXPECT_EQ(out.at("arr_5"), Literal::from<std::complex<double>>(joined, {1}));
  for (const auto& [from, to, message] :
       {std::tuple{"63xi1", "i64", "expected a last dimension of 64 to make int64 (C1)"},
        {"3xcomplex<f32>", "complex<f64>",
         "expected a last dimension of 2 to make complex128 (C1)"},
        {"complex<f64>", "2xf64", "expected complex both or neither (C2)"}}) {
    const Outcome bad = tessera_command(
        {"explain", "-"}, fmt::format("func.func @main(%x: tensor<{0}>) -> tensor<{1}> {{\n"
                                      "%0 = stablehlo.bitcast_convert %x : (tensor<{0}>) -> "
                                      "tensor<{1}>\nreturn %0 : tensor<{1}> }}",
                                      from, to));
    EXPECT_EQ(bad.code, 1);
    EXPECT_THAT(bad.err, HasSubstr(message));
  }
}

// A location may have any text, even one that looks like the partitioner's own notes.
TEST_F(Commands, ExplainTakesAnyLocation) {
  for (const char* where : {"a#b", "a#99", "#", "\\01\\32", "\\019"}) {
    std::string text = kProduct;
    const std::string result = "-> tensor<4x2xf32>\n";
    text.replace(text.find(result), result.size(),
                 fmt::format("-> tensor<4x2xf32> loc(\"{}\")\n", where));
    const Outcome o = tessera_command({"explain", "-"}, text);
    EXPECT_EQ(o.code, 0) << where << o.err;
    EXPECT_THAT(o.out, HasSubstr("#1 all_reduce over (x)")) << where;
  }
}

// If a folder, a pipe or a name of 300 letters is given as a file, the error names it.
TEST_F(Commands, FilesThatAreNone) {
  const std::string folder = std::filesystem::path(path("")).parent_path(),
                    file = write("product.mlir", kProduct), name(300, 'n');
  auto fails = [&](const std::vector<std::string>& arguments, const std::string& what) {
    const Outcome o = tessera_command(arguments);
    EXPECT_EQ(o.code, 1) << o.err;
    EXPECT_THAT(o.err, HasSubstr(what));
  };
  fails({"run", folder, "--outputs", path("out.npz")}, "expected to read '" + folder);
  fails({"explain", folder}, "expected to read '" + folder);
  fails({"explain", path(name)}, "expected a file that can be read");
  const Outcome opt = opt_command({folder});
  EXPECT_EQ(opt.code, 1);
  EXPECT_THAT(opt.err, HasSubstr("expected to read '" + folder));
  fails({"run", file, "--inputs", folder, "--outputs", path("out.npz")}, "got a folder");
  fails({"run", file, "--inputs", path(name), "--outputs", path("out.npz")}, "too long");
  write_npz(path("in.npz"), {{"x", counting({4, 8})}, {"w", counting({8, 2})}});
  fails({"run", file, "--inputs", path("in.npz"), "--outputs", folder}, "got a folder");
  fails({"run", file, "--inputs", path("in.npz"), "--outputs", path(name)}, "too long");
}

TEST_F(Commands, AFullDiskUnderTheStandardOutput) {
  const std::string file = write("product.mlir", kProduct);
  write_npz(path("in.npz"), {{"x", counting({4, 8})}, {"w", counting({8, 2})}});
  const auto fails = [](auto command, const std::vector<std::string>& arguments) {
    std::istringstream in;
    std::ofstream full("/dev/full");
    std::ostringstream err;
    EXPECT_EQ(command(arguments, {in, full, err}), 1) << arguments[0];
    EXPECT_THAT(err.str(), HasSubstr("expected to write the standard output")) << arguments[0];
  };
  fails(run_tessera, {"devices", "cpu:2"});
  fails(run_tessera, {"run", file, "--inputs", path("in.npz"), "--outputs", path("out.npz")});
  fails(run_tessera, {"explain", file});
  fails(run_tessera, {"--help"});
  fails(run_tessera_opt, {file});
  fails(run_tessera_opt, {"--version"});
}

TEST_F(Commands, ExplainNeedsNoDevices) {
  const Outcome o = tessera_command({"explain", "-"}, kProduct);
  ASSERT_EQ(o.code, 0) << o.err;
  EXPECT_THAT(o.out, AllOf(HasSubstr("all_reduce"), HasSubstr("x"), HasSubstr("dot_general"),
                           HasSubstr("schedule:")));
  EXPECT_THAT(tessera_command({"explain", "-", "--no-schedule"}, kProduct).out,
              Not(HasSubstr("schedule:")));
}

// The passes up to a sharding for every value.
const std::string kFront = "flatten_regions,prune_control,split_constants,pin_shardings,propagate";

TEST_F(Commands, OptPrintsTheProgramAfterEachPass) {
  const Outcome read = opt_command({"-"}, kProduct);
  ASSERT_EQ(read.code, 0) << read.err;
  EXPECT_THAT(read.out, StartsWith("module @jit_product"));
  EXPECT_TRUE(parse_mlir(read.out) == parse_mlir(kProduct));

  const Outcome propagated = opt_command({"-", "--passes=" + kFront}, kProduct);
  ASSERT_EQ(propagated.code, 0) << propagated.err;
  EXPECT_THAT(
      propagated.out,
      HasSubstr("stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0] {sdy.sharding = "
                "#sdy.sharding_per_value<[<@mesh, [{}, {}]>]>}"));

  // All passes run at once, or the program is read back in between.
  const Outcome partitioned = opt_command({"-", "--passes=" + kFront + ",partition"}, kProduct);
  ASSERT_EQ(partitioned.code, 0) << partitioned.err;
  EXPECT_THAT(partitioned.out, HasSubstr("(tensor<4x2xf32>, tensor<2x2xf32>) -> tensor<4x2xf32>"));
  EXPECT_THAT(partitioned.out,
              HasSubstr("replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>"));
  EXPECT_EQ(opt_command({"-", "--passes=partition"}, propagated.out).out, partitioned.out);

  const Outcome fused =
      opt_command({"-", "--passes=" + kFront + ",partition,simplify,fuse"}, kProduct);
  ASSERT_EQ(fused.code, 0) << fused.err;
  EXPECT_THAT(fused.out, Not(HasSubstr("module")));

  const Outcome timed = opt_command({"-", "--timings", "--passes=remove_dead_ops"}, kProduct);
  EXPECT_THAT(timed.err, ::testing::ContainsRegex("remove_dead_ops +[0-9.]+ ms"));
}

// A step of two layers. Weights are stored over the axis of the batch and are larger than the
// batch.
const std::string kStep = R"(module @step {
sdy.mesh @mesh = <["x"=2]>
func.func public @main(%arg0: tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %arg1: tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %arg2: tensor<16x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<64x64xf32>, tensor<64x64xf32>) {
  %0 = stablehlo.dot_general %arg2, %arg0, contracting_dims = [1] x [0] : (tensor<16x64xf32>, tensor<64x64xf32>) -> tensor<16x64xf32>
  %1 = stablehlo.tanh %0 : tensor<16x64xf32>
  %2 = stablehlo.dot_general %1, %arg1, contracting_dims = [1] x [0] : (tensor<16x64xf32>, tensor<64x64xf32>) -> tensor<16x64xf32>
  %3 = stablehlo.dot_general %1, %2, contracting_dims = [0] x [0] : (tensor<16x64xf32>, tensor<16x64xf32>) -> tensor<64x64xf32>
  %4 = stablehlo.subtract %arg1, %3 : tensor<64x64xf32>
  %5 = stablehlo.dot_general %2, %arg1, contracting_dims = [1] x [1] : (tensor<16x64xf32>, tensor<64x64xf32>) -> tensor<16x64xf32>
  %6 = stablehlo.dot_general %arg2, %5, contracting_dims = [0] x [0] : (tensor<16x64xf32>, tensor<16x64xf32>) -> tensor<64x64xf32>
  %7 = stablehlo.subtract %arg0, %6 : tensor<64x64xf32>
  return %7, %4 : tensor<64x64xf32>, tensor<64x64xf32>
}})";
TEST_F(Commands, OptSaysWhichAlternativeItPrints) {
  const Outcome first = opt_command({"-", "--passes=" + kFront + ",partition"}, kStep);
  ASSERT_EQ(first.code, 0) << first.err;
  EXPECT_THAT(first.err, HasSubstr("this is the first of 2 alternatives"));
  const Outcome kept = opt_command({"-", "--passes=" + kFront + ",partition,choose_plan"}, kStep);
  ASSERT_EQ(kept.code, 0) << kept.err;
  EXPECT_EQ(kept.err, "");
  EXPECT_EQ(kept.out, first.out);  // here the first is the cheapest
}

TEST_F(Commands, OptErrors) {
  auto fails = [&](const char* passes, const char* what) {
    const Outcome o = opt_command({"-", fmt::format("--passes={}", passes)}, kProduct);
    EXPECT_EQ(o.code, 1);
    EXPECT_THAT(o.err, HasSubstr(what));
  };
  fails("polish",
        "expected passes among count_loops, lower_scans, checkpoint, grad, vmap, merge_equal_ops, "
        "remove_dead_ops, flatten_regions, prune_control, "
        "contract_sums, multiply_after_loops, split_transforms, split_constants, pin_shardings, "
        "propagate, "
        "expand_custom_partitions, split_lines, split_sorts, partition, choose_plan, "
        "merge_sorts, take_expected_branches, loop_over_rows, unroll_windows, simplify, "
        "loop_over_windows, fuse, "
        "got 'polish'");
  fails("partition", "run the pass propagate first");
  fails((kFront + ",choose_plan").c_str(), "run the pass partition before it");
  fails("merge_equal_ops,grad", "expected grad before all passes that are no transforms");
  fails((kFront + ",partition,fuse,simplify").c_str(), "expected fuse to be the last pass");
  EXPECT_EQ(opt_command({}).code, 2);
}

TEST_F(Commands, TourRunsTheTutorial) {
  const Outcome o = tessera_command({"tour"});
  ASSERT_EQ(o.code, 0) << o.err;
  for (const char* part :
       {"TpuDevice(id=0", "1. Data on many devices", "2. Automatic", "3. Semi-automatic",
        "4. Manual", "5. One layer", "all_reduce", "[shard_map]", "norm: 102.05"})
    EXPECT_THAT(o.out, HasSubstr(part));
}

TEST_F(Commands, OptEmitsBytecodeThatEveryCommandReads) {
  const Outcome text = opt_command({"-"}, kProduct);
  ASSERT_EQ(text.code, 0) << text.err;
  const Outcome bytes = opt_command({"-", "--emit", "bytecode"}, kProduct);
  ASSERT_EQ(bytes.code, 0) << bytes.err;
  EXPECT_THAT(bytes.out, StartsWith("ML\xefR"));
  EXPECT_EQ(opt_command({"-"}, bytes.out).out, text.out);
  EXPECT_EQ(tessera_command({"explain", "-"}, bytes.out).out,
            tessera_command({"explain", "-"}, kProduct).out);
  const Outcome old = opt_command({"-", "--emit", "bytecode", "--vhlo", "0.9.0"}, kProduct);
  EXPECT_THAT(old.out, HasSubstr("StableHLO_v0.9.0"));
  EXPECT_EQ(opt_command({"-"}, old.out).out, text.out);
}

TEST_F(Commands, OptSaysWhatItCannotEmit) {
  EXPECT_EQ(opt_command({"-", "--emit", "pdf"}, kProduct).code, 2);
  EXPECT_THAT(opt_command({"-", "--emit", "bytecode", "--vhlo", "9.9.9"}, kProduct).err,
              HasSubstr("expected a version of VHLO"));
  EXPECT_THAT(
      opt_command({"-", "--emit", "bytecode", "--passes", "merge_equal_ops,fuse"}, kProduct).err,
      Not(IsEmpty()));
}

TEST_F(Commands, DamagedBytecodeIsWrongInput) {
  const std::string bytes = opt_command({"-", "--emit", "bytecode"}, kProduct).out;
  const Outcome outcome = opt_command({"-"}, bytes.substr(0, bytes.size() / 2));
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("[parse] -: byte "));
}

}  // namespace
}  // namespace tessera::tools::commands_test
