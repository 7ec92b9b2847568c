// AxisEnv: the named axes that a collective may use when it is called. shard_map adds its mesh and
// manual axes while it traces the body; vmap with an axis_name adds the axis that it maps over;
// nested regions add their own.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tessera/ir/type.h"
#include "tessera/mesh/mesh.h"

namespace tessera::ir {

class AxisEnv {
 public:
  // Returns the environment of this thread, which is that of the innermost scope.
  static const AxisEnv& current();

  const Mesh& mesh() const { return mesh_; }
  // Returns the mesh of a collective over `axes`: mesh(), or, if vmap maps over one of them, a mesh
  // with the mapped axes in addition to those of mesh().
  const Mesh& mesh_of(const std::vector<std::string>& axes) const;
  // Returns the axes bound by enclosing manual computations, sorted.
  const AxisNames& manual_axes() const { return manual_; }
  // Returns the axes bound by vmap.
  const AxisNames& mapped_axes() const { return mapped_; }
  // Returns whether types list the axes over which values vary, against which out_specs are checked
  // (JAX's check_vma).
  bool check_vma() const { return check_vma_; }
  // Throws a UserError that names `op` and lists the bound axes if `axis` is not bound here.
  void expect_bound(std::string_view op, std::string_view axis) const;

  // Makes `axes` of `mesh` manual, in addition to those of the enclosing scope, as long as it
  // exists.
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
  // Makes `axis` an axis of vmap with `size` examples, as long as it exists. Throws UserError if
  // the name is bound already.
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
  std::vector<std::pair<std::string, int64_t>> sizes_;  // mapped axes, outermost first
};

}  // namespace tessera::ir
