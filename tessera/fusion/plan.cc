#include "tessera/fusion/plan.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "tessera/base/contains.h"
#include "tessera/fusion/domain.h"
#include "tessera/fusion/kernels/short_folds.h"
#include "tessera/fusion/kernels/short_row_pieces.h"
#include "tessera/fusion/plan_order.h"
#include "tessera/fusion/reachability.h"
#include "tessera/fusion/recompute.h"
#include "tessera/fusion/reductions.h"

namespace tessera::fusion {
namespace {

// The least work for which a value gets a loop of its own instead of being computed repeatedly.
constexpr float kExpensiveWork = 8;
// A value with at least this much work, such as a root, gets a loop of its own, too, if all rows of
// its reader would compute it again (the scale of a normalisation), at least kManyTimes and for
// longer than kManySteps steps.
constexpr float kRootWork = 4, kManySteps = 4;
constexpr int64_t kManyTimes = 32;
constexpr int64_t kLeastRow = 8;  // elements of a row that vectors run along
constexpr float kScalarWork = 50;
// The cost of a step that computes nothing, about a microsecond, in units of work.
constexpr float kStepWork = 16384;
constexpr int64_t kMaxGroupOps = 600;
constexpr size_t kMaxGroupDims = 100;
// The most times that the kernel of a reader may compute an element of a value.
constexpr float kMaxEvaluations = 16;
// The most work of such evaluations, which the kernel contains one after the other.
constexpr float kMaxRepeatedCode = 100;
// A piece of an index map with at most this share of its elements is away from most rows and
// vectors.
constexpr float kSmallShare = 1.0F / 8;
// Shorter rows are not divided where another piece of an index map begins.
constexpr int64_t kDividedRow = 512;
// A concatenation of more operands is stored operand by operand.
constexpr size_t kMaxPieces = 4;
// A fold of at most this many elements for each instruction that reads its result takes so little
// time that the instructions matter.
constexpr float kFoldedPerInstruction = 16;
// The most readers of a value whose kernels are considered for storing another value of its shape.
constexpr int kMaxReadersTried = 8;

struct Demand {
  int group;
  Access access;
  float times = 1, load = 1;
  boost::container::small_vector<size_t, 4> tags = {};  // distinguish the different accesses
  float share = 1;
};
using Demands = boost::container::small_vector<Demand, 4>;

// Returns the least number of leading dimensions that include all dimensions that `access` depends
// on.
int distinguishing_rank(const Access& access) {
  int rank = 0;
  for (const int8_t d : access.dims) rank = std::max(rank, 1 + static_cast<int>(d));
  return rank;
}

class Planner {
 public:
  Planner(const Graph& graph, const std::vector<char>& must_store) : g_(graph) {
    plan_.stored = must_store;
    plan_.memberships.resize(graph.ops.size());
    for (size_t v = 0; v < graph.values.size(); ++v)
      if (graph.values[v].op < 0 || graph.values[v].output) plan_.stored[v] = 1;
    for (const GraphOp& op : graph.ops) {
      if (!op.stored()) continue;
      for (int v : op.operands) plan_.stored[v] = 1;
      for (int v : op.results) plan_.stored[v] = 1;
    }
  }

  FusionPlan run() {
    costs_.emplace(g_, plan_.stored);
    for (int i = static_cast<int>(g_.ops.size()) - 1; i >= 0; --i) group_op(i);
    plan_.order = order_of_groups(g_, plan_);
    return std::move(plan_);
  }

 private:
  void group_op(int i);
  void group_elementwise(int i, Demands& demands);
  void group_reduction(int i, Demands& demands);
  bool store_in_reader(int i, const Demands& demands);
  template <class Fits>
  int find_beside(int i, int v, const Fits& fits);
  bool gains_together(int v, const GraphValue& value) const;
  bool store_beside(int i);
  bool store_pieces(int i);
  int new_group(int i);
  void put(int i, const Demand& demand);

