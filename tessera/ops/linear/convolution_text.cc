#include "tessera/ops/linear/convolution_text.h"

#include <fmt/ranges.h>

#include <vector>

namespace tessera::ops {
namespace {

// Returns [b, 0, 1, f] for (batch, feature, spatial...): each dimension's letter or spatial number.
std::string spec_text(const Dims& spec, char first, char second) {
  std::vector<std::string> names(spec.size());
  names[spec[0]] = std::string(1, first);
  names[spec[1]] = std::string(1, second);
  for (size_t d = 2; d < spec.size(); ++d) names[spec[d]] = fmt::format("{}", d - 2);
  return fmt::format("[{}]", fmt::join(names, ", "));
}

}  // namespace

std::string convolution_numbers_text(const ConvolutionParams& p) {
  return fmt::format("{}x{}->{}", spec_text(p.lhs_spec, 'b', 'f'), spec_text(p.rhs_spec, 'o', 'i'),
                     spec_text(p.out_spec, 'b', 'f'));
}

std::string convolution_text(const ConvolutionParams& p) {
  std::vector<std::string> pads, reversal;
  for (size_t d = 0; d < p.low.size(); ++d) {
    pads.push_back(fmt::format("[{}, {}]", p.low[d], p.high[d]));
    reversal.push_back(p.reversal[d] ? "true" : "false");
  }
  auto list = [](const Dims& dims) { return fmt::format("[{}]", fmt::join(dims, ", ")); };
  std::string window;
  if (!p.strides.empty())
    window =
        fmt::format("stride = {}, pad = [{}], lhs_dilate = {}, rhs_dilate = {}, reverse = [{}]",
                    list(p.strides), fmt::join(pads, ", "), list(p.lhs_dilation),
                    list(p.rhs_dilation), fmt::join(reversal, ", "));
  return fmt::format("dim_numbers = {}, window = {{{}}}", convolution_numbers_text(p), window);
}

}  // namespace tessera::ops
