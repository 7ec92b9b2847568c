// What all code that calls oneDNN shares: the library's engine, a stream for each thread, and
// DnnlReorder, which converts a tensor from one layout in memory to another.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tessera/runtime/convolutions/dnnl_versions.h"

namespace tessera::runtime {

const dnnl::engine& dnnl_engine();
// Returns the stream of the calling thread.
dnnl::stream& dnnl_stream();
// Returns attributes with which a primitive takes its scratchpad from its caller. The library's own
// scratchpad belongs to the thread that made the primitive.
dnnl::primitive_attr user_scratchpad();
// Returns the bytes of a tensor or a scratchpad, a multiple of 64.
int64_t dnnl_bytes(const dnnl::memory::desc& desc);

// Converts a tensor from one layout to another.
struct DnnlReorder {
  dnnl::memory::desc from, to, scratchpad;
  dnnl::reorder primitive;
  int64_t scratch = 0;  // bytes of scratch memory that run() needs
  bool needed = false;  // whether the layouts differ; if not, run() must not be called

  DnnlReorder() = default;
  DnnlReorder(const dnnl::memory::desc& from, const dnnl::memory::desc& to);
  // `work` has `scratch` bytes.
  void run(const void* in, void* out, std::byte* work) const;
};

}  // namespace tessera::runtime
