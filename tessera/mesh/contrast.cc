#include "tessera/mesh/contrast.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "tessera/mesh/format.h"

namespace tessera {

std::string in_contrast(const Mesh& mesh, const Mesh& other) {
  const std::string text = fmt::format("{}", mesh);
  if (mesh.is_abstract() || other.is_abstract() || mesh.size() != other.size()) return text;
  const std::vector<int64_t>&mine = mesh.device_ids(), &others = other.device_ids();
  const auto differs = std::mismatch(mine.begin(), mine.end(), others.begin()).first;
  if (differs == mine.end()) return text;
  if (mine.size() <= 16) return fmt::format("{} of devices {}", text, fmt::join(mine, ", "));
  return fmt::format("{} with device {} at position {}", text, *differs, differs - mine.begin());
}

}  // namespace tessera
