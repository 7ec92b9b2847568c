"""serving.cc in JAX: the same queue with Python threads. Weights are random instead of read from a file."""
import concurrent.futures
import queue
import threading

import jax
import jax.numpy as jnp
import numpy as np

from timed import print_times

FEATURES, WIDTH, CLASSES, BATCH, COUNT = 64, 256, 10, 16, 1000


@jax.jit
def model(weights, x):
  for name in ('first', 'second'):
    x = jax.nn.relu(x @ weights[name + '.weight'] + weights[name + '.bias'])
  return jax.nn.softmax(x @ weights['last.weight'] + weights['last.bias'])


class Server:

  def __init__(self, weights, threads):
    self.weights, self.requests = weights, queue.SimpleQueue()
    for _ in range(threads):
      threading.Thread(target=self.work, daemon=True).start()

  def ask(self, features):
    answer = concurrent.futures.Future()
    self.requests.put((features, answer))
    return answer

  def work(self):
    while True:
      batch = [self.requests.get()]
      try:
        while len(batch) < BATCH:
          batch.append(self.requests.get_nowait())
      except queue.Empty:
        pass
      rows = np.zeros((BATCH, FEATURES), np.float32)
      for i, (features, _) in enumerate(batch):
        rows[i] = features
      out = np.asarray(model(self.weights, rows))
      for i, (_, answer) in enumerate(batch):
        answer.set_result(out[i])


def main():
  key, weights = jax.random.key(0), {}
  for name, shape in ('first', (FEATURES, WIDTH)), ('second', (WIDTH, WIDTH)), ('last', (WIDTH, CLASSES)):
    key = jax.random.fold_in(key, sum(shape))
    weights[name + '.weight'] = jax.nn.initializers.glorot_normal()(key, shape)
    weights[name + '.bias'] = jnp.zeros(shape[1])
  questions = np.asarray(jax.random.normal(jax.random.key(1), (COUNT, FEATURES)))
  server = Server(weights, 4)

  def ask_all():
    return np.stack([answer.result() for answer in [server.ask(row) for row in questions]])

  print_times(np.sum(np.square(ask_all())), ask_all)


if __name__ == '__main__':
  main()
