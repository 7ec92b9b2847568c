#include <algorithm>
#include <deque>
#include <queue>
#include <unordered_map>

#include "tessera/ir/format.h"
#include "tessera/spmd/cost.h"
#include "tessera/spmd/reshard.h"

namespace tessera::spmd {
namespace {

using Kind = ReshardStep::Kind;

// The limit of the search. To reach it, about six axes must all change their positions. Beyond it,
// the plan gathers the dimensions that differ, then slices them.
constexpr size_t kMaxNodes = 50000;

// Searches shardings by A*. The cost of a path is the bytes that each device receives; the lower
// bound of the remaining cost is the part of its target shard that some device lacks.
class Planner {
 public:
  Planner(const AtomMesh& mesh, const Shape& global, DType dtype, const DimAtoms& to)
      : mesh_(mesh),
        global_(global),
        item_(itemsize(dtype)),
        to_(to),
        to_bytes_(bytes_of(to)),
        latency_(bytes_of_latency(mesh.mesh())) {}

  std::vector<ReshardStep> search(const DimAtoms& from) {
    atoms_ = mesh_.ordered(used_atoms(to_));
    even_ = true;
    for (size_t d = 0; d < from.size(); ++d)
      even_ =
          even_ && global_[d] % mesh_.size(from[d]) == 0 && global_[d] % mesh_.size(to_[d]) == 0;
    add({from, Kind::kSlice, 0, 0, 0, 0, -1, false}, 0);
    while (!queue_.empty() && nodes_.size() < kMaxNodes) {
      const auto [bound, id] = queue_.top();
      queue_.pop();
      Node& node = nodes_[id];
      if (node.expanded) continue;
      if (node.dims == to_) return path(id);
      node.expanded = true;
      expand(id);
    }
    return gather_and_slice(from);
  }

 private:
  // A sharding on a path, and the step that led to it.
  struct Node {
    DimAtoms dims;
    Kind kind;
    int dim, to_dim;
    size_t count;  // the number of atoms that the step moves
    int64_t bytes;
    int before;
    bool permuted;  // reached by a permutation: two in a row are one permutation
    int64_t cost = 0;
    bool expanded = false;
  };
  struct Entry {
    int64_t bound;
    int id;
    friend bool operator<(const Entry& a, const Entry& b) {
      return a.bound != b.bound ? a.bound > b.bound : a.id < b.id;
    }
  };

  int64_t bytes_of(const DimAtoms& dims) const {
    int64_t n = item_;
    for (size_t d = 0; d < dims.size(); ++d) n *= ceil_div(global_[d], mesh_.size(dims[d]));
    return n;
  }

  // Returns whether shards of `list` are `parts` whole shards of a longer list. An uneven dimension
  // can be sharded further, or joined in part, only if the storage fits. (For 10 rows, 2 shards of
  // 5 rows are not 4 shards of 3.)
  bool aligned(size_t d, int64_t shards, int64_t parts) const {
    return ceil_div(global_[d], shards) == ceil_div(global_[d], shards * parts) * parts;
  }
  bool can_append(const DimAtoms& now, size_t d, int64_t parts) const {
    return now[d].empty() || aligned(d, mesh_.size(now[d]), parts);
  }
  bool can_drop(const DimAtoms& now, size_t d, const AtomList& last) const {
    const int64_t parts = mesh_.size(last);
    return last.size() == now[d].size() || aligned(d, mesh_.size(now[d]) / parts, parts);
  }
  static AtomList last_of(const AtomList& list, size_t count) {
    return AtomList(list.end() - static_cast<ptrdiff_t>(count), list.end());
  }

  // Returns a lower bound of the remaining cost: what the device that needs least still lacks of
  // its shard.
  int64_t bound_from(const DimAtoms& now) const {
    if (now == to_) return 0;
    if (!even_) return kReshardStepCost;
    DimAtoms common(now.size());
    for (size_t d = 0; d < now.size(); ++d) {
      const bool longer = now[d].size() > to_[d].size();
      common[d] = longer ? now[d] : to_[d];
      if (!is_prefix(longer ? to_[d] : now[d], common[d])) return to_bytes_ + kReshardStepCost;
    }
    return to_bytes_ - bytes_of(common) + kReshardStepCost;
  }

