#include "program.h"

#include <algorithm>
#include <cmath>

#include "ops.h"
#include "tessera/base/visit_dtype.h"
#include "tessera/trace/trace.h"

namespace tessera::generate {

using namespace runtime;

namespace {

const char* const kUndefined = "(undefined)";  // stands in `varying` if no node has made the value

std::set<std::string> united(std::set<std::string> a, const std::set<std::string>& b) {
  a.insert(b.begin(), b.end());
  return a;
}

void expect(bool holds, const char* what) {
  if (!holds) throw Untypable(what);
}

const Axis& axis_of(const std::vector<Axis>& axes, const std::string& name) {
  for (size_t k = axes.size(); k-- > 0;)
    if (axes[k].name == name) return axes[k];
  throw Untypable("axis " + name + " is not bound");
}

struct Typer {
  Types& types;
  std::vector<Axis>& axes;
  int& next_id;

  const ValueType& of(int id) const {
    expect(id >= 0 && id < static_cast<int>(types.size()) && !types[id].varying.count(kUndefined),
           "an id without a value");
    return types[id];
  }
  void set(Var& var, ValueType type) {
    if (var.id >= static_cast<int>(types.size()))
      types.resize(static_cast<size_t>(var.id) + 1, ValueType{.varying = {kUndefined}});
    var.type = type;
    types[var.id] = std::move(type);
  }
  void set_results(Node& node, std::vector<ValueType> out) {
    if (node.results.empty()) {
      for (size_t k = 0; k < out.size(); ++k) node.results.push_back({next_id++, {}});
    }
    expect(node.results.size() == out.size(), "another number of results");
    for (size_t k = 0; k < out.size(); ++k) set(node.results[k], std::move(out[k]));
  }
  std::vector<ValueType> run(Program& body, const std::vector<ValueType>& inputs) {
    expect(body.inputs.size() == inputs.size(), "another number of inputs");
    for (size_t k = 0; k < inputs.size(); ++k) set(body.inputs[k], inputs[k]);
    for (Node& node : body.nodes) type(node);
    std::vector<ValueType> out;
    for (int id : body.outputs) out.push_back(of(id));
    return out;
  }

  std::vector<ValueType> operands(const Node& node, size_t from = 0) const {
    std::vector<ValueType> out;
    for (size_t k = from; k < node.operands.size(); ++k) out.push_back(of(node.operands[k]));
    return out;
  }

  void type(Node& node) {
    switch (node.kind) {
      case NodeKind::kOp:
        return type_op(node);
      case NodeKind::kJit:
      case NodeKind::kCheckpoint:
      case NodeKind::kCustomVjp:
      case NodeKind::kCustomJvp:
        return set_results(node, run(node.bodies[0], operands(node)));
      case NodeKind::kScan:
        return type_scan(node);
      case NodeKind::kFori:
        return type_fori(node);
      case NodeKind::kWhile:
        return type_while(node);
      case NodeKind::kCond:
      case NodeKind::kSwitch:
        return type_branches(node);
      case NodeKind::kVmap:
        return type_vmap(node);
      case NodeKind::kShardMap:
        return type_shard_map(node);
      case NodeKind::kGrad:
        return type_grad(node);
      case NodeKind::kJvp:
        return type_jvp(node);
    }
  }

  void type_op(Node& node) {
    if (node.op->collective != Collective::kNone) return type_collective(node);
    std::vector<Type> inputs;
    std::set<std::string> varying;
    for (int id : node.operands) {
      const ValueType& t = of(id);
      inputs.push_back({.dtype = t.dtype, .shape = t.shape});
      varying = united(varying, t.varying);
    }
    const Function f =
        trace_function([&](const Arrays& x) { return node.op->apply(x, node.p); }, inputs).function;
    std::vector<ValueType> out;
    for (const Type& t : f.output_types()) out.push_back({t.dtype, t.shape, varying});
    set_results(node, std::move(out));
  }

