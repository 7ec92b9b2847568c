#include "tessera/ir/axis_env.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "tessera/ir/format.h"

namespace tessera::ir {
namespace {

thread_local AxisEnv* innermost = nullptr;

}  // namespace

const AxisEnv& AxisEnv::current() {
  static const AxisEnv& none = *new AxisEnv;
  return innermost ? *innermost : none;
}

const Mesh& AxisEnv::mesh_of(const std::vector<std::string>& axes) const {
  for (const std::string& axis : axes)
    if (std::find(mapped_.begin(), mapped_.end(), axis) != mapped_.end()) return mesh_with_mapped_;
  return mesh_;
}

void AxisEnv::expect_bound(std::string_view op, std::string_view axis) const {
  const AxisNames bound = axis_union(manual_, mapped_);
  if (std::find(bound.begin(), bound.end(), axis) != bound.end()) return;
  if (bound.empty())
    sharding_error(op,
                   "expected an axis bound by shard_map (or by vmap's axis_name), got '{}' outside "
                   "any; call it inside shard_map",
                   axis);
  sharding_error(op, "expected a bound axis, one of '{}', got '{}'", fmt::join(bound, "', '"),
                 axis);
}

void AxisEnv::add_mapped_to_mesh() {
  if (sizes_.empty()) return;
  Shape sizes = mesh_.rank() > 0 ? mesh_.axis_sizes() : Shape{};
  std::vector<std::string> names =
      mesh_.rank() > 0 ? mesh_.axis_names() : std::vector<std::string>{};
  for (const auto& [axis, size] : sizes_) {
    sizes.push_back(size);
    names.push_back(axis);
  }
  mesh_with_mapped_ = Mesh::abstract(std::move(sizes), std::move(names));
}

AxisEnv::Scope::Scope(Mesh mesh, const AxisNames& axes, bool check_vma)
    : saved_(innermost), mine_(saved_ ? new AxisEnv(*saved_) : new AxisEnv) {
  AxisNames sorted = axes;
  std::sort(sorted.begin(), sorted.end());
  mine_->mesh_ = std::move(mesh);
  mine_->add_mapped_to_mesh();
  mine_->manual_ = saved_ ? axis_union(saved_->manual_, sorted) : sorted;
  mine_->check_vma_ = check_vma;
  innermost = mine_;
}

AxisEnv::Scope::~Scope() {
  innermost = saved_;
  delete mine_;
}

AxisEnv::MappedScope::MappedScope(const std::string& axis, int64_t size)
    : saved_(innermost), mine_(nullptr) {
  const AxisEnv& outer = AxisEnv::current();
  const AxisNames bound = axis_union(outer.manual_, outer.mapped_);
  if (std::find(bound.begin(), bound.end(), axis) != bound.end() ||
      (outer.mesh_.rank() > 0 && outer.mesh_.has_axis(axis)))
    value_error("vmap", "expected an axis_name that is not bound here, got '{}'", axis);
  mine_ = new AxisEnv(outer);
  mine_->mapped_ = axis_union(outer.mapped_, {axis});
  mine_->sizes_.emplace_back(axis, size);
  mine_->add_mapped_to_mesh();
  innermost = mine_;
}

AxisEnv::MappedScope::~MappedScope() {
  innermost = saved_;
  delete mine_;
}

}  // namespace tessera::ir
