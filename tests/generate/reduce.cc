#include "reduce.h"

#include <algorithm>
#include <chrono>

#include "ops.h"
#include "tessera/base/namespaces.h"

namespace tessera::generate {

using namespace runtime;

namespace {

// An edit changes a case, or returns false if it does not apply. Typing the case shows whether it
// is still a valid program.
using Edit = std::function<bool(Case&)>;

// The position of a node: its body, and its index in the body.
struct Place {
  Program* body = nullptr;
  size_t at = 0;
  Node& node() const { return body->nodes[at]; }
};
bool locate(Program& program, int& index, Place& place) {
  for (size_t k = 0; k < program.nodes.size(); ++k) {
    if (index-- == 0) {
      place = {&program, k};
      return true;
    }
    for (Program& body : program.nodes[k].bodies)
      if (locate(body, index, place)) return true;
  }
  return false;
}
Place place_of(Case& c, int index) {
  Place place;
  TESSERA_CHECK(locate(c.main, index, place), "node");
  return place;
}

void replace_uses(Program& program, int from, int to) {
  for (int& id : program.outputs)
    if (id == from) id = to;
  for (Node& node : program.nodes) {
    for (int& id : node.operands)
      if (id == from) id = to;
    for (Program& body : node.bodies) replace_uses(body, from, to);
  }
}

template <class V>
void drop(V& v, size_t k) {
  if (k < v.size()) v.erase(v.begin() + static_cast<int64_t>(k));
}

class Editor {
 public:
  explicit Editor(const Case& c) : case_(c) {}

  std::vector<Edit> edits() {
    outputs();
    int index = 0;
    for_each_node(case_.main, [&](const Node& node) { of_node(node, index++); });
    extents();
    meshes();
    inputs();
    return std::move(edits_);
  }

 private:
  void outputs() {
    for (size_t k = 0; case_.main.outputs.size() > 1 && k < case_.main.outputs.size(); ++k)
      edits_.push_back([k](Case& c) {
        c.main.outputs = {c.main.outputs[k]};
        return true;
      });
    // Returns an intermediate value in place of the results that are computed from it.
    for (const Node& node : case_.main.nodes)
      for (const Var& var : node.results)
        edits_.push_back([id = var.id](Case& c) {
          if (c.main.outputs == std::vector<int>{id}) return false;
          c.main.outputs = {id};
          return true;
        });
  }

  void of_node(const Node& node, int index) {
    bypass(node, index);
    if (node.kind != NodeKind::kOp) {
      inline_body(node, index);
      drop_operands(node, index);
      drop_results(node, index);
      simpler_control(node, index);
    }
    constant(node, index);
    attributes(node, index);
  }

  void bypass(const Node& node, int index) {
    std::vector<int> others = node.operands;
    for (const Var& var : case_.main.inputs) others.push_back(var.id);
    for (const Var& result : node.results)
      for (int other : others)
        edits_.push_back([index, from = result.id, other](Case& c) {
          place_of(c, index);
          replace_uses(c.main, from, other);
          return true;
        });
  }

  void constant(const Node& node, int index) {
    if (node.results.size() != 1 || (node.op && node.operands.empty())) return;
    edits_.push_back([index](Case& c) {
      Node& n = place_of(c, index).node();
      const ValueType t = n.results[0].type;
      if (is_complex(t.dtype)) return false;
      Node full{.op = &op_named("full"), .results = n.results};
      full.p.f = is_floating(t.dtype) ? 0.3 : 1;
      full.p.dtype = t.dtype;
      full.p.dims = t.shape;
      full.p.sharding = n.p.sharding;
      n = std::move(full);
      return true;
    });
  }

  void inline_body(const Node& node, int index) {
    for (size_t b = 0; b < node.bodies.size(); ++b)
      edits_.push_back([index, b](Case& c) {
        const Place place = place_of(c, index);
        Node node = place.node();
        std::vector<int> in = node.operands;
        if (node.kind == NodeKind::kCond || node.kind == NodeKind::kSwitch) in.erase(in.begin());
        Program body = node.bodies[b];
        if (in.size() != body.inputs.size() || body.outputs.size() != node.results.size())
          return false;
        for (size_t k = 0; k < in.size(); ++k) replace_uses(body, body.inputs[k].id, in[k]);
        for (size_t k = 0; k < node.results.size(); ++k)
          replace_uses(c.main, node.results[k].id, body.outputs[k]);
        auto& nodes = place_of(c, index).body->nodes;
        nodes.erase(nodes.begin() + static_cast<int64_t>(place.at));
        nodes.insert(nodes.begin() + static_cast<int64_t>(place.at), body.nodes.begin(),
                     body.nodes.end());
        return true;
      });
  }

