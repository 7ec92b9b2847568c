"""optim.json, optim.npz: ten steps of optax's transformations on a small tree, and its schedules.

  params, grads   the leaves of the tree {a: (3, 4), b: (4,), c: ()}, and those of ten gradients
  cases           {name, trace}: the leaves of the parameters after each of the steps, one array per
                  leaf with a first dimension of ten. What a name means is in
                  tests/optim/optim_test.cc
  schedules       {name, values}: of the counts 0 to 24
"""
import jax
import jax.numpy as jnp
import numpy as np
import optax

import golden

golden.setup()
topic = golden.Topic('optim')
rng = np.random.default_rng(0)
STEPS = 10
SHAPES = {'a': (3, 4), 'b': (4,), 'c': ()}
params = {k: np.float32(rng.normal(size=s)) for k, s in SHAPES.items()}
grads = {k: np.float32(rng.normal(size=(STEPS,) + s)) for k, s in SHAPES.items()}
grads['b'][3] = 0  # a step without gradient

matrices = lambda tree: jax.tree.map(lambda p: p.ndim > 1, tree)
schedules = {
    'constant': optax.constant_schedule(0.3),
    'linear': optax.linear_schedule(1.0, 0.1, 10, 3),
    'polynomial': optax.polynomial_schedule(1.0, 0.1, 2.5, 12, 2),
    'cosine': optax.cosine_decay_schedule(0.5, 15, alpha=0.1),
    'cosine_exponent': optax.cosine_decay_schedule(0.5, 15, exponent=1.5),
    'warmup_cosine': optax.warmup_cosine_decay_schedule(0.01, 0.5, 5, 20, 0.05),
    'exponential': optax.exponential_decay(0.5, 4, 0.7),
    'exponential_options': optax.exponential_decay(
        0.5, 4, 0.7, transition_begin=3, staircase=True, end_value=0.2),
    'piecewise': optax.piecewise_constant_schedule(0.5, {4: 0.5, 9: 0.1}),
}
schedule = schedules['warmup_cosine']
cases = {
    'sgd': optax.sgd(0.1),
    'sgd_momentum': optax.sgd(0.1, momentum=0.9),
    'sgd_nesterov': optax.sgd(0.1, momentum=0.9, nesterov=True),
    'sgd_schedule': optax.sgd(schedule),
    'adam': optax.adam(0.1),
    'adam_options': optax.adam(0.1, b1=0.8, b2=0.9, eps=1e-3, eps_root=1e-4, nesterov=True),
    'adam_schedule': optax.adam(schedule),
    'adamw': optax.adamw(0.1, weight_decay=0.05),
    'adamw_mask': optax.adamw(0.1, weight_decay=0.05, mask=matrices),
    'lion': optax.lion(0.1),
    'adagrad': optax.adagrad(0.1),
    'rmsprop': optax.rmsprop(0.1),
    'rmsprop_momentum': optax.rmsprop(0.1, momentum=0.9, nesterov=True, initial_scale=0.5),
    'rmsprop_centered': optax.rmsprop(0.1, centered=True, initial_scale=4.0),
    'rmsprop_corrected': optax.rmsprop(0.1, bias_correction=True, eps_in_sqrt=False),
    'lamb': optax.lamb(0.1, weight_decay=0.01),
    'clip_by_global_norm': optax.chain(optax.clip_by_global_norm(1.5), optax.sgd(0.1)),
    'clip': optax.chain(optax.clip(0.5), optax.sgd(0.1)),
    'decayed': optax.chain(optax.add_decayed_weights(0.1), optax.scale(-0.1)),
    'decayed_schedule': optax.chain(optax.add_decayed_weights(schedule), optax.scale(-0.1)),
    'masked': optax.masked(optax.adam(0.1), matrices),
    'multi_steps': optax.MultiSteps(optax.adam(0.1), 3).gradient_transformation(),
    'multi_steps_sum': optax.MultiSteps(optax.sgd(0.1), 4,
                                        use_grad_mean=False).gradient_transformation(),
    'multi_steps_schedule': optax.MultiSteps(
        optax.sgd(0.1, momentum=0.5), lambda n: n + 1).gradient_transformation(),
    'scale_by_schedule': optax.scale_by_schedule(schedule),
}


def run(tx):
  current = {k: jnp.asarray(v) for k, v in params.items()}
  state = tx.init(current)
  trace = []
  for i in range(STEPS):
    updates, state = tx.update({k: jnp.asarray(v[i]) for k, v in grads.items()}, state, current)
    current = optax.apply_updates(current, updates)
    trace.append(current)
  return [topic_array(k, np.stack([t[k] for t in trace])) for k in SHAPES]


def topic_array(key, value):
  topic_array.count += 1
  return topic.array(f'{topic_array.count}.{key}', value)


topic_array.count = 0
topic.write({
    'params': [topic_array(k, v) for k, v in params.items()],
    'grads': [topic_array(k, v) for k, v in grads.items()],
    'cases': [{'name': n, 'trace': run(tx)} for n, tx in cases.items()],
    'schedules': [{
        'name': n,
        'values': topic_array(n, np.float32([s(jnp.int32(i)) for i in range(25)]))
    } for n, s in schedules.items()]
})
