#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tessera/interchange/bytecode/reader.h"
#include "tessera/interchange/bytecode/writer.h"
#include "tessera/interchange/text/printer.h"
#include "tests/golden/golden.h"

namespace tessera::bytecode_writer_test {

using namespace interchange;

namespace {

using ::testing::HasSubstr;

std::vector<std::string> golden_texts() {
  std::vector<std::string> names;
  const std::filesystem::path root = std::filesystem::path(TESSERA_GOLDEN_DIR) / "stablehlo";
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root))
    // refine_shapes_test.cc reads programs with symbolic shapes.
    if (entry.path().extension() == ".mlir" && entry.path().parent_path().filename() != "symbolic")
      names.push_back(std::filesystem::relative(entry.path(), root));
  return names;
}

std::string error_of(const Function& f, const BytecodeOptions& options) {
  try {
    to_bytecode(f, options);
  } catch (const UserError& e) {
    return e.what();
  }
  return "no error";
}

TEST(BytecodeWriter, EveryGoldenProgramIsReadBack) {
  for (const std::string& name : golden_texts()) {
    SCOPED_TRACE(name);
    const Function f = parse_mlir(golden::read_file("stablehlo/" + name), name);
    const Function again = read_bytecode(to_bytecode(f), name).main;
    EXPECT_TRUE(again == f);
    EXPECT_EQ(to_mlir(again), to_mlir(f));
  }
}

// Formats 0, 1, 3 and 4 of bytecode, and ops before their later versions.
TEST(BytecodeWriter, OldVersionsAreReadBack) {
  const Function f = parse_mlir(golden::read_file("stablehlo/softmax.mlir"), "softmax");
  for (const char* version :
       {"0.9.0", "0.10.1", "0.12.0", "0.14.0", "0.15.0", "1.0.0", "1.20.0", "1.22.0"}) {
    const std::string bytes = to_bytecode(f, {.version = version});
    EXPECT_THAT(bytes.substr(0, 64), HasSubstr(std::string("StableHLO_v") + version));
    EXPECT_EQ(to_mlir(read_bytecode(bytes, version).main), to_mlir(f));
  }
}

TEST(BytecodeWriter, ModulesHaveNames) {
  const Function f =
      parse_mlir("func.func @main(%x: tensor<f32>) -> tensor<f32> { return %x : tensor<f32> }");
  EXPECT_EQ(read_bytecode(to_bytecode(f, {.module_name = "jit_f"})).name, "jit_f");
  EXPECT_EQ(read_bytecode(to_bytecode(f)).name, "main");
}

TEST(BytecodeWriter, SaysWhatAVersionLacks) {
  const Function f = parse_mlir(R"(func.func @main(%x: tensor<f32>) -> tensor<f32> {
    %0 = stablehlo.tan %x : tensor<f32>
    return %0 : tensor<f32>
  })");
  EXPECT_THAT(error_of(f, {.version = "1.3.0"}),
              HasSubstr("[bytecode] expected ops that VHLO 1.3.0 has, got stablehlo.tan"));
  for (const char* version : {"", "1", "1.2", "0.8.0", "2.0.0", "1.2.3.4", "1.x.0"})
    EXPECT_THAT(error_of(f, {.version = version}),
                HasSubstr("expected a version of VHLO from 0.9.0 to 1.22.0"));
  const Function gather =
      parse_mlir(golden::read_file("stablehlo/ops/take_along_axis.mlir"), "gather");
  EXPECT_THAT(
      error_of(gather, {.version = "1.0.0"}),
      HasSubstr("expected attributes of gather that VHLO 1.0.0 has, got 'operand_batching_dims'"));
}

// They are custom calls; their functions and meshes are strings in VHLO.
TEST(BytecodeWriter, OpsThatOnlyTesseraHasAreReadBack) {
  const Function f = parse_mlir(R"(
    sdy.mesh @mesh = <["x"=4]> {tessera.abstract}
    func.func @main(%xs: tensor<4xf32>, %c: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
      %0:2 = stablehlo.custom_call @tessera.scan(%c, %c, %xs) {api_version = 4 : i32, backend_config = {body = @step, length = 4 : i64, num_consts = 1 : i64, num_carry = 1 : i64, reverse = false}} : (tensor<f32>, tensor<f32>, tensor<4xf32>) -> (tensor<f32>, tensor<4xf32>)
      %1 = func.call @twice(%0#0) {mhlo.frontend_attributes = {inlineable = "false"}} : (tensor<f32>) -> tensor<f32>
      return %0#0, %1 : tensor<f32>, tensor<f32>
    }
    func.func private @twice(%a: tensor<f32>) -> tensor<f32> {
      %0 = stablehlo.add %a, %a : tensor<f32>
      return %0 : tensor<f32>
    }
    func.func private @step(%k: tensor<f32>, %a: tensor<f32>, %x: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
      %0 = stablehlo.multiply %a, %k : tensor<f32>
      return %0, %x : tensor<f32>, tensor<f32>
    })");
  EXPECT_EQ(to_mlir(read_bytecode(to_bytecode(f)).main), to_mlir(f));
  EXPECT_THAT(to_mlir(f), HasSubstr("inlineable = \"false\""));
}

}  // namespace
}  // namespace tessera::bytecode_writer_test
