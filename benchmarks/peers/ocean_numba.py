"""The kernels of ocean.py as loops for numba, one column of z after the other, columns in parallel."""
import math

import numpy as np
from numba import njit, prange

from ocean import (C_DISSIPATION, C_VISCOSITY, DIFFUSIVITY, DX, DY, DZ, ENERGY_DIFFUSION, ENERGY_STEP, LEAST_ENERGY, MIXING_STEP, STEEP,
                   STEEP_WIDTH)

compiled = njit(parallel=True, fastmath=True)
inlined = njit(fastmath=True, inline='always')


@compiled
def equation_of_state(salinity, temperature, pressure):
  out = np.empty_like(salinity)
  for i in prange(salinity.shape[0]):
    for j in range(salinity.shape[1]):
      for k in range(salinity.shape[2]):
        s, t, p = salinity[i, j, k], temperature[i, j, k], pressure[i, j, k]
        root = s * math.sqrt(s)
        pure = 999.842594 + t * (6.793952e-2 + t * (-9.095290e-3 + t * (1.001685e-4 + t * (-1.120083e-6 + t * 6.536332e-9))))
        at_surface = (pure + s * (8.24493e-1 + t * (-4.0899e-3 + t * (7.6438e-5 + t * (-8.2467e-7 + t * 5.3875e-9))))
                      + root * (-5.72466e-3 + t * (1.0227e-4 - t * 1.6546e-6)) + 4.8314e-4 * s * s)
        bulk = (19652.21 + t * (148.4206 + t * (-2.327105 + t * (1.360477e-2 - t * 5.155288e-5)))
                + s * (54.6746 + t * (-0.603459 + t * (1.09987e-2 - t * 6.1670e-5))) + root * (7.944e-2 + t * (1.6483e-2 - t * 5.3009e-4)))
        first = (3.239908 + t * (1.43713e-3 + t * (1.16092e-4 - t * 5.77905e-7)) + s * (2.2838e-3 + t * (-1.0981e-5 - t * 1.6078e-6))
                 + 1.91075e-4 * root)
        second = 8.50935e-5 + t * (-6.12293e-6 + t * 5.2787e-8) + s * (-9.9348e-7 + t * (2.0816e-8 + t * 9.1697e-10))
        out[i, j, k] = at_surface / (1 - p / (bulk + p * (first + p * second)))
  return out


@inlined
def solve(below, diagonal, above, right, out):
  """Solves a tridiagonal system for one column by Thomas's elimination; above and right are overwritten."""
  count = len(right)
  above[0] /= diagonal[0]
  right[0] /= diagonal[0]
  for k in range(1, count):
    scale = 1 / (diagonal[k] - below[k] * above[k - 1])
    above[k] *= scale
    right[k] = (right[k] - below[k] * right[k - 1]) * scale
  out[count - 1] = right[count - 1]
  for k in range(count - 2, -1, -1):
    out[k] = right[k] - above[k] * out[k + 1]


@inlined
def expansion(t, depth):
  return -(1.67e-4 * (1 + 1.1e-4 * depth) + 1e-5 * (t - 10.0))


