"""JAX's default random number generator (Threefry 2x32, twenty rounds, partitionable) in NumPy.

A key is two uint32 along the last dimension.
"""
import numpy as np

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))


def threefry(k0, k1, x0, x1):
  """Returns the two words that the block cipher computes from two counters."""
  k0, k1, x0, x1 = (np.asarray(a, np.uint32) for a in (k0, k1, x0, x1))
  keys = (k0, k1, k0 ^ k1 ^ np.uint32(0x1BD11BDA))
  x0, x1 = x0 + keys[0], x1 + keys[1]
  for i in range(5):
    for r in _ROTATIONS[i % 2]:
      x0 = x0 + x1
      x1 = ((x1 << np.uint32(r)) | (x1 >> np.uint32(32 - r))) ^ x0
    x0, x1 = x0 + keys[(i + 1) % 3], x1 + keys[(i + 2) % 3] + np.uint32(i + 1)
  return x0, x1


def _counters(shape):
  count = np.arange(int(np.prod(shape)), dtype=np.uint64).reshape(shape)
  return (count >> np.uint64(32)).astype(np.uint32), count.astype(np.uint32)


def _each(keys, rank, function):
  """Applies a function to every key of an array of keys."""
  batch = keys.shape[:rank]
  flat = [function(k) for k in keys.reshape(-1, 2)]
  return np.stack(flat).reshape(*batch, *flat[0].shape)


def seed(eqn, value):
  del eqn
  value = np.asarray(value)
  high = value >> 32 if value.dtype.itemsize == 8 else np.zeros_like(value)
  return np.stack([high.astype(np.uint32), value.astype(np.uint32)], -1)


def bits(eqn, keys):
  shape, width = eqn.params['shape'], eqn.params['bit_width']

  def one(key):
    high, low = threefry(key[0], key[1], *_counters(shape))
    if width == 64:
      return (high.astype(np.uint64) << np.uint64(32)) | low
    return (high ^ low).astype(f'uint{width}')
  return _each(keys, keys.ndim - 1, one)


def fold_in(eqn, keys, data):
  del eqn
  data = np.broadcast_to(np.asarray(data).astype(np.uint32), keys.shape[:-1])
  return np.stack(threefry(keys[..., 0], keys[..., 1], np.zeros_like(data), data), -1)


def split(eqn, keys):
  return _each(keys, keys.ndim - 1, lambda key: np.stack(threefry(key[0], key[1], *_counters(eqn.params['shape'])), -1))


def cipher(eqn, *words):
  del eqn
  return threefry(*words)


OPS = {'random_seed': seed, 'random_bits': bits, 'random_fold_in': fold_in, 'random_split': split,
       'random_wrap': lambda eqn, x: x,
       'random_unwrap': lambda eqn, x: x, 'random_clone': lambda eqn, x: x, 'threefry2x32': cipher}
