// Loops, branches, transforms and shard_maps around bodies.
#include <algorithm>
#include <cmath>

#include "maker.h"
#include "tessera/base/namespaces.h"

namespace tessera::generate {

using namespace fusion;

namespace {

bool is_anything(const ValueType&) { return true; }
// Returns whether carries may have this type, and derivatives may be by values of it.
bool is_plain_float(const ValueType& t) { return is_floating(t.dtype); }

}  // namespace

std::vector<int> Maker::operands(int most, const Predicate& fits) {
  std::vector<int> out;
  for (int k = 1 + pick(most); k > 0; --k) {
    const auto x = find(fits);
    if (x && std::find(out.begin(), out.end(), *x) == out.end()) out.push_back(*x);
  }
  return out;
}

std::vector<std::pair<ValueType, double>> Maker::typed(const std::vector<int>& ids) {
  std::vector<std::pair<ValueType, double>> out;
  for (int id : ids) out.emplace_back(type(id), bound(id));
  return out;
}

Maker::Body Maker::body(const std::vector<std::pair<ValueType, double>>& inputs, int steps,
                        const std::function<std::vector<int>(const std::vector<int>&)>& finish) {
  Body out;
  const size_t known_before = known_.size();
  scopes_.push_back(&out.program);
  ++depth_;
  std::vector<int> ids;
  for (const auto& [t, most] : inputs) {
    const int id = c_.next_id++;
    types_.resize(static_cast<size_t>(c_.next_id));
    types_[id] = t;
    out.program.inputs.push_back({id, t});
    known_.push_back({id, most});
    ids.push_back(id);
  }
  for (int k = 0; k < steps; ++k) step();
  out.program.outputs = finish(ids);
  for (int id : out.program.outputs) out.bounds.push_back(bound(id));
  remove_dead(out.program);
  --depth_;
  scopes_.pop_back();
  known_.resize(known_before);
  return out;
}

std::vector<int> Maker::some_outputs(int most, const Predicate& fits) {
  std::vector<int> out;
  if (fits(type(known_.back().id)) && known_.size() > visible_from_)
    out.push_back(known_.back().id);
  for (int k = pick(most); k >= 0; --k) {
    const auto x = find(fits);
    if (x && std::find(out.begin(), out.end(), *x) == out.end()) out.push_back(*x);
  }
  return out;
}

int Maker::value_of(const ValueType& t, int from, double most) {
  int x = from;
  if (type(x).shape != t.shape) {
    const auto same =
        find([&](const ValueType& v) { return is_floating(v.dtype) && v.shape == t.shape; });
    if (same && chance(60)) {
      x = *same;
    } else {
      x = must("sum_all", {x}, {}, 16);
      x = must("broadcast_to", {x}, {.dims = t.shape}, bound(x));
    }
  }
  if (type(x).dtype != t.dtype) x = must("astype", {x}, {.dtype = t.dtype}, bound(x));
  return tamed(x, most);
}

void Maker::control() {
  switch (pick(12)) {
    case 0:
    case 1:
      return scan();
    case 2:
      return fori();
    case 3:
      return while_loop();
    case 4:
      return branches();
    case 5:
      return wrap(NodeKind::kCheckpoint);
    case 6:
      return wrap(chance(50)   ? NodeKind::kCustomVjp
                  : chance(60) ? NodeKind::kCustomJvp
                               : NodeKind::kJit);
    case 7:
    case 8:
      return vmap();
    case 9:
      shard_map();
      return;
    case 10:
      return gradient();
    default:
      return chance(60) ? gradient() : tangent();
  }
}

void Maker::wrap(NodeKind kind) {
  const bool custom = kind == NodeKind::kCustomVjp || kind == NodeKind::kCustomJvp;
  if (kind == NodeKind::kCustomVjp && forward_only_) return;
  const std::vector<int> in =
      operands(3, custom ? Predicate(is_plain_float) : Predicate(is_anything));
  if (in.empty()) return;
  // The body reads only its operands, because captured values have no derivative.
  const size_t visible = visible_from_;
  const bool forward = forward_only_;
  if (custom) visible_from_ = known_.size();
  if (kind == NodeKind::kCustomJvp) forward_only_ = true;
  Body b = body(typed(in), 1 + pick(3), [&](const std::vector<int>&) {
    return some_outputs(2, custom ? Predicate(is_plain_float) : Predicate(is_anything));
  });
  visible_from_ = visible;
  forward_only_ = forward;
  Node node{.kind = kind, .operands = in, .bodies = {b.program}};
  node.p.k = pick(4);
  node.p.sharding = NamedSharding(mesh_, PartitionSpec());
  if (!b.program.outputs.empty()) emit(std::move(node), b.bounds);
}

// Returns `to` plus a number that each trip computes from `from` by a product with a captured
// matrix. The derivative by the matrix is a sum of products.
int Maker::with_product(int to, int from, int matrix) {
  const ValueType& t = type(matrix);
  const int rows = value_of({.dtype = t.dtype, .shape = {1, t.shape[0]}}, from, 1);
  const int product = must("matmul", {rows, matrix}, {}, 2);
  const int number = must("sum_all", {must("sin", {product}, {}, 1)}, {}, 12);
  const auto sum = op("add", {to, number}, {}, 16);
  return sum && type(*sum).dtype == type(to).dtype && type(*sum).shape == type(to).shape
             ? tamed(*sum)
             : to;
}

void Maker::scan() {
  std::vector<int> carries = operands(2, is_plain_float);
  if (carries.empty()) return;
  for (int& id : carries) id = tamed(id);
  std::optional<int> matrix;  // that the body multiplies with, in every third program
  if (c_.seed % 3 == 0)
    matrix = value_of({.dtype = type(carries[0]).dtype, .shape = {2, 2}}, carries[0], 1);
  int64_t length = 1 + pick(3);
  std::vector<int> xs;
  if (const auto first =
          find([](const ValueType& t) { return t.shape.rank() > 0 && t.shape[0] <= 4; })) {
    length = type(*first).shape[0];
    xs.push_back(*first);
    if (const auto second =
            find([&](const ValueType& t) { return t.shape.rank() > 0 && t.shape[0] == length; }))
      if (*second != *first && chance(50)) xs.push_back(*second);
  }
  auto inputs = typed(carries);
  for (auto& input : inputs) input.second = 4;
  for (auto [t, most] : typed(xs)) {
    t.shape.erase(t.shape.begin());
    inputs.emplace_back(std::move(t), most);
  }
  Body b = body(inputs, 1 + pick(5), [&](const std::vector<int>& ids) {
    std::vector<int> out;
    for (size_t k = 0; k < carries.size(); ++k) {
      const int last = find_float().value_or(ids[k]);
      out.push_back(value_of(inputs[k].first, last, 4));
      // Most carries depend on their previous values.
      if (chance(70)) {
        const auto mixed = op("add", {out.back(), ids[k]}, {}, 8);
        if (mixed && type(*mixed).dtype == inputs[k].first.dtype) out.back() = tamed(*mixed);
      }
    }
    if (matrix && is_floating(type(ids.back()).dtype))
      out[0] = with_product(out[0], ids.back(), *matrix);
    for (int y = pick(3); y > 0; --y)
      if (const auto found = find(is_anything)) out.push_back(*found);
    return out;
  });
  Node node{.kind = NodeKind::kScan, .bodies = {b.program}};
  node.operands = carries;
  node.operands.insert(node.operands.end(), xs.begin(), xs.end());
  node.p.i = static_cast<int64_t>(carries.size());
  node.p.j = length;
  node.p.flag = chance(30);
  node.p.sharding = NamedSharding(mesh_, PartitionSpec());
  emit(std::move(node), b.bounds);
}

void Maker::fori() {
  std::vector<int> carries = operands(2, is_plain_float);
  if (carries.empty()) return;
  for (int& id : carries) id = tamed(id);
  auto inputs = typed(carries);
  for (auto& input : inputs) input.second = 4;
  inputs.insert(inputs.begin(), {ValueType{.dtype = int32}, 8});
  Body b = body(inputs, 1 + pick(3), [&](const std::vector<int>& ids) {
    std::vector<int> out;
    for (size_t k = 0; k < carries.size(); ++k)
      out.push_back(value_of(inputs[k + 1].first, find_float().value_or(ids[k + 1]), 4));
    return out;
  });
  Node node{.kind = NodeKind::kFori, .operands = carries, .bodies = {b.program}};
  node.p.i = pick(3);
  node.p.j = node.p.i + pick(4);
  node.p.sharding = NamedSharding(mesh_, PartitionSpec());
  emit(std::move(node), b.bounds);
}

// A while loop has no reverse derivative, so its operands are constants for differentiation.
void Maker::while_loop() {
  std::vector<int> carries = operands(2, is_plain_float);
  if (carries.empty()) return;
  for (int& id : carries) id = must("stop_gradient", {tamed(id)}, {}, 4);
  const int limit = must("int_mod", {scalar_int(4)}, {.i = 4}, 4);
  auto inputs = typed(carries);
  for (auto& input : inputs) input.second = 4;
  inputs.insert(inputs.begin(), {{ValueType{.dtype = int32}, 4}, {type(limit), 4}});
  const size_t floats = floats_visible_from_;
  floats_visible_from_ = known_.size();
  Body b = body(inputs, 1 + pick(3), [&](const std::vector<int>& ids) {
    std::vector<int> out;
    for (size_t k = 0; k < carries.size(); ++k)
      out.push_back(value_of(inputs[k + 2].first, find_float().value_or(ids[k + 2]), 4));
    return out;
  });
  floats_visible_from_ = floats;
  Node node{.kind = NodeKind::kWhile, .operands = carries, .bodies = {b.program}};
  node.operands.insert(node.operands.begin(), limit);
  node.p.sharding = NamedSharding(mesh_, PartitionSpec());
  emit(std::move(node), b.bounds);
}

void Maker::branches() {
  if (smooth_) return;
  const bool two = chance(60);
  const int64_t count = two ? 2 : 1 + pick(3);
  const int pred = two ? scalar_bool() : scalar_int(count + 1);
  if (type(pred).dtype != (two ? bool_ : int32) || type(pred).shape.rank() > 0) return;
  const std::vector<int> in = operands(3, is_anything);
  if (in.empty()) return;
  Node node{.kind = two ? NodeKind::kCond : NodeKind::kSwitch, .operands = in};
  node.operands.insert(node.operands.begin(), pred);
  node.p.sharding = NamedSharding(mesh_, PartitionSpec());
  std::vector<ValueType> wanted;
  std::vector<double> bounds;
  for (int64_t k = 0; k < count; ++k) {
    Body b = body(typed(in), 1 + pick(3), [&](const std::vector<int>& ids) {
      std::vector<int> out;
      if (k == 0) {
        for (int id : some_outputs(2, is_plain_float)) out.push_back(tamed(id));
        if (out.empty()) out.push_back(tamed(any_float()));
      } else {
        for (const ValueType& t : wanted) {
          const int from = find_float().value_or(ids[0]);
          out.push_back(value_of(t, is_floating(type(from).dtype) ? from : any_float(), 4));
        }
      }
      return out;
    });
    if (k == 0)
      for (int id : b.program.outputs) wanted.push_back(type(id));
    bounds = b.bounds;
    for (double& most : bounds) most = 4;
    node.bodies.push_back(std::move(b.program));
  }
  emit(std::move(node), bounds);
}

void Maker::vmap() {
  const auto first = find(
      [](const ValueType& t) { return t.shape.rank() > 0 && t.shape[0] <= 4 && t.shape[0] > 0; });
  if (!first) return;
  const int64_t size = type(*first).shape[0];
  Node node{.kind = NodeKind::kVmap, .operands = {*first}, .in_axes = {0}};
  for (int k = pick(3); k > 0; --k) {
    const auto x = find(is_anything);
    if (!x) continue;
    int axis = -1;
    for (int64_t d = 0; d < type(*x).shape.rank(); ++d)
      if (type(*x).shape[d] == size && chance(70)) axis = static_cast<int>(d);
    node.operands.push_back(*x);
    node.in_axes.push_back(axis);
  }
  if (chance(60)) node.axis_name = fmt::format("i{}", vmaps_);
  auto inputs = typed(node.operands);
  for (size_t k = 0; k < inputs.size(); ++k)
    if (node.in_axes[k] >= 0)
      inputs[k].first.shape.erase(inputs[k].first.shape.begin() + node.in_axes[k]);
  axes_.push_back({node.axis_name, size, false});
  ++vmaps_;
  Body b = body(inputs, 1 + pick(4),
                [&](const std::vector<int>&) { return some_outputs(2, is_anything); });
  --vmaps_;
  axes_.pop_back();
  node.bodies.push_back(std::move(b.program));
  node.p.sharding = NamedSharding(mesh_, PartitionSpec());
  if (!node.bodies[0].outputs.empty()) emit(std::move(node), b.bounds);
}

bool Maker::shard_map() {
  std::vector<std::string> free;
  for (const std::string& name : c_.axis_names)
    if (std::none_of(axes_.begin(), axes_.end(), [&](const Axis& a) { return a.name == name; }))
      free.push_back(name);
  if (free.empty() || mesh_.rank() == 0) return false;
  std::vector<std::string> manual;
  for (const std::string& name : free)
    if (chance(75)) manual.push_back(name);
  if (manual.empty()) manual.push_back(free[0]);
  Node node{
      .kind = NodeKind::kShardMap, .operands = operands(4, is_anything), .manual_axes = manual};
  node.p.sharding = NamedSharding(mesh_, PartitionSpec());
  node.check_vma = chance(88);
  auto inputs = typed(node.operands);
  for (auto& [t, most] : inputs) {
    std::vector<DimSpec> dims(static_cast<size_t>(t.shape.rank()));
    for (const std::string& name : manual) {
      if (t.shape.rank() == 0 || !chance(65)) continue;
      const int64_t d = pick(t.shape.rank()), size = mesh_.axis_size(name);
      if (t.shape[d] % size != 0) continue;
      t.shape[d] /= size;
      t.varying.insert(name);
      dims[d].axes.push_back({name});
    }
    node.in_specs.push_back(PartitionSpec(std::move(dims)));
  }
  for (const std::string& name : manual) axes_.push_back({name, mesh_.axis_size(name), true});
  Body b = body(inputs, 2 + pick(6), [&](const std::vector<int>&) {
    std::vector<int> out;
    for (int id : some_outputs(2, is_anything)) {
      std::vector<std::string> varies(type(id).varying.begin(), type(id).varying.end());
      std::erase_if(varies, [&](const std::string& name) {
        return std::find(manual.begin(), manual.end(), name) == manual.end();
      });
      const bool summable = is_inexact(type(id).dtype);
      if (!varies.empty() && summable && (type(id).shape.rank() == 0 || chance(25))) {
        const auto total = op(chance(60) ? "pmean" : "psum", {id}, {.axes = varies}, bound(id) * 2);
        if (total) id = *total;
      }
      if (type(id).shape.rank() == 0) id = op("expand_dims", {id}, {}, bound(id)).value_or(id);
      out.push_back(id);
    }
    return out;
  });
  axes_.resize(axes_.size() - manual.size());
  for (int id : b.program.outputs) {
    const ValueType& t = type(id);
    std::vector<DimSpec> dims(static_cast<size_t>(t.shape.rank()));
    for (const std::string& name : manual)
      if (!dims.empty() && (t.varying.count(name) || chance(10)))
        dims[pick(t.shape.rank())].axes.push_back({name});
    for (DimSpec& dim : dims)
      if (dim.axes.size() > 1 && chance(50)) std::reverse(dim.axes.begin(), dim.axes.end());
    node.out_specs.push_back(PartitionSpec(std::move(dims)));
  }
  node.bodies.push_back(std::move(b.program));
  if (node.bodies[0].outputs.empty()) return false;
  return emit(std::move(node), b.bounds).has_value();
}

void Maker::gradient() {
  // Nested differences on every lane are slow.
  if (smooth_ || (gradients_ > 0 && (!axes_.empty() || gradients_ > 1))) return;
  const std::vector<int> in = operands(2, [&](const ValueType& t) {
    return is_floating(t.dtype) && itemsize(t.dtype) >= 4 && t.shape.elements() <= 6;
  });
  if (in.empty()) return;
  const size_t named = named_from_;
  for (size_t k = 0; k < axes_.size(); ++k)
    if (!axes_[k].manual) named_from_ = std::max(named_from_, k + 1);
  ++gradients_;
  Body b = body(typed(in), 1 + pick(4), [&](const std::vector<int>& ids) {
    const int from = find([&](const ValueType& t) {
                       return is_floating(t.dtype) && itemsize(t.dtype) >= 4;
                     }).value_or(ids[0]);
    int loss = must("sum_all", {must("sin", {from}, {}, 1)}, {}, 1);
    std::vector<std::string> manual;
    for (size_t k = named_from_; k < axes_.size(); ++k)
      if (axes_[k].manual && chance(60)) manual.push_back(axes_[k].name);
    if (!manual.empty() && chance(50))
      loss = must(chance(50) ? "psum" : "pmean", {loss}, {.axes = manual}, 1);
    return std::vector<int>{loss};
  });
  --gradients_;
  named_from_ = named;
  Node node{.kind = NodeKind::kGrad, .operands = in, .bodies = {std::move(b.program)}};
  node.p.sharding = NamedSharding(mesh_, PartitionSpec());
  const size_t before = known_.size();
  if (!emit(std::move(node), {20})) return;
  const size_t after = known_.size();
  for (size_t k = before; k < after; ++k) tamed(known_[k].id);
}

void Maker::tangent() {
  if (smooth_) return;
  const auto x =
      find([](const ValueType& t) { return is_floating(t.dtype) && itemsize(t.dtype) >= 4; });
  if (!x) return;
  const int t = must("cos", {*x}, {}, 1);
  const size_t named = named_from_;
  const bool forward = forward_only_;
  forward_only_ = true;
  Body b = body(typed({*x}), 1 + pick(3), [&](const std::vector<int>&) {
    return some_outputs(
        1, [](const ValueType& v) { return is_floating(v.dtype) && itemsize(v.dtype) >= 4; });
  });
  forward_only_ = forward;
  named_from_ = named;
  Node node{.kind = NodeKind::kJvp, .operands = {*x, t}, .bodies = {b.program}};
  node.p.sharding = NamedSharding(mesh_, PartitionSpec());
  const size_t before = known_.size();
  if (b.program.outputs.empty() || !emit(std::move(node), {20})) return;
  const size_t after = known_.size();
  for (size_t k = before; k < after; ++k) tamed(known_[k].id);
}

}  // namespace tessera::generate