  void type_collective(Node& node) {
    int64_t size = 1;
    std::set<std::string> manual;
    for (const std::string& name : node.p.axes) {
      const Axis& axis = axis_of(axes, name);
      size *= axis.size;
      if (axis.manual) manual.insert(name);
    }
    ValueType out{.dtype = int32};
    if (!node.operands.empty()) out = of(node.operands[0]);
    const int64_t i = node.p.i, j = node.p.j;
    const auto without = [&] {
      for (const std::string& name : manual) out.varying.erase(name);
    };
    const auto rank = out.shape.rank();
    switch (node.op->collective) {
      case Collective::kPsum:
      case Collective::kPmean:
      case Collective::kPmax:
      case Collective::kPmin:
        without();
        return set_results(node, {out});
      case Collective::kAllGather:
      case Collective::kAllGatherInvariant:
        if (node.p.flag) {
          expect(i < rank, "axis");
          out.shape[i] *= size;
        } else {
          expect(i <= rank, "axis");
          out.shape.insert(out.shape.begin() + i, size);
        }
        if (node.op->collective == Collective::kAllGatherInvariant) {
          without();
          return set_results(node, {out});
        }
        break;
      case Collective::kPsumScatter:
        expect(i < rank, "axis");
        if (node.p.flag) {
          expect(out.shape[i] % size == 0, "extent");
          out.shape[i] /= size;
        } else {
          expect(out.shape[i] == size, "extent");
          out.shape.erase(out.shape.begin() + i);
        }
        break;
      case Collective::kAllToAll:
        expect(i < rank && j < rank && out.shape[i] % size == 0, "extent");
        out.shape[i] /= size;
        out.shape[j] *= size;
        break;
      case Collective::kPpermute:
        for (const auto& [from, to] : node.p.pairs) expect(from < size && to < size, "rank");
        break;
      case Collective::kPbroadcast:
        expect(i < size, "rank");
        break;
      case Collective::kAxisIndex:
      case Collective::kPcast:
        break;
      case Collective::kNone:
        throw Untypable("no collective");
    }
    out.varying = united(out.varying, manual);
    set_results(node, {out});
  }

  static void expect_same_arrays(const std::vector<ValueType>& a, const std::vector<ValueType>& b,
                                 size_t count) {
    expect(a.size() >= count && b.size() >= count, "carries");
    for (size_t k = 0; k < count; ++k)
      expect(a[k].dtype == b[k].dtype && a[k].shape == b[k].shape, "another type of carry");
  }
  static bool grow(std::vector<ValueType>& carry, const std::vector<ValueType>& out, size_t count) {
    bool grown = false;
    for (size_t k = 0; k < count; ++k) {
      const auto varying = united(carry[k].varying, out[k].varying);
      grown = grown || varying != carry[k].varying;
      carry[k].varying = varying;
    }
    return grown;
  }

  void type_scan(Node& node) {
    std::vector<ValueType> in = operands(node);
    const auto carries = static_cast<size_t>(node.p.i);
    expect(in.size() >= carries, "carries");
    for (size_t k = carries; k < in.size(); ++k) {
      expect(in[k].shape.rank() > 0 && in[k].shape[0] == node.p.j, "length");
      in[k].shape.erase(in[k].shape.begin());
    }
    std::vector<ValueType> out;
    do {
      out = run(node.bodies[0], in);
      expect_same_arrays(in, out, carries);
    } while (grow(in, out, carries));
    for (size_t k = 0; k < carries; ++k) out[k].varying = in[k].varying;
    for (size_t k = carries; k < out.size(); ++k)
      out[k].shape.insert(out[k].shape.begin(), node.p.j);
    set_results(node, std::move(out));
  }

  void type_fori(Node& node) {
    std::vector<ValueType> in = operands(node);
    in.insert(in.begin(), ValueType{.dtype = int32});
    std::vector<ValueType> out;
    do {
      out = run(node.bodies[0], in);
      expect(out.size() + 1 == in.size(), "carries");
      out.insert(out.begin(), in[0]);
      expect_same_arrays(in, out, in.size());
    } while (grow(in, out, in.size()));
    set_results(node, {in.begin() + 1, in.end()});
  }

  // Types a while loop. Its operands are the limit and the carries. The body gets the count and the
  // limit first.
  void type_while(Node& node) {
    std::vector<ValueType> in = operands(node);
    expect(!in.empty() && in[0].dtype == int32 && in[0].shape.rank() == 0, "limit");
    const auto limit = in[0].varying;
    in.insert(in.begin(), ValueType{.dtype = int32});
    for (ValueType& t : in) t.varying = united(t.varying, limit);
    std::vector<ValueType> out;
    do {
      out = run(node.bodies[0], in);
      expect(out.size() + 2 == in.size(), "carries");
      out.insert(out.begin(), {in[0], in[1]});
      expect_same_arrays(in, out, in.size());
    } while (grow(in, out, in.size()));
    set_results(node, {in.begin() + 2, in.end()});
  }

  void type_branches(Node& node) {
    const std::vector<ValueType> in = operands(node, 1);
    const ValueType pred = of(node.operands[0]);
    expect(pred.shape.rank() == 0 && pred.dtype == (node.kind == NodeKind::kCond ? bool_ : int32),
           "predicate");
    std::vector<ValueType> out;
    for (Program& body : node.bodies) {
      const std::vector<ValueType> mine = run(body, in);
      if (out.empty()) out = mine;
      expect(out.size() == mine.size(), "results");
      expect_same_arrays(out, mine, out.size());
      grow(out, mine, out.size());
    }
    for (ValueType& t : out) t.varying = united(t.varying, pred.varying);
    set_results(node, std::move(out));
  }

