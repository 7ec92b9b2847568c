#include "tessera/privacy/clipping/clip_groups.h"

#include <algorithm>
#include <cctype>

#include "tessera/base/format.h"

namespace tessera::privacy::internal {
namespace {

constexpr std::string_view kArgument = "argument ";
// The largest number of leaves that a message lists.
constexpr size_t kListed = 8;

// Returns the length of the prefix "argument N" of a path: 0 if it names no argument.
size_t argument_end(std::string_view path) {
  if (!path.starts_with(kArgument)) return 0;
  size_t end = kArgument.size();
  while (end < path.size() && std::isdigit(static_cast<unsigned char>(path[end]))) ++end;
  return end;
}

// Converts paths of options to the form of the leaves' paths.
class LeafPaths {
 public:
  explicit LeafPaths(const std::vector<std::string>& leaves) : leaves_(leaves) {
    for (const std::string& leaf : leaves) {
      const std::string argument = leaf.substr(0, argument_end(leaf));
      if (&leaf == &leaves[0]) argument_ = argument;
      if (argument != argument_) several_ = true;
    }
  }

  std::string full(const std::string& path) const {
    if (several_ || path.starts_with(kArgument)) return path;
    return argument_ + (path.starts_with('.') || path.starts_with('[') ? "" : ".") + path;
  }

  std::string list() const {
    std::string out;
    for (size_t i = 0; i < std::min(leaves_.size(), kListed); ++i)
      out += fmt::format("{}'{}'", i == 0 ? "" : ", ", leaves_[i]);
    return out + (leaves_.size() > kListed ? ", ..." : "");
  }

 private:
  const std::vector<std::string>& leaves_;
  std::string argument_;  // the argument of all leaves, or "" for a tree
  bool several_ = false;
};

bool is_below(std::string_view leaf, std::string_view path) {
  if (!leaf.starts_with(path)) return false;
  return leaf.size() == path.size() || leaf[path.size()] == '.' || leaf[path.size()] == '[';
}

// Returns the index of the longest path that a leaf is below, or the number of paths if there is
// none.
size_t longest(const std::string& leaf, const std::vector<std::string>& paths) {
  size_t out = paths.size();
  for (size_t s = 0; s < paths.size(); ++s)
    if (is_below(leaf, paths[s]) && (out == paths.size() || paths[s].size() > paths[out].size()))
      out = s;
  return out;
}

}  // namespace

std::vector<ClipGroup> clip_groups(std::string_view op, const ClipNorm& rest,
                                   const std::vector<SubtreeNorm>& subtrees,
                                   const std::vector<std::string>& paths) {
  const LeafPaths leaves(paths);
  std::vector<std::string> full;
  std::vector<ClipGroup> out;
  for (const SubtreeNorm& subtree : subtrees) {
    if (subtree.path.empty())
      value_error(op, "expected paths in subtree_norms, got an empty one; give l2_clip_norm");
    full.push_back(leaves.full(subtree.path));
    if (std::find(full.begin(), full.end() - 1, full.back()) != full.end() - 1)
      value_error(op, "expected each path in subtree_norms once, got '{}' twice", subtree.path);
    out.push_back({subtree.l2_clip_norm, {}});
  }
  out.push_back({rest, {}});
  for (size_t i = 0; i < paths.size(); ++i) out[longest(paths[i], full)].leaves.push_back(i);
  for (size_t s = 0; s < subtrees.size(); ++s)
    if (out[s].leaves.empty())
      value_error(op,
                  "expected paths of leaves in subtree_norms, got '{}', below which there is none "
                  "(or none without a longer path); there are {}",
                  subtrees[s].path, leaves.list());
  if (out.back().leaves.empty() && out.size() > 1) out.pop_back();
  return out;
}

}  // namespace tessera::privacy::internal
