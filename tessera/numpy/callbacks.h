// C++ functions that programs call while they run, as JAX's pure_callback, io_callback and
// jax.debug. They get concrete arrays and may do anything that C++ can.
//
//   const auto f = jit([](const Array& x) {
//     debug::print("x is {}", x);
//     return pure_callback([](const Array& v) { return lookup(v); }, x, x * 2.0);
//   });
//
// In a program a function is called with whole arrays, once for all devices. In a shard_map it is
// called once for each shard that differs from the others. The runtime calls it from its threads,
// possibly from several at once, so it must not change what it captures without a lock. Outside of
// a trace it is called at once. Under a trace a copy of it is kept until the process ends, since
// the program may be compiled again.
//
// If a function throws, the run ends, and its caller gets a UserError with the text of the
// exception.
#pragma once

#include <functional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tessera/base/tree.h"
#include "tessera/ir/array.h"
#include "tessera/ops/control/host_callback.h"

namespace tessera {

namespace internal {

// Calls `body`, a function of the leaves of its arguments and results.
using HostBody = std::function<std::vector<Array>(const std::vector<Array>& arguments)>;
enum class HostCallKind : uint8_t { kPure, kIo, kDebug };
std::vector<Array> call_host(HostCallKind kind, HostBody body, const std::vector<Array>& arguments,
                             const std::vector<Array>& results,
                             const lax::HostCallOptions& options);
// Throws UserError [debug::print] if the text is no format for the arguments.
void check_format(const std::string& format, const std::vector<Array>& arguments);
void print_formatted(const std::string& format, const std::vector<Array>& arguments);

// Returns copies of the argument trees without their arrays. They keep the number of leaves.
template <class... Args>
std::tuple<Args...> without_arrays(const Args&... args) {
  const std::tuple<Args...> all(args...);
  return tree::unflatten(all, std::vector<Array>(tree::num_leaves(all)));
}

template <class F, class... Args>
HostBody host_body(F function, const Args&... args) {
  return [function = std::move(function),
          like = without_arrays(args...)](const std::vector<Array>& arrays) {
    const auto arguments = tree::unflatten(like, arrays);
    if constexpr (std::is_void_v<std::invoke_result_t<const F&, const Args&...>>) {
      std::apply(function, arguments);
      return std::vector<Array>();
    } else {
      return tree::leaves(std::apply(function, arguments));
    }
  };
}

}  // namespace internal

using lax::VmapMethod;

struct PureCallbackOptions {
  VmapMethod vmap_method = VmapMethod::kNone;
};

// Returns function(args...), whose result has the structure of `results` and the dtypes and shapes
// of its leaves (abstract_array makes such a leaf). The function must depend on its arguments only:
// it may be called again, or not at all if nobody reads the result. It has no derivative
// (custom_jvp and custom_vjp define one). Throws UserError for a result of another dtype, shape or
// number of leaves, and under vmap unless options.vmap_method says how.
template <class F, class Results, class... Args>
requires std::invocable<const F&, const Args&...> Results pure_callback(
    F function, const Results& results, const PureCallbackOptions& options, const Args&... args) {
  return tree::unflatten(
      results, internal::call_host(
                   internal::HostCallKind::kPure, internal::host_body(std::move(function), args...),
                   tree::leaves(std::tie(args...)), tree::leaves(results), {options.vmap_method}));
}
template <class F, class Results, class... Args>
requires std::invocable<const F&, const Args&...> Results pure_callback(F function,
                                                                        const Results& results,
                                                                        const Args&... args) {
  return pure_callback(std::move(function), results, PureCallbackOptions{}, args...);
}

struct IoCallbackOptions {
  bool ordered = false;
};

// Returns the same for a function with effects: it is called each time the program comes to it,
// even if nobody reads the result, and under vmap once for each example. The calls that a device
// makes are in the order of the program. The calls for different shards of a shard_map, or for
// different examples of a vmap, are in no order. Throws UserError for an ordered call under vmap.
template <class F, class Results, class... Args>
requires std::invocable<const F&, const Args&...> Results io_callback(
    F function, const Results& results, const IoCallbackOptions& options, const Args&... args) {
  return tree::unflatten(results,
                         internal::call_host(internal::HostCallKind::kIo,
                                             internal::host_body(std::move(function), args...),
                                             tree::leaves(std::tie(args...)), tree::leaves(results),
                                             {VmapMethod::kSequential, options.ordered}));
}
template <class F, class Results, class... Args>
requires std::invocable<const F&, const Args&...> Results io_callback(F function,
                                                                      const Results& results,
                                                                      const Args&... args) {
  return io_callback(std::move(function), results, IoCallbackOptions{}, args...);
}

namespace debug {

// Calls function(args...) each time the program comes to it, under vmap once for each example. The
// order is as for io_callback. A derivative makes the call once, with the values, not with
// tangents.
template <class F, class... Args>
requires std::invocable<const F&, const Args&...>
void callback(F function, const Args&... args) {
  internal::call_host(
      internal::HostCallKind::kDebug, internal::host_body(std::move(function), args...),
      tree::leaves(std::tie(args...)), {}, {.vmap_method = VmapMethod::kSequential, .debug = true});
}

// Prints a line to std::cout each time the program comes to it. `format` is a format string of
// std::format. Arrays of one element are printed as numbers, others as `std::cout << x` prints
// them. Throws UserError if the string does not fit the arguments.
template <class... Args>
requires(std::is_same_v<Args, Array>&&...) void print(const std::string& format,
                                                      const Args&... args) {
  internal::check_format(format, {args...});
  callback([format](const Args&... values) { internal::print_formatted(format, {values...}); },
           args...);
}

}  // namespace debug
}  // namespace tessera
