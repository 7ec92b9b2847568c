// LeafFunction: a callable over trees as a function of the flat list of its arguments' leaves,
// which is what the transforms take.
#pragma once

#include <array>
#include <optional>
#include <tuple>

#include "tessera/base/tree.h"
#include "tessera/compile/callable.h"
#include "tessera/ops/control/region_transforms.h"

namespace tessera::internal {

template <class F, class... Args>
class LeafFunction {
 public:
  using Result = CallResultOf<F, Args...>;
  static_assert(!std::is_void_v<Result>, "a traced function returns its results");

  LeafFunction(const F& f, const Args&... args) : f_(f), args_(args...) {}

  std::vector<Array> leaves() const {
    std::vector<Array> out;
    std::apply(
        [&](const auto&... arg) {
          (tree::for_each_leaf(arg, [&](const Array& leaf) { out.push_back(leaf); }), ...);
        },
        args_);
    return out;
  }
  // Of every leaf: the argument it is in, and "argument 0.kernel", for messages.
  std::vector<int> positions() const {
    std::vector<int> out;
    int position = 0;
    std::apply(
        [&](const auto&... arg) {
          ((out.insert(out.end(), tree::num_leaves(arg), position), ++position), ...);
        },
        args_);
    return out;
  }
  std::vector<std::string> paths() const {
    std::vector<std::string> out;
    int position = 0;
    std::apply(
        [&](const auto&... arg) {
          ((tree::for_each_leaf_with_path(arg,
                                          [&](const Array&, const std::string& path) {
                                            out.push_back(
                                                fmt::format("argument {}{}", position, path));
                                          }),
            ++position),
           ...);
        },
        args_);
    return out;
  }
  // The leaves of the result for these leaves of the arguments; result() is the tree they are of.
  std::vector<Array> operator()(const std::vector<Array>& inputs) {
    size_t next = 0;
    std::tuple<std::decay_t<Args>...> args = args_;
    std::apply(
        [&](auto&... arg) {
          (tree::for_each_leaf(arg, [&](Array& leaf) { leaf = inputs[next++]; }), ...);
        },
        args);
    result_.emplace(internal::apply(f_, args));
    return tree::leaves(*result_);
  }
  FlatFn flat() {
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
