// Errors for every constraint of fft and fft_along; the text of fft as JAX writes it.
#include "tessera/ops/fourier/fft.h"

#include "tessera/interchange/text/parser.h"
#include "tessera/interchange/text/printer.h"
#include "tests/ops/host_executor.h"

namespace tessera::testing_ops::fft_test {

using namespace interchange;

namespace {

std::vector<Type> infer(const Type& x, const FftParams& p) { return fft_op.infer({&x, 1}, p); }
std::vector<Type> infer_along(const Type& x, const FftAlongParams& p) {
  return fft_along_op.infer({&x, 1}, p);
}
const Type complex{.dtype = complex64, .shape = {3, 4}}, real{.dtype = float32, .shape = {3, 4}};

TEST(FftOp, RefusesOperandsThatDoNotFit) {
  EXPECT_USER_ERROR(fft_op.infer({}, FftParams{}), "[fft] expected");
  EXPECT_USER_ERROR(infer(real, {FftType::kFft, {4}}),
                    "[fft] expected complex64 or complex128 for FFT (C3), got float32[3,4]");
  EXPECT_USER_ERROR(infer(real, {FftType::kIrfft, {6}}),
                    "[fft] expected complex64 or complex128 for IRFFT (C3), got float32[3,4]");
  EXPECT_USER_ERROR(infer(complex, {FftType::kRfft, {4}}),
                    "[fft] expected float32 or float64 for RFFT (C3), got complex64[3,4]");
  EXPECT_USER_ERROR(infer(complex, {FftType::kFft, {}}),
                    "[fft] expected one to three lengths (C1), got ()");
  EXPECT_USER_ERROR(infer(complex, {FftType::kFft, {2, 3, 4}}),
                    "[fft] expected an array of rank 3 or more");
  EXPECT_USER_ERROR(infer(complex, {FftType::kIfft, {4, 3}}),
                    "[fft] expected the last dimensions to be of lengths (4, 3) (C4)");
  EXPECT_USER_ERROR(infer(complex, {FftType::kIrfft, {8}}),
                    "[fft] expected 5 points in the last dimension for length 8 of IRFFT (C5)");
}

TEST(FftOp, AlongRefusesWhatDoesNotFit) {
  EXPECT_USER_ERROR(infer_along(complex, {FftType::kFft, 2}),
                    "[fft_along] expected a dimension in [0, 2), got 2 for complex64[3,4]");
  EXPECT_USER_ERROR(infer_along(real, {FftType::kFft, 0}),
                    "[fft] expected complex64 or complex128");
  EXPECT_USER_ERROR(infer_along(real, {FftType::kRfft, 0}),
                    "[fft_along] expected FFT or IFFT, got a transform of reals");
}

TEST(FftOp, BothFormsOfTextAreOne) {
  const auto program = [](const std::string& op) {
    return parse_mlir(
        "func.func @main(%x: tensor<3x4xcomplex<f32>>) -> tensor<3x6xf32> {\n%0 = " + op +
        " : (tensor<3x4xcomplex<f32>>) -> tensor<3x6xf32>\n" + "return %0 : tensor<3x6xf32>\n}");
  };
  const Function pretty = program("stablehlo.fft %x, type = IRFFT, length = [3, 6]");
  EXPECT_TRUE(pretty == program("\"stablehlo.fft\"(%x) <{fft_length = array<i64: 3, 6>, fft_type = "
                                "#stablehlo<fft_type IRFFT>}>"));
  EXPECT_NE(to_mlir(pretty).find("stablehlo.fft %arg0, type = IRFFT, length = [3, 6] : "
                                 "(tensor<3x4xcomplex<f32>>) -> tensor<3x6xf32>"),
            std::string::npos)
      << to_mlir(pretty);
  EXPECT_USER_ERROR(program("stablehlo.fft %x, type = XFFT, length = [3, 6]"),
                    "expected one of the enumeration's names, got 'XFFT'");
}

}  // namespace
}  // namespace tessera::testing_ops::fft_test
