"""The programs that peers.py times, by key: 'inference/NAME/BATCH', 'training/NAME/BATCH' and 'ocean/NAME/ELEMENTS'."""
import numpy as np

import networks
import ocean

RATE, MOMENTUM = 1e-3, 0.9  # of SGD in a training step
OCEAN_SIZES = (65536, 1048576, 4194304)


def keys():
  batches = (1, 8)
  found = [f'inference/{name}/{batch}' for name in networks.INFERENCE for batch in batches]
  found += [f'training/{name}/{batch}' for name in networks.TRAINING for batch in batches]
  return found + [f'ocean/{name}/{size}' for name in ocean.PROGRAMS for size in OCEAN_SIZES]


def kind_of(key):
  return key.split('/')[0]


def network_of(key):
  kind, name, batch = key.split('/')
  return {'inference': networks.INFERENCE, 'training': networks.TRAINING}[kind][name](int(batch))


def weights_and_inputs(key):
  network = network_of(key)
  return network.weights(np.random.default_rng(0)), network.inputs(np.random.default_rng(1))


def compared_weight(weights):
  """Returns the weight of which the whole momentum is compared: the first matrix or filter by name."""
  return min(name for name, w in weights.items() if w.ndim > 1)


def training_results(losses, momentum):
  """Returns what is compared after two training steps: the losses, the norm of each weight's momentum, and one weight's whole momentum.

  `momentum` has the momentum of each weight by name, in the neutral layout. The weights are not compared, because they move only by a few
  units in the last place."""
  lengths = np.array([np.linalg.norm(momentum[name].astype(np.float64)) for name in sorted(momentum)], np.float32)
  return [np.array(losses, np.float32), lengths, np.ascontiguousarray(momentum[compared_weight(momentum)])]
