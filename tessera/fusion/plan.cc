#include "tessera/fusion/plan.h"

#include <algorithm>
#include <queue>

#include "tessera/fusion/reachability.h"
#include "tessera/fusion/reductions.h"

namespace tessera::fusion {
namespace {

// Recomputing a value costs less than storing and loading it up to about this much work an element.
constexpr float kCheapWork = 20;
// Work that is worth a loop of its own rather than being repeated.
constexpr float kExpensiveWork = 8;
constexpr float kScalarWork = 50;
constexpr int64_t kMaxGroupOps = 1500;
constexpr int64_t kMinParallel = 16;

struct Demand {
  int group;
  Access access;
  float times = 1;
  boost::container::small_vector<size_t, 4> tags = {};  // of the different accesses
};
using Demands = boost::container::small_vector<Demand, 4>;

Access identity_access(const Shape& shape) {
  Access out;
  for (int d = 0; d < static_cast<int>(shape.size()); ++d)
    out.dims.push_back(shape[d] == 1 ? -1 : static_cast<int8_t>(d));
  return out;
}

size_t tag_of(const Access& access) {
  size_t tag = access.tag;
  if (access.plain)
    for (int d : access.dims) tag = hash_combine(tag, static_cast<size_t>(d + 2));
  return tag;
}

Access opaque_access(const Access& of, size_t maker) {
  Access out;
  out.plain = false;
  out.tag = hash_combine(tag_of(of), maker);
  return out;
}

bool is_whole(const IndexPiece& piece, const Shape& result) {
  if (!piece.start_dynamic.empty()) return false;
  for (size_t d = 0; d < piece.start.size(); ++d)
    if (piece.start[d] > 0) return false;
  for (size_t d = 0; d < piece.stop.size(); ++d)
    if (piece.stop[d] < result[d]) return false;
  return true;
}

std::optional<Access> mapped_access(const GraphOp& op, int k, const Access& access,
                                    const Shape& operand, const Shape& result) {
  const std::vector<IndexPiece>& pieces = op.mapping.pieces;
  if (pieces.size() != 1 || pieces[0].operand != k || !is_whole(pieces[0], result))
    return std::nullopt;
  Access out;
  for (size_t d = 0; d < operand.size(); ++d) {
    const IndexTerm& term = pieces[0].terms[d];
    if (operand[d] == 1) {
      out.dims.push_back(-1);
    } else if (term.result_dim >= 0 && term.stride == 1 && term.offset == 0 && term.divisor == 1 &&
               term.dynamic < 0) {
      out.dims.push_back(access.dims[term.result_dim]);
    } else {
      return std::nullopt;
    }
  }
  return out;
}

std::optional<Access> reshaped_access(const Access& access, const Shape& operand,
                                      const Shape& result) {
  Access out;
  size_t r = 0;
  for (int64_t extent : operand) {
    if (extent == 1) {
      out.dims.push_back(-1);
      continue;
    }
    while (r < result.size() && result[r] == 1) ++r;
    if (r == result.size() || result[r] != extent) return std::nullopt;
    out.dims.push_back(access.dims[r++]);
  }
  return out;
}

class Planner {
 public:
  Planner(const Graph& graph, const std::vector<char>& must_store) : g_(graph) {
    plan_.stored.assign(graph.values.size(), 0);
    plan_.placements.resize(graph.ops.size());
    for (size_t v = 0; v < graph.values.size(); ++v)
      if (graph.values[v].op < 0 || graph.values[v].output ||
          (!must_store.empty() && must_store[v]))
        plan_.stored[v] = 1;
    for (const GraphOp& op : graph.ops) {
      if (!op.stored()) continue;
      for (int v : op.operands) plan_.stored[v] = 1;
      for (int v : op.results) plan_.stored[v] = 1;
    }
  }

  Plan run() {
    estimate();
    for (int i = static_cast<int>(g_.ops.size()) - 1; i >= 0; --i) place(i);
    sort_groups();
    return std::move(plan_);
  }

