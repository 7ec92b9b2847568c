"""Gathers, scatters, windows and convolutions in NumPy, one index at a time, as StableHLO defines them."""
import itertools

import numpy as np


def _mode(eqn):
  return eqn.params['mode'].name


def _batch_of(at, batch_dims_of_indices, batch_dims):
  """Returns the index in each batching dimension of the operand for a position among the indices."""
  return dict(zip(batch_dims, (at[d] for d in batch_dims_of_indices)))


def gather(eqn, operand, indices):
  """`lax.gather`: slices of the operand at indices; indices that are out of bounds are clamped, or their slices filled."""
  n, sizes = eqn.params['dimension_numbers'], eqn.params['slice_sizes']
  shape = eqn.outvars[0].aval.shape
  offset = [int(d) for d in n.offset_dims]
  batch = [d for d in range(len(shape)) if d not in offset]
  dropped = [int(d) for d in (*n.collapsed_slice_dims, *n.operand_batching_dims)]
  kept = [d for d in range(operand.ndim) if d not in dropped]
  out = np.full(shape, _fill(eqn, operand), operand.dtype)
  for at in itertools.product(*(range(shape[d]) for d in batch)):
    start = np.zeros(operand.ndim, np.int64)
    for k, d in enumerate(n.start_index_map):
      start[int(d)] = int(indices[(*at, k)])
    for d, i in _batch_of(at, n.start_indices_batching_dims, n.operand_batching_dims).items():
      start[d] = i
    limit = np.array(operand.shape) - np.array(sizes)
    if _mode(eqn) == 'FILL_OR_DROP' and ((start < 0) | (start > limit)).any():
      continue
    start = np.clip(start, 0, limit)
    piece = operand[tuple(slice(s, s + k) for s, k in zip(start, sizes))].reshape([sizes[d] for d in kept])
    where = [slice(None)] * len(shape)
    for d, i in zip(batch, at):
      where[d] = i
    out[tuple(where)] = piece
  return out


def _fill(eqn, operand):
  value = eqn.params['fill_value']
  if value is not None:
    return value
  if operand.dtype.kind in 'fc':
    return np.nan
  if operand.dtype.kind == 'b':
    return True
  return np.iinfo(operand.dtype).min if operand.dtype.kind == 'i' else np.iinfo(operand.dtype).max


def scatter(combine):
  """`lax.scatter` and its variants, which combine an element with an update."""
  def scattered(eqn, operand, indices, updates):
    n = eqn.params['dimension_numbers']
    window = [int(d) for d in n.update_window_dims]
    batch = [d for d in range(updates.ndim) if d not in window]
    dropped = [int(d) for d in (*n.inserted_window_dims, *n.operand_batching_dims)]
    kept = [d for d in range(operand.ndim) if d not in dropped]
    sizes = np.ones(operand.ndim, np.int64)
    for d, w in zip(kept, window):
      sizes[d] = updates.shape[w]
    out = np.array(operand)
    for at in itertools.product(*(range(updates.shape[d]) for d in batch)):
      start = np.zeros(operand.ndim, np.int64)
      for k, d in enumerate(n.scatter_dims_to_operand_dims):
        start[int(d)] = int(indices[(*at, k)])
      for d, i in _batch_of(at, n.scatter_indices_batching_dims, n.operand_batching_dims).items():
        start[d] = i
      limit = np.array(operand.shape) - sizes
      if _mode(eqn) == 'CLIP':
        start = np.clip(start, 0, limit)
      elif ((start < 0) | (start > limit)).any():
        continue
      where = [slice(None)] * updates.ndim
      for d, i in zip(batch, at):
        where[d] = i
      place = tuple(slice(s, s + k) for s, k in zip(start, sizes))
      out[place] = combine(out[place], updates[tuple(where)].reshape(sizes))
    return out
  return scattered


def _padded(x, padding, base_dilation, value):
  spread = np.full([(n - 1) * d + 1 if n else 0 for n, d in zip(x.shape, base_dilation)], value, x.dtype)
  spread[tuple(slice(None, None, d) for d in base_dilation)] = x
  spread = np.pad(spread, [(max(lo, 0), max(hi, 0)) for lo, hi in padding], constant_values=value)
  return spread[tuple(slice(max(-lo, 0), n - max(-hi, 0)) for n, (lo, hi) in zip(spread.shape, padding))]


