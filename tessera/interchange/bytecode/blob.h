// Values that bytecode stores as bytes: dense constants, and the dimension numbers of convolutions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "tessera/interchange/op_format.h"

namespace tessera::interchange::bytecode {

// Returns the literal of these bytes, little endian: all elements, or one if all are equal (the
// literal then has rank 0). Bools are bytes or bits. If the number of bytes does not fit, it
// returns nullopt and describes the error in `problem`.
std::optional<Literal> literal_of_bytes(std::string_view bytes, const Type& type,
                                        std::string& problem);
// Returns the elements of a tensor of rank 1 of integers or bools, or nullopt if there are many.
std::optional<Dims> integers_of(const TextAttr::Tensor& tensor);

struct ConvolutionNumbers {
  int64_t input_batch = 0, input_feature = 0, kernel_input = 0, kernel_output = 0, output_batch = 0,
          output_feature = 0;
  Dims input_spatial, kernel_spatial, output_spatial;
};
// Returns `[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]`, or an empty text if a dimension has no number
// or two.
std::string convolution_numbers(const ConvolutionNumbers& numbers);

}  // namespace tessera::interchange::bytecode
