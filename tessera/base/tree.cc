#include "tessera/base/tree.h"

#include <algorithm>

#include "tessera/base/format.h"

namespace tessera::tree {

Outline::Outline(Kind kind, std::string step) : kind(kind), step(std::move(step)) {}
Outline::Outline(const Outline&) = default;
Outline::Outline(Outline&&) noexcept = default;
Outline& Outline::operator=(const Outline&) = default;
Outline& Outline::operator=(Outline&&) noexcept = default;
Outline::~Outline() = default;
void Outline::append(Outline child) { children.push_back(std::move(child)); }

size_t num_leaves(const Outline& outline) {
  if (outline.kind == Outline::Kind::kLeaf) return 1;
  size_t n = 0;
  for (const Outline& child : outline.children) n += num_leaves(child);
  return n;
}

void append_leaf_paths(const Outline& outline, const std::string& prefix,
                       std::vector<std::string>& out) {
  const std::string path = prefix + outline.step;
  if (outline.kind == Outline::Kind::kLeaf) out.push_back(path);
  for (const Outline& child : outline.children) append_leaf_paths(child, path, out);
}

namespace internal {
namespace {

thread_local int depth = 0;

}  // namespace

DepthGuard::DepthGuard() {
  if (++depth <= kMaxDepth) return;
  --depth;
  value_error("tree", "expected a tree at most {} deep, got a deeper one; flatten it into vectors",
              kMaxDepth);
}

DepthGuard::~DepthGuard() { --depth; }

std::string field_step(std::string_view name, size_t index) {
  return name.empty() ? fmt::format(".{}", index) : fmt::format(".{}", name);
}

std::string element_step(size_t index) { return fmt::format("[{}]", index); }

std::string key_step(std::string_view key) { return fmt::format("[{}]", key); }
std::string key_step(bool key) { return fmt::format("[{}]", key); }
std::string key_step(char key) { return fmt::format("[{}]", key); }
std::string key_step(int64_t key) { return fmt::format("[{}]", key); }
std::string key_step(uint64_t key) { return fmt::format("[{}]", key); }
std::string key_step(float key) { return fmt::format("[{}]", key); }
std::string key_step(double key) { return fmt::format("[{}]", key); }

void sort_pointers(std::vector<const void*>& pointers, bool (*less)(const void*, const void*)) {
  std::sort(pointers.begin(), pointers.end(), less);
}

void throw_structures_differ() {
  value_error("tree::map",
              "expected trees of one structure, got different ones (sizes, keys or static fields)");
}

void throw_leaves_differ(size_t leaves, size_t arrays) {
  tessera::internal::check_failed("i == arrays.size()", __FILE__, __LINE__,
                                  fmt::format("{} leaves for {} arrays", leaves, arrays));
}

}  // namespace internal
}  // namespace tessera::tree
