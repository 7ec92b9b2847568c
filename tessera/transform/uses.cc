#include "tessera/transform/uses.h"

#include <algorithm>

#include "tessera/ops/core/constant.h"
#include "tessera/ops/core/source_scope.h"
#include "tessera/trace/trace.h"
#include "tessera/transform/cotangent.h"

namespace tessera::transforms {
namespace {

class UseTranspose {
 public:
  UseTranspose(const Function& f, const std::vector<Sharing>& sharing,
               std::span<const Array> operands)
      : f_(f),
        sharing_(f.types.size(), Sharing::kShared),
        values_(f.types.size()),
        cotangents_(f.types.size()) {
    TESSERA_CHECK(sharing.size() == f.inputs.size() && operands.size() == f.inputs.size(),
                  "{}: {} operands for {} inputs", f.name, operands.size(), f.inputs.size());
    for (size_t i = 0; i < f.inputs.size(); ++i) {
      sharing_[f.inputs[i]] = sharing[i];
      if (!is_linear(sharing[i])) values_[f.inputs[i]] = operands[i];
    }
    for (const Op& op : f.ops) forward(op);
  }

  Uses run(std::span<const Array> cotangents) {
    TESSERA_CHECK(cotangents.size() == f_.outputs.size(), "{}: {} cotangents for {} results",
                  f_.name, cotangents.size(), f_.outputs.size());
    for (size_t i = 0; i < cotangents.size(); ++i) {
      const ValueId v = f_.outputs[i];
      if (!cotangents[i].defined()) continue;
      if (sharing_[v] == Sharing::kExampleLinear) cotangents_[v].add(cotangents[i]);
      if (sharing_[v] == Sharing::kSharedLinear)
        add_use({v}, [](const std::vector<Array>& x) { return x; }, {cotangents[i]});
    }
    for (size_t i = f_.ops.size(); i-- > 0;) backward(f_.ops[i]);
    for (ValueId v : f_.inputs)
      uses_.cotangents.push_back(
          sharing_[v] == Sharing::kExampleLinear ? cotangents_[v].at(f_.types[v]) : Array());
    return std::move(uses_);
  }

 private:
  // Binds an op that is not linear, unchanged.
  void forward(const Op& op) {
    bool linear = false, shared = true;
    for (ValueId v : op.operands) {
      linear = linear || is_linear(sharing_[v]);
      shared = shared && is_shared(sharing_[v]);
    }
    const Sharing result = linear ? (shared ? Sharing::kSharedLinear : Sharing::kExampleLinear)
                                  : (shared ? Sharing::kShared : Sharing::kExample);
    for (ValueId v : op.results) sharing_[v] = result;
    if (linear) return;
    std::vector<Array> results = bind_op(*op.def, op.params, operands_of(op));
    for (size_t r = 0; r < results.size(); ++r) values_[op.results[r]] = std::move(results[r]);
  }

  void backward(const Op& op) {
    if (sharing_[op.results[0]] != Sharing::kExampleLinear) return;
    if (std::none_of(op.results.begin(), op.results.end(),
                     [&](ValueId v) { return cotangents_[v].defined(); }))
      return;
    const SourceScope source(op.source);
    std::vector<Array> cts;
    for (ValueId v : op.results) cts.push_back(cotangents_[v].at(f_.types[v]));
    const bool is_use = std::any_of(op.operands.begin(), op.operands.end(), [&](ValueId v) {
      return sharing_[v] == Sharing::kSharedLinear;
    });
    const UseRule* rule = is_use ? find_use_rule(*op.def) : nullptr;
    if (rule && rule->uses) {
      open(op, rule->uses, cts);
    } else {
      transpose(op, cts);
      if (is_use) add_op_use(op, cts);
    }
  }

  // Transposes an op with respect to its operands that are linear and differ between examples.
  void transpose(const Op& op, std::span<const Array> cts) {
    std::vector<bool> mask;
    bool any = false;
    for (ValueId v : op.operands) {
      mask.push_back(is_linear(sharing_[v]));
      any = any || sharing_[v] == Sharing::kExampleLinear;
    }
    if (!any) return;
    if (!op.def->transpose)
      fail(ErrorKind::kType, op.def->name,
           "expected an op with a reverse derivative, got {}{}{}; apply stop_gradient to its "
           "operand if it shall count as constant",
           op.def->name, op.def->transpose.why_absent ? ": " : "",
           op.def->transpose.why_absent ? op.def->transpose.why_absent : "");
    const std::vector<Array> back = op.def->transpose(cts, operands_of(op), mask, op.params);
    for (size_t k = 0; k < back.size(); ++k)
      if (sharing_[op.operands[k]] == Sharing::kExampleLinear)
        cotangents_[op.operands[k]].add(back[k]);
  }

  // Adds the uses inside the regions of an op, each preceded by the ops that compute the shared
  // values it reads.
  void open(const Op& op, const UsesFn& uses, std::span<const Array> cts) {
    std::vector<Sharing> sharing;
    for (ValueId v : op.operands) sharing.push_back(sharing_[v]);
    Uses inner = uses(cts, operands_of(op), sharing, op.params);
    for (size_t k = 0; k < op.operands.size(); ++k)
      if (sharing[k] == Sharing::kExampleLinear)
        cotangents_[op.operands[k]].add(inner.cotangents[k]);
    for (Use& use : inner.uses) {
      std::vector<ValueId> read;
      for (size_t k : use.inputs) read.push_back(op.operands[k]);
      add_use(
          read,
          [&](std::vector<Array> x) {
            x.insert(x.end(), use.operands.begin(), use.operands.end());
            return inline_function(use.apply, x);
          },
          std::move(use.cotangents));
    }
  }

