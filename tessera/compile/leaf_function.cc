#include "tessera/compile/leaf_function.h"

#include <algorithm>

#include "tessera/base/format.h"
#include "tessera/base/namespaces.h"
#include "tessera/ir/format.h"

namespace tessera::internal {

using namespace compile;

std::vector<std::string> argument_paths(const std::vector<tree::Outline>& arguments) {
  std::vector<std::string> out;
  for (size_t i = 0; i < arguments.size(); ++i)
    tree::append_leaf_paths(arguments[i], fmt::format("argument {}", i), out);
  return out;
}

std::vector<bool> leaves_of_arguments(const std::vector<tree::Outline>& arguments,
                                      const std::vector<size_t>& argnums) {
  for (size_t n : argnums)
    TESSERA_CHECK(n < arguments.size(), "argument {} of {}", n, arguments.size());
  std::vector<bool> out;
  for (size_t i = 0; i < arguments.size(); ++i)
    out.insert(out.end(), tree::num_leaves(arguments[i]),
               std::find(argnums.begin(), argnums.end(), i) != argnums.end());
  return out;
}

}  // namespace tessera::internal
