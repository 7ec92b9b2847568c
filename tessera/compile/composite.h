// Composites: a function of the numpy layer, written with several ops, that runs eagerly as one
// compiled program.
//
//   Array add(const Array& x, const Array& y) {
//     return composite("add", {}, {x, y}, [](std::span<const Array> a) {
//       const std::vector<Array> p = promote_and_broadcast("add", a);
//       return lax::add(p[0], p[1]);
//     });
//   }
//
// Under a trace the body is called and its ops are recorded, as if composite were not there.
// Outside, the program of (name, params, types and shardings of the arguments) is traced and
// compiled once and then looked up, so x + 1 costs one dispatch, not three.
#pragma once

#include <functional>
#include <string_view>

#include "tessera/ir/array.h"
#include "tessera/ir/params.h"

namespace tessera {

namespace internal {
using CompositeBody = std::vector<Array> (*)(const void* closure, std::span<const Array> args);
std::vector<Array> run_composite(const char* name, const ir::OpParams& params,
                                 std::span<const Array> args, CompositeBody body,
                                 const void* closure);
}  // namespace internal

// `name` and `params` must determine the body: two composites of one name and equal params are the
// same function. `name` is a string literal. The body takes std::span<const Array> and returns
// Array or std::vector<Array>.
template <class Body>
auto composite(const char* name, const ir::OpParams& params, std::initializer_list<Array> args,
               const Body& body) {
  return composite(name, params, std::span<const Array>(args.begin(), args.size()), body);
}
template <class Body>
auto composite(const char* name, const ir::OpParams& params, std::span<const Array> args,
               const Body& body) {
  using Result = std::invoke_result_t<const Body&, std::span<const Array>>;
  if (ir::Trace::current()) return body(args);
  const auto call = [](const void* closure, std::span<const Array> x) -> std::vector<Array> {
    if constexpr (std::is_same_v<Result, Array>) {
      return {(*static_cast<const Body*>(closure))(x)};
    } else {
      return (*static_cast<const Body*>(closure))(x);
    }
  };
  std::vector<Array> results = internal::run_composite(name, params, args, call, &body);
  if constexpr (std::is_same_v<Result, Array>) {
    return std::move(results[0]);
  } else {
    return results;
  }
}

}  // namespace tessera
