// Closed: a user's function, traced once, with the arrays that it captures as additional arguments.
// So functions with derivatives of their own, such as custom_root, can differentiate by the
// captures, too. Only source files include this header.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "tessera/trace/trace.h"

namespace tessera::lax::internal {

using Leaves = std::vector<Array>;

inline Leaves joined(std::initializer_list<std::span<const Array>> parts) {
  Leaves out;
  for (const auto& part : parts) out.insert(out.end(), part.begin(), part.end());
  return out;
}
inline std::span<const Array> part_of(const Leaves& x, size_t begin, size_t count) {
  return std::span<const Array>(x).subspan(begin, count);
}

// A function without captures: the arrays that it captured are its last arguments.
struct Closed {
  ir::Function function;
  Leaves captures;
  Leaves call(std::span<const Array> x, std::span<const Array> captured) const {
    return tracing::inline_function(function, joined({x, captured}));
  }
};
// Calls f once with tracers of these arrays' types.
inline Closed closed(const std::function<Leaves(const Leaves&)>& f, std::span<const Array> like) {
  const std::vector<ir::Type> types = tracing::traced_types(like);
  tracing::TracedFunction traced = tracing::trace_function(f, types);
  return {std::move(traced.function), std::move(traced.captures)};
}

}  // namespace tessera::lax::internal
