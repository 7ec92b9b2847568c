// Computes convolutions with windows that do not overlap by one matrix product (dot_general) of
// reshaped operands. No element of an image is in two windows, so a reshape divides it into
// windows.
//
// In each spatial dimension, an image's n * d elements are n windows of d. The four forms follow
// from which array is the image (sizes lhs, rhs, result):
//
//   n * d, d, n   window and stride d: a kernel is applied to patches of an image
//   n, d, n * d   lhs_dilation and window d: the transposed convolution, which is also the gradient
//                 of the first form by the image
//   n * d, n, d   rhs_dilation d: the gradient of the first form by the kernel
//   n, n * d, d   lhs_dilation d, a window as large as the image: the gradient of the transposed
//                 convolution by the kernel
//
// The gradient by the kernel of windows of one place (d = 1 in the third form) is a product of few
// terms if the images have few pixels in all: the program then adds outer products.
//
// Example: the kernel's gradient of a transposed convolution that doubles a (1, 128, 128, 64) image
// to (1, 256, 256, 32), with a kernel of 2 x 2. The cotangent is (1, 128, 2, 128, 2, 32), and the
// product sums over the batch and both 128.
#pragma once

#include <span>

#include "tessera/ir/op_def.h"

namespace tessera::ops {

// A part of the unroll rule of convolution (ops/core/unroll_rule.h). Returns null if a convolution
// by oneDNN or by products of windows is faster, if windows overlap or are padded, or if there are
// groups.
FlatFn product_convolution(const OpParams& params, std::span<const Type> operands,
                           const Type& result);

}  // namespace tessera::ops
