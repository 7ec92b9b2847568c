// nnx::Optimizer: a transformation of optim/ with its state, for the parameters of a module.
//
//   nnx::Optimizer optimizer(model, optim::adam(1e-3));
//   optimizer.update(model, grads);
//
// It is a value and a tree: it passes through jit, shard_map and scan with the model.
#pragma once

#include "tessera/nnx/state.h"
#include "tessera/numpy/operators.h"
#include "tessera/optim/transformation.h"

namespace tessera::nnx {

namespace internal {
template <class M>
optim::LeafList parameter_list(const M& module) {
  optim::LeafList out;
  for_each_variable(module, [&](const Array& leaf, const std::string& path, bool parameter) {
    if (!parameter) return;
    out.leaves.push_back(leaf);
    out.paths.push_back(path);
  });
  return out;
}
}  // namespace internal

template <class Model, class Rule>
struct Optimizer {
  Array step;  // uint32: the number of updates so far
  optim::Transformation<Rule> tx;
  decltype(std::declval<const Rule&>().init(optim::LeafList{})) opt_state;

  Optimizer(const Model& model, optim::Transformation<Rule> transformation)
      : step(zeros(Shape{}, uint32)),
        tx(std::move(transformation)),
        opt_state(tx.init(internal::parameter_list(model))) {}

  // Adds the updates for these gradients to the parameters of the model. Throws UserError with the
  // path of the leaf if the gradients or the state have another structure.
  void update(Model& model, const Model& gradients) {
    const optim::LeafList params = internal::parameter_list(model);
    auto [updates, next] = tx.update(internal::parameter_list(gradients), opt_state, params);
    model =
        internal::with_parameters(std::move(model), optim::apply_updates(params, updates).leaves);
    opt_state = std::move(next);
    step = step + 1;
  }

  template <class Self>
  static constexpr auto fields(Self& self) {
    return std::tie(self.step, self.tx, self.opt_state);
  }
};

}  // namespace tessera::nnx
