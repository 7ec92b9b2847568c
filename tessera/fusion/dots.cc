#include "tessera/fusion/dots.h"

#include <algorithm>
#include <optional>

#include "tessera/base/contains.h"
#include "tessera/fusion/kernels/access.h"
#include "tessera/ops/collectives/collectives_groups.h"
#include "tessera/ops/linear/dot_general.h"

namespace tessera::fusion {
namespace {

bool has_activation(const GraphOp& dot) {
  return dot.dot->activation != DotStep::Activation::kNone;
}

class Absorber {
 public:
  Absorber(Graph& graph, bool all_reduces) : g_(graph), all_reduces_(all_reduces) {}

  void run() {
    for (int i = 0; i < static_cast<int>(g_.ops.size()); ++i)
      if (g_.ops[i].kind == OpKind::kDot) absorb(i);
    if (changed_) g_.find_users();
  }

 private:
  void absorb(int i);
  bool fold_transpose(GraphOp& dot, int k);
  bool another_dot_reads(int v, const GraphOp& dot) const;
  void fold_converts(GraphOp& dot);
  int only_user(int v) const;
  bool fold_result_transpose(int* at);
  bool fold_all_reduce(int* at);
  bool fold_bias(int* at);
  bool fold_relu(int* at);
  void move(int* from, int to);
  bool is_zero(int v) const;
  int row_vector(int v) const;

