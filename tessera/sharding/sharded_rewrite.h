// Rewrites a propagated function op by op. The caller replaces some ops by others, for which it
// chooses the shardings.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tessera/base/namespaces.h"
#include "tessera/ir/control_flow.h"
#include "tessera/ir/function.h"
#include "tessera/ir/op_def.h"
#include "tessera/mesh/named_sharding.h"

namespace tessera::sharding {

using DimSpecs = std::vector<DimSpec>;

class ShardedRewrite {
 public:
  explicit ShardedRewrite(const Function& f) : f_(f), map_(f.types.size(), -1) {
    out_.name = f_.name;
    for (ValueId v : f_.inputs) map_[v] = out_.add_input(f_.types[v]);
  }

  // Returns the original function f.
  const Function& from() const { return f_; }
  const Type& type(ValueId v) const { return out_.type(v); }
  // Returns the value that replaces a value of f.
  ValueId& at(ValueId v) { return map_[v]; }

  // Copies the op and applies `rewrite` to its regions.
  template <class Rewrite>
  void append(const Op& op, Rewrite&& rewrite) {
    const ValueIds& results = out_.add_op(*op.def, map_control_regions(op, rewrite),
                                          mapped(op.operands), f_.types_of(op.results), op.source);
    for (size_t i = 0; i < results.size(); ++i) map_[op.results[i]] = results[i];
  }

  ValueIds mapped(const ValueIds& values) const {
    ValueIds out;
    for (ValueId v : values) out.push_back(map_[v]);
    return out;
  }

  // Begins the replacement of `op`: the ops that are added from now on take its source and mesh.
  void instead_of(const Op& op) {
    const auto& sharding = f_.type(op.operands[0]).sharding;  // null if the program has no mesh
    mesh_ = sharding ? sharding->mesh() : Mesh();
    source_ = op.source;
  }
  const Mesh& mesh() const { return mesh_; }

  // Adds an op. All its results get the sharding `specs`.
  ValueIds add_all(const OpDef& def, OpParams params, ValueIds operands, const DimSpecs& specs) {
    std::vector<Type> types = infer_types(def, out_.types_of(operands), params);
    const auto sharding = std::make_shared<const NamedSharding>(mesh_, PartitionSpec(specs));
    for (Type& type : types) type.sharding = sharding;
    return out_.add_op(def, std::move(params), std::move(operands), types, source_);
  }
  ValueId add(const OpDef& def, OpParams params, ValueIds operands, const DimSpecs& specs) {
    return add_all(def, std::move(params), std::move(operands), specs)[0];
  }
  // Adds an op with one result, of this type.
  ValueId add_typed(const OpDef& def, OpParams params, ValueIds operands, const Type& type) {
    return out_.add_op(def, std::move(params), std::move(operands), std::span(&type, 1),
                       source_)[0];
  }

  Function take() {
    for (ValueId v : f_.outputs) out_.outputs.push_back(map_[v]);
    return std::move(out_);
  }

 private:
  const Function& f_;
  Function out_;
  std::vector<ValueId> map_;
  Mesh mesh_;
  std::string source_;
};

}  // namespace tessera::sharding
