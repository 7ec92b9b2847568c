"""Three kernels of ocean models, each written once with a few array functions that NumPy, JAX and PyTorch implement.

The axes of an array are x, y and z; z is contiguous in memory and grows upwards. All values are float64, in SI units unless noted.

equation_of_state: the density of sea water by EOS-80 (Fofonoff and Millard, 1983, "Algorithms for computation of fundamental
properties of seawater", UNESCO technical papers in marine science 44).
isoneutral_mixing: a step of the diffusion of temperature and salinity along neutral surfaces (Redi, 1982) by the triads of Griffies et
al. (1998), tapered where slopes are steep (Danabasoglu and McWilliams, 1995), the vertical part implicitly.
turbulent_kinetic_energy: a step of the closure of Gaspar, Gregoris and Lefevre (1990) with mixing lengths limited as by Blanke and
Delecluse (1993), implicit in the vertical, with horizontal advection limited by superbee (Roe, 1985).
"""
import dataclasses
from typing import Callable

import numpy as np

LEVELS = 32
DX, DY, DZ = 2e4, 2e4, 50.0


class NumPyArrays:
  """The functions that differ between array modules, in NumPy."""

  sqrt, tanh, where, abs, minimum, maximum = map(staticmethod, (np.sqrt, np.tanh, np.where, np.abs, np.minimum, np.maximum))

  def clip(self, x, low, high):
    return np.clip(x, low, high)

  def join(self, parts):
    """Joins arrays along z."""
    return np.concatenate(parts, axis=-1)

  def zero_level(self, x):
    return np.zeros_like(x[:, :, :1])

  def running_least(self, x):
    """Returns, at each z, the least of all values up to it."""
    return np.minimum.accumulate(x, axis=-1)

  def reversed(self, x):
    """Returns the array with z reversed."""
    return x[:, :, ::-1]

  def tridiagonal(self, below, diagonal, above, right):
    """Solves a tridiagonal system for each x, y, by Thomas's elimination; below[0] and above[-1] are not read."""
    count = right.shape[-1]
    c, d = [above[:, :, 0] / diagonal[:, :, 0]], [right[:, :, 0] / diagonal[:, :, 0]]
    for k in range(1, count):
      scale = 1 / (diagonal[:, :, k] - below[:, :, k] * c[-1])
      c.append(above[:, :, k] * scale)
      d.append((right[:, :, k] - below[:, :, k] * d[-1]) * scale)
    for k in range(count - 2, -1, -1):
      d[k] = d[k] - c[k] * d[k + 1]
    return self.stack_levels(d)

  def stack_levels(self, levels):
    return np.stack(levels, axis=-1)

  def heights(self, levels):
    """Returns the heights of the levels above the lowest one."""
    return DZ * np.arange(levels, dtype=np.float64)


def jax_arrays():
  import jax
  import jax.numpy as jnp

  class JaxArrays(NumPyArrays):
    sqrt, tanh, where, abs, minimum, maximum = map(staticmethod, (jnp.sqrt, jnp.tanh, jnp.where, jnp.abs, jnp.minimum, jnp.maximum))

    def clip(self, x, low, high):
      return jnp.clip(x, low, high)

    def join(self, parts):
      return jnp.concatenate(parts, axis=-1)

    def zero_level(self, x):
      return jnp.zeros_like(x[:, :, :1])

    def running_least(self, x):
      return jax.lax.cummin(x, axis=2)

    def tridiagonal(self, below, diagonal, above, right):
      def eliminate(carry, level):
        a, b, c, d = level
        scale = 1 / (b - a * carry[0])
        carry = c * scale, (d - a * carry[1]) * scale
        return carry, carry

      def substitute(after, level):
        solved = level[1] - level[0] * after
        return solved, solved

      levels = [jnp.moveaxis(x, -1, 0) for x in (below, diagonal, above, right)]
      zeros = jnp.zeros_like(levels[3][0])
      eliminated = jax.lax.scan(eliminate, (zeros, zeros), levels)[1]
      return jnp.moveaxis(jax.lax.scan(substitute, zeros, eliminated, reverse=True)[1], 0, -1)

  return JaxArrays()


