// AxisEnv: which named axes a collective may use where it is called. shard_map pushes its mesh and
// manual axes while it traces the body; vmap with an axis_name pushes the axis it maps over; nested
// regions add theirs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tessera/ir/type.h"
#include "tessera/mesh/mesh.h"

namespace tessera::ir {

class AxisEnv {
 public:
  // The environment of this thread: the innermost scope's.
  static const AxisEnv& current();

  const Mesh& mesh() const { return mesh_; }
  // The mesh on which a collective over `axes` stands: mesh(), or, where one of them is mapped by
  // vmap, one that has the mapped axes beside those of mesh().
  const Mesh& mesh_of(const std::vector<std::string>& axes) const;
  // Axes bound by an enclosing manual computation, sorted.
  const AxisNames& manual_axes() const { return manual_; }
  // Axes bound by vmap.
  const AxisNames& mapped_axes() const { return mapped_; }
  // Whether values are typed by the axes they vary over and out_specs are checked against it (JAX's
  // check_vma).
  bool check_vma() const { return check_vma_; }
  // UserError naming `op` where `axis` is not bound here, listing those that are.
  void expect_bound(std::string_view op, std::string_view axis) const;

  // While alive, `axes` of `mesh` are manual in addition to those of the enclosing scope.
  class Scope {
   public:
    Scope(Mesh mesh, const AxisNames& axes, bool check_vma);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    AxisEnv* saved_;
    AxisEnv* mine_;
  };
  // While alive, vmap maps over `axis` of `size` examples. UserError where the name is bound
  // already.
  class MappedScope {
   public:
    MappedScope(const std::string& axis, int64_t size);
    ~MappedScope();
    MappedScope(const MappedScope&) = delete;
    MappedScope& operator=(const MappedScope&) = delete;

   private:
    AxisEnv* saved_;
    AxisEnv* mine_;
  };

 private:
  void add_mapped_to_mesh();

  Mesh mesh_, mesh_with_mapped_;
  AxisNames manual_, mapped_;
  bool check_vma_ = true;
  std::vector<std::pair<std::string, int64_t>> sizes_;  // of the mapped axes, outermost first
};

}  // namespace tessera::ir
