// LeafFunction: makes a callable over trees a function of the flat list of its arguments' leaves,
// the form that transforms take.
#pragma once

#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "tessera/base/tree.h"
#include "tessera/compile/erased_call.h"

namespace tessera::internal {

// Returns the path to every leaf of these arguments: "argument 0.kernel".
std::vector<std::string> argument_paths(const std::vector<tree::Outline>& arguments);
// Returns for every leaf whether it is in one of the arguments `argnums`.
std::vector<bool> leaves_of_arguments(const std::vector<tree::Outline>& arguments,
                                      const std::vector<size_t>& argnums);

template <class F, class... Args>
class LeafFunction {
 public:
  using Result = CallResultOf<F, Args...>;
  LeafFunction(const F& f, const Args&... args) : f_(f), args_(args...) {}

  std::vector<Array> leaves() const {
    std::vector<Array> out;
    std::apply([&](const auto&... arg) { append_leaves(out, arg...); }, args_);
    return out;
  }
  std::vector<tree::Outline> outlines() const {
    return std::apply(
        [](const auto&... arg) { return std::vector<tree::Outline>{tree::outline(arg)...}; },
        args_);
  }
  // Returns the path of every leaf, "argument 0.kernel", for messages.
  std::vector<std::string> paths() const { return argument_paths(outlines()); }
  // Returns the leaves of the result, given the arguments' leaves. result() then returns their
  // tree.
  std::vector<Array> operator()(const std::vector<Array>& inputs) {
    const Array* next = inputs.data();
    const std::tuple<std::decay_t<Args>...> args = std::apply(
        [&](const auto&... arg) {  // braces evaluate in this order
          return std::tuple<std::decay_t<Args>...>{with_leaves(arg, next)...};
        },
        args_);
    result_.emplace(internal::apply(f_, args));
    return tree::leaves(*result_);
  }
  ir::FlatFn flat() {
    return [this](const std::vector<Array>& inputs) { return (*this)(inputs); };
  }
  const Result& result() const { return *result_; }
  template <size_t I>
  const auto& argument() const {
    return std::get<I>(args_);
  }
  const std::tuple<std::decay_t<Args>...>& arguments() const { return args_; }

 private:
  const F& f_;
  std::tuple<std::decay_t<Args>...> args_;
  std::optional<Result> result_;
};

}  // namespace tessera::internal
