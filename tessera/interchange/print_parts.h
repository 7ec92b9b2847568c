// What text and bytecode of a function have in common beside op_text(): names of symbols, and the
// attributes that say of types what MLIR has no place for.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tessera/interchange/op_format.h"

namespace tessera::interchange {

// Names of meshes and of called functions, as they come up.
class Symbols {
 public:
  explicit Symbols(const std::string& main) { used_.insert(main); }

  std::string mesh(const Mesh& mesh);
  std::string function(const FunctionRef& f);

  std::vector<std::pair<Mesh, std::string>> meshes;
  std::vector<std::pair<FunctionRef, std::string>> functions;

 private:
  std::string unique(const std::string& name);
  std::set<std::string> used_;
};

// sdy.sharding, tessera.varying and tessera.weak of an argument.
TextAttr::Entries argument_attributes(const Type& type);
// The same of an op's results, where its type rule does not say it.
TextAttr::Entries type_attributes(const Op& op, const Function& function);
// tessera.abstract or tessera.device_ids, of a mesh.
TextAttr::Entries mesh_attributes(const Mesh& mesh);

}  // namespace tessera::interchange
