// Parts that the writers of text and of bytecode share besides op_text(): names of symbols, and
// attributes for the parts of types that MLIR has no syntax for.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tessera/interchange/op_format.h"

namespace tessera::interchange {

// Names of meshes and of called functions, in the order of first use.
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

// Returns sdy.sharding, tessera.varying and tessera.weak of an argument.
TextAttr::Entries argument_attributes(const Type& type);
// Returns the same for an op's results, except for parts that the op's type rule implies.
TextAttr::Entries type_attributes(const Op& op, const Function& function);
// Returns tessera.abstract or tessera.device_ids of a mesh.
TextAttr::Entries mesh_attributes(const Mesh& mesh);

}  // namespace tessera::interchange
