#include "tessera/fusion/domain.h"

#include <algorithm>

#include "tessera/fusion/reductions.h"

namespace tessera::fusion {
namespace {

constexpr int64_t kMinParallel = 16;

}  // namespace

bool covers_parallel(const Group& group, const Access& access) {
  if (!access.plain) return false;
  int next = 0;
  for (int8_t d : access.dims) {
    if (d < 0) continue;
    while (next < group.parallel_rank && group.extents[next] == 1) ++next;
    if (d != next || next >= group.parallel_rank) return false;
    ++next;
  }
  while (next < group.parallel_rank && group.extents[next] == 1) ++next;
  return next == group.parallel_rank;
}

bool covers_elements(const Group& group, const Access& access) {
  if (!access.plain) return false;
  auto covers = [&](std::span<const int> dims) {
    size_t next = 0;
    for (int8_t d : access.dims) {
      if (d < 0) continue;
      while (next < dims.size() && group.extents[dims[next]] == 1) ++next;
      if (next == dims.size() || d != dims[next]) return false;
      ++next;
    }
    while (next < dims.size() && group.extents[dims[next]] == 1) ++next;
    return next == dims.size();
  };
  using Dimensions = boost::container::small_vector<int, 8>;
  const auto first = [](int rank) {
    Dimensions dims;
    for (int d = 0; d < rank; ++d) dims.push_back(d);
    return dims;
  };
  if (covers(first(group.root_rank))) return true;
  if (!group.structured) return false;
  const Dimensions parallel = first(group.parallel_rank);
  for (const auto& family : group.families) {
    Dimensions dims = parallel;
    dims.insert(dims.end(), family.begin(), family.end());
    // A reduction over major dimensions reads them before the parallel ones.
    if (covers(dims)) return true;
    dims.assign(family.begin(), family.end());
    dims.insert(dims.end(), parallel.begin(), parallel.end());
    if (covers(dims)) return true;
  }
  return false;
}

bool structure(Group& group, int parallel_rank, int64_t instances) {
  while (parallel_rank < group.root_rank && group.extents[parallel_rank] == 1) ++parallel_rank;
  if (group.structured) {
    int rank = group.parallel_rank;
    while (rank < group.root_rank && group.extents[rank] == 1) ++rank;
    return rank == parallel_rank;
  }
  if (group.piece >= 0) return false;
  int64_t parallel = 1, inner = 1;
  for (int d = 0; d < group.root_rank; ++d)
    (d < parallel_rank ? parallel : inner) *= group.extents[d];
  if (inner > 1 && parallel * instances < kMinParallel && parallel * inner > 4 * kReduceBlock)
    return false;
  group.structured = true;
  group.parallel_rank = parallel_rank;
  if (inner > 1) {
    auto& family = group.families.emplace_back();
    for (int d = parallel_rank; d < group.root_rank; ++d)
      if (group.extents[d] != 1) family.push_back(d);
  }
  return true;
}

bool one_element(const Group& group) {
  return std::all_of(group.extents.begin(), group.extents.end(), [](int64_t e) { return e == 1; });
}

int family_of(Group& group, const Shape& operand, const Dims& reduced) {
  Dims extents;
  for (int64_t d : reduced)
    if (operand[d] != 1) extents.push_back(operand[d]);
  for (size_t f = 0; f < group.families.size(); ++f) {
    const auto& family = group.families[f];
    bool same = family.size() == extents.size();
    for (size_t k = 0; k < family.size() && same; ++k)
      same = group.extents[family[k]] == extents[k];
    if (same) return static_cast<int>(f);
  }
  auto& family = group.families.emplace_back();
  for (int64_t extent : extents) {
    family.push_back(static_cast<int>(group.extents.size()));
    group.extents.push_back(extent);
  }
  return static_cast<int>(group.families.size()) - 1;
}

}  // namespace tessera::fusion