def _windows(shape, size, strides, dilation):
  """Yields (position of the window, its slices) over an array that is already padded."""
  spans = [(k - 1) * d + 1 for k, d in zip(size, dilation)]
  counts = [max(0, (n - s) // t + 1) for n, s, t in zip(shape, spans, strides)]
  for at in itertools.product(*(range(c) for c in counts)):
    yield at, tuple(slice(i * t, i * t + s, d) for i, t, s, d in zip(at, strides, spans, dilation))


def reduce_window(function):
  """`reduce_window_sum` and its variants."""
  def reduced(eqn, x):
    p = eqn.params
    if function is np.sum:
      start = np.zeros((), x.dtype)
    elif x.dtype.kind == 'f':
      start = np.array(-np.inf if function is np.max else np.inf)
    else:
      start = np.array(np.iinfo(x.dtype).min if function is np.max else np.iinfo(x.dtype).max, x.dtype)
    padded = _padded(x, p['padding'], p['base_dilation'], start)
    out = np.full(eqn.outvars[0].aval.shape, start, x.dtype)
    for at, where in _windows(padded.shape, p['window_dimensions'], p['window_strides'], p['window_dilation']):
      out[at] = np.asarray(function(padded[where])).astype(x.dtype)
    return out
  return reduced


def select_and_scatter_add(eqn, source, operand):
  """The gradient of pooling: the source of each window is added to the selected element of the window."""
  p = eqn.params
  largest = p['select_prim'].name == 'ge'
  worst = -np.inf if largest else np.inf
  ones = [1] * operand.ndim
  padded = _padded(operand, p['padding'], ones, worst)
  inside = _padded(np.ones(operand.shape, bool), p['padding'], ones, False)
  out = np.zeros(padded.shape, source.dtype)
  for at, where in _windows(padded.shape, p['window_dimensions'], p['window_strides'], ones):
    values = np.where(inside[where], padded[where], worst).ravel()
    order = np.where(inside[where].ravel(), values, worst)
    best = int(order.argmax() if largest else order.argmin())
    place = np.unravel_index(best, p['window_dimensions'])
    out[tuple(w.start + i for w, i in zip(where, place))] += source[at]
  low = [max(lo, 0) for lo, _ in p['padding']]
  return out[tuple(slice(a, a + n) for a, n in zip(low, operand.shape))]


def select_and_gather_add(eqn, tangents, operand):
  """The tangent of pooling: for each window, the tangent of its selected element."""
  p = eqn.params
  largest = p['select_prim'].name == 'ge'
  worst = -np.inf if largest else np.inf
  padded = _padded(operand, p['padding'], p['base_dilation'], worst)
  moved = _padded(tangents, p['padding'], p['base_dilation'], 0)
  out = np.zeros(eqn.outvars[0].aval.shape, tangents.dtype)
  for at, where in _windows(padded.shape, p['window_dimensions'], p['window_strides'], p['window_dilation']):
    values = padded[where].ravel()
    out[at] = moved[where].ravel()[int(values.argmax() if largest else values.argmin())]
  return out


def conv(eqn, x, kernel):
  """`lax.conv_general_dilated`."""
  p = eqn.params
  n = p['dimension_numbers']
  x, kernel = np.transpose(x, n.lhs_spec), np.transpose(kernel, n.rhs_spec)  # (batch, feature, space...), (out, in, space...)
  ones = (0, 0)
  x = _padded(x, (ones, ones, *p['padding']), (1, 1, *p['lhs_dilation']), 0)
  groups, batches = p['feature_group_count'], p['batch_group_count']
  outs = []
  for b, part in enumerate(np.split(x, batches, 0)):
    weights = np.split(kernel, batches, 0)[b]
    for g, features in enumerate(np.split(part, groups, 1)):
      w = np.split(weights, groups, 0)[g]
      windows = list(_windows(features.shape[2:], w.shape[2:], p['window_strides'], p['rhs_dilation']))
      counts = [eqn.outvars[0].aval.shape[d] for d in n.out_spec[2:]]
      axes = list(range(1, x.ndim))
      out = np.zeros((part.shape[0], w.shape[0], *counts), np.result_type(x, kernel))
      for at, where in windows:
        out[(slice(None), slice(None), *at)] = np.tensordot(features[(slice(None), slice(None), *where)], w,
                                                            (axes, axes))
      outs.append(out)
  return np.transpose(np.concatenate(outs, 1), np.argsort(n.out_spec))