def torch_arrays():
  import torch

  class TorchArrays(NumPyArrays):
    sqrt, tanh, where, abs = map(staticmethod, (torch.sqrt, torch.tanh, torch.where, torch.abs))

    def minimum(self, x, y):
      return torch.minimum(x, y) if torch.is_tensor(x) and torch.is_tensor(y) else torch.clamp_max(*((x, y) if torch.is_tensor(x) else (y, x)))

    def maximum(self, x, y):
      return torch.maximum(x, y) if torch.is_tensor(x) and torch.is_tensor(y) else torch.clamp_min(*((x, y) if torch.is_tensor(x) else (y, x)))

    def clip(self, x, low, high):
      return torch.clamp(x, low, high)

    def join(self, parts):
      return torch.cat(parts, dim=-1)

    def zero_level(self, x):
      return torch.zeros_like(x[:, :, :1])

    def running_least(self, x):
      return torch.cummin(x, dim=-1).values

    def reversed(self, x):
      return torch.flip(x, (-1,))

    def stack_levels(self, levels):
      return torch.stack(levels, dim=-1)

    def heights(self, levels):
      return DZ * torch.arange(levels, dtype=torch.float64)

  return TorchArrays()


def equation_of_state(arrays, salinity, temperature, pressure):
  """Returns the density of water with a practical salinity, a temperature in degrees Celsius and a pressure in bar."""
  s, t, p = salinity, temperature, pressure
  root = s * arrays.sqrt(s)
  pure = 999.842594 + t * (6.793952e-2 + t * (-9.095290e-3 + t * (1.001685e-4 + t * (-1.120083e-6 + t * 6.536332e-9))))
  at_surface = (pure + s * (8.24493e-1 + t * (-4.0899e-3 + t * (7.6438e-5 + t * (-8.2467e-7 + t * 5.3875e-9))))
                + root * (-5.72466e-3 + t * (1.0227e-4 - t * 1.6546e-6)) + 4.8314e-4 * s * s)
  bulk = (19652.21 + t * (148.4206 + t * (-2.327105 + t * (1.360477e-2 - t * 5.155288e-5)))
          + s * (54.6746 + t * (-0.603459 + t * (1.09987e-2 - t * 6.1670e-5))) + root * (7.944e-2 + t * (1.6483e-2 - t * 5.3009e-4)))
  first = (3.239908 + t * (1.43713e-3 + t * (1.16092e-4 - t * 5.77905e-7)) + s * (2.2838e-3 + t * (-1.0981e-5 - t * 1.6078e-6))
           + 1.91075e-4 * root)
  second = 8.50935e-5 + t * (-6.12293e-6 + t * 5.2787e-8) + s * (-9.9348e-7 + t * (2.0816e-8 + t * 9.1697e-10))
  return at_surface / (1 - p / (bulk + p * (first + p * second)))


# Isoneutral mixing.

DIFFUSIVITY, STEEP, STEEP_WIDTH, MIXING_STEP = 1000.0, 4e-3, 1e-3, 3600.0


