#include "tessera/spmd/reshard.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <queue>
#include <set>

#include "tessera/ops/collectives.h"
#include "tessera/ops/constant.h"
#include "tessera/ops/elementwise.h"
#include "tessera/ops/pad.h"
#include "tessera/ops/slice.h"

namespace tessera {
namespace {

// What a step costs beside its bytes: about the latency of a link, so that fewer steps win between equal plans.
constexpr int64_t kStepCost = 512;
// A bound on the search; beyond it (a dozen axes in play) the plan is gather-then-slice of the dimensions that differ.
constexpr size_t kMaxStates = 20000;

struct State {
  DimAtoms dims;
  bool permuted = false;  // a permutation that follows one is the same permutation
  friend bool operator<(const State& a, const State& b) {
    if (a.permuted != b.permuted) return a.permuted < b.permuted;
    return std::lexicographical_compare(a.dims.begin(), a.dims.end(), b.dims.begin(), b.dims.end());
  }
};

class Planner {
 public:
  Planner(const AtomMesh& mesh, const Shape& global, DType dtype, DimAtoms to, std::vector<char> frozen)
      : mesh_(mesh), global_(global), item_(itemsize(dtype)), to_(std::move(to)), frozen_(std::move(frozen)) {}

  std::vector<ReshardStep> search(const DimAtoms& from) {
    using Entry = std::pair<int64_t, const State*>;
    auto later = [](const Entry& a, const Entry& b) { return a.first > b.first; };
    std::priority_queue<Entry, std::vector<Entry>, decltype(later)> queue(later);
    AtomSet in_play = used_atoms(from) | used_atoms(to_);
    atoms_ = mesh_.ordered(in_play);
    const State start{from};
    auto first = nodes_.emplace(start, Node{0, nullptr, {}}).first;
    queue.push({0, &first->first});
    while (!queue.empty() && nodes_.size() < kMaxStates) {
      const auto [cost, state] = queue.top();
      queue.pop();
      if (cost > nodes_.at(*state).cost) continue;
      if (state->dims == to_) return path(*state);
      next_.clear();
      expand(*state);
      for (auto& [after, step] : next_) {
        const bool free = step.kind == ReshardStep::Kind::kPermute && state->permuted;
        const int64_t total = cost + (free ? 0 : step.bytes + kStepCost);
        auto [it, is_new] = nodes_.try_emplace(after, Node{total, state, step});
        if (!is_new) {
          if (it->second.cost <= total) continue;
          it->second = Node{total, state, step};
        }
        queue.push({total, &it->first});
      }
    }
    return gather_and_slice(from);
  }

  std::vector<ReshardStep> gather_and_slice(DimAtoms now) const {
    std::vector<ReshardStep> plan;
    for (size_t d = 0; d < now.size(); ++d) {
      size_t keep = 0;
      while (keep < now[d].size() && keep < to_[d].size() && now[d][keep] == to_[d][keep]) ++keep;
      if (keep < now[d].size()) {
        const AtomList gone(now[d].begin() + keep, now[d].end());
        plan.push_back(gather(now, d, gone));
        now = plan.back().after;
      }
    }
    for (size_t d = 0; d < now.size(); ++d) {
      if (now[d].size() == to_[d].size()) continue;
      plan.push_back(slice(now, d, AtomList(to_[d].begin() + now[d].size(), to_[d].end())));
      now = plan.back().after;
    }
    return plan;
  }

  ReshardStep slice(const DimAtoms& now, size_t d, const AtomList& atoms) const {
    ReshardStep step{ReshardStep::Kind::kSlice, static_cast<int>(d), 0, atoms, now, now, 0};
    step.after[d].insert(step.after[d].end(), atoms.begin(), atoms.end());
    return step;
  }
  ReshardStep gather(const DimAtoms& now, size_t d, const AtomList& atoms) const {
    ReshardStep step{ReshardStep::Kind::kAllGather, static_cast<int>(d), 0, atoms, now, now, 0};
    step.after[d].resize(now[d].size() - atoms.size());
    step.bytes = local_bytes(now) * (mesh_.size(atoms) - 1);
    return step;
  }