  // Adds edits by which an operand is captured instead of passed.
  void drop_operands(const Node& node, int index) {
    const bool by_position = node.kind == NodeKind::kScan || node.kind == NodeKind::kFori ||
                             node.kind == NodeKind::kWhile;
    for (size_t k = 0; k < node.operands.size(); ++k) {
      if (by_position) {
        edits_.push_back([index, k](Case& c) { return drop_carry(c, index, k); });
        continue;
      }
      edits_.push_back([index, k](Case& c) {
        Node& n = place_of(c, index).node();
        const size_t skip = n.kind == NodeKind::kCond || n.kind == NodeKind::kSwitch ? 1 : 0;
        if (k < skip || n.kind == NodeKind::kJvp) return false;
        const int operand = n.operands[k];
        for (Program& body : n.bodies) {
          replace_uses(body, body.inputs[k - skip].id, operand);
          drop(body.inputs, k - skip);
        }
        drop(n.operands, k);
        drop(n.in_axes, k);
        drop(n.in_specs, k);
        if (n.kind == NodeKind::kGrad) {
          replace_uses(c.main, n.results[k].id, operand);
          drop(n.results, k);
        }
        return true;
      });
    }
  }
  static bool drop_carry(Case& c, int index, size_t k) {
    Node& n = place_of(c, index).node();
    // The positions of the carries among the operands, the body's inputs and its outputs.
    const size_t first = n.kind == NodeKind::kWhile ? 1 : 0, inner = n.kind == NodeKind::kFori ? 1
                                                                     : n.kind == NodeKind::kWhile
                                                                         ? 2
                                                                         : 0;
    if (k < first) return false;
    const size_t carry = k - first, operand = static_cast<size_t>(n.operands[k]);
    Program& body = n.bodies[0];
    const bool is_slice = n.kind == NodeKind::kScan && static_cast<int64_t>(k) >= n.p.i;
    if (is_slice) {
      // A slice is replaced by the first input of the body. Typing shows whether this is valid.
      replace_uses(body, body.inputs[k].id, body.inputs[0].id);
    } else {
      replace_uses(body, body.inputs[carry + inner].id, static_cast<int>(operand));
      replace_uses(c.main, n.results[carry].id, static_cast<int>(operand));
      drop(body.outputs, carry);
      drop(n.results, carry);
      if (n.kind == NodeKind::kScan) --n.p.i;
    }
    drop(body.inputs, carry + inner);
    drop(n.operands, k);
    return true;
  }

  void drop_results(const Node& node, int index) {
    if (node.kind == NodeKind::kGrad || node.kind == NodeKind::kFori ||
        node.kind == NodeKind::kWhile || node.kind == NodeKind::kJvp)
      return;
    const size_t first = node.kind == NodeKind::kScan ? static_cast<size_t>(node.p.i) : 0;
    for (size_t k = first; k < node.results.size() && node.results.size() > 1; ++k)
      edits_.push_back([index, k](Case& c) {
        Node& n = place_of(c, index).node();
        for (Program& body : n.bodies) drop(body.outputs, k);
        drop(n.results, k);
        drop(n.out_specs, k);
        return true;
      });
  }

