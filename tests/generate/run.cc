#include "run.h"

#include <cmath>

#include "oracle.h"
#include "tessera/base/namespaces.h"

namespace tessera::generate {

using namespace runtime;

namespace {

class Runner {
 public:
  explicit Runner(const Case& c) : values_(c.next_id) {}

  Arrays body(const Program& program, const Arrays& inputs) {
    for (size_t k = 0; k < inputs.size(); ++k) values_[program.inputs[k].id] = inputs[k];
    for (const Node& node : program.nodes) {
      const Arrays results = call(node);
      TESSERA_CHECK(results.size() == node.results.size(), "{} results", results.size());
      for (size_t k = 0; k < results.size(); ++k) values_[node.results[k].id] = results[k];
    }
    return read(program.outputs);
  }

 private:
  using Body = std::function<Arrays(const Arrays&)>;

  Arrays read(const std::vector<int>& ids) const {
    Arrays out;
    for (int id : ids) out.push_back(values_[id]);
    return out;
  }
  Body function(const Program& program) {
    return [this, &program](const Arrays& in) { return body(program, in); };
  }

  Arrays call(const Node& node) {
    const Arrays in = read(node.operands);
    switch (node.kind) {
      case NodeKind::kOp:
        return node.op->apply(in, node.p);
      case NodeKind::kJit:
        return jit(function(node.bodies[0]))(in);
      case NodeKind::kCheckpoint:
        return checkpoint(function(node.bodies[0]), policy(node.p.k))(in);
      case NodeKind::kCustomVjp:
        return custom(node, in);
      case NodeKind::kCustomJvp: {
        const Body f = function(node.bodies[0]);
        return custom_jvp(f, [f](const std::tuple<Arrays>& x, const std::tuple<Arrays>& t) {
          return jvp(f, x, t);
        })(in);
      }
      case NodeKind::kScan:
        return call_scan(node, in);
      case NodeKind::kFori:
        return fori_loop(
            node.p.i, node.p.j,
            [&](const Array& i, const Arrays& carry) {
              Arrays all{astype(i, int32)};
              all.insert(all.end(), carry.begin(), carry.end());
              return body(node.bodies[0], all);
            },
            in);
      case NodeKind::kWhile:
        return call_while(node, in);
      case NodeKind::kCond:
        return cond(in[0], function(node.bodies[1]), function(node.bodies[0]),
                    Arrays(in.begin() + 1, in.end()));
      case NodeKind::kSwitch: {
        std::vector<Body> branches;
        for (const Program& branch : node.bodies) branches.push_back(function(branch));
        return switch_(in[0], branches, Arrays(in.begin() + 1, in.end()));
      }
      case NodeKind::kVmap: {
        std::vector<PrefixTree<MappedAxis>> axes;
        for (int axis : node.in_axes)
          axes.push_back(axis < 0 ? MappedAxis(None) : MappedAxis(axis));
        return vmap(function(node.bodies[0]),
                    {.in_axes = {PrefixTree<MappedAxis>(axes)}, .axis_name = node.axis_name})(in);
      }
      case NodeKind::kShardMap: {
        const auto tree = [](const std::vector<PartitionSpec>& specs) {
          return PrefixTree<PartitionSpec>(
              std::vector<PrefixTree<PartitionSpec>>(specs.begin(), specs.end()));
        };
        return shard_map(function(node.bodies[0]),
                         {.mesh = node.p.sharding.mesh(),
                          .in_specs = {tree(node.in_specs)},
                          .out_specs = {tree(node.out_specs)},
                          .axis_names = {node.manual_axes.begin(), node.manual_axes.end()},
                          .check_vma = node.check_vma})(in);
      }
      case NodeKind::kGrad:
        return grad([&](const Arrays& x) { return body(node.bodies[0], x)[0]; })(in);
      case NodeKind::kJvp: {
        const size_t half = in.size() / 2;
        auto [results, tangents] =
            jvp(function(node.bodies[0]), std::tuple(Arrays(in.begin(), in.begin() + half)),
                std::tuple(Arrays(in.begin() + half, in.end())));
        results.insert(results.end(), tangents.begin(), tangents.end());
        return results;
      }
    }
    return {};
  }

