// Mapped: the function that a transform with options (vmap, shard_map) returns.
#pragma once

#include <tuple>
#include <utility>
#include <vector>

#include "tessera/compile/erased_call.h"

namespace tessera::internal {

// A call returns map(options, the function and its arguments, the arguments' leaves).
template <class F, class Options,
          ErasedResult (*map)(const Options&, const ErasedCall&, const std::vector<Array>&)>
class Mapped {
 public:
  Mapped(F f, Options options) : f_(std::move(f)), options_(std::move(options)) {}

  template <class... Args>
  auto operator()(const Args&... args) const {
    return call(as_argument<numbers_are_arrays<F, Args...>()>(args)...);
  }

 private:
  template <class... Args>
  auto call(const Args&... args) const {
    std::vector<Array> leaves;
    append_leaves(leaves, args...);
    const std::tuple<const Args&...> arguments(args...);
    return typed_result<CallResultOf<F, Args...>>(map(options_, erase_call(f_, arguments), leaves));
  }

  F f_;
  Options options_;
};

}  // namespace tessera::internal