@compiled
def isoneutral_mixing(t, s, depth):
  nx, ny, nz = t.shape[0] - 2, t.shape[1] - 2, t.shape[2]
  # The contributions of each cell's triads to the fluxes through its right and left faces, in x and y.
  through = np.zeros((nx + 2, ny + 2, 2, 2, 2, nz))  # by tracer, axis and side.
  rise, implicit = np.zeros((nx + 2, ny + 2, 2, nz + 1)), np.zeros((nx + 2, ny + 2, nz + 1))
  for row in prange(nx + 2):
    i = np.int64(row)  # prange's indices are unsigned; unsigned minus signed would be floating-point
    t_z, s_z = np.zeros(nz + 1), np.zeros(nz + 1)
    for j in range(ny + 2):
      for k in range(1, nz):
        t_z[k], s_z[k] = (t[i, j, k] - t[i, j, k - 1]) / DZ, (s[i, j, k] - s[i, j, k - 1]) / DZ
      for axis in range(2):
        for side in range(2):
          e, f = (i + 1 - 2 * side, j) if axis == 0 else (i, j + 1 - 2 * side)
          if e < 0 or f < 0 or e > nx + 1 or f > ny + 1:
            continue
          width = (DX if axis == 0 else DY) * (1 - 2 * side)
          for upper in range(2):
            for k in range(nz):
              t_x, s_x = (t[e, f, k] - t[i, j, k]) / width, (s[e, f, k] - s[i, j, k]) / width
              by_t, by_s = expansion(t[i, j, k], depth[i, j, k]), 0.78e-3
              slope = -(by_t * t_x + by_s * s_x) / min(by_t * t_z[k + upper] + by_s * s_z[k + upper], -1e-12)
              weight = 0.125 * DIFFUSIVITY * (1 + math.tanh((STEEP - abs(slope)) / STEEP_WIDTH))
              through[i, j, 0, axis, side, k] += weight * (t_x + slope * t_z[k + upper])
              through[i, j, 1, axis, side, k] += weight * (s_x + slope * s_z[k + upper])
              rise[i, j, 0, k + upper] += weight * slope * t_x
              rise[i, j, 1, k + upper] += weight * slope * s_x
              implicit[i, j, k + upper] += weight * slope * slope
  new_t, new_s = np.empty((nx, ny, nz)), np.empty((nx, ny, nz))
  for i in prange(1, nx + 1):
    below, diagonal, above, right = np.empty(nz), np.empty(nz), np.empty(nz), np.empty(nz)
    for j in range(1, ny + 1):
      for tracer in range(2):
        x, out = (t, new_t) if tracer == 0 else (s, new_s)
        for k in range(nz):
          below[k] = -implicit[i, j, k] * (MIXING_STEP / DZ**2)
          above[k] = -implicit[i, j, k + 1] * (MIXING_STEP / DZ**2)
          diagonal[k] = 1 - below[k] - above[k]
          east = through[i, j, tracer, 0, 0, k] + through[i + 1, j, tracer, 0, 1, k]
          west = through[i, j, tracer, 0, 1, k] + through[i - 1, j, tracer, 0, 0, k]
          north = through[i, j, tracer, 1, 0, k] + through[i, j + 1, tracer, 1, 1, k]
          south = through[i, j, tracer, 1, 1, k] + through[i, j - 1, tracer, 1, 0, k]
          up = (rise[i, j, tracer, k + 1] - rise[i, j, tracer, k]) / DZ
          right[k] = x[i, j, k] + MIXING_STEP * ((east - west) / DX + (north - south) / DY + up)
        solve(below, diagonal, above, right, out[i - 1, j - 1])
  return new_t, new_s