  std::optional<Access> read_access(int user, size_t k, const GroupMembership& at) const;
  float load_of(int user, size_t k, const GroupMembership& at) const;
  bool find_demands(int i, Demands* demands);
  float work(int v) const { return costs_->work(v); }
  // Returns whether computing v `times` more times takes less time than a step of its own.
  bool is_little(int v, int64_t times) const {
    return work(v) <= kScalarWork && static_cast<float>(times) * work(v) <= kStepWork;
  }
  bool structure(Group& group, int parallel_rank) {
    return fusion::structure(group, parallel_rank, g_.values[group.outputs[0].value].instances);
  }
  bool affordable(int i, const Demand& demand);
  bool is_slow_in_rows(const Group& group, const GraphOp& fold) const;
  bool can_join_rows(int i, const Demand& demand);
  static bool full(const Group& group) { return group.computed >= kMaxGroupOps; }
  // Returns whether the group may store another value that the groups in readers_ wait for.
  bool acyclic(int group) const {
    for (int reader : readers_)
      if (reader != group && reach_.reaches(reader, group)) return false;
    return true;
  }
  void store_results(int i, int group, const Access& access);

  const Graph& g_;
  FusionPlan plan_;
  Reachability reach_;
  std::optional<RecomputeCosts> costs_;
  Reachability::Set after_;   // the steps that come after the op that is being grouped
  std::vector<int> readers_;  // the groups that read a result of the op that is being grouped
  std::vector<int> seen_;     // for each group: the last op for which it was in readers_
  // For each group, its position in the demands for that op; -1: it has no demand.
  std::vector<int> demand_;
};

// Returns how the group of op `user` reads operand k. Returns nullopt if it does not read the
// operand, since the operand belongs to another piece of a concatenation.
std::optional<Access> Planner::read_access(int user, size_t k, const GroupMembership& at) const {
  const GraphOp& op = g_.ops[user];
  const Shape& operand = g_.values[op.operands[k]].shape;
  const Group& group = plan_.groups[at.group];
  if (op.kind == OpKind::kReduce) {
    if (operand.empty()) return Access{};
    const auto it = std::find_if(group.reductions.begin(), group.reductions.end(),
                                 [&](const auto& reduction) { return reduction.first == user; });
    return reduced_access(group, op, it->second, operand, at.access);
  }
  const size_t maker = static_cast<size_t>(user) * 64 + k;
  if (group.op == user && group.piece >= 0) {
    const IndexPiece& piece = op.mapping.pieces[group.piece];
    if (piece.operand != static_cast<int>(k)) return std::nullopt;
    for (size_t d = 0; d < operand.size(); ++d)
      if (piece.terms[d].offset != -piece.start[d]) return opaque_access({}, maker);
    return identity_access(group.extents);
  }
  if (std::optional<Access> out =
          operand_access(op, k, at.access, operand, g_.values[op.results[0]].shape))
    return out;
  return opaque_access(at.access, maker);
}

// Returns how many elements of operand k of `user` an element of the kernel needs on average.
float Planner::load_of(int user, size_t k, const GroupMembership& at) const {
  const Group& group = plan_.groups[at.group];
  if (group.structured || group.root_rank == 0 || group.extents[group.root_rank - 1] < kDividedRow)
    return at.times;
  const GraphOp& op = g_.ops[user];
  const float share = share_of_pieces(op, k, g_.values[op.results[0]].shape);
  return at.load * (share <= kSmallShare ? share : 1);
}

// Finds the kernels that read op i; returns false if there are none. Stores in after_ all steps
// that come after op i.
bool Planner::find_demands(int i, Demands* demands) {
  after_.reset();
  readers_.clear();
  bool needed = false;
  auto reader = [&](int group) {
    if (seen_.size() < plan_.groups.size()) {
      seen_.resize(2 * plan_.groups.size(), -1);
      demand_.resize(seen_.size());
    }
    if (seen_[group] == i) return;
    seen_[group] = i;
    demand_[group] = -1;
    readers_.push_back(group);
    reach_.collect(group, after_);
  };
  for (int v : g_.ops[i].results) {
    needed = needed || g_.values[v].output;
    for (int user : g_.values[v].users) {
      const GraphOp& op = g_.ops[user];
      for (const GroupMembership& at : plan_.memberships[user]) {
        needed = true;
        reader(at.group);
        if (!plan_.groups[at.group].kernel) continue;
        for (size_t k = 0; k < op.operands.size(); ++k) {
          if (op.operands[k] != v) continue;
          std::optional<Access> read = read_access(user, k, at);
          if (!read) continue;
          Access& access = *read;
          const size_t tag = tag_of(access);
          const float share = share_of_elements(g_, user, k, plan_.groups[at.group], at);
          const float load = load_of(user, k, at);
          if (demand_[at.group] < 0) {
            demand_[at.group] = static_cast<int>(demands->size());
            demands->push_back({at.group, std::move(access), at.times, load, {tag}, share});
            continue;
          }
          Demand& demand = (*demands)[demand_[at.group]];
          demand.share = std::max(demand.share, share);
          if (!contains(demand.tags, tag)) {
            demand.access = opaque_access(demand.access, tag);
            demand.times += at.times;
            demand.load += load;
            demand.tags.push_back(tag);
          }
        }
      }
    }
  }
  return needed;
}

void Planner::put(int i, const Demand& demand) {
  plan_.memberships[i].push_back(
      {demand.group, demand.access, demand.times, demand.load, demand.share});
  Group& target = plan_.groups[demand.group];
  if (!target.ops.empty() && target.ops.back() == i) return;
  target.ops.push_back(i);
  // Constants and broadcast constants do not count: they are operands of instructions.
  const GraphOp& op = g_.ops[i];
  const bool constant = op.kind == OpKind::kConstant || op.splat;
  const bool broadcast = op.kind == OpKind::kIndexMap && !op.operands.empty() &&
                         g_.values[op.operands[0]].elements() == 1;
  if (!constant && !broadcast) ++target.computed;
}

int Planner::new_group(int i) {
  const int id = reach_.add(after_);
  TESSERA_CHECK(id == static_cast<int>(plan_.groups.size()), "steps are numbered in turn");
  Group& group = plan_.groups.emplace_back();
  const GraphValue& result = g_.values[g_.ops[i].results[0]];
  group.op = i;
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

void Planner::group_op(int i) {
  const GraphOp& op = g_.ops[i];
  Demands demands;
  if (!find_demands(i, &demands)) return;
  const bool view = op.kind == OpKind::kReshape && plan_.stored[op.results[0]];
  if (op.stored() || view) {
    const int group = new_group(i);
    plan_.groups[group].kernel = false;
    put(i, {group, {}});
    if (view) plan_.stored[op.operands[0]] = 1;
  } else if (op.kind == OpKind::kReduce) {
    group_reduction(i, demands);
  } else {
    group_elementwise(i, demands);
  }
}

// Returns whether op i may be computed inside the kernel of `demand` without repeating expensive
// work.
bool Planner::affordable(int i, const Demand& demand) {
  Group& group = plan_.groups[demand.group];
  if (full(group)) return false;
  const GraphOp& op = g_.ops[i];
  const int v = op.results[0];
  const GraphValue& value = g_.values[v];
  if (value.elements() == 1) {
    // A kernel of one element repeats no work. It can also fuse values that it does not store.
    return work(v) <= kScalarWork || (group.axes == value.axes && one_element(group));
  }
  if (op.kind == OpKind::kIndexMap && op.mapping.pieces.size() > kMaxPieces) return false;
  if ((demand.load - 1) * work(v) > kCheapWork || demand.times > kMaxEvaluations ||
      (demand.times - 1) * work(v) > kMaxRepeatedCode)
    return false;
  const bool is_row = group.root_rank > 0 && contains(demand.access.dims, group.root_rank - 1);
  if (work(v) < kRootWork || (work(v) <= kExpensiveWork && !is_row)) return true;
  const int64_t instances = g_.values[group.outputs[0].value].instances;
  const bool same_instances = instances == value.instances;
  if (same_instances && group.structured &&
      covers_leading(group, group.parallel_rank, demand.access))
    return true;
  int64_t evaluations = instances, folded = 1;
  for (int d = 0; d < group.root_rank; ++d) evaluations *= group.extents[d];
  for (const auto& family : group.families) {
    int64_t elements = 1;
    for (int d : family)
      if (d >= group.root_rank) elements *= group.extents[d];
    folded = std::max(folded, elements);
  }
  if (demand.share < 1 && reads_short_rows(g_, v, plan_.stored, group))
    evaluations = static_cast<int64_t>(demand.share * static_cast<float>(evaluations));
  if (demand.load < 1)
    evaluations = static_cast<int64_t>(demand.load * static_cast<float>(evaluations));
  const int64_t repeated = evaluations * folded - value.elements() * value.instances;
  if (work(v) <= kExpensiveWork &&
      (repeated / kManyTimes < value.elements() * value.instances ||
       static_cast<float>(repeated) * work(v) < kManySteps * kStepWork))
    return true;
  if (repeated <= value.elements() * value.instances / 2 || is_little(v, repeated)) return true;
  if (!demand.access.plain || group.structured || !same_instances) return false;
  // A value that does not depend on the inner dimensions is computed once for each row, unless rows
  // are so short that vectors along them are mostly empty.
  const int rank = distinguishing_rank(demand.access);
  int64_t inner = 1;
  for (int d = rank; d < group.root_rank; ++d) inner *= group.extents[d];
  if (inner > 1 && inner < kLeastRow && group.reductions.empty()) return false;
  return covers_leading(group, rank, demand.access) && structure(group, rank);
}

bool Planner::store_in_reader(int i, const Demands& demands) {
  const GraphValue& value = g_.values[g_.ops[i].results[0]];
  for (const Demand& demand : demands) {
    const Group& group = plan_.groups[demand.group];
    if (group.axes != value.axes || full(group)) continue;
    if (!covers_elements(group, demand.access) &&
        !(group.structured && covers_leading(group, group.parallel_rank, demand.access)))
      continue;
    if (!acyclic(demand.group)) continue;
    reach_.extend(demand.group, after_);
    store_results(i, demand.group, demand.access);
    put(i, {demand.group, demand.access});
    return true;
  }
  return false;
}

// Returns a kernel that contains a later op than i that reads v, has elements of the shape of op i,
// and fits; -1 if none of the first few does.
template <class Fits>
int Planner::find_beside(int i, int v, const Fits& fits) {
  const Shape& shape = g_.values[g_.ops[i].results[0]].shape;
  int tried = 0;
  for (int user : g_.values[v].users) {
    if (user <= i || ++tried > kMaxReadersTried) continue;
    for (const GroupMembership& at : plan_.memberships[user]) {
      const Group& group = plan_.groups[at.group];
      if (!group.kernel || !std::equal(shape.begin(), shape.end(), group.extents.begin(),
                                       group.extents.begin() + group.root_rank))
        continue;
      if (!contains(readers_, at.group) && acyclic(at.group) && fits(user, at)) return at.group;
    }
  }
  return -1;
}

// Returns whether a kernel that reads v only once, for two results like `value`, is faster than two
// kernels that each read it: large arrays gain nothing from a constant or a scalar that both read,
// and each would be computed later, when its other operands have left the caches.
bool Planner::gains_together(int v, const GraphValue& value) const {
  constexpr float kSmallPart = 1.0F / 64;
  const GraphValue& both = g_.values[v];
  const bool is_loaded = both.op < 0 || plan_.stored[v];
  const float bytes = is_loaded ? static_cast<float>(both.bytes()) : costs_->read_bytes(v);
  return static_cast<float>(value.elements() * value.instances) <= kStepWork ||
         work(v) > kCheapWork || bytes > kSmallPart * static_cast<float>(value.bytes());
}

// Stores op i in a kernel over the same domain that reads, at the same position, a value that op i
// reads, too. Returns false if there is none.
bool Planner::store_beside(int i) {
  const GraphValue& value = g_.values[g_.ops[i].results[0]];
  const Access access = identity_access(value.shape);
  boost::container::small_vector<std::pair<int, Access>, 16> sources;
  auto add_operands = [&](int op, const Access& at) {
    for (size_t k = 0; k < g_.ops[op].operands.size() && sources.size() < 16; ++k) {
      const int v = g_.ops[op].operands[k];
      if (g_.values[v].shape.empty()) continue;
      std::optional<Access> read = operand_access(g_.ops[op], k, at, g_.values[v].shape,
                                                  g_.values[g_.ops[op].results[0]].shape);
      if (read) sources.emplace_back(v, std::move(*read));
    }
  };
  add_operands(i, access);
  for (size_t s = 0; s < sources.size(); ++s) {
    const int v = sources[s].first;
    const Access read = sources[s].second;
    if (!gains_together(v, value)) continue;
    const int target = find_beside(i, v, [&](int user, const GroupMembership& at) {
      const Group& group = plan_.groups[at.group];
      if (group.piece >= 0 || group.axes != value.axes || full(group)) return false;
      const auto& operands = g_.ops[user].operands;
      for (size_t k = 0; k < operands.size(); ++k)
        if (operands[k] == v && read_access(user, k, at) == read) return true;
      return false;
    });
    if (target >= 0) {
      reach_.extend(target, after_);
      store_results(i, target, access);
      put(i, {target, access});
      return true;
    }
    const int maker = g_.values[v].op;
    if (maker >= 0 && !g_.ops[maker].stored() && g_.ops[maker].kind != OpKind::kReduce)
      add_operands(maker, read);
  }
  return false;
}

// Stores a large concatenation piece by piece, each in a kernel of its own.
bool Planner::store_pieces(int i) {
  const GraphOp& op = g_.ops[i];
  const GraphValue& value = g_.values[op.results[0]];
  if (op.kind != OpKind::kIndexMap || op.mapping.pieces.size() < 2) return false;
  if (value.elements() < kReduceBlock && op.mapping.pieces.size() <= kMaxPieces) return false;
  if (!is_tiling(op, value.shape) || is_short_row(op, value.shape)) return false;
  for (int k = 0; k < static_cast<int>(op.mapping.pieces.size()); ++k) {
    const Shape extents = piece_extents(op.mapping.pieces[k]);
    if (extents.elements() == 0) continue;
    const int id = new_group(i);
    Group& group = plan_.groups[id];
    group.piece = k;
    group.extents = extents;
    const Access access = identity_access(extents);
    store_results(i, id, access);
    group.outputs.back().piece = k;
    put(i, {id, access});
  }
  return true;
}

void Planner::group_elementwise(int i, Demands& demands) {
  const int v = g_.ops[i].results[0];
  bool store = plan_.stored[v];
  if (!store && demands.size() > 1) {
    const auto bytes = static_cast<float>(g_.values[v].bytes());
    const auto [rest, sources] = costs_->from_sources(v, plan_.stored);
    const bool costly = work(v) > kCheapWork && (rest > kExpensiveWork || sources > bytes + 64);
    store = (costly || costs_->read_bytes(v) > 2.0F * bytes + 64) &&
            !is_little(v, g_.values[v].elements() * g_.values[v].instances);
  }
  for (size_t k = 0; k < demands.size() && !store; ++k) store = !affordable(i, demands[k]);
  if (!store) {
    for (const Demand& demand : demands) put(i, demand);
    return;
  }
  if (store_in_reader(i, demands) || store_pieces(i) || store_beside(i)) return;
  const int group = new_group(i);
  const Access access = identity_access(g_.values[v].shape);
  store_results(i, group, access);
  put(i, {group, access});
}

// Returns whether a kernel with one result for each row of `fold` is faster if the fold is stored:
// lanes along the rows would compute what follows the fold for one row at a time, but lanes along
// the results compute it for a vector of them.
bool Planner::is_slow_in_rows(const Group& group, const GraphOp& fold) const {
  if (group.structured) return false;
  const GraphValue& operand = g_.values[fold.operands[0]];
  int64_t columns = 1;
  for (int64_t d : fold.reduction.dims) columns *= operand.shape[d];
  if (is_unrolled_fold(fold.reduction.kind, operand.dtype, columns) &&
      group.computed * columns <= kMostFoldNodes)
    return false;
  float work = 0;
  for (int op : group.ops) work += g_.ops[op].work;
  const auto rows = static_cast<float>(g_.values[fold.results[0]].elements());
  return work > kExpensiveWork && rows * work > kStepWork &&
         static_cast<float>(columns) <= kFoldedPerInstruction * work;
}

// Returns whether reduction i may run as a loop over the rows of the kernel that reads it.
bool Planner::can_join_rows(int i, const Demand& demand) {
  const GraphOp& op = g_.ops[i];
  const GraphValue& value = g_.values[op.results[0]];
  Group& group = plan_.groups[demand.group];
  if (!demand.access.plain || group.axes != value.axes) return false;
  if (full(group) || group.extents.size() > kMaxGroupDims) return false;
  const int rank = distinguishing_rank(demand.access);
  if (rank > group.root_rank || !covers_leading(group, rank, demand.access)) return false;
  int64_t inner = 1;
  for (int d = rank; d < group.root_rank; ++d) inner *= group.extents[d];
  const bool rows = reduces_rows(g_, op);
  if (inner > 1 && !rows) return false;
  if (rows && rank == group.root_rank && is_slow_in_rows(group, op)) return false;
  for (const auto& [other, family] : group.reductions)
    if (reduces_rows(g_, g_.ops[other]) != rows) return false;
  return structure(group, rank);
}

void Planner::group_reduction(int i, Demands& demands) {
  const GraphOp& op = g_.ops[i];
  const Shape& shape = g_.values[op.results[0]].shape;
  const Shape& operand = g_.values[op.operands[0]].shape;
  bool store = false;
  for (int v : op.results) store = store || plan_.stored[v];
  store = store || demands.size() != 1;
  auto join = [&](int group, const Access& access) {
    Group& target = plan_.groups[group];
    target.reductions.emplace_back(i, family_of(target, operand, op.reduction.dims));
    put(i, {group, access});
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
  // Looks for a kernel that folds another function of the same operand over the same rows.
  const Access access = identity_access(shape);
  auto folds_alike = [&](int, const GroupMembership& at) {
    const Group& group = plan_.groups[at.group];
    if (group.reductions.empty() || group.parallel_rank != group.root_rank) return false;
    const GraphOp& other = g_.ops[group.reductions[0].first];
    return other.reduction.dims == op.reduction.dims &&
           g_.values[other.operands[0]].shape == operand && can_join_rows(i, {at.group, access});
  };
  int group = -1;
  for (size_t k = 0; k < op.operands.size() / 2 && group < 0; ++k) {
    const int v = op.operands[k];
    group = find_beside(i, v, folds_alike);
    if (group >= 0 || plan_.stored[v]) continue;
    for (int u : g_.ops[g_.values[v].op].operands)
      if (group < 0 && !g_.values[u].shape.empty()) group = find_beside(i, u, folds_alike);
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

}  // namespace

FusionPlan make_fusion_plan(const Graph& graph, const std::vector<char>& must_store) {
  return Planner(graph, must_store).run();
}

}  // namespace tessera::fusion
