"""american_options.cc in JAX."""
import jax
import jax.numpy as jnp

from timed import print_times

STEPS = 500


def put_price(contract):
  spot, strike, rate, volatility, years = contract
  dt = years / STEPS
  up = jnp.exp(volatility * jnp.sqrt(dt))
  discount = jnp.exp(-rate * dt)
  rise = (1 / discount - 1 / up) / (up - 1 / up)
  payoff = lambda s: jnp.maximum(strike - s, 0)
  nodes = spot * jnp.exp((2 * jnp.arange(STEPS + 1.0) - STEPS) * jnp.log(up))

  def back(state, _):
    value, s = state
    earlier = s * up
    kept = discount * (rise * jnp.roll(value, -1) + (1 - rise) * value)
    return (jnp.maximum(kept, payoff(earlier)), earlier), None

  return jax.lax.scan(back, (payoff(nodes), nodes), None, length=STEPS)[0][0][0]


def main():
  put = jax.jit(jax.vmap(jax.value_and_grad(put_price)))
  same = jnp.ones(41)
  contracts = 100 * same, jnp.linspace(80.0, 120.0, 41), 0.05 * same, 0.2 * same, same
  print_times(jnp.sum(put(contracts)[0]), lambda: put(contracts))


if __name__ == '__main__':
  main()