  void simpler_control(const Node& node, int index) {
    if (node.kind == NodeKind::kScan)
      edits_.push_back([index](Case& c) {
        Node& n = place_of(c, index).node();
        return std::exchange(n.p.flag, false);
      });
    if (node.kind == NodeKind::kFori)
      edits_.push_back([index](Case& c) {
        Node& n = place_of(c, index).node();
        if (n.p.i == 0 && n.p.j == 1) return false;
        n.p.i = 0;
        n.p.j = 1;
        return true;
      });
    if (node.kind == NodeKind::kCheckpoint)
      edits_.push_back(
          [index](Case& c) { return std::exchange(place_of(c, index).node().p.k, 0) != 0; });
    if (node.kind == NodeKind::kVmap)
      edits_.push_back([index](Case& c) {
        return !std::exchange(place_of(c, index).node().axis_name, "").empty();
      });
    if (node.kind == NodeKind::kShardMap) {
      edits_.push_back(
          [index](Case& c) { return !std::exchange(place_of(c, index).node().check_vma, true); });
      for (const std::string& name : node.manual_axes)
        edits_.push_back([index, name](Case& c) {
          Node& n = place_of(c, index).node();
          if (n.manual_axes.size() < 2) return false;
          std::erase(n.manual_axes, name);
          for (auto* specs : {&n.in_specs, &n.out_specs})
            for (PartitionSpec& spec : *specs) spec = without(spec, name);
          return true;
        });
      for (size_t k = 0; k < node.in_specs.size(); ++k)
        for (const std::string& name : node.manual_axes)
          edits_.push_back([index, k, name](Case& c) {
            PartitionSpec& spec = place_of(c, index).node().in_specs[k];
            const PartitionSpec less = without(spec, name);
            if (less == spec) return false;
            spec = less;
            return true;
          });
    }
  }

  static PartitionSpec without(const PartitionSpec& spec, const std::string& name) {
    std::vector<DimSpec> dims = spec.dims();
    for (DimSpec& dim : dims)
      std::erase_if(dim.axes, [&](const AxisRef& axis) { return axis.name == name; });
    return PartitionSpec(std::move(dims));
  }

  void attributes(const Node& node, int index) {
    for (size_t k = 0; k < node.p.axes.size() && node.p.axes.size() > 1; ++k)
      edits_.push_back([index, k](Case& c) {
        drop(place_of(c, index).node().p.axes, k);
        return true;
      });
    if (!node.op || node.op->name != "constraint") return;
    for (const std::string& name : case_.axis_names)
      edits_.push_back([index, name](Case& c) {
        NamedSharding& sharding = place_of(c, index).node().p.sharding;
        const PartitionSpec less = without(sharding.spec(), name);
        if (less == sharding.spec()) return false;
        sharding = NamedSharding(sharding.mesh(), less);
        return true;
      });
  }

  void extents() {
    std::set<int64_t> all;
    for (const Var& var : case_.main.inputs)
      all.insert(var.type.shape.begin(), var.type.shape.end());
    for_each_node(case_.main,
                  [&](const Node& node) { all.insert(node.p.dims.begin(), node.p.dims.end()); });
    for (int64_t from : all)
      for (int64_t to : {int64_t{1}, int64_t{2}, from - 1})
        if (to >= 1 && to < from)
          edits_.push_back([from, to](Case& c) {
            const auto shrink = [&](Dims& dims) {
              std::replace(dims.begin(), dims.end(), from, to);
            };
            for (Var& var : c.main.inputs) shrink(var.type.shape);
            for_each_node(c.main, [&](Node& node) {
              shrink(node.p.dims);
              if (node.kind == NodeKind::kScan && node.p.j == from) node.p.j = to;
            });
            return true;
          });
    // Removes a dimension of an input.
    for (size_t k = 0; k < case_.main.inputs.size(); ++k)
      for (int64_t d = 0; d < case_.main.inputs[k].type.shape.rank(); ++d) {
        edits_.push_back([k, d](Case& c) {
          Shape& shape = c.main.inputs[k].type.shape;
          shape.erase(shape.begin() + d);
          c.placements[k] = PartitionSpec();
          return true;
        });
        edits_.push_back([k, d](Case& c) {
          Shape& shape = c.main.inputs[k].type.shape;
          if (shape[d] < 2) return false;
          --shape[d];
          return true;
        });
      }
  }

