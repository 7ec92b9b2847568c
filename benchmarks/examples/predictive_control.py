"""predictive_control.cc in JAX."""
import jax
import jax.numpy as jnp

from timed import print_times

HORIZON, STEPS, DT = 20, 40, 0.05


def move(state, torque):
  speed = state[1] + DT * (9.81 * jnp.sin(state[0]) + torque)
  return jnp.stack([state[0] + DT * speed, speed])


def plan_cost(torques, state, weights):
  w = jnp.exp(weights)

  def step(s, torque):
    s = move(s, torque)
    return s, 1 - jnp.cos(s[0]) + w[0] * s[1]**2 + w[1] * torque**2

  return jnp.sum(jax.lax.scan(step, state, torques)[1])


def solve(guess, state, weights):
  slope = jax.grad(lambda u: plan_cost(u, state, weights))
  fixed = jax.lax.stop_gradient((state, weights))
  lengths = jnp.append(0.5**jnp.arange(7), 0)

  def newton(f, start):

    def improve(_, u):
      values, vectors = jnp.linalg.eigh(jax.jacfwd(f)(u))
      candidates = u - lengths[:, None] * (vectors @ ((vectors.T @ f(u)) / jnp.maximum(jnp.abs(values), 1e-3)))
      costs = jax.vmap(lambda v: plan_cost(v, *fixed))(candidates)
      return candidates[jnp.argmin(costs - 1e-12 * lengths)]

    return jax.lax.fori_loop(0, 8, improve, start)

  tangent = lambda f, y: jnp.linalg.solve(jax.jacfwd(f)(jnp.zeros_like(y)), y)
  return jax.lax.custom_root(slope, guess, newton, tangent)


def closed_loop(weights, start):

  def step(now, _):
    state, guess = now
    plan = solve(jax.lax.stop_gradient(guess), state, weights)
    left = jax.grad(plan_cost)(plan, state, weights)
    state = move(state, plan[0])
    cost = 1 - jnp.cos(state[0]) + 0.1 * state[1]**2 + 0.01 * plan[0]**2
    return (state, jnp.roll(plan, -1)), (cost, jnp.max(jnp.abs(left)))

  costs, slopes = jax.lax.scan(step, (start, jnp.zeros(HORIZON)), None, length=STEPS)[1]
  return jnp.sum(costs), jax.lax.stop_gradient(jnp.max(slopes))


def main():
  jax.config.update('jax_enable_x64', True)
  start, weights = jnp.array([1.0, 0.0]), jnp.array([-2.0, -5.0])
  tuned = jax.jit(jax.value_and_grad(closed_loop, has_aux=True))
  print_times(tuned(weights, start)[0][0], lambda: tuned(weights, start))


if __name__ == '__main__':
  main()