@compiled
def mixed_energy(energy, u, v, buoyancy, wind):
  out = np.empty_like(energy)
  nz = energy.shape[2]
  for i in prange(energy.shape[0]):
    length, from_below, from_above, viscosity = np.empty(nz), np.empty(nz), np.empty(nz), np.empty(nz)
    below, diagonal, above, right = np.empty(nz), np.empty(nz), np.empty(nz), np.empty(nz)
    for j in range(energy.shape[1]):
      for k in range(nz):
        frequency2 = max((buoyancy[i, j, k + 1] - buoyancy[i, j, k]) / DZ, 1e-8)
        length[k] = math.sqrt(2.0 / frequency2) * math.sqrt(max(energy[i, j, k], LEAST_ENERGY))
      from_below[0] = length[0]
      for k in range(1, nz):
        from_below[k] = min(length[k], from_below[k - 1] + DZ)
      from_above[nz - 1] = length[nz - 1]
      for k in range(nz - 2, -1, -1):
        from_above[k] = min(length[k], from_above[k + 1] + DZ)
      for k in range(nz):
        root = math.sqrt(max(energy[i, j, k], LEAST_ENERGY))
        frequency2 = max((buoyancy[i, j, k + 1] - buoyancy[i, j, k]) / DZ, 1e-8)
        u_z, v_z = (u[i, j, k + 1] - u[i, j, k]) / DZ, (v[i, j, k + 1] - v[i, j, k]) / DZ
        shear2 = u_z * u_z + v_z * v_z
        viscosity[k] = min(max(C_VISCOSITY * max(min(from_below[k], from_above[k]), 0.01) * root, 2e-4), 100.0)
        prandtl = min(max(6.6 * frequency2 / max(shear2, 1e-12), 1.0), 10.0)
        diagonal[k] = 1 + ENERGY_STEP * C_DISSIPATION * root / max(math.sqrt(from_below[k] * from_above[k]), 0.01)
        right[k] = energy[i, j, k] + ENERGY_STEP * (viscosity[k] * shear2 - viscosity[k] / prandtl * frequency2)
      right[nz - 1] += (ENERGY_STEP * 3.75 / DZ) * wind[i, j, 0]
      below[0], above[nz - 1] = 0.0, 0.0
      for k in range(nz - 1):
        above[k] = -0.5 * ENERGY_DIFFUSION * (viscosity[k + 1] + viscosity[k]) * (ENERGY_STEP / DZ**2)
        below[k + 1] = above[k]
      for k in range(nz):
        diagonal[k] -= below[k] + above[k]
      solve(below, diagonal, above, right, out[i, j])
      for k in range(nz):
        out[i, j, k] = max(out[i, j, k], LEAST_ENERGY)
  return out


@inlined
def limited_flux(before, left, right, after, speed, width):
  step = right - left
  upwind = left - before if speed > 0 else after - right
  ratio = upwind / (1e-20 if abs(step) < 1e-20 else step)
  limiter = max(max(min(2 * ratio, 1.0), min(ratio, 2.0)), 0.0)
  fast = abs(speed)
  return 0.5 * speed * (left + right) - 0.5 * fast * (1 - limiter + fast * (ENERGY_STEP / width) * limiter) * step


@compiled
def advected_energy(e, u, v):
  nx, ny, nz = e.shape
  out = np.empty((nx - 4, ny - 4, nz))
  for i in prange(2, nx - 2):
    for j in range(2, ny - 2):
      for k in range(nz):
        west = limited_flux(e[i - 2, j, k], e[i - 1, j, k], e[i, j, k], e[i + 1, j, k], 0.5 * (u[i - 1, j, k] + u[i - 1, j, k + 1]), DX)
        east = limited_flux(e[i - 1, j, k], e[i, j, k], e[i + 1, j, k], e[i + 2, j, k], 0.5 * (u[i, j, k] + u[i, j, k + 1]), DX)
        south = limited_flux(e[i, j - 2, k], e[i, j - 1, k], e[i, j, k], e[i, j + 1, k], 0.5 * (v[i, j - 1, k] + v[i, j - 1, k + 1]), DY)
        north = limited_flux(e[i, j - 1, k], e[i, j, k], e[i, j + 1, k], e[i, j + 2, k], 0.5 * (v[i, j, k] + v[i, j, k + 1]), DY)
        out[i - 2, j - 2, k] = max(e[i, j, k] - ENERGY_STEP * ((east - west) / DX + (north - south) / DY), LEAST_ENERGY)
  return out


def turbulent_kinetic_energy(energy, u, v, buoyancy, wind):
  return advected_energy(mixed_energy(energy, u, v, buoyancy, wind), u, v)


PROGRAMS = {
    'equation_of_state': equation_of_state,
    'isoneutral_mixing': isoneutral_mixing,
    'turbulent_kinetic_energy': turbulent_kinetic_energy,
}
