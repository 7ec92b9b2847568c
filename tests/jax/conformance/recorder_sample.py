"""A random sample of tests that does not depend on which other tests there are."""
import hashlib


def sample(ids, count, seed):
  """Returns `count` of the ids. Whether an id is preferred to another one does not depend on the other ids."""
  ranked = sorted(ids, key=lambda i: hashlib.sha1(f'{seed}:{i}'.encode()).digest())
  return set(ranked[:count])
