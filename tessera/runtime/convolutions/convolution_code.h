// The compiled form of the convolution op. It uses oneDNN if that has fast code: for float32 and,
// on some CPUs, bfloat16; otherwise float16 and bfloat16 are converted to float32 first. All other
// convolutions are matrix products over windows. The form is made once, when a step is prepared
// (step_code.h).
#pragma once

#include <memory>

#include "tessera/ops/linear/convolution.h"
#include "tessera/runtime/convolutions/conv_library.h"
#include "tessera/runtime/products/packed_weights.h"

namespace tessera::runtime {

class ConvolutionCall {
 public:
  virtual ~ConvolutionCall() = default;
  // Returns the form in which run() reads rhs; null if it reads rhs itself.
  virtual PackedFormRef packed_rhs() const { return nullptr; }
  // Computes the result. The operands and the result are row-major, except that rhs is in its
  // packed form if it has one. Uses all threads unless the caller is one of several tasks. Several
  // threads may run the same object at a time.
  virtual void run(const void* lhs, const std::byte* rhs, void* out) const = 0;
  // Computes the result and passes it to `read` in parts, as soon as a part is computed; it is not
  // stored anywhere else. Several threads call `read` at a time.
  virtual void run_in_tiles(const void* lhs, const std::byte* rhs,
                            const TileReader& read) const = 0;
};

std::unique_ptr<const ConvolutionCall> make_convolution(const ConvolutionParams& params,
                                                        const Type& lhs, const Type& rhs,
                                                        const Type& result);

}  // namespace tessera::runtime