 private:
  void estimate();
  void place(int i);
  void place_elementwise(int i, Demands& demands);
  void place_reduction(int i, Demands& demands);
  bool store_in_reader(int i, const Demands& demands);
  bool store_beside(int i);
  int new_group(int i);
  void put(int i, int group, const Access& access, float times = 1);

  Access operand_access(int user, size_t k, const Placement& at) const;
  // Readers of op i by kernel; false if it has none at all. All steps after it are left in after_.
  bool find_demands(int i, Demands* demands);
  bool affordable(int i, const Demand& demand);
  bool structure(Group& group, int parallel_rank);
  bool covers_parallel(const Group& group, const Access& access) const;
  bool covers_elements(const Group& group, const Access& access) const;
  bool can_join_rows(int i, const Demand& demand);
  int family_of(Group& group, const Shape& operand, const Dims& reduced);
  bool computes(int group, int op) const {
    for (const Placement& p : plan_.placements[op])
      if (p.group == group) return true;
    return false;
  }
  // Whether group may get another stored value that the readers in after_ wait for.
  bool acyclic(int group) const {
    for (int reader : readers_)
      if (reader != group && reach_.reaches(reader, group)) return false;
    return true;
  }
  void store_results(int i, int group, const Access& access);
  void sort_groups();

  const Graph& g_;
  Plan plan_;
  Reachability reach_;
  std::vector<float> work_;  // of one element of a value, as far up as it is computed in place
  std::vector<float> read_bytes_;  // that computing all of it reads
  Reachability::Set after_;        // of the op being placed
  std::vector<int> readers_;       // groups that read a result of the op being placed
  std::vector<int> seen_;          // by group: last op whose readers_ it entered
};

void Planner::estimate() {
  work_.assign(g_.values.size(), 0);
  read_bytes_.assign(g_.values.size(), 0);
  for (const GraphOp& op : g_.ops) {
    if (op.stored()) continue;
    for (int r : op.results) {
      const GraphValue& result = g_.values[r];
      float work = op.work, bytes = 0;
      for (int v : op.operands) {
        const float part = std::min<float>(
            1, static_cast<float>(result.elements()) /
                   static_cast<float>(std::max<int64_t>(1, g_.values[v].elements())));
        work += plan_.stored[v] ? 0 : work_[v];
        bytes +=
            part * (plan_.stored[v] ? static_cast<float>(g_.values[v].bytes()) : read_bytes_[v]);
      }
      if (op.kind == OpKind::kReduce) work = 1e6F;
      work_[r] = std::min(work, 1e6F);
      read_bytes_[r] = std::min(bytes, 1e18F);
    }
  }
}

Access Planner::operand_access(int user, size_t k, const Placement& at) const {
  const GraphOp& op = g_.ops[user];
  const GraphValue& operand = g_.values[op.operands[k]];
  if (operand.shape.empty()) return {};
  const GraphValue& result = g_.values[op.results[0]];
  switch (op.kind) {
    case OpKind::kPointwise:
    case OpKind::kConvert:
      return at.access;
    case OpKind::kIndexMap: {
      std::optional<Access> access;
      if (at.access.plain)
        access = mapped_access(op, static_cast<int>(k), at.access, operand.shape, result.shape);
      return access ? *access : opaque_access(at.access, static_cast<size_t>(user) * 64 + k);
    }
    case OpKind::kReshape: {
      std::optional<Access> access;
      if (at.access.plain) access = reshaped_access(at.access, operand.shape, result.shape);
      return access ? *access : opaque_access(at.access, static_cast<size_t>(user) * 64);
    }
    case OpKind::kReduce: {
      const Group& group = plan_.groups[at.group];
      const auto it = std::find_if(group.reductions.begin(), group.reductions.end(),
                                   [&](const auto& reduction) { return reduction.first == user; });
      const auto& family = group.families[it->second];
      Access out;
      size_t kept = 0, folded = 0;
      const Dims& reduced = op.reduction.dims;
      for (int d = 0; d < static_cast<int>(operand.shape.size()); ++d) {
        if (std::find(reduced.begin(), reduced.end(), d) == reduced.end()) {
          out.dims.push_back(at.access.dims[kept++]);
        } else {
          out.dims.push_back(operand.shape[d] == 1 ? -1 : static_cast<int8_t>(family[folded++]));
        }
      }
      return out;
    }
    default:
      TESSERA_CHECK(false, "a stored op has no placement");
      return {};
  }
}

bool Planner::find_demands(int i, Demands* demands) {
  after_.reset();
  readers_.clear();
  bool needed = false;
  auto reader = [&](int group) {
    if (seen_.size() < plan_.groups.size()) seen_.resize(plan_.groups.size() + 16, -1);
    if (seen_[group] == i) return;
    seen_[group] = i;
    readers_.push_back(group);
    reach_.collect(group, after_);
  };
  for (int v : g_.ops[i].results) {
    needed = needed || g_.values[v].output;
    for (int user : g_.values[v].users) {
      const GraphOp& op = g_.ops[user];
      for (const Placement& at : plan_.placements[user]) {
        needed = true;
        reader(at.group);
        if (!plan_.groups[at.group].kernel) continue;
        for (size_t k = 0; k < op.operands.size(); ++k) {
          if (op.operands[k] != v) continue;
          Access access = operand_access(user, k, at);
          const size_t tag = tag_of(access);
          auto it = std::find_if(demands->begin(), demands->end(),
                                 [&](const Demand& d) { return d.group == at.group; });
          if (it == demands->end()) {
            demands->push_back({at.group, std::move(access), at.times, {tag}});
          } else if (std::find(it->tags.begin(), it->tags.end(), tag) == it->tags.end()) {
            it->access = opaque_access(it->access, tag);
            it->times += at.times;
            it->tags.push_back(tag);
          }
        }
      }
    }
  }
  return needed;
}

void Planner::put(int i, int group, const Access& access, float times) {
  plan_.placements[i].push_back({group, access, times});
  Group& target = plan_.groups[group];
  if (target.ops.empty() || target.ops.back() != i) target.ops.push_back(i);
}

int Planner::new_group(int i) {
  const int id = reach_.add(after_);
  TESSERA_CHECK(id == static_cast<int>(plan_.groups.size()), "steps are numbered in turn");
  Group& group = plan_.groups.emplace_back();
  const GraphValue& result = g_.values[g_.ops[i].results[0]];
  group.op = i;
  group.order = i;
  group.axes = result.axes;
  group.extents = result.shape;
  group.root_rank = static_cast<int>(result.shape.size());
  return id;
}

void Planner::store_results(int i, int group, const Access& access) {
  for (int v : g_.ops[i].results) {
    plan_.stored[v] = 1;
    plan_.groups[group].outputs.push_back({.value = v, .access = access});
  }
}

void Planner::place(int i) {
  const GraphOp& op = g_.ops[i];
  Demands demands;
  if (!find_demands(i, &demands)) return;
  const bool view = op.kind == OpKind::kReshape && plan_.stored[op.results[0]];
  if (op.stored() || view) {
    const int group = new_group(i);
    plan_.groups[group].kernel = false;
    put(i, group, {});
    if (view) plan_.stored[op.operands[0]] = 1;
  } else if (op.kind == OpKind::kReduce) {
    place_reduction(i, demands);
  } else {
    place_elementwise(i, demands);
  }
}

// Non-unit dimensions that `access` tells apart are exactly the parallel ones, in order.
bool Planner::covers_parallel(const Group& group, const Access& access) const {
  if (!access.plain) return false;
  int next = 0;
  for (int d : access.dims) {
    if (d < 0) continue;
    while (next < group.parallel_rank && group.extents[next] == 1) ++next;
    if (d != next || next >= group.parallel_rank) return false;
    ++next;
  }
  while (next < group.parallel_rank && group.extents[next] == 1) ++next;
  return next == group.parallel_rank;
}

// Each element of the kernel's domain (the root's, or that of one of its reductions) is read once,
// in order.
bool Planner::covers_elements(const Group& group, const Access& access) const {
  if (!access.plain) return false;
  auto covers = [&](std::span<const int> dims) {
    size_t next = 0;
    for (int d : access.dims) {
      if (d < 0) continue;
      while (next < dims.size() && group.extents[dims[next]] == 1) ++next;
      if (next == dims.size() || d != dims[next]) return false;
      ++next;
    }
    while (next < dims.size() && group.extents[dims[next]] == 1) ++next;
    return next == dims.size();
  };
  boost::container::small_vector<int, 8> dims;
  for (int d = 0; d < group.root_rank; ++d) dims.push_back(d);
  if (covers(dims)) return true;
  if (!group.structured) return false;
  for (const auto& family : group.families) {
    dims.resize(group.parallel_rank);
    dims.insert(dims.end(), family.begin(), family.end());
    // A reduction over major dimensions reads them before the parallel ones.
    if (covers(dims)) return true;
    dims.assign(family.begin(), family.end());
    for (int d = 0; d < group.parallel_rank; ++d) dims.push_back(d);
    if (covers(dims)) return true;
  }
  return false;
}

bool Planner::structure(Group& group, int parallel_rank) {
  while (parallel_rank < group.root_rank && group.extents[parallel_rank] == 1) ++parallel_rank;
  if (group.structured) {
    int rank = group.parallel_rank;
    while (rank < group.root_rank && group.extents[rank] == 1) ++rank;
    return rank == parallel_rank;
  }
  for (const GroupOutput& output : group.outputs)
    if (!output.part.empty()) return false;
  int64_t parallel = 1, inner = 1;
  for (int d = 0; d < group.root_rank; ++d)
    (d < parallel_rank ? parallel : inner) *= group.extents[d];
  const int64_t instances = g_.values[group.outputs[0].value].instances;
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

// Whether op i may be computed where `demand` reads it: the kernel does not repeat expensive work.
bool Planner::affordable(int i, const Demand& demand) {
  Group& group = plan_.groups[demand.group];
  if (static_cast<int64_t>(group.ops.size()) >= kMaxGroupOps) return false;
  const GraphOp& op = g_.ops[i];
  const int v = op.results[0];
  const GraphValue& value = g_.values[v];
  if (value.elements() == 1) return work_[v] <= kScalarWork;
  if (op.kind == OpKind::kIndexMap && op.mapping.pieces.size() > 4) return false;
  if ((demand.times - 1) * work_[v] > kCheapWork || demand.times > 16) return false;
  if (work_[v] <= kExpensiveWork) return true;
  if (group.structured && covers_parallel(group, demand.access)) return true;
  int64_t evaluations = g_.values[group.outputs[0].value].instances, folded = 1;
  for (int d = 0; d < group.root_rank; ++d) evaluations *= group.extents[d];
  for (const auto& family : group.families) {
    int64_t elements = 1;
    for (int d : family)
      if (d >= group.root_rank) elements *= group.extents[d];
    folded = std::max(folded, elements);
  }
  if (evaluations * folded <= value.elements() * value.instances * 3 / 2) return true;
  if (!demand.access.plain || group.structured) return false;
  // Rows: what does not depend on the inner dimensions is computed once a row.
  int rank = 0;
  for (int d : demand.access.dims) rank = std::max(rank, d + 1);
  Group trial;
  trial.extents = group.extents;
  trial.parallel_rank = rank;
  return covers_parallel(trial, demand.access) && structure(group, rank);
}

bool Planner::store_in_reader(int i, const Demands& demands) {
  const GraphValue& value = g_.values[g_.ops[i].results[0]];
  for (const Demand& demand : demands) {
    const Group& group = plan_.groups[demand.group];
    if (group.axes != value.axes || static_cast<int64_t>(group.ops.size()) >= kMaxGroupOps)
      continue;
    if (!covers_elements(group, demand.access) &&
        !(group.structured && covers_parallel(group, demand.access)))
      continue;
    if (!acyclic(demand.group)) continue;
    reach_.extend(demand.group, after_);
    store_results(i, demand.group, demand.access);
    put(i, demand.group, demand.access);
    return true;
  }
  return false;
}

// Stores op i in a kernel over the same domain that reads one of its operands at the same place.
bool Planner::store_beside(int i) {
  const GraphOp& op = g_.ops[i];
  const GraphValue& value = g_.values[op.results[0]];
  for (size_t k = 0; k < op.operands.size(); ++k) {
    const GraphValue& operand = g_.values[op.operands[k]];
    if (operand.shape.empty()) continue;
    int tried = 0;
    for (int user : operand.users) {
      if (user <= i || ++tried > 8) continue;
      for (const Placement& at : plan_.placements[user]) {
        const Group& group = plan_.groups[at.group];
        if (!group.kernel || group.axes != value.axes ||
            static_cast<int64_t>(group.ops.size()) >= kMaxGroupOps)
          continue;
        if (!std::equal(value.shape.begin(), value.shape.end(), group.extents.begin(),
                        group.extents.begin() + group.root_rank))
          continue;
        const Access access = identity_access(value.shape);
        bool same = false;
        for (size_t j = 0; j < g_.ops[user].operands.size(); ++j)
          same = same || (g_.ops[user].operands[j] == op.operands[k] &&
                          operand_access(user, j, at) == operand_access(i, k, {at.group, access}));
        if (!same || !acyclic(at.group)) continue;
        const int target = at.group;
        reach_.extend(target, after_);
        store_results(i, target, access);
        put(i, target, access);
        return true;
      }
    }
  }
  return false;
}

void Planner::place_elementwise(int i, Demands& demands) {
  const int v = g_.ops[i].results[0];
  bool store = plan_.stored[v];
  if (!store && demands.size() > 1)
    store = work_[v] > kCheapWork ||
            read_bytes_[v] > 2.0F * static_cast<float>(g_.values[v].bytes()) + 64;
  for (size_t k = 0; k < demands.size() && !store; ++k) store = !affordable(i, demands[k]);
  if (!store) {
    for (const Demand& demand : demands) put(i, demand.group, demand.access, demand.times);
    return;
  }
  if (store_in_reader(i, demands) || store_beside(i)) return;
  const int group = new_group(i);
  const Access access = identity_access(g_.values[v].shape);
  store_results(i, group, access);
  put(i, group, access);
}

int Planner::family_of(Group& group, const Shape& operand, const Dims& reduced) {
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

// Whether reduction i may run as a loop over the rows of the kernel that reads it.
bool Planner::can_join_rows(int i, const Demand& demand) {
  const GraphOp& op = g_.ops[i];
  const GraphValue& value = g_.values[op.results[0]];
  const GraphValue& operand = g_.values[op.operands[0]];
  Group& group = plan_.groups[demand.group];
  if (!demand.access.plain || group.axes != value.axes) return false;
  if (static_cast<int64_t>(group.ops.size()) >= kMaxGroupOps || group.extents.size() > 100)
    return false;
  int rank = 0;
  for (int d : demand.access.dims) rank = std::max(rank, d + 1);
  Group trial;
  trial.extents = group.extents;
  trial.parallel_rank = rank;
  if (rank > group.root_rank || !covers_parallel(trial, demand.access)) return false;
  int64_t inner = 1;
  for (int d = rank; d < group.root_rank; ++d) inner *= group.extents[d];
  const bool rows = reduces_rows(operand.shape, op.reduction.dims);
  if (inner > 1 && !rows) return false;
  for (const auto& [other, family] : group.reductions)
    if (reduces_rows(g_.values[g_.ops[other].operands[0]].shape, g_.ops[other].reduction.dims) !=
        rows)
      return false;
  return structure(group, rank);
}

void Planner::place_reduction(int i, Demands& demands) {
  const GraphOp& op = g_.ops[i];
  const Shape& shape = g_.values[op.results[0]].shape;
  const Shape& operand = g_.values[op.operands[0]].shape;
  bool store = false;
  for (int v : op.results) store = store || plan_.stored[v];
  store = store || demands.size() != 1;
  auto join = [&](int group, const Access& access) {
    Group& target = plan_.groups[group];
    target.reductions.emplace_back(i, family_of(target, operand, op.reduction.dims));
    put(i, group, access);
  };
  for (const Demand& demand : demands) {
    if (store && !acyclic(demand.group)) continue;
    if (!can_join_rows(i, demand)) continue;
    if (store) {
      reach_.extend(demand.group, after_);
      store_results(i, demand.group, demand.access);
    }
    return join(demand.group, demand.access);
  }
  // A kernel that folds another function of the same operand over the same rows.
  Access access = identity_access(shape);
  auto beside = [&](int v) {
    int tried = 0;
    for (int user : g_.values[v].users) {
      if (user <= i || ++tried > 8) continue;
      for (const Placement& at : plan_.placements[user]) {
        Group& group = plan_.groups[at.group];
        if (!group.kernel || group.reductions.empty() || group.parallel_rank != group.root_rank)
          continue;
        if (!std::equal(shape.begin(), shape.end(), group.extents.begin(),
                        group.extents.begin() + group.root_rank))
          continue;
        const GraphOp& other = g_.ops[group.reductions[0].first];
        if (other.reduction.dims != op.reduction.dims ||
            g_.values[other.operands[0]].shape != operand)
          continue;
        if (!acyclic(at.group) || !can_join_rows(i, {at.group, access})) continue;
        return at.group;
      }
    }
    return -1;
  };
  int group = -1;
  for (size_t k = 0; k < op.operands.size() / 2 && group < 0; ++k) {
    const int v = op.operands[k];
    group = beside(v);
    if (group >= 0 || plan_.stored[v]) continue;
    for (int u : g_.ops[g_.values[v].op].operands)
      if (group < 0 && !g_.values[u].shape.empty()) group = beside(u);
  }
  if (group >= 0) {
    reach_.extend(group, after_);
  } else {
    group = new_group(i);
    Group& target = plan_.groups[group];
    target.structured = true;
    target.parallel_rank = target.root_rank;
  }
  store_results(i, group, access);
  join(group, access);
}

void Planner::sort_groups() {
  const int n = static_cast<int>(plan_.groups.size());
  std::vector<boost::container::small_vector<int, 2>> makers(g_.values.size());
  for (int k = 0; k < n; ++k) {
    const Group& group = plan_.groups[k];
    if (group.kernel) {
      for (const GroupOutput& output : group.outputs) makers[output.value].push_back(k);
    } else {
      for (int v : g_.ops[group.op].results) makers[v].push_back(k);
    }
  }
  std::vector<boost::container::small_vector<int, 4>> next(n);
  std::vector<int> waiting(n, 0);
  for (int k = 0; k < n; ++k) {
    for (int i : plan_.groups[k].ops) {
      for (int v : g_.ops[i].operands) {
        for (int maker : makers[v]) {
          if (maker == k) continue;
          next[maker].push_back(k);
          ++waiting[k];
        }
      }
    }
  }
  std::priority_queue<std::pair<int, int>, std::vector<std::pair<int, int>>, std::greater<>> ready;
  for (int k = 0; k < n; ++k)
    if (waiting[k] == 0) ready.emplace(plan_.groups[k].order, k);
  while (!ready.empty()) {
    const int k = ready.top().second;
    ready.pop();
    plan_.order.push_back(k);
    for (int reader : next[k])
      if (--waiting[reader] == 0) ready.emplace(plan_.groups[reader].order, reader);
  }
  TESSERA_CHECK(static_cast<int>(plan_.order.size()) == n, "steps that wait for each other");
}

}  // namespace

Plan make_plan(const Graph& graph, const std::vector<char>& must_store) {
  return Planner(graph, must_store).run();
}

}  // namespace tessera::fusion
