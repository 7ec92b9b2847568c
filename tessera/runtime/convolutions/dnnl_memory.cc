#include "tessera/runtime/convolutions/dnnl_memory.h"

#include "tessera/base/per_thread.h"
#include "tessera/base/shape.h"

namespace tessera::runtime {

using dnnl::memory;

const dnnl::engine& dnnl_engine() {
  static const auto& cpu = *new dnnl::engine(dnnl::engine::kind::cpu, 0);
  return cpu;
}

dnnl::stream& dnnl_stream() {
  struct Stream {
    dnnl::stream of_thread{dnnl_engine()};
  };
  return per_thread<Stream, Stream>().of_thread;
}

dnnl::primitive_attr user_scratchpad() {
  dnnl::primitive_attr out;
  out.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return out;
}

int64_t dnnl_bytes(const memory::desc& desc) {
  return ceil_div(static_cast<int64_t>(desc.get_size()), 64) * 64;
}

DnnlReorder::DnnlReorder(const memory::desc& from, const memory::desc& to) : from(from), to(to) {
  needed = from != to;
  if (!needed) return;
  const dnnl::reorder::primitive_desc description(dnnl_engine(), from, dnnl_engine(), to,
                                                  user_scratchpad());
  primitive = dnnl::reorder(description);
  scratchpad = description.scratchpad_desc();
  scratch = dnnl_bytes(scratchpad);
}

void DnnlReorder::run(const void* in, void* out, std::byte* work) const {
  memory x(from, dnnl_engine(), const_cast<void*>(in)), y(to, dnnl_engine(), out),
      w(scratchpad, dnnl_engine(), work);
  primitive.execute(dnnl_stream(),
                    {{DNNL_ARG_FROM, x}, {DNNL_ARG_TO, y}, {DNNL_ARG_SCRATCHPAD, w}});
}

}  // namespace tessera::runtime
