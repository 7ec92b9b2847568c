#include "tessera/fusion/domain.h"

#include <algorithm>
#include <numeric>

#include "tessera/base/contains.h"
#include "tessera/fusion/reductions.h"

namespace tessera::fusion {
namespace {

constexpr int64_t kMinParallel = 16;

using LoopDimensions = boost::container::small_vector<int, 8>;

LoopDimensions leading(int rank) {
  LoopDimensions dims(rank);
  std::iota(dims.begin(), dims.end(), 0);
  return dims;
}

// Returns whether `access` depends on exactly the dimensions `dims`, in this order, apart from
// dimensions of extent 1.
bool covers(const Group& group, const Access& access, std::span<const int> dims) {
  size_t next = 0;
  const auto skip_units = [&] {
    while (next < dims.size() && group.extents[dims[next]] == 1) ++next;
  };
  for (int8_t d : access.dims) {
    if (d < 0) continue;
    skip_units();
    if (next == dims.size() || d != dims[next]) return false;
    ++next;
  }
  skip_units();
  return next == dims.size();
}

}  // namespace

bool covers_leading(const Group& group, int rank, const Access& access) {
  return access.plain && covers(group, access, leading(rank));
}

bool covers_elements(const Group& group, const Access& access) {
  if (covers_leading(group, group.root_rank, access)) return true;
  if (!access.plain || !group.structured) return false;
  const LoopDimensions parallel = leading(group.parallel_rank);
  for (const auto& family : group.families) {
    LoopDimensions dims = parallel;
    dims.insert(dims.end(), family.begin(), family.end());
    // A reduction over major dimensions has these before the parallel ones.
    if (covers(group, access, dims)) return true;
    std::rotate(dims.begin(), dims.begin() + group.parallel_rank, dims.end());
    if (covers(group, access, dims)) return true;
  }
  return false;
}

bool structure(Group& group, int parallel_rank, int64_t instances) {
  const auto past_units = [&](int rank) {
    while (rank < group.root_rank && group.extents[rank] == 1) ++rank;
    return rank;
  };
  parallel_rank = past_units(parallel_rank);
  if (group.structured) return past_units(group.parallel_rank) == parallel_rank;
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
  const auto same = std::ranges::find_if(group.families, [&](const auto& family) {
    return std::ranges::equal(family, extents, {}, [&](int d) { return group.extents[d]; });
  });
  if (same != group.families.end()) return static_cast<int>(same - group.families.begin());
  auto& family = group.families.emplace_back();
  for (int64_t extent : extents) {
    family.push_back(static_cast<int>(group.extents.size()));
    group.extents.push_back(extent);
  }
  return static_cast<int>(group.families.size()) - 1;
}

Access reduced_access(const Group& group, const GraphOp& op, int family, const Shape& operand,
                      const Access& access) {
  Access out;
  size_t kept = 0, folded = 0;
  for (int64_t d = 0; d < operand.rank(); ++d) {
    if (!contains(op.reduction.dims, d)) {
      out.dims.push_back(access.dims[kept++]);
    } else {
      out.dims.push_back(operand[d] == 1 ? -1
                                         : static_cast<int8_t>(group.families[family][folded++]));
    }
  }
  return out;
}

}  // namespace tessera::fusion
