"""The layers of networks.py in PyTorch. Images are (batch, features, height, width) there, the weights of a convolution
(out, in, height, width), of a dense layer (out, in); to_torch() and to_neutral() convert from and to the layout of layers_numpy.py."""
import numpy as np
import torch
import torch.nn.functional as F


def to_torch(name, array, channels_last=True):
  """A tensor of the array, which is a weight of that name (None: an input), in the layout that PyTorch expects."""
  if name is not None and name.endswith('.conv'):
    array = array.transpose(3, 2, 0, 1)
  elif name is not None and name.endswith('.double'):
    array = array.transpose(2, 3, 0, 1)
  elif name is not None and name.endswith('.dense'):
    array = array.T
  elif array.ndim == 4:
    array = array.transpose(0, 3, 1, 2)
  tensor = torch.from_numpy(np.array(array, order='C'))  # A copy, since the array may be one that must not be written.
  return tensor.contiguous(memory_format=torch.channels_last) if channels_last and tensor.ndim == 4 else tensor


def to_neutral(name, tensor):
  """What to_torch() made of an array, as that array."""
  array = tensor.detach().numpy()
  if name is not None and name.endswith('.conv'):
    return array.transpose(2, 3, 1, 0)
  if name is not None and name.endswith('.double'):
    return array.transpose(2, 3, 0, 1)
  if name is not None and name.endswith('.dense'):
    return array.T
  return array.transpose(0, 2, 3, 1) if array.ndim == 4 else array


class Layers:
  """Layers for inference; with training=True, normalisation of a batch by its own mean and variance."""

  def __init__(self, training=False):
    self.training = training

  def conv(self, x, w, stride=1, padding=0):
    return F.conv2d(x, w, stride=stride, padding=padding)

  def double_size(self, x, w):
    return F.conv_transpose2d(x, w, stride=2)

  def batch_norm(self, x, p, name):
    if self.training:
      return F.batch_norm(x, None, None, p[f'{name}.scale'], p[f'{name}.offset'], training=True, eps=1e-5)
    return F.batch_norm(x, p[f'{name}.mean'], p[f'{name}.variance'], p[f'{name}.scale'], p[f'{name}.offset'], eps=1e-5)

  def max_pool(self, x, window, stride, padding):
    return F.max_pool2d(x, window, stride, padding)

  def mean_of_pixels(self, x):
    return x.mean((2, 3))

  def join_features(self, a, b):
    return torch.cat([a, b], dim=1 if a.ndim == 4 else -1)

  def dense(self, x, w, b=None):
    return F.linear(x, w, b)

  def layer_norm(self, x, p, name):
    return F.layer_norm(x, (x.shape[-1],), p[f'{name}.scale'], p[f'{name}.offset'], 1e-5)

  def relu(self, x):
    return F.relu(x)

  def tanh(self, x):
    return torch.tanh(x)

  def gelu(self, x):
    return F.gelu(x)

  def gelu_by_tanh(self, x):
    return F.gelu(x, approximate='tanh')

  def embed(self, table, indices):
    return F.embedding(indices, table)

  def logits(self, x, table):
    return F.linear(x, table)

  def split_heads(self, x, heads):
    batch, time, features = x.shape
    return x.reshape(batch, time, heads, features // heads).transpose(1, 2)

  def join_heads(self, x):
    batch, heads, time, features = x.shape
    return x.transpose(1, 2).reshape(batch, time, heads * features)

  def thirds(self, x):
    return torch.chunk(x, 3, dim=-1)

  def append_time(self, past, x):
    return torch.cat([past, x], dim=2)

  def stack(self, arrays):
    return torch.stack(arrays)

  def attention(self, q, k, v, causal=False):
    return F.scaled_dot_product_attention(q, k, v, is_causal=causal)

  @torch.compiler.disable  # Inductor would unroll all steps in time, which compiles for minutes; PyTorch's own LSTM is one function.
  def lstm(self, x, p, name):
    recurrent = p[f'{name}.recurrent.dense']
    zeros = x.new_zeros((1, x.shape[0], recurrent.shape[1]))
    weights = [p[f'{name}.input.dense'], recurrent, p[f'{name}.bias'], torch.zeros_like(p[f'{name}.bias'])]
    return torch._VF.lstm(x, (zeros, zeros), weights, True, 1, 0.0, self.training, False, True)[0]

  def rows(self, x, indices):
    return x.index_select(0, indices)

  def sum_into_rows(self, x, indices, count):
    return x.new_zeros((count, x.shape[1])).index_add(0, indices, x)

  def cross_entropy(self, logits, labels):
    return F.cross_entropy(logits.reshape(-1, logits.shape[-1]), labels.reshape(-1).long())

  def squared_error(self, x, y):
    return F.mse_loss(x, y)