  static CheckpointPolicy policy(int64_t k) {
    switch (k) {
      case 1:
        return checkpoint_policies::dots_saveable;
      case 2:
        return checkpoint_policies::everything_saveable;
      case 3:
        return checkpoint_policies::save_only_these_names({"saved"});
      default:
        return checkpoint_policies::nothing_saveable;
    }
  }

  Arrays custom(const Node& node, const Arrays& in) {
    const Body f = function(node.bodies[0]);
    return custom_vjp(
        f, [f](const Arrays& x) { return std::pair(f(x), x); },
        [f](const Arrays& x, const Arrays& cotangents) { return vjp(f, x).second(cotangents); })(
        in);
  }

  Arrays call_scan(const Node& node, const Arrays& in) {
    const auto carries = node.p.i;
    const auto step = [&](const Arrays& carry, const Arrays& x) {
      Arrays all = carry;
      all.insert(all.end(), x.begin(), x.end());
      const Arrays out = body(node.bodies[0], all);
      return std::pair(Arrays(out.begin(), out.begin() + carries),
                       Arrays(out.begin() + carries, out.end()));
    };
    auto [carry, ys] =
        scan(step, Arrays(in.begin(), in.begin() + carries), Arrays(in.begin() + carries, in.end()),
             {.length = node.p.j, .reverse = node.p.flag});
    carry.insert(carry.end(), ys.begin(), ys.end());
    return carry;
  }

  Arrays call_while(const Node& node, const Arrays& in) {
    Arrays init = in;
    init.insert(init.begin(), astype(0, int32));
    const Arrays out = while_loop([](const Arrays& c) { return c[0] < c[1]; },
                                  [&](const Arrays& c) {
                                    Arrays next = body(node.bodies[0], c);
                                    next.insert(next.begin(), {c[0] + 1, c[1]});
                                    return next;
                                  },
                                  init);
    return {out.begin() + 2, out.end()};
  }

  Arrays values_;
};

}  // namespace

Arrays run(const Case& c, const Arrays& args) { return Runner(c).body(c.main, args); }

Array loss_of(const Arrays& results) {
  Array total;
  double shift = 0;
  for (const Array& x : results) {
    if (!is_inexact(x.dtype())) continue;
    shift += 0.3;
    Array term = sum(sin(real(x) + shift));
    if (is_complex(x.dtype())) term = term + sum(cos(imag(x) - shift));
    total = total.defined() ? total + term : term;
  }
  return total;
}

double loss_of(const Literals& results) {
  double total = 0, shift = 0;
  for (const Literal& x : results) {
    if (!is_inexact(x.dtype())) continue;
    shift += 0.3;
    for (const auto& z : numbers(x)) {
      total += std::sin(z.real() + shift);
      if (is_complex(x.dtype())) total += std::cos(z.imag() - shift);
    }
  }
  return total;
}

Split split(const Arrays& args) {
  Split out;
  for (const Array& x : args) (is_inexact(x.dtype()) ? out.inexact : out.rest).push_back(x);
  return out;
}

std::vector<bool> inexact_inputs(const Case& c) {
  std::vector<bool> out;
  for (const Var& var : c.main.inputs) out.push_back(is_inexact(var.type.dtype));
  return out;
}

Arrays joined(const Arrays& inexact, const Arrays& rest, const std::vector<bool>& is_inexact) {
  Arrays out;
  size_t a = 0, b = 0;
  for (bool first : is_inexact) out.push_back(first ? inexact[a++] : rest[b++]);
  return out;
}

}  // namespace tessera::generate
