"""Lowering rules that JAX, or a package, registers only for the platform cpu."""
import jax
from jax.experimental import sparse
from jax.experimental.sparse.linalg import spsolve
from jax.extend.core import Primitive
from jax.interpreters import mlir
import jax.numpy as jnp
import numpy as np
import pytest

X = np.arange(4, dtype=np.float32)


def primitive(name):
  out = Primitive(name)
  out.def_abstract_eval(lambda x: x)
  return out


def test_a_rule_for_cpu_alone_is_taken():
  p = primitive('doubled_on_cpu')
  mlir.register_lowering(p, mlir.lower_fun(lambda x: x + x, multiple_results=False), platform='cpu')
  np.testing.assert_array_equal(jax.jit(p.bind)(X), X + X)


def test_a_rule_for_all_platforms_goes_first_and_one_for_tessera_before_that():
  p = primitive('same_on_all')
  mlir.register_lowering(p, mlir.lower_fun(lambda x: x + 2, multiple_results=False), platform='cpu')
  mlir.register_lowering(p, mlir.lower_fun(lambda x: x + 1, multiple_results=False))
  np.testing.assert_array_equal(jax.jit(lambda x: p.bind(x))(X), X + 1)
  mlir.register_lowering(p, mlir.lower_fun(lambda x: x + 3, multiple_results=False), platform='tessera')
  np.testing.assert_array_equal(jax.jit(lambda x: p.bind(x) + 0)(X), X + 3)


def test_without_any_rule_the_error_names_the_primitive():
  with pytest.raises(NotImplementedError, match="primitive 'nowhere' not found for platform tessera"):
    jax.jit(primitive('nowhere').bind)(X)


def test_sparse_products_and_solves():
  pytest.importorskip('scipy')
  dense = np.array([[4, 1, 0, 0], [1, 5, 2, 0], [0, 2, 6, 1], [0, 0, 1, 7]], np.float32)
  csr = sparse.CSR.fromdense(jnp.asarray(dense))
  matrix = np.arange(12, dtype=np.float32).reshape(4, 3)
  np.testing.assert_allclose(jax.jit(lambda m, x: m @ x)(csr, X), dense @ X, rtol=1e-6)
  np.testing.assert_allclose(jax.jit(lambda m, x: m @ x)(csr, matrix), dense @ matrix, rtol=1e-6)
  solve = jax.jit(lambda data, b: spsolve(data, csr.indices, csr.indptr, b))
  np.testing.assert_allclose(dense @ solve(csr.data, X), X, atol=1e-5)
