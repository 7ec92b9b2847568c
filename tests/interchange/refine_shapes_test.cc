// Programs with unknown extents, which are read for arguments of known shapes.
#include "tessera/interchange/refine_shapes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/base/error.h"
#include "tessera/interchange/bytecode/reader.h"
#include "tessera/interchange/text/printer.h"
#include "tessera/ir/op_def.h"
#include "tessera/ir/verifier.h"
#include "tests/golden/golden.h"

namespace tessera::interchange::refine_shapes_test {
namespace {

using testing::HasSubstr;

// Returns options in which argument i has the i-th shape; the shapes of further arguments are not
// known.
ReadOptions of_shapes(std::vector<Shape> shapes) {
  return {.argument_shape = [shapes](size_t i, const std::string&,
                                     const Type&) -> std::optional<Shape> {
    if (i >= shapes.size()) return std::nullopt;
    return shapes[i];
  }};
}

std::string error_of(std::string_view text, std::vector<Shape> shapes) {
  try {
    read_module(text, "model.mlir", of_shapes(std::move(shapes)));
  } catch (const UserError& e) {
    EXPECT_EQ(e.kind(), ErrorKind::kParse);
    return e.what();
  }
  return "no error";
}

std::vector<Shape> shapes_of(const golden::Json& references) {
  std::vector<Shape> out;
  for (const golden::Json& one : references) out.push_back(golden::dims(one.at("shape")));
  return out;
}

// tests/tools compares their results.
TEST(RefineShapes, TextAndBytecodeGiveTheShapesOfJax) {
  const golden::Topic topic("symbolic");
  int count = 0;
  for (const golden::Json& p : topic["programs"]) {
    SCOPED_TRACE(p["name"].get<std::string>());
    const std::string text = golden::read_file("stablehlo/" + p["text"].get<std::string>());
    const std::string bytes = golden::bytes_of_hex(p["bytecode"]);
    for (const golden::Json& c : p["cases"]) {
      const ReadOptions options = of_shapes(shapes_of(c["inputs"]));
      const Function f = read_module(text, "text", options).main;
      verify(f);
      std::vector<Shape> results;
      for (const ValueId v : f.outputs) results.push_back(f.type(v).shape);
      EXPECT_EQ(results, shapes_of(c["outputs"]));
      EXPECT_EQ(to_mlir(read_module(bytes, "bytes", options).main), to_mlir(f));
      ++count;
    }
    for (const golden::Json& extents : p["refused"]) {
      std::vector<Shape> shapes;
      for (const int64_t extent : extents) shapes.push_back({extent});
      for (const std::string& program : {text, bytes})
        EXPECT_THAT(error_of(program, shapes), HasSubstr("Input shapes do not match"));
    }
    EXPECT_THAT(error_of(text, {}), HasSubstr("expected static extents of %"));
    EXPECT_THAT(error_of(bytes, {}), HasSubstr("expected static extents of %"));
  }
  EXPECT_EQ(count, 42);
}

constexpr std::string_view kTwice = R"(
  func.func @main(%a: tensor<?xf32>, %b: tensor<4x?xf32>) -> tensor<?xf32> {
    %0 = call @doubled(%a) : (tensor<?xf32>) -> tensor<?xf32>
    %1 = call @doubled(%0) : (tensor<?xf32>) -> tensor<?xf32>
    %2 = stablehlo.reshape %b : (tensor<4x?xf32>) -> tensor<12xf32>
    %3 = call @doubled(%2) : (tensor<12xf32>) -> tensor<?xf32>
    %4 = stablehlo.concatenate %1, %3, dim = 0 : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
    return %4 : tensor<?xf32>
  }
  func.func private @doubled(%a: tensor<?xf32>) -> tensor<?xf32> {
    %0 = stablehlo.concatenate %a, %a, dim = 0 : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
    return %0 : tensor<?xf32>
  })";

TEST(RefineShapes, FunctionsAreReadForTheShapesOfEachCall) {
  const Function f = read_module(kTwice, "text", of_shapes({{5}, {4, 3}})).main;
  verify(f);
  EXPECT_EQ(f.type(f.outputs[0]).shape, Shape({44}));
}

// A custom call that only Tessera has names its functions in a record, and they do not get shapes
// from its operands.
TEST(RefineShapes, FunctionsOfLoops) {
  const Function f = read_module(R"(
  func.func @main(%a: tensor<?xf32>, %c: tensor<f32>) -> (tensor<?xf32>, tensor<f32>) {
    %0 = stablehlo.custom_call @tessera.scan(%c) {api_version = 4 : i32, backend_config = {body = @step, length = 4 : i64, num_consts = 0 : i64, num_carry = 1 : i64, reverse = false}} : (tensor<f32>) -> tensor<f32>
    return %a, %0 : tensor<?xf32>, tensor<f32>
  }
  func.func private @step(%a: tensor<f32>) -> tensor<f32> {
    %0 = stablehlo.add %a, %a : tensor<f32>
    return %0 : tensor<f32>
  })",
                                 "text", of_shapes({{5}}))
                         .main;
  verify(f);
  EXPECT_EQ(f.type(f.outputs[0]).shape, Shape({5}));
  ASSERT_EQ(f.ops.size(), 1u);
  EXPECT_EQ(f.ops[0].def->name, "scan");
}

