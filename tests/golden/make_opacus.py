"""opacus: norms of per-example gradients and sums of clipped ones by Opacus, in float64.

Run it by a Python with torch and opacus (pip install torch opacus); JAX is not needed. Parameters and
data are formulas (`numbers`, `tokens`), which tests/privacy/clipped_opacus_test.cc has too.

cases: name (of a model there), examples, clip, shapes (of the parameters), scale (of these), norms (of
each example), sums (one a parameter, flat), ghost (whether ghost clipping gave the norms as well).
Every one of Opacus's gradients was compared with torch's own, of one example at a time.
"""
import json
import math
import pathlib

import opacus
from opacus.grad_sample import GradSampleModule
from opacus.grad_sample.grad_sample_module_fast_gradient_clipping import (
    GradSampleModuleFastGradientClipping)
from opacus.layers import DPRNN
import torch
from torch import nn
import torch.nn.functional as F


def numbers(seed, shape, scale=1.0):
  n = math.prod(shape)
  values = [scale * math.sin(0.37 * i * i + 1.1 * seed + 0.5) for i in range(n)]
  return torch.tensor(values, dtype=torch.float64).reshape(shape)


def tokens(seed, shape, below):
  n = math.prod(shape)
  return torch.tensor([(7 * i * i + 3 * i + seed) % below for i in range(n)]).reshape(shape)


def cross_entropy(logits, labels):
  """One a example: the mean over its tokens."""
  each = F.cross_entropy(logits.flatten(0, -2), labels.flatten(), reduction='none')
  return each.reshape(labels.shape[0], -1).mean(1)


def squares(x):
  return x.square().flatten(1).mean(1)


class Mlp(nn.Module):

  def __init__(self):
    super().__init__()
    self.a, self.b = nn.Linear(5, 16), nn.Linear(16, 3)

  def forward(self, x, y):
    return cross_entropy(self.b(torch.tanh(self.a(x))), y)


class Sequence(nn.Module):
  """The same layers at every token."""

  def __init__(self):
    super().__init__()
    self.a, self.b = nn.Linear(5, 8), nn.Linear(8, 3, bias=False)

  def forward(self, x, y):
    return cross_entropy(self.b(torch.tanh(self.a(x))), y)


class Convolutions(nn.Module):

  def __init__(self):
    super().__init__()
    self.a = nn.Conv2d(2, 4, 3, padding=1)
    self.b = nn.Conv2d(4, 4, (3, 2), stride=2, groups=2)
    self.c = nn.Linear(36, 3)

  def forward(self, x, y):
    return cross_entropy(self.c(torch.tanh(self.b(torch.relu(self.a(x)))).flatten(1)), y)


class Embedding(nn.Module):

  def __init__(self):
    super().__init__()
    self.a, self.b = nn.Embedding(11, 6), nn.Linear(6, 3)

  def forward(self, x, y):
    return cross_entropy(self.b(torch.tanh(self.a(x)).mean(1)), y)


class Tied(nn.Module):

  def __init__(self):
    super().__init__()
    self.a, self.b = nn.Embedding(11, 6), nn.Linear(6, 11, bias=False)
    self.b.weight = self.a.weight

  def forward(self, x):
    return cross_entropy(self.b(torch.tanh(self.a(x[:, :-1]))), x[:, 1:])


class LayerNorms(nn.Module):

  def __init__(self):
    super().__init__()
    self.a, self.b, self.c = nn.Linear(5, 8), nn.LayerNorm(8), nn.Linear(8, 3)

  def forward(self, x):
    return squares(self.c(torch.tanh(self.b(self.a(x)))))


class GroupNorms(nn.Module):

  def __init__(self):
    super().__init__()
    self.a, self.b = nn.Conv1d(3, 6, 3), nn.GroupNorm(2, 6)

  def forward(self, x):
    return squares(torch.sin(self.b(self.a(x))))


class RmsNorms(nn.Module):

  def __init__(self):
    super().__init__()
    self.a, self.b = nn.Linear(5, 8), nn.RMSNorm(8, eps=1e-5)

  def forward(self, x):
    return squares(torch.sin(self.b(self.a(x))))