  Graph& g_;
  const bool all_reduces_;
  bool changed_ = false;
};

// Returns the op that reads v if it is the only one; otherwise -1.
int Absorber::only_user(int v) const {
  const GraphValue& value = g_.values[v];
  return value.users.size() == 1 && !value.output ? value.users[0] : -1;
}

// It looks at all ops, because what a dot absorbs moves it away from where users were found.
bool Absorber::another_dot_reads(int v, const GraphOp& dot) const {
  return std::any_of(g_.ops.begin(), g_.ops.end(), [&](const GraphOp& op) {
    return &op != &dot && op.kind == OpKind::kDot && contains(op.operands, v);
  });
}

// Returns whether dimensions a[i], which are contracted with b[i], are in the order of b.
bool in_one_order(const Dims& a, const Dims& b) {
  for (size_t j = 1; j < a.size(); ++j)
    for (size_t i = 0; i < j; ++i)
      if ((a[i] < a[j]) != (b[i] < b[j])) return false;
  return true;
}

bool Absorber::fold_transpose(GraphOp& dot, int k) {
  const int v = dot.operands[k];
  if (g_.values[v].op < 0) return false;
  const GraphOp& maker = g_.ops[g_.values[v].op];
  if (maker.kind != OpKind::kIndexMap || maker.operands.size() != 1) return false;
  const int source = maker.operands[0];
  const Shape &from = g_.values[source].shape, &to = g_.values[v].shape;
  if (from.size() != to.size()) return false;
  const std::optional<Access> access = operand_access(maker, 0, identity_access(to), from, to);
  if (!access) return false;
  // For each dimension of the transposed operand, the dimension of its source. Dimensions of extent
  // 1 are paired in order.
  Dims new_dim(to.size(), -1);
  for (size_t d = 0; d < from.size(); ++d)
    if (access->dims[d] >= 0) new_dim[access->dims[d]] = static_cast<int64_t>(d);
  for (size_t d = 0, next = 0; d < to.size(); ++d) {
    if (new_dim[d] >= 0) continue;
    while (next < from.size() && access->dims[next] >= 0) ++next;
    if (next == from.size() || to[d] != 1) return false;
    new_dim[d] = static_cast<int64_t>(next++);
  }
  Dims& batch = k == 0 ? dot.dot->lhs_batch : dot.dot->rhs_batch;
  Dims& contract = k == 0 ? dot.dot->lhs_contract : dot.dot->rhs_contract;
  // The result has the free dimensions in the operand's order, so this order must stay.
  int64_t last = -1;
  for (int64_t d : dot_free_dims(to.rank(), batch, contract)) {
    if (new_dim[d] < last) return false;
    last = new_dim[d];
  }
  // If the operands had their contracting dimensions in different orders, the product would copy
  // one of them. It reads the transposed operand instead if that is in memory for another product.
  Dims contract_source = contract;
  for (int64_t& d : contract_source) d = new_dim[d];
  const Dims& other = k == 0 ? dot.dot->rhs_contract : dot.dot->lhs_contract;
  if (in_one_order(contract, other) && !in_one_order(contract_source, other) &&
      another_dot_reads(v, dot))
    return false;
  for (int64_t& d : batch) d = new_dim[d];
  contract = contract_source;
  dot.operands[k] = source;
  return true;
}

void Absorber::fold_converts(GraphOp& dot) {
  std::array<int, 2> source{};
  for (int k = 0; k < 2; ++k) {
    const GraphValue& value = g_.values[dot.operands[k]];
    if (value.dtype != float32 || value.op < 0) return;
    const GraphOp& maker = g_.ops[value.op];
    if (maker.single != ScalarOp::kConvert) return;
    source[k] = maker.operands[0];
  }
  const DType dtype = g_.values[source[0]].dtype;
  if ((dtype != float16 && dtype != bfloat16) || g_.values[source[1]].dtype != dtype) return;
  for (int k = 0; k < 2; ++k) dot.operands[k] = source[k];
  changed_ = true;
}

// Returns whether all elements of v are 0 (not -0).
bool Absorber::is_zero(int v) const {
  const int maker = g_.values[v].op;
  if (maker < 0) return false;
  const GraphOp& op = g_.ops[maker];
  if (op.kind == OpKind::kReshape ||
      (op.kind == OpKind::kIndexMap && op.mapping.pieces.size() == 1 && op.mapping.fill < 0))
    return is_zero(op.operands[0]);
  if (op.kind != OpKind::kPointwise || !op.operands.empty() || !op.splat) return false;
  const Literal& value = *op.splat;
  return std::all_of(value.raw(), value.raw() + value.bytes(),
                     [](std::byte b) { return b == std::byte{0}; });
}

// Returns a vector of the length of v's last dimension that v repeats along the others, or -1.
int Absorber::row_vector(int v) const {
  Access access = identity_access(g_.values[v].shape);
  const int64_t last = g_.values[v].shape.rank() - 1;
  bool broadcast = false;
  while (true) {
    const GraphValue& value = g_.values[v];
    if (value.shape.size() == 1 && broadcast) return access.dims[0] == last ? v : -1;
    if (value.op < 0) return -1;
    const GraphOp& op = g_.ops[value.op];
    if (op.kind != OpKind::kIndexMap && op.kind != OpKind::kReshape) return -1;
    if (op.operands.size() != 1) return -1;
    const Shape& source = g_.values[op.operands[0]].shape;
    std::optional<Access> next = operand_access(op, 0, access, source, value.shape);
    if (!next) return -1;
    access = std::move(*next);
    v = op.operands[0];
    broadcast = true;
  }
}

// Moves the dot at *from to op `to`: the dot now computes the result of that op.
void Absorber::move(int* from, int to) {
  GraphOp& dot = g_.ops[*from];
  GraphOp& reader = g_.ops[to];
  dot.results = reader.results;
  reader = std::move(dot);
  g_.ops[*from] = GraphOp{.kind = OpKind::kNothing};
  *from = to;
  changed_ = true;
}

// The gradient of x . w with respect to w comes from JAX as the transpose of dy . x.
bool Absorber::fold_result_transpose(int* at) {
  const GraphOp& dot = g_.ops[*at];
  const int v = dot.results[0], user = only_user(v);
  if (user < 0 || dot.operands.size() > 2 || dot.dot->sum != ops::DotSum::kAny) return false;
  const GraphOp& reader = g_.ops[user];
  if (reader.kind != OpKind::kIndexMap || reader.operands.size() != 1) return false;
  const GraphValue &from = g_.values[v], &to = g_.values[reader.results[0]];
  if (from.shape.size() != to.shape.size() || from.axes != to.axes) return false;
  const std::optional<Access> access =
      operand_access(reader, 0, identity_access(to.shape), from.shape, to.shape);
  if (!access || !access->plain) return false;
  const auto batch = dot.dot->lhs_batch.size();
  const auto rhs_free = static_cast<size_t>(g_.values[dot.operands[1]].shape.rank()) - batch -
                        dot.dot->rhs_contract.size();
  const size_t lhs_free = from.shape.size() - batch - rhs_free;
  for (size_t d = 0; d < from.shape.size(); ++d) {
    const size_t moved = d < batch ? d : d < batch + lhs_free ? d + rhs_free : d - lhs_free;
    if (access->dims[d] != static_cast<int64_t>(moved) || from.shape[d] != to.shape[moved])
      return false;
  }
  move(at, user);
  GraphOp& swapped = g_.ops[*at];
  std::swap(swapped.operands[0], swapped.operands[1]);
  std::swap(swapped.dot->lhs_batch, swapped.dot->rhs_batch);
  std::swap(swapped.dot->lhs_contract, swapped.dot->rhs_contract);
  return true;
}

bool Absorber::fold_all_reduce(int* at) {
  const GraphOp& dot = g_.ops[*at];
  if (!dot.dot->reduce_axes.empty() || dot.operands.size() > 2 || has_activation(dot)) return false;
  const int user = only_user(dot.results[0]);
  if (user < 0 || g_.ops[user].kind != OpKind::kCollective) return false;
  const CollectiveInfo info = collective_info(*g_.ops[user].op);
  if (info.kind != CollectiveKind::kAllReduce || info.reduce != ReduceKind::kSum ||
      info.groups.size() > 1)
    return false;
  if (!is_floating(g_.values[dot.results[0]].dtype)) return false;
  // Along an axis that the products do not vary over, there is only one product to sum.
  const AxisList& varies = g_.values[dot.results[0]].axes;
  const AxisList over = g_.ops[user].over;
  for (int a : over)
    if (!contains(varies, a)) return false;
  move(at, user);
  g_.ops[*at].dot->reduce_axes = over;
  return true;
}

bool Absorber::fold_bias(int* at) {
  const GraphOp& dot = g_.ops[*at];
  if (dot.operands.size() > 2 || has_activation(dot)) return false;
  const int v = dot.results[0], user = only_user(v);
  if (user < 0 || g_.values[v].shape.empty() || g_.ops[user].single != ScalarOp::kAdd) return false;
  const GraphOp& add = g_.ops[user];
  const int other = add.operands[0] == v ? add.operands[1] : add.operands[0];
  if (other == v || g_.values[add.results[0]].axes != g_.values[v].axes) return false;
  const int bias = row_vector(other);
  if (bias < 0 || g_.values[bias].elements() != g_.values[v].shape.back()) return false;
  move(at, user);
  g_.ops[*at].operands.push_back(bias);
  return true;
}

bool Absorber::fold_relu(int* at) {
  if (has_activation(g_.ops[*at])) return false;
  const int v = g_.ops[*at].results[0], user = only_user(v);
  if (user < 0 || g_.ops[user].single != ScalarOp::kMax) return false;
  const GraphOp& max = g_.ops[user];
  const int other = max.operands[0] == v ? max.operands[1] : max.operands[0];
  if (other == v || !is_zero(other)) return false;
  move(at, user);
  g_.ops[*at].dot->activation = DotStep::Activation::kRelu;
  return true;
}

void Absorber::absorb(int i) {
  GraphOp& dot = g_.ops[i];
  for (int k = 0; k < 2; ++k)
    while (fold_transpose(dot, k)) changed_ = true;
  fold_converts(dot);
  for (int k = 0; k < 2; ++k)
    while (fold_transpose(dot, k)) changed_ = true;
  int at = i;
  fold_result_transpose(&at);
  if (all_reduces_) fold_all_reduce(&at);
  if (!is_floating(g_.values[g_.ops[at].results[0]].dtype)) return;
  fold_bias(&at);
  fold_relu(&at);
}

}  // namespace

void absorb_into_dots(Graph& graph, bool all_reduces) { Absorber(graph, all_reduces).run(); }

DotStep dot_step(const GraphOp& op, std::span<const int> in, int out, const AxisList& axes) {
  DotStep step = *op.dot;
  step.lhs = in[0];
  step.rhs = in[1];
  step.out = out;
  if (in.size() > 2) step.bias = in[2];
  step.axes = axes;
  step.axes.insert(step.axes.end(), step.reduce_axes.begin(), step.reduce_axes.end());
  step.symmetric = step.lhs == step.rhs && step.lhs_batch == step.rhs_batch &&
                   step.lhs_contract == step.rhs_contract && in.size() == 2 && !has_activation(op);
  return step;
}

}  // namespace tessera::fusion
