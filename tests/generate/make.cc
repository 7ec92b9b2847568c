#include "make.h"

#include <algorithm>
#include <numeric>

#include "maker.h"

namespace tessera::generate {

double Maker::bound(int id) const {
  for (size_t k = known_.size(); k-- > 0;)
    if (known_[k].id == id) return known_[k].bound;
  return 8;
}

std::optional<int> Maker::find(const Predicate& fits) {
  std::vector<int> all;
  for (size_t k = visible_from_; k < known_.size(); ++k) {
    const ValueType& t = type(known_[k].id);
    if (k < floats_visible_from_ && is_inexact(t.dtype)) continue;
    if (fits(t)) all.push_back(known_[k].id);
  }
  if (all.empty()) return std::nullopt;
  const auto n = static_cast<int64_t>(all.size());
  return chance(60) ? all[n - 1 - pick(std::min<int64_t>(n, 3))] : all[pick(n)];
}
std::optional<int> Maker::find_float(int64_t least_rank) {
  return find(
      [&](const ValueType& t) { return is_floating(t.dtype) && t.shape.rank() >= least_rank; });
}
std::optional<Maker::AlongDim> Maker::find_along_dim() {
  const auto x = find_float(1);
  if (!x) return std::nullopt;
  const Shape shape = type(*x).shape;
  const int64_t rank = shape.rank(), d = pick(rank);
  return AlongDim{*x, shape, rank, d, shape[d], bound(*x)};
}
std::optional<int> Maker::find_shape(const ValueType& like) {
  return find([&](const ValueType& t) { return is_floating(t.dtype) && t.shape == like.shape; });
}
std::optional<int> Maker::find_broadcastable(const ValueType& to) {
  return find([&](const ValueType& t) {
    if (!is_floating(t.dtype) || t.shape.rank() > to.shape.rank()) return false;
    const int64_t skip = to.shape.rank() - t.shape.rank();
    for (int64_t d = 0; d < t.shape.rank(); ++d)
      if (t.shape[d] != 1 && t.shape[d] != to.shape[skip + d]) return false;
    return true;
  });
}
int Maker::any_float() {
  const auto x = find_float();
  return x ? *x : zeros_like_float(random_shape());
}
int Maker::zeros_like_float(const Shape& shape) {
  return must("full", {}, {.f = number(-0.9, 0.9), .dtype = real_, .dims = shape}, 1);
}

int Maker::scalar_int(int64_t below) {
  const auto found =
      find([](const ValueType& t) { return t.dtype == int32 && t.shape.rank() == 0; });
  if (found) return must("int_mod", {*found}, {.i = below}, static_cast<double>(below));
  // The number is computed from data, so that it may differ between devices and examples.
  const auto x = find_float();
  if (x && !smooth_) {
    const int total = must("sum_all", {*x}, {}, 8);
    const int whole = must("int_round", {total}, {}, 24);
    return must("int_mod", {whole}, {.i = below}, static_cast<double>(below));
  }
  Attributes p{.f = static_cast<double>(pick(below)), .dtype = int32};
  return must("full", {}, p, static_cast<double>(below));
}
int Maker::indices(int64_t below) {
  const auto found = find([](const ValueType& t) {
    return t.dtype == int32 && t.shape.rank() == 1 && t.shape[0] <= 8;
  });
  if (found && chance(80))
    return must("int_mod", {*found}, {.i = std::max<int64_t>(below, 1)},
                static_cast<double>(below));
  const int counted = must("iota", {}, {.dtype = int32, .dims = {1 + pick(4)}}, 4);
  const int moved = must("int_add", {counted}, {.i = pick(3)}, 6);
  return must("int_mod", {moved}, {.i = std::max<int64_t>(below, 1)}, static_cast<double>(below));
}
int Maker::integers(int64_t rank) {
  const auto found =
      find([&](const ValueType& t) { return is_integer(t.dtype) && t.shape.rank() >= rank; });
  if (found) return *found;
  Shape shape = random_shape();
  while (shape.rank() < std::max<int64_t>(rank, 1)) append_extent(shape);
  const int64_t along = pick(shape.rank());
  return must("iota", {}, {.i = along, .dtype = chance(80) ? int32 : uint8, .dims = shape}, 8);
}
int Maker::scalar_bool() {
  const auto axis =
      find([](const ValueType& t) { return t.dtype == int32 && t.shape.rank() == 0; });
  if (axis && chance(50)) {
    const int other = must("full", {}, {.f = static_cast<double>(pick(3)), .dtype = int32}, 4);
    return must(chance(50) ? "equal_int" : "less", {*axis, other}, {}, 1);
  }
  const int total = must("sum_all", {any_float()}, {}, 8);
  return must("greater_than", {total}, {.f = number(-0.5, 0.5)}, 1);
}

std::optional<int> Maker::emit(Node node, std::vector<double> bounds) {
  try {
    type_node(node, types_, axes_, c_.next_id);
  } catch (const Untypable&) {
    return std::nullopt;
  } catch (const UserError& error) {
    if (std::getenv("TESSERA_GENERATE_TRACE"))
      fmt::print(stderr, "seed {}: {} {}\n", c_.seed, node.op ? node.op->name : "control",
                 error.what());
    return std::nullopt;
  }
  for (const Var& var : node.results)
    if (var.type.shape.elements() > kMostElements) return std::nullopt;
  for (size_t k = 0; k < node.results.size(); ++k)
    known_.push_back({node.results[k].id, k < bounds.size() ? bounds[k] : bounds.back()});
  const int first = node.results[0].id;
  scopes_.back()->nodes.push_back(std::move(node));
  return first;
}

std::optional<int> Maker::op(const char* name, std::vector<int> operands, Attributes p,
                             double bound) {
  if (p.sharding.mesh().rank() == 0) p.sharding = NamedSharding(mesh_, PartitionSpec());
  Node node{.op = &op_named(name), .p = std::move(p), .operands = std::move(operands)};
  const auto out = emit(std::move(node), {bound});
  if (out && is_inexact(type(*out).dtype) && bound > 6) return tamed(*out);
  return out;
}
int Maker::must(const char* name, std::vector<int> operands, Attributes p, double bound) {
  const auto out = op(name, std::move(operands), std::move(p), bound);
  TESSERA_CHECK(out.has_value(), "{} has no type", name);
  return *out;
}
int Maker::tamed(int id, double most) {
  const double now = bound(id);
  if (now <= most) return id;
  Attributes p{.f = 2 / now};
  p.sharding = NamedSharding(mesh_, PartitionSpec());
  const bool real = is_floating(type(id).dtype);
  Node node{.op = &op_named(real && chance(50) ? (chance(50) ? "tanh" : "sin") : "scale"),
            .p = std::move(p),
            .operands = {id}};
  return *emit(std::move(node), {2});
}

Shape Maker::random_shape(int64_t most_rank) {
  Shape out;
  for (int64_t d = pick(most_rank + 1); d > 0; --d)
    if (out.elements() * extent() <= 32) append_extent(out);
  return out;
}
void Maker::append_extent(Shape& shape) {
  const int64_t n = extent();
  shape.push_back(shape.elements() * n <= kMostElements ? n : 1);
}
Dims Maker::some_dims(const ValueType& t) {
  Dims out;
  for (int64_t d = 0; d < t.shape.rank(); ++d)
    if (chance(45)) out.push_back(d);
  if (out.empty() && t.shape.rank() > 0) out.push_back(pick(t.shape.rank()));
  return out;
}
Dims Maker::permutation(int64_t rank) {
  Dims out = iota_dims(rank);
  for (int64_t k = rank - 1; k > 0; --k) std::swap(out[k], out[pick(k + 1)]);
  return out;
}

Case Maker::make() {
  // The mesh: one to three axes, or none.
  static const std::vector<Shape> meshes = {
      {2}, {2}, {3}, {4}, {8}, {2, 2}, {2, 2}, {2, 4}, {4, 2}, {2, 3}, {1, 2}, {2, 2, 2}, {1}};
  const bool manual = chance(62);
  if (manual || chance(40)) {
    c_.axis_sizes = meshes[pick(static_cast<int64_t>(meshes.size()))];
    for (int64_t k = 0; k < c_.axis_sizes.rank(); ++k)
      c_.axis_names.push_back(std::string(1, static_cast<char>('a' + k)));
  }
  mesh_ = c_.mesh();
  static const std::vector<int64_t> usual = {2, 3, 4, 4, 5, 6, 1, 2};
  for (int k = 0; k < 3; ++k) extents_.push_back(usual[pick(static_cast<int64_t>(usual.size()))]);
  if (chance(12)) extents_.push_back(0);
  if (chance(25)) extents_.push_back(1);
  for (int64_t size : c_.axis_sizes) {
    extents_.push_back(size);
    if (chance(50) && size <= 4) extents_.push_back(2 * size);
  }
  const int dtypes = pick(100);
  real_ = dtypes < 50 ? float32 : dtypes < 90 ? float64 : dtypes < 95 ? bfloat16 : float16;
  smooth_ = itemsize(real_) < 4;

  scopes_.push_back(&c_.main);
  const auto add_input = [&](DType dtype, Shape shape, double most) {
    Var var{c_.next_id++, {dtype, std::move(shape), {}}};
    types_.resize(static_cast<size_t>(c_.next_id));
    types_[var.id] = var.type;
    known_.push_back({var.id, most});
    c_.main.inputs.push_back(std::move(var));
  };
  for (int k = 1 + pick(3); k > 0; --k) {
    Shape shape = random_shape();
    if (shape.rank() == 0 && chance(80)) shape.push_back(extent());
    add_input(real_, shape, 1);
  }
  if (chance(25)) add_input(int32, chance(50) ? Shape{} : Shape{extent()}, 5);
  if (chance(8)) add_input(bool_, random_shape(2), 1);
  if (chance(10) && itemsize(real_) >= 4)
    add_input(real_ == float32 ? complex64 : complex128, random_shape(2), 1.5);

  const int steps = 1 + pick(10);
  const int manual_at = pick(std::min(steps, 3));
  bool done = !manual;
  for (int k = 0; k < steps; ++k) {
    if (!done && k >= manual_at) {
      done = shard_map();
    } else {
      step();
    }
  }
  if (!done) shard_map();
  // The results are the last value and some others.
  std::vector<int>& outputs = c_.main.outputs;
  outputs.push_back(known_.back().id);
  for (size_t k = known_.size(); k-- > c_.main.inputs.size() && outputs.size() < 3;) {
    const int id = known_[k].id;
    const bool there = std::find(outputs.begin(), outputs.end(), id) != outputs.end();
    const bool inexact_missing = std::none_of(outputs.begin(), outputs.end(),
                                              [&](int o) { return is_inexact(type(o).dtype); });
    if (!there && (chance(30) || (inexact_missing && is_inexact(type(id).dtype))))
      outputs.push_back(id);
  }
  remove_dead(c_.main);
  for (const Var& var : c_.main.inputs) {
    std::vector<DimSpec> dims(static_cast<size_t>(var.type.shape.rank()));
    if (!dims.empty())
      for (const std::string& name : c_.axis_names)
        if (chance(60)) dims[pick(var.type.shape.rank())].axes.push_back({name});
    c_.placements.push_back(PartitionSpec(std::move(dims)));
  }
  return std::move(c_);
}

Case make_case(uint32_t seed) { return Maker(seed).make(); }

}  // namespace tessera::generate
