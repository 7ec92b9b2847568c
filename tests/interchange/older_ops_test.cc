// StableHLO's deprecated ops and its batch normalisation, as other libraries write them. The
// numbers of batch_norm are those of XLA.
#include "tests/interchange/foreign_text.h"

namespace tessera::interchange::older_ops_test {
namespace {

using testing::ElementsAre;
using testing::FloatNear;
using testing::Pointwise;

using foreign_text::expect_error;
using foreign_text::values;

const char* const kOperands = R"(
      %a = stablehlo.constant dense<[[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]> : tensor<2x3xf32>
      %b = stablehlo.constant dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]> : tensor<3x2xf32>
      %v = stablehlo.constant dense<[1.0, 2.0, 4.0]> : tensor<3xf32>
      %i = stablehlo.constant dense<[[2, 0], [1, 5]]> : tensor<2x2xi32>
)";
// Returns the program with one op on these operands.
std::string program(const std::string& op, const std::string& type) {
  return "func.func @main() -> " + type + " {" + kOperands + "%0 = " + op +
         "\nreturn %0 : " + type + "\n}";
}

TEST(OlderOps, Broadcast) {
  const std::string type = "tensor<2x1x3xf32>";
  const auto twice = ElementsAre(1, 2, 4, 1, 2, 4);
  EXPECT_THAT(values<float>(program(
                  "stablehlo.broadcast %v, sizes = [2, 1] : (tensor<3xf32>) -> " + type, type)),
              twice);
  EXPECT_THAT(values<float>(program("\"stablehlo.broadcast\"(%v) <{broadcast_sizes = array<i64: 2, "
                                    "1>}> : (tensor<3xf32>) -> " +
                                        type,
                                    type)),
              twice);
  expect_error(program("stablehlo.broadcast %v, sizes = [-1] : (tensor<3xf32>) -> tensor<3xf32>",
                       "tensor<3xf32>"),
               "expected sizes from 0 on");
  expect_error(program("stablehlo.broadcast %v, sizes = [2] : (tensor<3xf32>) -> tensor<3xf32>",
                       "tensor<3xf32>"),
               "expected result 0 to be");
}

TEST(OlderOps, Dot) {
  EXPECT_THAT(values<float>(program("stablehlo.dot %a, %b, precision = [DEFAULT, HIGHEST] : "
                                    "(tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xf32>",
                                    "tensor<2x2xf32>")),
              ElementsAre(13, 16, 40, 52));
  EXPECT_THAT(
      values<float>(program("stablehlo.dot %v, %v : (tensor<3xf32>, tensor<3xf32>) -> tensor<f32>",
                            "tensor<f32>")),
      ElementsAre(21));
  EXPECT_THAT(values<double>(program(
                  "stablehlo.dot %a, %v : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2xf64>",
                  "tensor<2xf64>")),
              ElementsAre(10, 31));
  expect_error(
      program("stablehlo.dot %a, %a : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>",
              "tensor<2x3xf32>"),
      "[dot");
}

std::string einsum(const std::string& config) {
  return program("stablehlo.einsum %a, %b, config = \"" + config +
                     "\" : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xf32>",
                 "tensor<2x2xf32>");
}

TEST(OlderOps, Einsum) {
  EXPECT_THAT(values<float>(einsum("ab,bc->ac")), ElementsAre(13, 16, 40, 52));
  EXPECT_THAT(values<float>(einsum("ab,bc->ca")), ElementsAre(13, 40, 16, 52));
  // `a` is in both and kept, so it is a batch; `b` and `c` are in one, and not kept.
  EXPECT_THAT(values<float>(program("stablehlo.einsum %a, %b, config = \"ab,ca->a\" : "
                                    "(tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2xf32>",
                                    "tensor<2xf32>")),
              ElementsAre(27, 144));
  EXPECT_THAT(
      values<float>(program(
          "stablehlo.unary_einsum %a, config = \"ab->b\" : (tensor<2x3xf32>) -> tensor<3xf32>",
          "tensor<3xf32>")),
      ElementsAre(3, 5, 7));
  EXPECT_THAT(
      values<float>(program(
          "stablehlo.unary_einsum %a, config = \"ab->ba\" : (tensor<2x3xf32>) -> tensor<3x2xf32>",
          "tensor<3x2xf32>")),
      ElementsAre(0, 3, 1, 4, 2, 5));
}

TEST(OlderOps, EinsumsThatDoNotFit) {
  expect_error(einsum("ab,bc"), "expected einsum_config to be a string such as \"ab,bc->ac\"");
  expect_error(einsum("ab->a"), "expected labels of 2 operands");
  expect_error(einsum("...b,bc->c"), "expected a label for each of the 2 dimensions of operand 0");
  expect_error(einsum("aa,bc->ac"), "expected labels that an operand has once");
  expect_error(einsum("ab,ac->bc"), "expected equal extents of the dimensions 'a', got 2 and 3");
  expect_error(einsum("ab,bc->ad"), "expected labels of the operands in the result");
  expect_error(einsum("ab,bc->aa"), "expected labels of the operands in the result");
}

std::string select(int dim, int batch, const std::string& type) {
  return program("\"stablehlo.torch_index_select\"(%a, %i) <{dim = " + std::to_string(dim) +
                     " : i64, batch_dims = " + std::to_string(batch) +
                     " : i64}> : (tensor<2x3xf32>, tensor<2x2xi32>) -> " + type,
                 type);
}

TEST(OlderOps, TorchIndexSelect) {
  // Position 5 is moved inside.
  EXPECT_THAT(values<float>(select(1, 0, "tensor<2x2x2xf32>")),
              ElementsAre(2, 0, 1, 2, 5, 3, 4, 5));
  EXPECT_THAT(values<float>(select(1, 1, "tensor<2x2xf32>")), ElementsAre(2, 0, 4, 5));
  expect_error(select(0, 1, "tensor<2x2xf32>"), "expected 0 <= batch_dims <= dim < 2");
  expect_error(select(2, 0, "tensor<2x2xf32>"), "expected 0 <= batch_dims <= dim < 2");
  expect_error(program("\"stablehlo.torch_index_select\"(%a, %v) <{dim = 1 : i64, batch_dims = 0 : "
                       "i64}> : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>",
                       "tensor<2x3xf32>"),
               "expected positions of an integer dtype");
  expect_error(program("\"stablehlo.torch_index_select\"(%b, %i) <{dim = 1 : i64, batch_dims = 1 : "
                       "i64}> : (tensor<3x2xf32>, tensor<2x2xi32>) -> tensor<3x2xf32>",
                       "tensor<3x2xf32>"),
               "expected equal extents of dimension 0 of the batch, got 3 and 2");
}

// --- Batch normalisation ---

const char* const kStatistics = R"(
      %x = stablehlo.constant dense<[[[3.0, 1.0], [0.0, -2.0], [-2.0, -4.0]], [[-4.0, -4.0], [-3.0, 3.0], [1.0, 4.0]]]> : tensor<2x3x2xf32>
      %g = stablehlo.constant dense<[[[0.0, 1.0], [3.0, 2.0], [1.0, 0.0]], [[0.0, 3.0], [-2.0, 2.0], [1.0, -3.0]]]> : tensor<2x3x2xf32>
      %scale = stablehlo.constant dense<[1.0, 2.0, 0.5]> : tensor<3xf32>
      %offset = stablehlo.constant dense<[0.0, 1.0, -1.0]> : tensor<3xf32>
      %mean = stablehlo.constant dense<[0.5, -1.0, 2.0]> : tensor<3xf32>
      %variance = stablehlo.constant dense<[1.0, 3.0, 8.0]> : tensor<3xf32>
)";
std::string batch_norm(
    const std::string& kind, const std::string& operands, const std::string& types,
    const std::string& results,
    const std::string& about = "epsilon = 1.0e-3 : f32, feature_index = 1 : i64") {
  const bool three = results[0] == '(';
  return "func.func @main() -> " + results + " {" + kStatistics + (three ? "%0:3" : "%0") +
         " = \"stablehlo.batch_norm_" + kind + "\"(" + operands + ") <{" + about + "}> : (" +
         types + ") -> " + results + "\nreturn " +
         (three ? "%0#0, %0#1, %0#2 : tensor<2x3x2xf32>, tensor<3xf32>, tensor<3xf32>"
                : "%0 : " + results) +
         "\n}";
}
const std::string kWhole = "tensor<2x3x2xf32>", kEach = ", tensor<3xf32>, tensor<3xf32>",
                  kThree = "(tensor<2x3x2xf32>, tensor<3xf32>, tensor<3xf32>)";