  void type_vmap(Node& node) {
    std::vector<ValueType> in = operands(node);
    expect(node.in_axes.size() == in.size(), "in_axes");
    int64_t size = -1;
    for (size_t k = 0; k < in.size(); ++k) {
      const int axis = node.in_axes[k];
      if (axis < 0) continue;
      expect(axis < in[k].shape.rank(), "in_axes");
      expect(size < 0 || size == in[k].shape[axis], "sizes");
      size = in[k].shape[axis];
      in[k].shape.erase(in[k].shape.begin() + axis);
    }
    expect(size >= 0, "nothing is mapped");
    node.p.j = size;
    axes.push_back({node.axis_name, size, false});
    std::vector<ValueType> out = run(node.bodies[0], in);
    axes.pop_back();
    for (ValueType& t : out) t.shape.insert(t.shape.begin(), size);
    set_results(node, std::move(out));
  }

  int64_t shards(const Mesh& mesh, const PartitionSpec& spec, int64_t d,
                 const std::vector<std::string>& manual, std::set<std::string>& named) const {
    int64_t n = 1;
    for (const AxisRef& axis : spec.dim(d).axes) {
      expect(std::find(manual.begin(), manual.end(), axis.name) != manual.end(), "manual axes");
      n *= mesh.axis_size(axis.name);
      expect(named.insert(axis.name).second, "an axis twice");
    }
    return n;
  }

  void type_shard_map(Node& node) {
    std::vector<ValueType> in = operands(node);
    const Mesh& mesh = node.p.sharding.mesh();
    expect(!node.manual_axes.empty() && in.size() == node.in_specs.size(), "specs");
    for (const Axis& axis : axes)
      expect(!axis.manual || std::find(node.manual_axes.begin(), node.manual_axes.end(),
                                       axis.name) == node.manual_axes.end(),
             "manual already");
    for (size_t k = 0; k < in.size(); ++k) {
      std::set<std::string> named;
      expect(node.in_specs[k].rank() <= in[k].shape.rank(), "rank");
      for (int64_t d = 0; d < in[k].shape.rank(); ++d) {
        const int64_t n = shards(mesh, node.in_specs[k], d, node.manual_axes, named);
        expect(in[k].shape[d] % n == 0, "uneven shards");
        in[k].shape[d] /= n;
      }
      in[k].varying = united(in[k].varying, named);
    }
    for (const std::string& name : node.manual_axes)
      axes.push_back({name, mesh.axis_size(name), true});
    std::vector<ValueType> out = run(node.bodies[0], in);
    axes.resize(axes.size() - node.manual_axes.size());
    expect(out.size() == node.out_specs.size(), "out_specs");
    for (size_t k = 0; k < out.size(); ++k) {
      std::set<std::string> named;
      expect(node.out_specs[k].rank() <= out[k].shape.rank(), "rank");
      for (int64_t d = 0; d < out[k].shape.rank(); ++d)
        out[k].shape[d] *= shards(mesh, node.out_specs[k], d, node.manual_axes, named);
      for (const std::string& name : node.manual_axes)
        expect(!out[k].varying.count(name) || named.count(name), "varies");
      for (const std::string& name : node.manual_axes) out[k].varying.erase(name);
    }
    set_results(node, std::move(out));
  }

  void type_grad(Node& node) {
    std::vector<ValueType> in = operands(node);
    for (const ValueType& t : in) expect(is_floating(t.dtype), "no float");
    // The arguments vary over what the loss varies over, and so do the values that the body
    // computes from them.
    std::vector<ValueType> before;
    do {
      before = in;
      const std::vector<ValueType> out = run(node.bodies[0], in);
      expect(out.size() == 1 && out[0].shape.rank() == 0 && is_floating(out[0].dtype), "no scalar");
      for (ValueType& t : in) t.varying = united(t.varying, out[0].varying);
    } while (in != before);
    set_results(node, std::move(in));
  }

