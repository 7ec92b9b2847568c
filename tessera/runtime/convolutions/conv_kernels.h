// ConvKernels: packs the kernel (the weights) of a convolution into the layouts that oneDNN reads.
// The convolution is divided into tiles (conv_library.h). Tiles of different groups or features
// read different parts of the kernel, and each part is packed by itself, for the primitive that
// reads it.
#pragma once

#include <vector>

#include "tessera/base/dtype.h"
#include "tessera/base/shape.h"
#include "tessera/runtime/convolutions/dnnl_memory.h"
#include "tessera/runtime/products/packed_weights.h"

namespace tessera::runtime {

class ConvKernels final : public PackedForm {
 public:
  // The kernel as the user stores it, row-major.
  struct Source {
    DType dtype;
    Shape shape;
    std::vector<bool> reversed;  // the dimensions to reverse; empty: none
  };
  struct Part {
    int64_t from, to;     // offsets in bytes, in the source and in the packed form
    DnnlReorder reorder;  // if it is not needed, the part is copied unchanged
  };
  // Returns the form that has these parts and takes `bytes` bytes in all.
  static PackedFormRef make(Source source, std::vector<Part> parts, int64_t bytes);

  int64_t bytes() const override { return bytes_; }
  void pack(const std::byte* from, std::byte* to) const override;

 private:
  ConvKernels(Source source, std::vector<Part> parts, int64_t bytes);
  size_t hash() const override;
  bool equals(const PackedForm& other) const override;

  Source source_;
  std::vector<Part> parts_;
  int64_t bytes_;
};

}  // namespace tessera::runtime