  void add(Node node, int64_t cost) {
    std::string key(1, static_cast<char>(node.permuted));
    for (const AtomList& list : node.dims) {
      for (Atom a : list) key += static_cast<char>(a);
      key += static_cast<char>(255);
    }
    const auto [it, is_new] = ids_.try_emplace(std::move(key), static_cast<int>(nodes_.size()));
    node.cost = cost;
    const int64_t bound = cost + bound_from(node.dims);
    if (is_new) {
      nodes_.push_back(std::move(node));
    } else {
      if (nodes_[it->second].cost <= cost) return;
      nodes_[it->second] = std::move(node);
    }
    queue_.push({bound, it->second});
  }

  int64_t step_cost(int64_t bytes) const {
    return bytes == 0 ? kReshardStepCost : bytes + latency_;
  }

  void step(int before, Kind kind, size_t d, size_t e, size_t count, int64_t bytes,
            DimAtoms after) {
    const bool permute = kind == Kind::kPermute, free = permute && nodes_[before].permuted;
    const int64_t cost = nodes_[before].cost + (free ? 0 : step_cost(bytes));
    add({std::move(after), kind, static_cast<int>(d), static_cast<int>(e), count, bytes, before,
         permute},
        cost);
  }

  void expand(int id) {
    const DimAtoms now = nodes_[id].dims;
    const AtomSet used = used_atoms(now);
    const int64_t bytes = bytes_of(now);
    for (size_t d = 0; d < now.size(); ++d) {
      expand_slices(id, now, used, d);
      for (size_t k = 1; k <= now[d].size(); ++k) {
        const AtomList last = last_of(now[d], k);
        if (!can_drop(now, d, last)) continue;
        const int64_t n = mesh_.size(last);
        DimAtoms after = now;
        after[d].resize(now[d].size() - k);
        step(id, Kind::kAllGather, d, 0, k, bytes * (n - 1), after);
        for (size_t e = 0; e < now.size(); ++e) {
          if (e == d || !can_append(now, e, n)) continue;
          DimAtoms moved = after;
          moved[e].insert(moved[e].end(), last.begin(), last.end());
          const int64_t padded = bytes /
                                 std::max<int64_t>(1, ceil_div(global_[e], mesh_.size(now[e]))) *
                                 ceil_div(global_[e], mesh_.size(moved[e])) * n;
          step(id, Kind::kAllToAll, d, e, k, padded / n * (n - 1), std::move(moved));
        }
      }
    }
    expand_permutations(id, now, used, bytes);
  }

  void expand_slices(int id, const DimAtoms& now, AtomSet used, size_t d) {
    for (Atom a : atoms_) {
      if ((used & atom_bit(a)) || !can_append(now, d, mesh_.size(a))) continue;
      DimAtoms after = now;
      after[d].push_back(a);
      step(id, Kind::kSlice, d, 0, 1, 0, std::move(after));
    }
    // Slices by all missing axes in one step, which is the only possible step for some uneven
    // shards.
    if (to_[d].size() < now[d].size() + 2 || !is_prefix(now[d], to_[d])) return;
    const AtomList rest = last_of(to_[d], to_[d].size() - now[d].size());
    if ((atom_set(rest) & used) || !can_append(now, d, mesh_.size(rest))) return;
    DimAtoms after = now;
    after[d] = to_[d];
    step(id, Kind::kSlice, d, 0, rest.size(), 0, std::move(after));
  }