TEST(RefineShapes, ShapesThatDoNotFit) {
  EXPECT_THAT(error_of(kTwice, {{5}}),
              HasSubstr("model.mlir:2:57: expected static extents of %b, or its shape, got "
                        "tensor<4x?xf32>; give arguments of these shapes, or export the program "
                        "with concrete ones"));
  EXPECT_THAT(error_of(kTwice, {{5}, {4, 3, 1}}),
              HasSubstr("expected %b to be tensor<4x?xf32>, of at most 2^46 elements, got the "
                        "shape (4, 3, 1) for it"));
  EXPECT_THAT(error_of(kTwice, {{5}, {5, 3}}), HasSubstr("got the shape (5, 3) for it"));
  EXPECT_THAT(error_of(kTwice, {{5}, {4, 2}}), HasSubstr("12"));
  EXPECT_THAT(error_of(kTwice, {{-3}, {4, 3}}), HasSubstr("expected %a to be tensor<?xf32>"));
  EXPECT_THAT(error_of(kTwice, {{int64_t{1} << 47}, {4, 3}}),
              HasSubstr("at most 2^46 elements, got the shape"));
  EXPECT_THAT(error_of(kTwice, {{int64_t{1} << 45}, {4, 3}}),
              HasSubstr("expected result 0 to have at most 2^46 elements, got tensor<"));
}

TEST(RefineShapes, Errors) {
  // The error is about the shape of a result that does not follow from anything.
  EXPECT_THAT(error_of(R"(func.func @main(%a: tensor<?xf32>) -> tensor<?xf32> {
    %0 = stablehlo.reshape %a : (tensor<?xf32>) -> tensor<?xf32>
    return %0 : tensor<?xf32>
  })",
                       {{4}}),
              HasSubstr("expected the shape of the result, which nothing else here gives"));
  // The shape depends on the contents of an argument.
  const std::string_view runtime =
      R"(func.func @main(%a: tensor<?xf32>, %n: tensor<1xi32>) -> tensor<?xf32> {
    %0 = stablehlo.dynamic_reshape %a, %n : (tensor<?xf32>, tensor<1xi32>) -> tensor<?xf32>
    return %0 : tensor<?xf32>
  })";
  EXPECT_THAT(error_of(runtime, {{4}, {1}}),
              HasSubstr("expected constants to give the shape of the result, tensor<?xf32>, got "
                        "values that vary; export the program with concrete shapes"));
  // The result has another shape than the one that is written.
  EXPECT_THAT(error_of(R"(func.func @main(%a: tensor<?xf32>) -> tensor<5xf32> {
    return %a : tensor<?xf32>
  })",
                       {{4}}),
              HasSubstr("expected"));
  // Functions that call themselves.
  EXPECT_THAT(error_of(R"(func.func @main(%a: tensor<?xf32>) -> tensor<?xf32> {
    %0 = call @f(%a) : (tensor<?xf32>) -> tensor<?xf32>
    return %0 : tensor<?xf32>
  }
  func.func private @f(%a: tensor<?xf32>) -> tensor<?xf32> {
    %0 = stablehlo.concatenate %a, %a, dim = 0 : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
    %1 = call @f(%0) : (tensor<?xf32>) -> tensor<?xf32>
    return %1 : tensor<?xf32>
  })",
                       {{4}}),
              HasSubstr("@f"));
  // A condition on the contents of an argument.
  EXPECT_THAT(error_of(R"(func.func @main(%a: tensor<?xf32>, %p: tensor<i1>) -> tensor<?xf32> {
    stablehlo.custom_call @shape_assertion(%p) {error_message = "no"} : (tensor<i1>) -> ()
    return %a : tensor<?xf32>
  })",
                       {{4}}),
              HasSubstr("expected a condition on shapes that are known, and a message"));
}

// Any bytes and shapes must yield a program or an error.
TEST(RefineShapes, DamagedPrograms) {
  const golden::Topic topic("symbolic");
  for (const golden::Json& p : topic["programs"]) {
    const std::string name = p["name"];
    if (name != "scan" && name != "pool" && name != "take") continue;
    const ReadOptions options = of_shapes(shapes_of(p["cases"][0]["inputs"]));
    const std::string text = golden::read_file("stablehlo/" + p["text"].get<std::string>());
    for (const std::string& whole : {golden::bytes_of_hex(p["bytecode"]), text})
      for (size_t at = 4; at < whole.size(); at += 13) {
        std::string damaged = whole;
        damaged[at] = static_cast<char>(damaged[at] ^ (at % 2 ? 0x12 : 0x01));
        try {
          verify(read_module(damaged, "file", options).main);
        } catch (const UserError& e) {
          EXPECT_EQ(e.kind(), ErrorKind::kParse) << e.what();
        }
      }
  }
}

TEST(RefineShapes, Types) {
  const Type open{.dtype = float32, .shape = {4, kOpenExtent}};
  EXPECT_TRUE(is_open(open));
  EXPECT_EQ(fmt::format("{}", open), "tensor<4x?xf32>");
  EXPECT_TRUE(fits(open, {.dtype = float32, .shape = {4, 7}}));
  EXPECT_FALSE(fits(open, {.dtype = float32, .shape = {5, 7}}));
  EXPECT_FALSE(fits(open, {.dtype = float64, .shape = {4, 7}}));
  EXPECT_FALSE(fits(open, {.dtype = float32, .shape = {4}}));
  EXPECT_EQ(refined(open, {4, 7}).shape, Shape({4, 7}));
  EXPECT_FALSE(is_open(refined(open, {4, 7})));
}

}  // namespace
}  // namespace tessera::interchange::refine_shapes_test