template <class Values>
void expect_near(const std::vector<float>& got, const Values& want) {
  EXPECT_THAT(got, Pointwise(FloatNear(4e-6F), want));
}

TEST(BatchNorm, Training) {
  const std::string text = batch_norm("training", "%x, %scale, %offset", kWhole + kEach, kThree);
  expect_near(
      values<float>(text, 0),
      std::vector<float>{1.297703F, 0.648852F, 1.436394F, -0.309183F, -1.288659F, -1.618556F,
                         -0.973277F, -0.973277F, -1.181971F, 4.05476F, -0.793815F, -0.29897F});
  EXPECT_THAT(values<float>(text, 1), ElementsAre(-1, -0.5, -0.25));
  EXPECT_THAT(values<float>(text, 2), ElementsAre(9.5, 5.25, 9.1875));
}

TEST(BatchNorm, Inference) {
  expect_near(
      values<float>(batch_norm("inference", "%x, %scale, %offset, %mean, %variance",
                               kWhole + kEach + kEach, kWhole)),
      std::vector<float>{2.498751F, 0.49975F, 2.154508F, -0.154508F, -1.707063F, -2.060594F,
                         -4.497752F, -4.497752F, -1.309016F, 5.618032F, -1.176766F, -0.646469F});
}

TEST(BatchNorm, Grad) {
  const std::string text = batch_norm("grad", "%x, %scale, %mean, %variance, %g",
                                      kWhole + kEach + ", tensor<3xf32>, " + kWhole, kThree);
  expect_near(
      values<float>(text, 0),
      std::vector<float>{7.113327F, 1.622566F, 0.770089F, 2.116182F, -0.022065F, -0.320342F,
                         -15.602589F, -12.604088F, -1.251551F, -4.135321F, 0.160201F, -0.364594F});
  expect_near(values<float>(text, 1), std::vector<float>{-12.993505F, 7.504303F, -3.888844F});
  EXPECT_THAT(values<float>(text, 2), ElementsAre(4, 5, -1));
}

TEST(BatchNorm, OperandsThatDoNotFit) {
  const auto training = [](const std::string& operands, const std::string& types,
                           const std::string& about) {
    return batch_norm("training", operands, types, kThree, about);
  };
  const std::string usual = "epsilon = 1.0e-3 : f32, feature_index = 1 : i64";
  expect_error(training("%x, %scale", kWhole + ", tensor<3xf32>", usual), "expected 3 operands");
  expect_error(training("%x, %scale, %g", kWhole + ", tensor<3xf32>, " + kWhole, usual),
               "expected operand 2 to be tensor<3xf32>, got tensor<2x3x2xf32>");
  expect_error(training("%x, %scale, %offset", kWhole + kEach,
                        "epsilon = 1.0e-3 : f32, feature_index = 3 : i64"),
               "its dimension of features");
  expect_error(
      training("%x, %scale, %offset", kWhole + kEach, "epsilon = 1 : i64, feature_index = 1 : i64"),
      "expected epsilon to be a number");
}

}  // namespace
}  // namespace tessera::interchange::older_ops_test
