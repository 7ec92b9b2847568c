// Collectives along named mesh axes, to be called inside shard_map. They have jax.lax's names, and
// ops/collectives/collectives.h documents each. Here they also take trees and apply to every leaf.
// A C++ number is an array of one element: psum(1, "x") is the size of the axis.
#pragma once

#include <concepts>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/base/tree.h"
#include "tessera/ops/collectives/collectives.h"

namespace tessera {

using lax::all_gather;
using lax::all_to_all;
using lax::axis_index;
using lax::axis_size;
using lax::pbroadcast;
using lax::pcast;
using lax::pcast_varying;
using lax::pmax;
using lax::pmean;
using lax::pmin;
using lax::ppermute;
using lax::pshuffle;
using lax::psum;
using lax::psum_scatter;
using lax::pswapaxes;
using lax::ragged_all_to_all;

// A tree that is neither an array nor a number that becomes one.
template <class T>
concept ArrayTree = !std::convertible_to<const T&, Array>;

template <ArrayTree T>
T psum(const T& tree, const AxisArg& axis, const AxisGroups& groups = {}) {
  return tree::map([&](const Array& x) { return lax::psum(x, axis, groups); }, tree);
}
template <ArrayTree T>
T pmean(const T& tree, const AxisArg& axis, const AxisGroups& groups = {}) {
  return tree::map([&](const Array& x) { return lax::pmean(x, axis, groups); }, tree);
}
template <ArrayTree T>
T pmax(const T& tree, const AxisArg& axis, const AxisGroups& groups = {}) {
  return tree::map([&](const Array& x) { return lax::pmax(x, axis, groups); }, tree);
}
template <ArrayTree T>
T pmin(const T& tree, const AxisArg& axis, const AxisGroups& groups = {}) {
  return tree::map([&](const Array& x) { return lax::pmin(x, axis, groups); }, tree);
}
template <ArrayTree T>
T all_gather(const T& tree, const AxisArg& axis, const AllGatherOptions& options = {}) {
  return tree::map([&](const Array& x) { return lax::all_gather(x, axis, options); }, tree);
}
template <ArrayTree T>
T psum_scatter(const T& tree, const AxisArg& axis, const PsumScatterOptions& options = {}) {
  return tree::map([&](const Array& x) { return lax::psum_scatter(x, axis, options); }, tree);
}
template <ArrayTree T>
T ppermute(const T& tree, const AxisArg& axis,
           const std::vector<std::pair<int, int>>& permutation) {
  return tree::map([&](const Array& x) { return lax::ppermute(x, axis, permutation); }, tree);
}
template <ArrayTree T>
T pshuffle(const T& tree, const AxisArg& axis, const std::vector<int>& permutation) {
  return tree::map([&](const Array& x) { return lax::pshuffle(x, axis, permutation); }, tree);
}
template <ArrayTree T>
T all_to_all(const T& tree, const AxisArg& axis, int64_t split_axis, int64_t concat_axis,
             const AllToAllOptions& options = {}) {
  return tree::map(
      [&](const Array& x) { return lax::all_to_all(x, axis, split_axis, concat_axis, options); },
      tree);
}
template <ArrayTree T>
T pbroadcast(const T& tree, const AxisArg& axis, int source) {
  return tree::map([&](const Array& x) { return lax::pbroadcast(x, axis, source); }, tree);
}
template <ArrayTree T>
T pcast(const T& tree, const AxisArg& axis, std::string_view to) {
  return tree::map([&](const Array& x) { return lax::pcast(x, axis, to); }, tree);
}
template <ArrayTree T>
T pcast_varying(const T& tree, const AxisArg& axis) {
  return tree::map([&](const Array& x) { return lax::pcast_varying(x, axis); }, tree);
}

}  // namespace tessera