def isoneutral_mixing(arrays, temperature, salinity, depth):
  """Returns temperature and salinity after a step, without the cell around them that the arguments have in x and y."""
  t, s = temperature, salinity
  # The expansion of water by temperature and salinity, relative to the density (Vallis, 2006, section 1.4).
  by_t, by_s = -(1.67e-4 * (1 + 1.1e-4 * depth) + 1e-5 * (t - 10.0)), 0.78e-3

  def vertical(x):
    """Returns the derivative at the lower and upper interfaces of the cells: zero at the bottom and at the surface."""
    zero = arrays.zero_level(x)
    return arrays.join([zero, (x[:, :, 1:] - x[:, :, :-1]) / DZ, zero])

  t_z, s_z = vertical(t), vertical(s)
  inside = (slice(1, -1), slice(1, -1))
  level_flux = {'t': 0.0, 's': 0.0}
  change = {'t': 0.0, 's': 0.0}
  implicit = 0.0
  for axis, width in ((0, DX), (1, DY)):
    left, right = ((slice(None, -1), slice(1, -1)), (slice(1, None), slice(1, -1)))
    first, last = (slice(None, -1),), (slice(1, None),)
    if axis:
      left, right = ((slice(1, -1), slice(None, -1)), (slice(1, -1), slice(1, None)))
      first, last = (slice(None), slice(None, -1)), (slice(None), slice(1, None))
    t_x, s_x = (t[right] - t[left]) / width, (s[right] - s[left]) / width
    face_flux = {'t': 0.0, 's': 0.0}
    for cell, to_cell in ((left, last), (right, first)):  # A triad is in the cell on this side of the face.
      for interface in (slice(None, -1), slice(1, None)):  # The cell's lower and its upper one.
        triad_t_z, triad_s_z = t_z[cell][:, :, interface], s_z[cell][:, :, interface]
        density_x = by_t[cell] * t_x + by_s * s_x
        density_z = by_t[cell] * triad_t_z + by_s * triad_s_z
        slope = -density_x / arrays.minimum(density_z, -1e-12)
        weight = 0.125 * DIFFUSIVITY * (1 + arrays.tanh((STEEP - arrays.abs(slope)) / STEEP_WIDTH))
        for name, x_x, x_z in (('t', t_x, triad_t_z), ('s', s_x, triad_s_z)):
          face_flux[name] = face_flux[name] + weight * (x_x + slope * x_z)
          level_flux[name] = level_flux[name] + at_interface(arrays, (weight * slope * x_x)[to_cell], interface)
        implicit = implicit + at_interface(arrays, (weight * slope * slope)[to_cell], interface)
    for name, flux in face_flux.items():
      change[name] = change[name] + (flux[last] - flux[first]) / width
  coupling = implicit * (MIXING_STEP / DZ**2)
  below, above = -coupling[:, :, :-1], -coupling[:, :, 1:]
  out = []
  for name, x in (('t', t), ('s', s)):
    vertical_change = (level_flux[name][:, :, 1:] - level_flux[name][:, :, :-1]) / DZ
    right_side = x[inside] + MIXING_STEP * (change[name] + vertical_change)
    out.append(arrays.tridiagonal(below, 1 - below - above, above, right_side))
  return tuple(out)


def at_interface(arrays, of_cells, interface):
  """Returns an array over all interfaces from one over the cells. `interface` selects the lower or the upper interfaces of the cells; the
  remaining interface is zero."""
  zero = arrays.zero_level(of_cells)
  return arrays.join([of_cells, zero] if interface.start is None else [zero, of_cells])


def mixing_inputs(size):
  nx, ny = grid(size)
  random = np.random.default_rng(2)
  z = np.linspace(-1, 0, LEVELS) * np.ones((nx + 2, ny + 2, 1))
  noise = random.standard_normal((2, nx + 2, ny + 2, LEVELS))
  return 12 + 10 * z + 0.2 * noise[0], 35 + 0.5 * z + 0.05 * noise[1], -z * DZ * LEVELS


# Turbulent kinetic energy.

ENERGY_STEP, LEAST_ENERGY = 1800.0, 1e-6
C_VISCOSITY, C_DISSIPATION, ENERGY_DIFFUSION = 0.1, 0.7, 30.0