  // Adds the op itself as a use, with zeros for operands that are linear and differ between
  // examples.
  void add_op_use(const Op& op, std::vector<Array> cts) {
    std::vector<ValueId> read;
    for (ValueId v : op.operands)
      if (sharing_[v] == Sharing::kSharedLinear) read.push_back(v);
    std::vector<Array> given;
    for (const Array& ct : cts)
      if (ct.defined()) given.push_back(ct);
    add_use(
        read,
        [&](const std::vector<Array>& x) {
          std::vector<Array> operands;
          size_t next = 0;
          for (ValueId v : op.operands) {
            switch (sharing_[v]) {
              case Sharing::kSharedLinear:
                operands.push_back(x[next++]);
                break;
              case Sharing::kExampleLinear:
                operands.push_back(lax::full(f_.types[v].shape, 0, f_.types[v].dtype));
                break;
              case Sharing::kShared:
              case Sharing::kExample:
                operands.push_back(values_[v]);
            }
          }
          const std::vector<Array> results = bind_op(*op.def, op.params, operands);
          std::vector<Array> out;
          for (size_t r = 0; r < results.size(); ++r)
            if (cts[r].defined()) out.push_back(results[r]);
          return out;
        },
        std::move(given));
  }

  // Adds a use that reads the shared linear values `read`, as a use of the inputs from which these
  // are computed.
  void add_use(const std::vector<ValueId>& read, const FlatFn& body,
               std::vector<Array> cotangents) {
    const std::vector<char> needed = leading_to(read);
    Use use;
    FunctionTrace trace("use");
    std::vector<Array> env(f_.types.size());
    for (size_t i = 0; i < f_.inputs.size(); ++i) {
      const ValueId v = f_.inputs[i];
      if (!needed[v] || !is_linear(sharing_[v])) continue;
      use.inputs.push_back(i);
      env[v] = trace.add_input(f_.types[v]);
    }
    for (const Op& op : f_.ops) {
      if (!is_linear(sharing_[op.results[0]]) || !needed[op.results[0]]) continue;
      std::vector<Array> x;
      for (ValueId v : op.operands) x.push_back(is_linear(sharing_[v]) ? env[v] : values_[v]);
      const std::vector<Array> results = bind_op(*op.def, op.params, x);
      for (size_t r = 0; r < results.size(); ++r) env[op.results[r]] = results[r];
    }
    std::vector<Array> inputs;
    for (ValueId v : read) inputs.push_back(env[v]);
    use.apply = trace.finish(body(inputs));
    use.operands = trace.captures();
    use.cotangents = std::move(cotangents);
    uses_.uses.push_back(std::move(use));
  }

  // Returns which values the shared linear values `read` depend on.
  std::vector<char> leading_to(const std::vector<ValueId>& read) const {
    std::vector<char> needed(f_.types.size());
    for (ValueId v : read) needed[v] = true;
    for (size_t i = f_.ops.size(); i-- > 0;) {
      const Op& op = f_.ops[i];
      if (std::none_of(op.results.begin(), op.results.end(), [&](ValueId v) { return needed[v]; }))
        continue;
      for (ValueId v : op.results) needed[v] = true;
      for (ValueId v : op.operands) needed[v] = true;
    }
    return needed;
  }

  std::vector<Array> operands_of(const Op& op) const {
    std::vector<Array> out;
    for (ValueId v : op.operands)
      out.push_back(is_linear(sharing_[v]) ? Array(std::make_shared<AbstractData>(f_.types[v]))
                                           : values_[v]);
    return out;
  }

  const Function& f_;
  std::vector<Sharing> sharing_;
  std::vector<Array> values_;  // for each value that is not linear: its array
  std::vector<Cotangent> cotangents_;
  Uses uses_;
};

}  // namespace

Uses transpose_to_uses(const Function& function, const std::vector<Sharing>& sharing,
                       std::span<const Array> operands, std::span<const Array> cotangents) {
  return UseTranspose(function, sharing, operands).run(cotangents);
}

Use identity_use(size_t input, const Array& cotangent) {
  return {.inputs = {input},
          .apply = trace_function([](const std::vector<Array>& x) { return x; },
                                  std::vector<Type>{traced_type(cotangent)}, "use")
                       .function,
          .operands = {},
          .cotangents = {cotangent}};
}

std::vector<bool> differs_between_examples(const Function& function,
                                           const std::vector<bool>& inputs) {
  std::vector<bool> out(function.types.size());
  for (size_t i = 0; i < inputs.size(); ++i) out[function.inputs[i]] = inputs[i];
  for (const Op& op : function.ops) {
    const bool differs =
        std::any_of(op.operands.begin(), op.operands.end(), [&](ValueId v) { return out[v]; });
    for (ValueId v : op.results) out[v] = differs;
  }
  return out;
}

}  // namespace tessera::transforms
