"""Functions that reach Tessera by name.

Before JAX's client passes a program to a plugin, it replaces some elementwise functions by formulas: erfc becomes sixty ops,
the square root of a complex number ninety. These take longer to compile, are less exact than Tessera's own functions, and
lose the sign of a zero on which a branch cut depends. So Tessera's rules emit composites: ops with the name of the function
and with a function that computes the same. The client keeps composites, and Tessera replaces them by its own ops.

exp2 has no op. JAX's rule for it, exp(x log(2)), loses as many digits as the product has before the point. Here it becomes a
power of 2.
"""
import functools

from jax_plugins.tessera import jax_private

# The op for each primitive of jax.lax. Those of _COMPLEX are used only for complex numbers.
_REAL = {'erfc_p': 'chlo.erfc', 'erf_inv_p': 'chlo.erf_inv', 'lgamma_p': 'chlo.lgamma', 'digamma_p': 'chlo.digamma',
         'logistic_p': 'stablehlo.logistic', 'bessel_i0e_p': 'chlo.bessel_i0e', 'bessel_i1e_p': 'chlo.bessel_i1e'}
_COMPLEX = {'atan_p': 'chlo.atan', 'cos_p': 'stablehlo.cosine', 'exp_p': 'stablehlo.exponential', 'log_p': 'stablehlo.log',
            'log1p_p': 'stablehlo.log_plus_one', 'logistic_p': 'stablehlo.logistic', 'sin_p': 'stablehlo.sine',
            'sqrt_p': 'stablehlo.sqrt'}


def _decomposition(ctx, rule, name, x, params):
  """Returns the symbol of a function in the program's module that computes the op by JAX's rule for all platforms."""
  ir, func = jax_private.get('ir'), jax_private.get('func')
  [aval] = ctx.avals_out
  result = jax_private.ir_type(ctx.module_context, aval)
  symbol = f'{name}.{x.type}'
  table = ctx.module_context.symbol_table
  if symbol in table:
    return symbol
  with ir.InsertionPoint.at_block_begin(ctx.module_context.module.body):
    function = func.FuncOp(symbol, ir.FunctionType.get([x.type], [result]), visibility='private')
  with ir.InsertionPoint(function.add_entry_block()):
    [value] = rule(ctx, *function.arguments, **params)
    func.ReturnOp([value])
  table.insert(function)
  return symbol


def _rule(primitive, name, complex_only, ctx, x, **params):
  [operand], [aval] = ctx.avals_in, ctx.avals_out
  rule = jax_private.get('rules')[primitive].rule
  ir = jax_private.get('ir')
  named = operand.dtype == aval.dtype and all(isinstance(n, int) for n in aval.shape) and params.get('accuracy') is None
  if not named or (complex_only and operand.dtype.kind != 'c'):
    return rule(ctx, x, **params)
  op = jax_private.get('stablehlo').CompositeOp(
      [jax_private.ir_type(ctx.module_context, aval)], [x], name=ir.StringAttr.get(name),
      decomposition=ir.FlatSymbolRefAttr.get(_decomposition(ctx, rule, name, x, params)))
  return [jax_private.get('lower_with_sharding')(ctx, op.result, aval)]


def _exp2_rule(rule, ctx, x, **params):
  from jax import numpy as jnp
  [aval] = ctx.avals_out
  if not jnp.issubdtype(aval.dtype, jnp.floating) or not all(isinstance(n, int) for n in aval.shape):
    return rule(ctx, x, **params)
  ir, stablehlo = jax_private.get('ir'), jax_private.get('stablehlo')
  result = jax_private.ir_type(ctx.module_context, aval)
  two = ir.DenseElementsAttr.get_splat(result, ir.FloatAttr.get(ir.RankedTensorType(result).element_type, 2.0))
  power = stablehlo.PowOp(stablehlo.ConstantOp(two).result, x)
  return [jax_private.get('lower_with_sharding')(ctx, power.result, aval)]


def install():
  """Registers the rules with JAX."""
  import jax
  for attribute, name in {**_COMPLEX, **_REAL}.items():
    primitive = getattr(jax.lax, attribute)
    complex_only = attribute not in _REAL
    jax_private.get('register_lowering')(
        primitive, functools.partial(_rule, primitive, name, complex_only), platform='tessera')
  primitive = jax.lax.exp2_p
  jax_private.get('register_lowering')(
      primitive, functools.partial(_exp2_rule, jax_private.get('rules')[primitive].rule), platform='tessera')