def turbulent_kinetic_energy(arrays, energy, u, v, buoyancy, wind):
  """Returns the energy after a step, without the two cells around it that the arguments have in x and y.

  u, v and buoyancy are defined in cells. The energy is defined at the interfaces between them, which are one fewer in z. wind is the cube
  of the friction velocity."""
  def by_z(x):
    return (x[:, :, 1:] - x[:, :, :-1]) / DZ

  frequency2 = arrays.maximum(by_z(buoyancy), 1e-8)  # The square of the buoyancy frequency.
  u_z, v_z = by_z(u), by_z(v)
  shear2 = u_z * u_z + v_z * v_z
  root = arrays.sqrt(arrays.maximum(energy, LEAST_ENERGY))
  length = arrays.sqrt(2.0 / frequency2) * root
  # A length grows by at most the distance. So it is the least, over all levels on one side, of the level's length plus the distance to it.
  z = arrays.heights(length.shape[-1])
  from_below = z + arrays.running_least(length - z)
  from_above = arrays.reversed(arrays.running_least(arrays.reversed(length + z))) - z
  mixing_length = arrays.maximum(arrays.minimum(from_below, from_above), 0.01)
  dissipation_length = arrays.maximum(arrays.sqrt(from_below * from_above), 0.01)
  viscosity = arrays.clip(C_VISCOSITY * mixing_length * root, 2e-4, 100.0)
  prandtl = arrays.clip(6.6 * frequency2 / arrays.maximum(shear2, 1e-12), 1.0, 10.0)
  forcing = viscosity * shear2 - viscosity / prandtl * frequency2
  between = 0.5 * ENERGY_DIFFUSION * (viscosity[:, :, 1:] + viscosity[:, :, :-1]) * (ENERGY_STEP / DZ**2)
  zero = arrays.zero_level(energy)
  below, above = -arrays.join([zero, between]), -arrays.join([between, zero])
  diagonal = 1 - below - above + ENERGY_STEP * C_DISSIPATION * root / dissipation_length
  right = energy + ENERGY_STEP * forcing
  right = arrays.join([right[:, :, :-1], right[:, :, -1:] + (ENERGY_STEP * 3.75 / DZ) * wind])
  mixed = arrays.maximum(arrays.tridiagonal(below, diagonal, above, right), LEAST_ENERGY)
  u_between, v_between = 0.5 * (u[:, :, 1:] + u[:, :, :-1]), 0.5 * (v[:, :, 1:] + v[:, :, :-1])
  inner = slice(2, -2)
  flux_x = limited_flux(arrays, [mixed[i:mixed.shape[0] - 3 + i, inner] for i in range(4)], u_between[1:-2, inner], DX)
  flux_y = limited_flux(arrays, [mixed[inner, i:mixed.shape[1] - 3 + i] for i in range(4)], v_between[inner, 1:-2], DY)
  advected = (flux_x[1:] - flux_x[:-1]) / DX + (flux_y[:, 1:] - flux_y[:, :-1]) / DY
  return arrays.maximum(mixed[inner, inner] - ENERGY_STEP * advected, LEAST_ENERGY)


def limited_flux(arrays, four, speed, width):
  """Returns the flux through the faces between the second and the third of four cells in a row, with superbee."""
  before, left, right, after = four
  step = right - left
  upwind = arrays.where(speed > 0, left - before, after - right)
  safe = arrays.where(arrays.abs(step) < 1e-20, 1e-20 + 0 * step, step)
  ratio = upwind / safe
  limiter = arrays.maximum(arrays.maximum(arrays.minimum(2 * ratio, 1.0), arrays.minimum(ratio, 2.0)), 0.0)
  fast = arrays.abs(speed)
  return 0.5 * speed * (left + right) - 0.5 * fast * (1 - limiter + fast * (ENERGY_STEP / width) * limiter) * step


def energy_inputs(size):
  nx, ny = grid(size)
  random = np.random.default_rng(3)
  cells = (nx + 4, ny + 4, LEVELS + 1)
  u, v = 0.3 * random.standard_normal((2, *cells))
  buoyancy = 1e-5 * DZ * np.arange(LEVELS + 1) * np.ones(cells) + 1e-4 * random.standard_normal(cells)
  energy = 1e-4 * random.random((nx + 4, ny + 4, LEVELS)) + LEAST_ENERGY
  return energy, u, v, buoyancy, 1e-6 * random.random((nx + 4, ny + 4, 1))


def state_inputs(size):
  nx, ny = grid(size)
  random = np.random.default_rng(4)
  shape = (nx, ny, LEVELS)
  return 33 + 4 * random.random(shape), 30 * random.random(shape) - 1, 500 * random.random(shape)


def grid(size):
  """Returns nx and ny of a grid with `size` cells; `size` is LEVELS times a power of two."""
  columns = size // LEVELS
  ny = 1
  while ny * ny < columns:
    ny *= 2
  return columns // ny, ny


@dataclasses.dataclass(frozen=True)
class Kernel:
  function: Callable
  inputs: Callable  # (number of cells) -> inputs

  def with_arrays(self, arrays):
    return lambda *arguments: self.function(arrays, *arguments)

  def for_numpy(self):
    return self.with_arrays(NumPyArrays())

  def for_jax(self):
    return self.with_arrays(jax_arrays())

  def for_torch(self):
    return self.with_arrays(torch_arrays())


PROGRAMS = {
    'equation_of_state': Kernel(equation_of_state, state_inputs),
    'isoneutral_mixing': Kernel(isoneutral_mixing, mixing_inputs),
    'turbulent_kinetic_energy': Kernel(turbulent_kinetic_energy, energy_inputs),
}