 private:
  struct Node {
    int64_t cost;
    const State* before;
    ReshardStep step;
  };

  int64_t local_bytes(const DimAtoms& dims) const { return local_shape(mesh_, global_, dims).elements() * item_; }
  bool divides(const DimAtoms& dims, size_t d, Atom extra) const {
    return global_[d] % (mesh_.size(dims[d]) * mesh_.size(extra)) == 0;
  }

  void expand(const State& state) {
    const DimAtoms& now = state.dims;
    const AtomSet used = used_atoms(now);
    for (size_t d = 0; d < now.size(); ++d) {
      if (frozen_[d]) continue;
      for (Atom a : atoms_)
        if (!(used & atom_bit(a)) && divides(now, d, a)) add(slice(now, d, AtomList{a}), false);
      if (now[d].empty()) continue;
      const Atom last = now[d].back();
      add(gather(now, d, AtomList{last}), false);
      for (size_t e = 0; e < now.size(); ++e) {
        if (e == d || frozen_[e] || !divides(now, e, last)) continue;
        ReshardStep step{ReshardStep::Kind::kAllToAll, static_cast<int>(d), static_cast<int>(e), AtomList{last}, now, now, 0};
        step.after[d].pop_back();
        step.after[e].push_back(last);
        step.bytes = local_bytes(now) / mesh_.size(last) * (mesh_.size(last) - 1);
        add(std::move(step), false);
      }
    }
    expand_permutations(now, used);
  }

  // Devices exchange whole shards: any relabelling that keeps the number of shards of each dimension.
  void expand_permutations(const DimAtoms& now, AtomSet used) {
    auto permute_to = [&](DimAtoms after) {
      ReshardStep step{ReshardStep::Kind::kPermute, 0, 0, {}, now, std::move(after), local_bytes(now)};
      add(std::move(step), true);
    };
    bool same_counts = true;
    for (size_t d = 0; d < now.size(); ++d)
      same_counts = same_counts && mesh_.size(now[d]) == mesh_.size(to_[d]) && (!frozen_[d] || now[d] == to_[d]);
    if (same_counts) permute_to(to_);
    for (size_t d = 0; d < now.size(); ++d) {
      if (frozen_[d]) continue;
      for (size_t i = 0; i < now[d].size(); ++i) {
        for (Atom b : atoms_) {  // another axis of the same size takes the place
          if ((used & atom_bit(b)) || mesh_.size(b) != mesh_.size(now[d][i])) continue;
          DimAtoms after = now;
          after[d][i] = b;
          permute_to(std::move(after));
        }
        for (size_t j = i + 1; j < now[d].size(); ++j) {  // another order within the dimension
          DimAtoms after = now;
          std::swap(after[d][i], after[d][j]);
          permute_to(std::move(after));
        }
        for (size_t e = d + 1; e < now.size(); ++e) {  // two dimensions swap axes of one size
          if (frozen_[e]) continue;
          for (size_t j = 0; j < now[e].size(); ++j) {
            if (mesh_.size(now[d][i]) != mesh_.size(now[e][j])) continue;
            DimAtoms after = now;
            std::swap(after[d][i], after[e][j]);
            permute_to(std::move(after));
          }
        }
      }
    }
  }

  void add(ReshardStep step, bool permuted) {
    State after{step.after, permuted};
    next_.emplace_back(std::move(after), std::move(step));
  }

  std::vector<ReshardStep> path(const State& end) const {
    std::vector<ReshardStep> plan;
    for (const State* s = &end; s;) {
      const Node& node = nodes_.at(*s);
      if (node.before) plan.push_back(node.step);
      s = node.before;
    }
    std::reverse(plan.begin(), plan.end());
    return merged(plan);
  }