  // Devices exchange whole shards: any renaming of axes that keeps the number of shards of each
  // dimension. Only those are tried that bring an axis to its position in the target.
  void expand_permutations(int id, const DimAtoms& now, AtomSet used, int64_t bytes) {
    bool same_counts = true;
    for (size_t d = 0; d < now.size(); ++d)
      same_counts = same_counts && mesh_.size(now[d]) == mesh_.size(to_[d]);
    if (same_counts) {
      step(id, Kind::kPermute, 0, 0, 0, bytes, to_);
      return;
    }
    for (size_t d = 0; d < now.size(); ++d) {
      if (now[d] != to_[d] && mesh_.size(now[d]) == mesh_.size(to_[d]) &&
          !(atom_set(to_[d]) & used & ~atom_set(now[d]))) {
        DimAtoms after = now;
        after[d] = to_[d];
        step(id, Kind::kPermute, 0, 0, 0, bytes, std::move(after));
      }
      for (size_t i = 0; i < std::min(now[d].size(), to_[d].size()); ++i) {
        const Atom have = now[d][i], want = to_[d][i];
        if (have == want || !is_prefix(AtomList(now[d].begin(), now[d].begin() + i), to_[d]))
          continue;
        DimAtoms after = now;
        for (size_t e = 0; e < now.size(); ++e)
          for (Atom& a : after[e])
            if (a == want) a = have;
        after[d][i] = want;
        bool fits = true;  // whether the number of shards of every dimension stays the same
        for (size_t e = 0; e < now.size(); ++e)
          fits = fits && mesh_.size(after[e]) == mesh_.size(now[e]);
        if (fits) step(id, Kind::kPermute, 0, 0, 0, bytes, std::move(after));
      }
    }
  }

  std::vector<ReshardStep> path(int id) const {
    std::vector<ReshardStep> plan;
    for (; nodes_[id].before >= 0; id = nodes_[id].before) {
      const Node& node = nodes_[id];
      const DimAtoms& before = nodes_[node.before].dims;
      if (node.kind == Kind::kPermute && !plan.empty() && plan.back().kind == Kind::kPermute) {
        plan.back().before = before;
        continue;
      }
      AtomList atoms;
      if (node.kind != Kind::kPermute)
        atoms =
            last_of(node.kind == Kind::kSlice ? node.dims[node.dim] : before[node.dim], node.count);
      plan.push_back({node.kind, node.dim, node.to_dim, atoms, before, node.dims, node.bytes});
    }
    std::reverse(plan.begin(), plan.end());
    return plan;
  }

  std::vector<ReshardStep> gather_and_slice(DimAtoms now) const {
    std::vector<ReshardStep> plan;
    auto go = [&](Kind kind, size_t d, AtomList atoms, const AtomList& after) {
      ReshardStep step{kind, static_cast<int>(d), 0, std::move(atoms), now, now, 0};
      step.after[d] = after;
      if (kind == Kind::kAllGather) step.bytes = bytes_of(now) * (mesh_.size(step.atoms) - 1);
      now = step.after;
      plan.push_back(std::move(step));
    };
    for (size_t d = 0; d < now.size(); ++d) {
      if (now[d] == to_[d] || now[d].empty()) continue;
      size_t keep = 0;
      while (even_ && keep < std::min(now[d].size(), to_[d].size()) && now[d][keep] == to_[d][keep])
        ++keep;
      if (keep < now[d].size())
        go(Kind::kAllGather, d, last_of(now[d], now[d].size() - keep),
           AtomList(to_[d].begin(), to_[d].begin() + keep));
    }
    for (size_t d = 0; d < now.size(); ++d)
      if (now[d] != to_[d])
        go(Kind::kSlice, d, last_of(to_[d], to_[d].size() - now[d].size()), to_[d]);
    return plan;
  }

  const AtomMesh& mesh_;
  const Shape& global_;
  const int64_t item_;
  const DimAtoms& to_;
  const int64_t to_bytes_, latency_;
  bool even_ = true;
  AtomList atoms_;  // the target's atoms; it is useless to slice by others
  std::deque<Node> nodes_;
  std::unordered_map<std::string, int> ids_;
  std::priority_queue<Entry> queue_;
};

}  // namespace

std::vector<ReshardStep> plan_reshard(const AtomMesh& mesh, const Shape& global, DType dtype,
                                      const DimAtoms& from, const DimAtoms& to) {
  if (from == to) return {};
  std::vector<ReshardStep> plan = Planner(mesh, global, dtype, to).search(from);
  TESSERA_CHECK(!plan.empty() && plan.back().after == to, "a resharding plan misses its target");
  return plan;
}

}  // namespace tessera::spmd
