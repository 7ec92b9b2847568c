#include "tessera/ir/axis_env.h"

#include <fmt/ranges.h>

#include <algorithm>

namespace tessera {
namespace {

thread_local AxisEnv* innermost = nullptr;

}  // namespace

const AxisEnv& AxisEnv::current() {
  static const AxisEnv none;
  return innermost ? *innermost : none;
}

void AxisEnv::expect_bound(std::string_view op, std::string_view axis) const {
  if (std::find(manual_.begin(), manual_.end(), axis) != manual_.end()) return;
  if (manual_.empty())
    sharding_error(
        op,
        "expected a mesh axis bound by shard_map, got '{}' outside any; call it inside shard_map",
        axis);
  sharding_error(op, "expected a bound mesh axis, one of '{}', got '{}'",
                 fmt::join(manual_, "', '"), axis);
}

AxisEnv::Scope::Scope(Mesh mesh, const AxisNames& axes, bool check_vma)
    : saved_(innermost), mine_(new AxisEnv) {
  AxisNames sorted = axes;
  std::sort(sorted.begin(), sorted.end());
  mine_->mesh_ = std::move(mesh);
  mine_->manual_ = saved_ ? axis_union(saved_->manual_, sorted) : sorted;
  mine_->check_vma_ = check_vma;
  innermost = mine_;
}

AxisEnv::Scope::~Scope() {
  innermost = saved_;
  delete mine_;
}

}  // namespace tessera