  void type_jvp(Node& node) {
    std::vector<ValueType> in = operands(node);
    expect(in.size() % 2 == 0, "tangents");
    const std::vector<ValueType> primals(in.begin(), in.begin() + in.size() / 2);
    for (size_t k = 0; k < primals.size(); ++k)
      expect(primals[k] == in[primals.size() + k] && is_floating(primals[k].dtype), "tangents");
    std::vector<ValueType> out = run(node.bodies[0], primals);
    for (const ValueType& t : out) expect(is_floating(t.dtype), "no float");
    std::vector<ValueType> tangents = out;
    out.insert(out.end(), tangents.begin(), tangents.end());
    set_results(node, std::move(out));
  }
};

bool used_in(const Program& program, int id) {
  if (std::find(program.outputs.begin(), program.outputs.end(), id) != program.outputs.end())
    return true;
  for (const Node& node : program.nodes) {
    if (std::find(node.operands.begin(), node.operands.end(), id) != node.operands.end())
      return true;
    for (const Program& body : node.bodies)
      if (used_in(body, id)) return true;
  }
  return false;
}

}  // namespace

Mesh Case::mesh() const {
  if (axis_sizes.empty()) return Mesh();
  const auto first = devices().begin();
  return Mesh(create_device_mesh(axis_sizes, {.devices = {first, first + axis_sizes.elements()}}),
              axis_names);
}

void type_node(Node& node, Types& types, std::vector<Axis>& axes, int& next_id) {
  Typer{types, axes, next_id}.type(node);
}

void type_case(Case& c) {
  Types types;
  std::vector<Axis> axes;
  const Mesh mesh = c.mesh();
  for_each_node(c.main, [&](Node& node) {
    if (mesh.rank() > 0) node.p.sharding = NamedSharding(mesh, node.p.sharding.spec());
  });
  Typer typer{types, axes, c.next_id};
  std::vector<ValueType> inputs;
  for (const Var& var : c.main.inputs) inputs.push_back(var.type);
  typer.run(c.main, inputs);
}

DType widened(DType dtype) {
  if (is_floating(dtype)) return float64;
  if (is_complex(dtype)) return complex128;
  return dtype;
}

Case widened(Case c) {
  for (Var& var : c.main.inputs) var.type.dtype = widened(var.type.dtype);
  for_each_node(c.main, [](Node& node) { node.p.dtype = widened(node.p.dtype); });
  type_case(c);
  return c;
}

DType coarsest(const Case& c) {
  DType out = float64;
  const auto order = [](DType d) {
    switch (real_dtype(d)) {
      case DType::kBfloat16:
        return 3;
      case DType::kFloat16:
        return 2;
      case DType::kFloat32:
        return 1;
      default:
        return 0;
    }
  };
  const auto meet = [&](const ValueType& type) {
    if (is_inexact(type.dtype) && order(type.dtype) > order(out)) out = real_dtype(type.dtype);
  };
  for (const Var& var : c.main.inputs) meet(var.type);
  for_each_node(c.main, [&](const Node& node) {
    for (const Var& var : node.results) meet(var.type);
  });
  return out;
}

Literals make_arguments(const Case& c, uint32_t stream) {
  std::mt19937 engine(c.seed * 2654435761u + stream);
  const auto uniform = [&] { return static_cast<double>(engine()) / 4294967296.0; };
  Literals out;
  for (const Var& var : c.main.inputs) {
    Literal& x = out.emplace_back(var.type.dtype, var.type.shape);
    visit_dtype(var.type.dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      T* data = x.mutable_data<T>();
      for (int64_t k = 0; k < x.elements(); ++k) {
        if constexpr (std::is_same_v<T, bool>) {
          data[k] = uniform() < 0.5;
        } else if constexpr (std::is_integral_v<T>) {
          data[k] = static_cast<T>(engine() % 5);
        } else if constexpr (std::is_same_v<T, std::complex<float>> ||
                             std::is_same_v<T, std::complex<double>>) {
          using R = typename T::value_type;
          const float re = static_cast<float>(2 * uniform() - 1);
          data[k] = T(static_cast<R>(re), static_cast<R>(static_cast<float>(2 * uniform() - 1)));
        } else {
          // Numbers are exact in float32, so that a widened program gets the same numbers.
          data[k] = static_cast<T>(static_cast<float>(2 * uniform() - 1));
        }
      }
    });
  }
  return out;
}

bool contains(const Program& program, NodeKind kind) {
  bool found = false;
  for_each_node(program, [&](const Node& node) { found = found || node.kind == kind; });
  return found;
}

int count_nodes(const Program& program) {
  int n = 0;
  for_each_node(program, [&](const Node&) { ++n; });
  return n;
}

bool contains_within(const Program& program, NodeKind outer, NodeKind inner) {
  bool found = false;
  for_each_node(program, [&](const Node& node) {
    if (node.kind != outer) return;
    for (const Program& body : node.bodies) found = found || contains(body, inner);
  });
  return found;
}

void remove_dead(Program& program) {
  for (size_t k = program.nodes.size(); k-- > 0;) {
    bool used = false;
    for (const Var& var : program.nodes[k].results) used = used || used_in(program, var.id);
    if (!used) {
      program.nodes.erase(program.nodes.begin() + static_cast<int64_t>(k));
    } else {
      for (Program& body : program.nodes[k].bodies) remove_dead(body);
    }
  }
}

}  // namespace tessera::generate