class Attention(nn.Module):
  """Two heads, with a residual."""

  def __init__(self):
    super().__init__()
    self.q, self.k, self.v = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 8)
    self.o = nn.Linear(8, 8)

  def forward(self, x):
    heads = lambda h: h.reshape(*h.shape[:2], 2, 4).transpose(1, 2)
    q, k, v = heads(self.q(x)), heads(self.k(x)), heads(self.v(x))
    mixed = torch.softmax(q @ k.transpose(-1, -2) / 2, -1) @ v
    return squares(x + self.o(mixed.transpose(1, 2).reshape(x.shape)))


class Recurrence(nn.Module):

  def __init__(self):
    super().__init__()
    self.a = DPRNN(3, 5, batch_first=True)

  def forward(self, x):
    return squares(self.a(x)[0])


MODELS = [
    ('mlp', Mlp, 1.0, lambda: [numbers(1, (6, 5)), tokens(2, (6,), 3)]),
    ('sequence', Sequence, 1.0, lambda: [numbers(3, (4, 7, 5)), tokens(4, (4, 7), 3)]),
    ('convolutions', Convolutions, .4, lambda: [numbers(5, (4, 2, 8, 6)), tokens(6, (4,), 3)]),
    ('embedding', Embedding, 1.0, lambda: [tokens(7, (5, 9), 11), tokens(8, (5,), 3)]),
    ('tied', Tied, 1.0, lambda: [tokens(9, (5, 10), 11)]),
    ('layer_norm', LayerNorms, .7, lambda: [numbers(10, (4, 6, 5))]),
    ('group_norm', GroupNorms, .7, lambda: [numbers(11, (4, 3, 9))]),
    ('rms_norm', RmsNorms, .7, lambda: [numbers(12, (4, 6, 5))]),
    ('attention', Attention, .5, lambda: [numbers(13, (4, 6, 8))]),
    ('recurrence', Recurrence, .5, lambda: [numbers(14, (4, 9, 3))]),
]


def made(model, scale):
  out = model().to(torch.float64)
  with torch.no_grad():
    for i, p in enumerate(out.parameters()):
      p.copy_(numbers(100 + i, p.shape, scale))
  return out


def one_by_one(model, batch):
  grads = []
  for i in range(len(batch[0])):
    model.zero_grad()
    model(*[x[i:i + 1] for x in batch]).sum().backward()
    grads.append([p.grad.clone() for p in model.parameters()])
  return [torch.stack(of_one) for of_one in zip(*grads)]


def opacus_gradients(model, batch):
  wrapped = GradSampleModule(model, loss_reduction='sum')
  wrapped(*batch).sum().backward()
  out = [p.grad_sample.clone() for p in model.parameters()]
  wrapped.to_standard_module()
  return out


def ghost_norms(model, batch):
  wrapped = GradSampleModuleFastGradientClipping(model, loss_reduction='sum')
  wrapped(*batch).sum().backward()
  return wrapped.get_norm_sample()


def close(a, b):
  return (a - b).abs().max() <= 1e-12 * b.abs().max()


def main():
  cases = []
  for name, model, scale, batch in MODELS:
    batch = batch()
    grads = opacus_gradients(made(model, scale), batch)
    for a, b in zip(grads, one_by_one(made(model, scale), batch)):
      assert close(a, b), name
    norms = sum(g.flatten(1).square().sum(1) for g in grads).sqrt()
    try:
      ghost = bool(close(ghost_norms(made(model, scale), batch), norms))
    except Exception as error:  # of layers without ghost clipping
      print(f'{name}: {error}')
      ghost = False
    clip = float(norms.median())
    scales = (clip / norms).clamp(max=1)
    digits = lambda x: [float(f'{v:.13g}') for v in x.flatten().tolist()]
    cases.append({
        'name': name, 'examples': len(norms), 'clip': clip, 'scale': scale, 'ghost': ghost,
        'shapes': [list(g.shape[1:]) for g in grads], 'norms': digits(norms),
        'sums': [digits(torch.einsum('b,b...->...', scales, g)) for g in grads]})
    print(name, 'ghost' if ghost else 'without ghost', float(norms.min()), clip)
  lines = [' ' + json.dumps(case) for case in cases]
  text = (f'{{"opacus": "{opacus.__version__}", "torch": "{torch.__version__}", "cases": [\n' +
          ',\n'.join(lines) + '\n]}\n')
  (pathlib.Path(__file__).resolve().parent / 'opacus.json').write_text(text)


if __name__ == '__main__':
  main()