  void meshes() {
    for (size_t k = 0; k < case_.axis_names.size(); ++k) {
      edits_.push_back([k](Case& c) {
        if (c.axis_sizes[k] <= 2) return false;
        c.axis_sizes[k] = 2;
        for_each_node(c.main, [](Node& node) {
          std::erase_if(node.p.pairs,
                        [](const auto& pair) { return pair.first > 1 || pair.second > 1; });
        });
        return true;
      });
      edits_.push_back([k](Case& c) {
        const std::string name = c.axis_names[k];
        drop(c.axis_names, k);
        drop(c.axis_sizes, k);
        for (PartitionSpec& spec : c.placements) spec = without(spec, name);
        const Mesh mesh = c.mesh();
        for_each_node(c.main, [&](Node& node) {
          std::erase(node.p.axes, name);
          std::erase(node.manual_axes, name);
          for (auto* specs : {&node.in_specs, &node.out_specs})
            for (PartitionSpec& spec : *specs) spec = without(spec, name);
          node.p.sharding = NamedSharding(mesh, without(node.p.sharding.spec(), name));
        });
        return true;
      });
    }
    for (size_t k = 0; k < case_.placements.size(); ++k)
      for (const std::string& name : case_.axis_names)
        edits_.push_back([k, name](Case& c) {
          const PartitionSpec less = without(c.placements[k], name);
          if (less == c.placements[k]) return false;
          c.placements[k] = less;
          return true;
        });
  }

  void inputs() {
    for (size_t k = 0; k < case_.main.inputs.size() && case_.main.inputs.size() > 1; ++k) {
      edits_.push_back([k](Case& c) {
        drop(c.main.inputs, k);
        drop(c.placements, k);
        return true;
      });
      for (size_t other = 0; other < k; ++other)
        edits_.push_back([k, other](Case& c) {
          replace_uses(c.main, c.main.inputs[k].id, c.main.inputs[other].id);
          drop(c.main.inputs, k);
          drop(c.placements, k);
          return true;
        });
    }
    edits_.push_back([](Case& c) {
      bool changed = false;
      const auto plain = [&](DType& dtype) {
        const DType want = is_floating(dtype) ? float32 : is_complex(dtype) ? complex64 : dtype;
        changed = changed || want != dtype;
        dtype = want;
      };
      for (Var& var : c.main.inputs) plain(var.type.dtype);
      for_each_node(c.main, [&](Node& node) {
        if (is_inexact(node.p.dtype)) plain(node.p.dtype);
      });
      return changed;
    });
  }

  const Case& case_;
  std::vector<Edit> edits_;
};

// Returns the size of a program; reduction makes it smaller.
int64_t weight(const Case& c) {
  int64_t total = 50 * static_cast<int64_t>(c.axis_sizes.size()) + c.axis_sizes.elements();
  for (const Var& var : c.main.inputs)
    total += 20 + var.type.shape.elements() + 4 * var.type.shape.rank() + itemsize(var.type.dtype);
  total += 5 * static_cast<int64_t>(c.main.outputs.size());
  for (const PartitionSpec& spec : c.placements)
    for (const DimSpec& dim : spec.dims()) total += 2 * static_cast<int64_t>(dim.axes.size());
  for_each_node(c.main, [&](const Node& node) {
    total += node.kind == NodeKind::kOp ? 100 : 250;
    if (node.op && node.op->name == "full") total -= 60;
    total += 10 * static_cast<int64_t>(node.operands.size() + node.results.size()) + node.p.k +
             3 * static_cast<int64_t>(node.p.axes.size() + node.manual_axes.size()) + node.p.flag;
    for (const PartitionSpec& spec : node.in_specs)
      for (const DimSpec& dim : spec.dims()) total += 2 * static_cast<int64_t>(dim.axes.size());
    for (const DimSpec& dim : node.p.sharding.spec().dims())
      total += static_cast<int64_t>(dim.axes.size());
    for (const Var& var : node.results) total += var.type.shape.elements();
    if (!node.axis_name.empty() || !node.check_vma) total += 5;
    if (node.kind == NodeKind::kFori) total += node.p.i + node.p.j;
  });
  return total;
}

}  // namespace

Case reduce(Case c, const std::function<bool(const Case&)>& differs, double seconds) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  bool smaller = true;
  while (smaller) {
    smaller = false;
    for (const Edit& edit : Editor(c).edits()) {
      if (Clock::now() > end) return c;
      Case candidate = c;
      try {
        if (!edit(candidate)) continue;
        remove_dead(candidate.main);
        type_case(candidate);
        if (weight(candidate) >= weight(c) || !differs(candidate)) continue;
      } catch (const std::exception&) {
        continue;  // not a valid program
      }
      c = std::move(candidate);
      smaller = true;
      break;
    }
  }
  return c;
}

}  // namespace tessera::generate