  // Neighbouring steps of one kind on one dimension become one over several axes.
  static std::vector<ReshardStep> merged(const std::vector<ReshardStep>& plan) {
    std::vector<ReshardStep> out;
    for (const ReshardStep& step : plan) {
      if (!out.empty() && out.back().kind == step.kind && out.back().dim == step.dim && out.back().to_dim == step.to_dim) {
        ReshardStep& last = out.back();
        switch (step.kind) {
          case ReshardStep::Kind::kSlice: last.atoms.insert(last.atoms.end(), step.atoms.begin(), step.atoms.end()); break;
          case ReshardStep::Kind::kAllGather:
            last.atoms.insert(last.atoms.begin(), step.atoms.begin(), step.atoms.end());
            last.bytes += step.bytes;
            break;
          case ReshardStep::Kind::kPermute: break;
          case ReshardStep::Kind::kAllToAll: out.push_back(step); continue;
        }
        last.after = step.after;
        continue;
      }
      out.push_back(step);
    }
    return out;
  }

  const AtomMesh& mesh_;
  const Shape& global_;
  const int64_t item_;
  const DimAtoms to_;
  const std::vector<char> frozen_;
  AtomList atoms_;
  std::map<State, Node> nodes_;
  std::vector<std::pair<State, ReshardStep>> next_;
};

}  // namespace

Shape local_shape(const AtomMesh& mesh, const Shape& global, const DimAtoms& dims) {
  Shape out = global;
  for (size_t d = 0; d < dims.size(); ++d) out[d] = ceil_div(global[d], mesh.size(dims[d]));
  return out;
}

std::vector<ReshardStep> plan_reshard(const AtomMesh& mesh, const Shape& global, DType dtype, const DimAtoms& from,
                                      const DimAtoms& to) {
  if (from == to) return {};
  // Uneven dimensions that change: whole first, cut at the end. Their shards do not line up in between.
  std::vector<ReshardStep> plan;
  std::vector<char> frozen(from.size(), false);
  DimAtoms now = from, target = to;
  for (size_t d = 0; d < from.size(); ++d) {
    const bool even = global[d] % mesh.size(from[d]) == 0 && global[d] % mesh.size(to[d]) == 0;
    if (even) continue;
    frozen[d] = true;
    if (from[d] == to[d]) continue;
    target[d].clear();
    if (now[d].empty()) continue;
    plan.push_back(Planner(mesh, global, dtype, to, frozen).gather(now, d, now[d]));
    now = plan.back().after;
  }
  if (now != target) {
    // A dimension that stays uneven may hold axes that others need: then those wait until all is gathered.
    Planner planner(mesh, global, dtype, target, frozen);
    for (ReshardStep& step : planner.search(now)) {
      now = step.after;
      plan.push_back(std::move(step));
    }
  }
  for (size_t d = 0; d < to.size(); ++d) {
    if (now[d] == to[d]) continue;
    plan.push_back(Planner(mesh, global, dtype, to, frozen).slice(now, d, to[d]));
    now = plan.back().after;
  }
  TESSERA_CHECK(now == to, "a resharding plan misses its target");
  return plan;
}

Array atom_index(const AtomMesh& mesh, const AtomList& atoms) {
  if (atoms.empty()) return Array(Literal::scalar<int32_t>(0));
  return bind1(axis_index_op, AxisIndexParams{mesh.mesh(), mesh.axis_names(atoms)}, {});
}

namespace {

Array apply_slice(const AtomMesh& mesh, const Shape& global, const ReshardStep& step, Array x) {
  const int64_t n = mesh.size(step.atoms), extent = x.shape()[step.dim];
  const int64_t size = local_shape(mesh, global, step.after)[step.dim];
  if (size * n > extent) {
    Dims low(x.ndim(), 0), high(x.ndim(), 0), interior(x.ndim(), 0);
    high[step.dim] = size * n - extent;
    x = lax::pad(x, Array(Literal(x.dtype(), Shape{})), low, high, interior);
  }
  const Array start = lax::mul(atom_index(mesh, step.atoms), Array(Literal::scalar(static_cast<int32_t>(size))));
  std::vector<Array> starts(x.ndim(), Array(Literal::scalar<int32_t>(0)));
  starts[step.dim] = start;
  Shape sizes = x.shape();
  sizes[step.dim] = size;
  return lax::dynamic_slice(x, starts, sizes);
}

// The devices over all axes in play, by rank: who sends its shard to whom.
std::vector<Dims> permutation_pairs(const AtomMesh& mesh, const AtomList& over, const DimAtoms& from, const DimAtoms& to) {
  // Order the axes by what they cut; those that cut nothing follow. Equal positions in the two orders hold the same data.
  auto ordered = [&](const DimAtoms& dims) {
    AtomList out;
    for (const AtomList& d : dims) out.insert(out.end(), d.begin(), d.end());
    const AtomSet used = atom_set(out);
    for (Atom a : over)
      if (!(used & atom_bit(a))) out.push_back(a);
    return out;
  };
  const AtomList source = ordered(from), target = ordered(to);
  const int64_t n = mesh.size(over);
  auto rank = [&](const AtomList& order, int64_t position) {
    std::array<int64_t, 64> coordinate{};
    for (size_t i = order.size(); i-- > 0;) {
      coordinate[order[i]] = position % mesh.size(order[i]);
      position /= mesh.size(order[i]);
    }
    int64_t out = 0;
    for (Atom a : over) out = out * mesh.size(a) + coordinate[a];
    return out;
  };
  std::vector<Dims> pairs;
  for (int64_t i = 0; i < n; ++i) pairs.push_back({rank(source, i), rank(target, i)});
  std::sort(pairs.begin(), pairs.end(), [](const Dims& a, const Dims& b) { return a[0] < b[0]; });
  return pairs;
}

}  // namespace

Array apply_reshard(const AtomMesh& mesh, const Shape& global, const std::vector<ReshardStep>& plan, Array x) {
  for (const ReshardStep& step : plan) {
    switch (step.kind) {
      case ReshardStep::Kind::kSlice: x = apply_slice(mesh, global, step, x); break;
      case ReshardStep::Kind::kAllGather: {
        x = bind1(all_gather_op, AllGatherParams{.mesh = mesh.mesh(), .axes = mesh.axis_names(step.atoms), .dim = step.dim}, {x});
        const int64_t extent = local_shape(mesh, global, step.after)[step.dim];
        if (x.shape()[step.dim] != extent) {  // drop the padding
          Dims start(x.ndim(), 0), limit = x.shape(), strides(x.ndim(), 1);
          limit[step.dim] = extent;
          x = lax::slice(x, start, limit, strides);
        }
        break;
      }
      case ReshardStep::Kind::kAllToAll:
        x = bind1(all_to_all_op,
                  AllToAllParams{.mesh = mesh.mesh(), .axes = mesh.axis_names(step.atoms), .split_dim = step.to_dim, .concat_dim = step.dim},
                  {x});
        break;
      case ReshardStep::Kind::kPermute: {
        const AtomList over = mesh.ordered(used_atoms(step.before) | used_atoms(step.after));
        x = bind1(collective_permute_op,
                  CollectivePermuteParams{.mesh = mesh.mesh(),
                                          .axes = mesh.axis_names(over),
                                          .pairs = permutation_pairs(mesh, over, step.before, step.after)},
                  {x});
        break;
      }
    }
  }
  return x;
}

std::string to_string(const AtomMesh& mesh, const ReshardStep& step) {
  const std::string axes = fmt::format("{}", fmt::join(mesh.axis_names(step.atoms), ","));
  switch (step.kind) {
    case ReshardStep::Kind::kSlice: return fmt::format("slice dim {} by {}", step.dim, axes);
    case ReshardStep::Kind::kAllGather: return fmt::format("all_gather dim {} over {}", step.dim, axes);
    case ReshardStep::Kind::kAllToAll: return fmt::format("all_to_all {} from dim {} to dim {}", axes, step.dim, step.to_dim);
    case ReshardStep::Kind::kPermute: return "collective_permute";
  }
  return {};
}

}  // namespace tessera
