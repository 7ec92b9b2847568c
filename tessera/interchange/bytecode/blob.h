// Values of bytecode that are bytes: dense constants, and how convolutions number dimensions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "tessera/interchange/op_format.h"

namespace tessera::interchange::bytecode {

// All elements, little endian, or those of one, which all are (then of rank 0); bools are bytes or
// bits. Nothing, and what is wrong, for another number of bytes.
std::optional<Literal> literal_of_bytes(std::string_view bytes, const Type& type,
                                        std::string& problem);
// The elements of a tensor of rank 1 of integers or bools, unless they are many.
std::optional<Dims> integers_of(const TextAttr::Tensor& tensor);

struct ConvolutionNumbers {
  int64_t input_batch = 0, input_feature = 0, kernel_input = 0, kernel_output = 0, output_batch = 0,
          output_feature = 0;
  Dims input_spatial, kernel_spatial, output_spatial;
};
// `[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]`; empty where a dimension has no number or two.
std::string convolution_numbers(const ConvolutionNumbers& numbers);

}  // namespace tessera::interchange::bytecode
