// The differences between oneDNN 2 and oneDNN 3: the fields of a memory descriptor, and how the
// description of a primitive is made. Everything else that is used is the same in both.
#pragma once

#include <oneapi/dnnl/dnnl.hpp>

#include "tessera/base/namespaces.h"

namespace tessera::runtime::dnnl_versions {

#if DNNL_VERSION_MAJOR >= 3

inline dnnl::memory::dims dims_of(const dnnl::memory::desc& desc) { return desc.get_dims(); }
inline dnnl::memory::data_type type_of(const dnnl::memory::desc& desc) {
  return desc.get_data_type();
}
// Returns the strides of a tensor with a layout that is not blocked.
inline dnnl::memory::dims strides_of(const dnnl::memory::desc& desc) { return desc.get_strides(); }

// Returns the description of a primitive; it is empty if the library has no code for it.
template <class Primitive, class... Args>
typename Primitive::primitive_desc describe(const dnnl::engine& engine,
                                            const dnnl::primitive_attr& attr, const Args&... args) {
  return typename Primitive::primitive_desc(engine, args..., attr, true);
}
// Returns the description of a gradient, given that of its forward primitive.
template <class Primitive, class Hint, class... Args>
typename Primitive::primitive_desc describe_gradient(const dnnl::engine& engine,
                                                     const dnnl::primitive_attr& attr,
                                                     const Hint& forward, const Args&... args) {
  return typename Primitive::primitive_desc(engine, args..., forward, attr, true);
}

#else

inline dnnl::memory::dims dims_of(const dnnl::memory::desc& desc) { return desc.dims(); }
inline dnnl::memory::data_type type_of(const dnnl::memory::desc& desc) { return desc.data_type(); }
inline dnnl::memory::dims strides_of(const dnnl::memory::desc& desc) {
  const auto& strides = desc.data.format_desc.blocking.strides;
  return dnnl::memory::dims(strides, strides + desc.data.ndims);
}
template <class Primitive, class... Args>
typename Primitive::primitive_desc describe(const dnnl::engine& engine,
                                            const dnnl::primitive_attr& attr, const Args&... args) {
  return typename Primitive::primitive_desc(typename Primitive::desc(args...), attr, engine, true);
}
template <class Primitive, class Hint, class... Args>
typename Primitive::primitive_desc describe_gradient(const dnnl::engine& engine,
                                                     const dnnl::primitive_attr& attr,
                                                     const Hint& forward, const Args&... args) {
  return typename Primitive::primitive_desc(typename Primitive::desc(args...), attr, engine,
                                            forward, true);
}

#endif

}  // namespace tessera::runtime::dnnl_versions
