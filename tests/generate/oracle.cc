#include "oracle.h"

#include <algorithm>
#include <cmath>

#include "tessera/trace/trace.h"
#include "tests/evaluate/evaluate.h"

namespace tessera::generate {

using namespace runtime;

namespace {

constexpr int64_t kMostTrips = 64;

bool truth(const Literal& x) { return *x.data<bool>(); }

// Returns the result of the lane with rank `rank` from the values of its group (in the order of
// ranks).
Literal collective_result(const Node& node, const Literal& own, Literals group, int64_t rank,
                          int64_t size) {
  const int64_t i = node.p.i, j = node.p.j;
  // Returns the lane's part along dimension i.
  const auto part = [&](const Literal& whole) {
    Shape shape = whole.shape();
    shape[i] /= size;
    Dims start(shape.rank(), 0);
    start[i] = rank * shape[i];
    return block(whole, start, shape);
  };
  switch (node.op->collective) {
    case Collective::kNone:
      break;
    case Collective::kPsum:
    case Collective::kPmean:
    case Collective::kPmax:
    case Collective::kPmin:
      return reduced(group, node.op->collective);
    case Collective::kAllGather:
    case Collective::kAllGatherInvariant:
      if (!node.p.flag)
        for (Literal& g : group) {
          Shape shape = g.shape();
          shape.insert(shape.begin() + i, 1);
          g = g.reshaped(shape);
        }
      return concatenated(group, i);
    case Collective::kPsumScatter: {
      const Literal total = part(reduced(group, Collective::kPsum));
      Shape shape = total.shape();
      if (!node.p.flag) shape.erase(shape.begin() + i);
      return total.reshaped(shape);
    }
    case Collective::kAllToAll: {
      Literals parts;
      for (const Literal& g : group) parts.push_back(part(g));
      return concatenated(parts, j);
    }
    case Collective::kPpermute:
      for (const auto& [from, to] : node.p.pairs)
        if (to == rank) return group[from];
      return Literal(group[0].dtype(), group[0].shape());
    case Collective::kPbroadcast:
      return group[i];
    case Collective::kAxisIndex:
      return Literal::scalar(static_cast<int32_t>(rank));
    case Collective::kPcast:
      return own;
  }
  TESSERA_CHECK(false, "no collective");
  return {};
}

}  // namespace

int64_t Oracle::lanes() const {
  int64_t n = 1;
  for (const Axis& axis : axes_) n *= axis.size;
  return n;
}

// Returns the value in a lane. Axes are appended as minor ones, so a value with fewer lanes has one
// for each group of consecutive lanes.
const Literal& Oracle::at(int id, int64_t lane) const {
  const Literals& value = values_[id];
  TESSERA_CHECK(!value.empty() || lanes() == 0, "value {} is not there", id);
  return value[lane / (lanes() / static_cast<int64_t>(value.size()))];
}

std::vector<Literals> Oracle::operands(const Node& node, size_t from) const {
  std::vector<Literals> out;
  const int64_t n = lanes();
  for (size_t k = from; k < node.operands.size(); ++k) {
    Literals& x = out.emplace_back();
    for (int64_t lane = 0; lane < n; ++lane) x.push_back(at(node.operands[k], lane));
  }
  return out;
}

void Oracle::store(const Var& var, Literals lanes) {
  for (const Literal& x : lanes)
    TESSERA_CHECK(x.dtype() == var.type.dtype && x.shape() == var.type.shape,
                  "value {} is {}{}, its type {}{}", var.id, dtype_name(x.dtype()), x.shape(),
                  dtype_name(var.type.dtype), var.type.shape);
  values_[var.id] = std::move(lanes);
}

Literals Oracle::run(const Literals& args, bool keep_constants) {
  keep_constants_ = keep_constants;
  next_constant_ = 0;
  if (!keep_constants) constants_.clear();
  std::vector<Literals> inputs;
  for (const Literal& arg : args) inputs.push_back({arg});
  Literals out;
  for (const Literals& x : run_body(case_.main, inputs)) out.push_back(x[0]);
  return out;
}

std::vector<Literals> Oracle::run_body(const Program& body, const std::vector<Literals>& inputs) {
  for (size_t k = 0; k < inputs.size(); ++k) store(body.inputs[k], inputs[k]);
  for (const Node& node : body.nodes) run_node(node);
  std::vector<Literals> out;
  const int64_t n = lanes();
  for (int id : body.outputs) {
    Literals& x = out.emplace_back();
    for (int64_t lane = 0; lane < n; ++lane) x.push_back(at(id, lane));
  }
  return out;
}

void Oracle::run_node(const Node& node) {
  std::vector<Literals> out = results_of(node);
  for (size_t k = 0; k < out.size(); ++k) {
    // If a value's type does not vary along an axis, its lanes along this axis must be equal.
    const ValueType& type = node.results[k].type;
    int64_t stride = 1;
    for (size_t a = axes_.size(); a-- > 0;) {
      if (axes_[a].manual && !type.varying.count(axes_[a].name))
        for (size_t lane = 0; lane < out[k].size(); ++lane) {
          const size_t first = lane - (lane / stride) % axes_[a].size * stride;
          const auto mine = numbers(out[k][lane]), want = numbers(out[k][first]);
          for (size_t e = 0; e < mine.size(); ++e)
            TESSERA_CHECK(!(std::abs(mine[e] - want[e]) > 1e-6 * (1 + std::abs(want[e]))),
                          "value {} is typed as the same along {} and is not", node.results[k].id,
                          axes_[a].name);
        }
      stride *= axes_[a].size;
    }
    store(node.results[k], std::move(out[k]));
  }
}

std::vector<Literals> Oracle::results_of(const Node& node) {
  switch (node.kind) {
    case NodeKind::kOp:
      return run_op(node);
    case NodeKind::kJit:
    case NodeKind::kCheckpoint:
    case NodeKind::kCustomVjp:
    case NodeKind::kCustomJvp:
      return run_body(node.bodies[0], operands(node));
    case NodeKind::kScan:
      return run_scan(node);
    case NodeKind::kFori:
      return run_fori(node);
    case NodeKind::kWhile:
      return run_while(node);
    case NodeKind::kCond:
    case NodeKind::kSwitch:
      return run_branches(node);
    case NodeKind::kVmap:
      return run_vmap(node);
    case NodeKind::kShardMap:
      return run_shard_map(node);
    case NodeKind::kGrad:
      return run_grad(node);
    case NodeKind::kJvp:
      return run_jvp(node);
  }
  return {};
}

std::vector<Literals> Oracle::run_op(const Node& node) {
  if (node.op->collective != Collective::kNone) return run_collective(node);
  const std::vector<Literals> in = operands(node);
  const int64_t n = lanes();
  if (node.op->name == "stop_gradient") {
    if (keep_constants_) return {constants_[next_constant_++]};
    constants_.push_back(in[0]);
    ++next_constant_;
    return {in[0]};
  }
  if (node.op->name == "constraint") return {in[0]};
  if (n == 0) return std::vector<Literals>(node.results.size());
  auto found = functions_.find(&node);
  if (found == functions_.end()) {
    std::vector<Type> types;
    for (const Literals& x : in) {
      types.push_back({.dtype = x[0].dtype(), .shape = x[0].shape()});
    }
    found =
        functions_
            .emplace(&node, trace_function(
                                [&](const Arrays& x) { return node.op->apply(x, node.p); }, types)
                                .function)
            .first;
  }
  std::vector<Literals> out(node.results.size());
  for (int64_t lane = 0; lane < n; ++lane) {
    Literals mine;
    bool same = lane > 0;
    for (const Literals& x : in) {
      same = same && x[lane].raw() == x[lane - 1].raw();
      mine.push_back(x[lane]);
    }
    if (same) {
      for (Literals& r : out) r.push_back(r.back());
      continue;
    }
    Literals results = evaluate(found->second, mine);
    for (size_t r = 0; r < out.size(); ++r) out[r].push_back(std::move(results[r]));
  }
  return out;
}

std::vector<Literals> Oracle::run_collective(const Node& node) {
  const int64_t n = lanes();
  // The strides of the named axes in the lanes, and each lane's rank along them.
  std::vector<std::pair<int64_t, int64_t>> named;  // stride, size; major first
  for (const std::string& name : node.p.axes) {
    int64_t stride = 1;
    for (size_t a = axes_.size(); a-- > 0;) {
      if (axes_[a].name == name) {
        named.emplace_back(stride, axes_[a].size);
        break;
      }
      stride *= axes_[a].size;
    }
  }
  const Literals x = node.operands.empty() ? Literals() : operands(node)[0];
  Literals out;
  for (int64_t lane = 0; lane < n; ++lane) {
    int64_t rank = 0, size = 1, base = lane;
    for (const auto& [stride, extent] : named) {
      const int64_t coordinate = lane / stride % extent;
      rank = rank * extent + coordinate;
      size *= extent;
      base -= coordinate * stride;
    }
    const auto lane_of = [&](int64_t r) {
      int64_t to = base;
      for (size_t k = named.size(); k-- > 0;) {
        to += r % named[k].second * named[k].first;
        r /= named[k].second;
      }
      return to;
    };
    Literals group;
    for (int64_t r = 0; r < size && !x.empty(); ++r) group.push_back(x[lane_of(r)]);
    out.push_back(
        collective_result(node, x.empty() ? Literal() : x[lane], std::move(group), rank, size));
  }
  return {out};
}

std::vector<Literals> Oracle::run_scan(const Node& node) {
  std::vector<Literals> in = operands(node);
  const auto carries = static_cast<size_t>(node.p.i);
  const int64_t n = lanes();
  std::vector<Literals> carry(in.begin(), in.begin() + carries);
  const size_t rows = node.results.size() - carries;
  std::vector<std::vector<Literals>> ys(rows, std::vector<Literals>(n, Literals(node.p.j)));
  for (int64_t t = 0; t < node.p.j; ++t) {
    const int64_t place = node.p.flag ? node.p.j - 1 - t : t;
    std::vector<Literals> args = carry;
    for (size_t k = carries; k < in.size(); ++k) {
      Literals& x = args.emplace_back();
      for (int64_t lane = 0; lane < n; ++lane) x.push_back(row(in[k][lane], 0, place));
    }
    std::vector<Literals> out = run_body(node.bodies[0], args);
    for (size_t y = 0; y < rows; ++y)
      for (int64_t lane = 0; lane < n; ++lane) ys[y][lane][place] = out[carries + y][lane];
    carry.assign(out.begin(), out.begin() + carries);
  }
  for (size_t y = 0; y < rows; ++y) {
    const ValueType& type = node.results[carries + y].type;
    Shape shape(type.shape.begin() + 1, type.shape.end());
    Literals& all = carry.emplace_back();
    for (int64_t lane = 0; lane < n; ++lane) all.push_back(stacked(ys[y][lane], type.dtype, shape));
  }
  return carry;
}

std::vector<Literals> Oracle::run_fori(const Node& node) {
  std::vector<Literals> carry = operands(node);
  for (int64_t t = node.p.i; t < node.p.j; ++t) {
    std::vector<Literals> args = carry;
    args.insert(args.begin(), Literals(lanes(), Literal::scalar(static_cast<int32_t>(t))));
    carry = run_body(node.bodies[0], args);
  }
  return carry;
}

std::vector<Literals> Oracle::run_while(const Node& node) {
  std::vector<Literals> carry = operands(node);
  const Literals limit = carry[0];
  carry.erase(carry.begin());
  const int64_t n = lanes();
  for (int32_t t = 0; t < kMostTrips; ++t) {
    std::vector<bool> goes(n);
    bool any = false;
    for (int64_t lane = 0; lane < n; ++lane) {
      goes[lane] = t < *limit[lane].data<int32_t>();
      any = any || goes[lane];
    }
    if (!any) break;
    std::vector<Literals> args = carry;
    args.insert(args.begin(), limit);
    args.insert(args.begin(), Literals(n, Literal::scalar(t)));
    std::vector<Literals> next = run_body(node.bodies[0], args);
    for (size_t k = 0; k < carry.size(); ++k)
      for (int64_t lane = 0; lane < n; ++lane)
        if (goes[lane]) carry[k][lane] = next[k][lane];
  }
  return carry;
}

std::vector<Literals> Oracle::run_branches(const Node& node) {
  const Literals pred = operands(node)[0];
  const std::vector<Literals> args = operands(node, 1);
  const int64_t n = lanes();
  std::vector<int64_t> chosen;
  const auto last = static_cast<int64_t>(node.bodies.size()) - 1;
  for (const Literal& p : pred)
    chosen.push_back(node.kind == NodeKind::kCond
                         ? static_cast<int64_t>(truth(p))
                         : std::clamp<int64_t>(*p.data<int32_t>(), 0, last));
  std::vector<Literals> out(node.results.size(), Literals(n));
  for (int64_t b = 0; b <= last; ++b) {
    if (std::find(chosen.begin(), chosen.end(), b) == chosen.end()) continue;
    const std::vector<Literals> mine = run_body(node.bodies[b], args);
    for (size_t k = 0; k < out.size(); ++k)
      for (int64_t lane = 0; lane < n; ++lane)
        if (chosen[lane] == b) out[k][lane] = mine[k][lane];
  }
  return out;
}

std::vector<Literals> Oracle::run_vmap(const Node& node) {
  const std::vector<Literals> in = operands(node);
  const int64_t n = lanes(), size = node.p.j;
  std::vector<Literals> args(in.size());
  for (size_t k = 0; k < in.size(); ++k)
    for (int64_t lane = 0; lane < n; ++lane)
      for (int64_t e = 0; e < size; ++e)
        args[k].push_back(node.in_axes[k] < 0 ? in[k][lane] : row(in[k][lane], node.in_axes[k], e));
  axes_.push_back({node.axis_name, size, false});
  const std::vector<Literals> results = run_body(node.bodies[0], args);
  axes_.pop_back();
  std::vector<Literals> out(results.size());
  for (size_t k = 0; k < results.size(); ++k) {
    const ValueType& type = node.results[k].type;
    const Shape one(type.shape.begin() + 1, type.shape.end());
    for (int64_t lane = 0; lane < n; ++lane)
      out[k].push_back(
          stacked({results[k].begin() + lane * size, results[k].begin() + (lane + 1) * size},
                  type.dtype, one));
  }
  return out;
}

std::vector<Literals> Oracle::run_shard_map(const Node& node) {
  const std::vector<Literals> in = operands(node);
  const Mesh& mesh = node.p.sharding.mesh();
  const int64_t n = lanes();
  int64_t local = 1;
  std::vector<int64_t> sizes;
  for (const std::string& name : node.manual_axes) {
    sizes.push_back(mesh.axis_size(name));
    local *= sizes.back();
  }
  // Returns the start of a device's part of an array. The device is given by its coordinates along
  // the manual axes.
  const auto start_of = [&](int64_t device, const PartitionSpec& spec, const Shape& part) {
    std::vector<int64_t> coordinates(sizes.size());
    for (size_t a = sizes.size(); a-- > 0;) {
      coordinates[a] = device % sizes[a];
      device /= sizes[a];
    }
    Dims start(part.rank(), 0);
    for (int64_t d = 0; d < part.rank(); ++d) {
      int64_t place = 0;
      for (const AxisRef& axis : spec.dim(d).axes) {
        const auto a = std::find(node.manual_axes.begin(), node.manual_axes.end(), axis.name) -
                       node.manual_axes.begin();
        place = place * sizes[a] + coordinates[a];
      }
      start[d] = place * part[d];
    }
    return start;
  };
  std::vector<Literals> args(in.size());
  for (size_t k = 0; k < in.size(); ++k)
    for (int64_t lane = 0; lane < n; ++lane)
      for (int64_t device = 0; device < local; ++device) {
        const Shape& part = node.bodies[0].inputs[k].type.shape;
        args[k].push_back(part == in[k][lane].shape()
                              ? in[k][lane]
                              : block(in[k][lane], start_of(device, node.in_specs[k], part), part));
      }
  for (const std::string& name : node.manual_axes)
    axes_.push_back({name, mesh.axis_size(name), true});
  const std::vector<Literals> results = run_body(node.bodies[0], args);
  axes_.resize(axes_.size() - node.manual_axes.size());
  std::vector<Literals> out(results.size());
  for (size_t k = 0; k < results.size(); ++k)
    for (int64_t lane = 0; lane < n; ++lane) {
      Literal& whole = out[k].emplace_back(node.results[k].type.dtype, node.results[k].type.shape);
      for (int64_t device = 0; device < local; ++device) {
        const Literal& part = results[k][lane * local + device];
        put_block(part, whole, start_of(device, node.out_specs[k], part.shape()));
      }
    }
  return out;
}

// Returns the gradients. On each device it is the derivative of the sum of all distinct losses, by
// those copies of an argument that have the device's coordinates along the axes over which the
// gradient varies.
std::vector<Literals> Oracle::run_grad(const Node& node) {
  const std::vector<Literals> in = operands(node);
  const Program& body = node.bodies[0];
  const int64_t n = lanes();
  const size_t first_constant = next_constant_;
  const Literals losses = run_body(body, in)[0];
  const size_t last_constant = next_constant_;
  const auto loss_type = [&]() -> const ValueType& {
    for (const Node& inner : body.nodes)
      for (const Var& var : inner.results)
        if (var.id == body.outputs[0]) return var.type;
    for (const Var& var : body.inputs)
      if (var.id == body.outputs[0]) return var.type;
    static const ValueType captured;
    return captured;
  };
  const std::set<std::string> loss_varies = loss_type().varying;
  // Returns the lane with the same coordinates along the axes for which `keep` holds, and 0 along
  // the others.
  const auto project = [&](int64_t lane, const auto& keep) {
    int64_t out = 0, stride = 1;
    for (size_t a = axes_.size(); a-- > 0;) {
      const int64_t coordinate = lane / stride % axes_[a].size;
      if (keep(axes_[a])) out += coordinate * stride;
      stride *= axes_[a].size;
    }
    return out;
  };
  const bool was_keeping = keep_constants_;
  std::vector<Literals> out;
  for (size_t k = 0; k < in.size(); ++k) {
    const std::set<std::string>& varies = node.results[k].type.varying;
    const auto copies = [&](const Axis& a) { return a.manual && varies.count(a.name); };
    const auto examples = [](const Axis& a) { return !a.manual; };
    const auto losses_that_differ = [&](const Axis& a) {
      return !a.manual || loss_varies.count(a.name);
    };
    std::set<int64_t> groups;
    for (int64_t lane = 0; lane < n; ++lane) groups.insert(project(lane, copies));
    Literals result;
    for (int64_t lane = 0; lane < n; ++lane)
      result.emplace_back(in[k][lane].dtype(), in[k][lane].shape());
    const int64_t elements = n == 0 ? 0 : in[k][0].elements();
    for (int64_t group : groups)
      for (int64_t e = 0; e < elements; ++e) {
        // Examples of a vmap are independent, so one difference is enough for all of them.
        const auto totals = [&](double h) {
          std::vector<Literals> args = in;
          for (int64_t lane = 0; lane < n; ++lane)
            if (project(lane, copies) == group) args[k][lane] = with_element(in[k][lane], e, h);
          keep_constants_ = true;
          next_constant_ = first_constant;
          const Literals loss = run_body(body, args)[0];
          std::vector<double> sums(static_cast<size_t>(n), 0);
          for (int64_t lane = 0; lane < n; ++lane)
            if (project(lane, losses_that_differ) == lane)
              sums[project(lane, examples)] += numbers(loss[lane])[0].real();
          return sums;
        };
        bool steady = true;
        const std::vector<double> d = derivative(totals, &steady);
        unsteady_ = unsteady_ || !steady;
        for (int64_t lane = 0; lane < n; ++lane)
          if (project(lane, copies) == group)
            result[lane].mutable_data<double>()[e] = d[project(lane, examples)];
      }
    out.push_back(std::move(result));
  }
  // The body runs again with the unchanged arguments, so that its values are stored.
  keep_constants_ = true;
  next_constant_ = first_constant;
  run_body(body, in);
  keep_constants_ = was_keeping;
  next_constant_ = last_constant;
  return out;
}

std::vector<Literals> Oracle::run_jvp(const Node& node) {
  std::vector<Literals> in = operands(node);
  const std::vector<Literals> tangents(in.begin() + in.size() / 2, in.end());
  in.resize(in.size() / 2);
  const size_t first_constant = next_constant_;
  std::vector<Literals> out = run_body(node.bodies[0], in);
  const size_t last_constant = next_constant_, count = out.size();
  const bool was_keeping = keep_constants_;
  const auto along = [&](double h) {
    std::vector<Literals> args = in;
    for (size_t k = 0; k < in.size(); ++k)
      for (size_t lane = 0; lane < in[k].size(); ++lane)
        args[k][lane] = moved(in[k][lane], h, tangents[k][lane]);
    keep_constants_ = true;
    next_constant_ = first_constant;
    std::vector<double> all;
    for (const Literals& x : run_body(node.bodies[0], args))
      for (const Literal& lane : x)
        for (const auto& z : numbers(lane)) all.push_back(z.real());
    return all;
  };
  bool steady = true;
  const std::vector<double> d = derivative(along, &steady);
  unsteady_ = unsteady_ || !steady;
  keep_constants_ = was_keeping;
  next_constant_ = last_constant;
  size_t next = 0;
  for (size_t k = 0; k < count; ++k) {
    Literals result = out[k];
    for (Literal& lane : result)
      for (int64_t e = 0; e < lane.elements(); ++e) lane.mutable_data<double>()[e] = d[next++];
    out.push_back(std::move(result));
  }
  return out;
}

}  // namespace tessera::generate
