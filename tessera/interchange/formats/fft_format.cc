// Text of stablehlo.fft.
#include "tessera/interchange/formats/formats.h"
#include "tessera/ops/fourier/fft.h"

namespace tessera::interchange::formats {
namespace {

OpText write_fft(const Op& op, const Function&) {
  const FftParams& p = op.params.as<FftParams>();
  const std::string type(enum_names(p.type)[static_cast<size_t>(p.type)]);
  OpText text;
  text.attributes = {{"fft_type", TextAttr::Keyword{"fft_type", type}},
                     {"fft_length", to_text(Attribute(p.lengths), nullptr)}};
  return text;
}

}  // namespace

OpFormat fft() {
  return {.assembly = "{operands}, type = {fft_type}, length = {fft_length}",
          .signature = OpFormat::Signature::kFunctional,
          .write = write_fft};
}

}  // namespace tessera::interchange::formats
