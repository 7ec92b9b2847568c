"""A sample of tests that does not depend on what else there is."""
import hashlib


def sample(ids, count, seed):
  """`count` of ids, the same ones whatever others there are."""
  ranked = sorted(ids, key=lambda i: hashlib.sha1(f'{seed}:{i}'.encode()).digest())
  return set(ranked[:count])
