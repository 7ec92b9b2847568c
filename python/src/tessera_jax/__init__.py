"""Shows how Tessera runs programs that are written for JAX.

  plan = tessera_jax.explain(step, params, batch)
  print(plan)                                   # collectives with axes, bytes and reasons, notes, cost
  sum(c.bytes_per_device for c in plan.collectives)
"""
from tessera_jax.plan import Collective, CollectivePart, Cost, Note, Plan, Value
from tessera_jax.explain import explain

__all__ = ['Collective', 'CollectivePart', 'Cost', 'Note', 'Plan', 'Value', 'explain']
