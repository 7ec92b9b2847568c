"""The operations of generated programs, as texts with places for operands.

A text of `ELEMENTWISE[count][kind]` takes `count` operands of that kind, with shapes that broadcast and one dtype. Each part of
`REDUCTIONS` and `SHAPES` begins with the kind and the rank of each operand of its texts (`f2`: floats of two dimensions; `+`
after a rank: or more). In these texts `S` is the first operand's shape. The generator fills in random values for `R`, one of its
dimensions, `K`, a small number, and `E`, a seed. It drops texts that do not fit the operands.
No text reads the sign of a NaN, which IEEE 754 does not define.
"""

FLOATS = ('float32', 'float32', 'float32', 'float64', 'float16', 'bfloat16')
INTEGERS = ('int32', 'int32', 'int64', 'int16', 'int8', 'uint8', 'uint16', 'uint32', 'uint64')
COMPLEX = ('complex64', 'complex128')

_FLOAT1 = ('jnp.sin({0})', 'jnp.cos({0})', 'jnp.tan(jnp.tanh({0}))', 'jnp.tanh({0})', 'jnp.tanh({0})',
           'jnp.exp(-jnp.abs({0}))',
           'jnp.exp(jnp.tanh({0}))', 'jnp.exp({0})', 'jnp.log1p(jnp.abs({0}))', 'jnp.log({0})',
           'jnp.sqrt(jnp.abs({0}))', 'jnp.sqrt({0})',
           'lax.rsqrt(1 + {0} * {0})', 'jnp.cbrt({0})', 'lax.erf({0})', 'lax.erfc({0})',
           'lax.erf_inv(jnp.tanh({0}) * 0.9)',
           'lax.lgamma(1 + jnp.abs({0}))', 'lax.digamma(1 + jnp.abs({0}))', 'jax.nn.sigmoid({0})',
           'jax.nn.softplus({0})',
           'jax.nn.relu({0})', 'jax.nn.gelu({0})', 'jax.nn.silu({0})', 'jax.nn.softmax({0})', 'jax.nn.log_softmax({0})',
           'jax.nn.elu({0})',
           'jnp.expm1({0})', 'jnp.arcsin(jnp.tanh({0}))', 'jnp.arccos(jnp.tanh({0}))', 'jnp.arctan({0})',
           'jnp.sinh(jnp.tanh({0}))',
           'jnp.cosh(jnp.tanh({0}))', 'jnp.arcsinh({0})', 'jnp.arccosh(1 + jnp.abs({0}))',
           'jnp.arctanh(0.9 * jnp.tanh({0}))',
           'jnp.floor({0})', 'jnp.ceil({0})', 'jnp.round({0})', 'jnp.trunc({0})',
           'lax.round({0}, lax.RoundingMethod.AWAY_FROM_ZERO)',
           'jnp.log2(1 + jnp.abs({0}))', 'jnp.exp2(jnp.tanh({0}))', 'jnp.sinc({0})', 'lax.bessel_i0e({0})',
           'lax.bessel_i1e({0})',
           'jnp.reciprocal(2 + jnp.abs({0}))', 'jnp.nan_to_num({0})', 'lax.is_finite({0})', 'jnp.isnan({0})',
           'lax.reduce_precision({0}, 5, 4)',
           'jnp.where({0} > 0, {0}, 0)', 'lax.optimization_barrier({0})', 'jax.lax.stop_gradient({0})',
           'jnp.clip({0}, -1, 1)',
           'jnp.heaviside({0}, 0.5)', 'jax.nn.standardize({0})', 'jax.nn.swish({0})', 'jnp.deg2rad({0})',
           'jax.scipy.special.logit(jax.nn.sigmoid({0}))')
_FLOAT2 = ('{0} + {1}', '{0} - {1}', '{0} * {1}', '{0} / (1 + jnp.abs({1}))', '{0} / {1}', 'jnp.maximum({0}, {1})',
           'jnp.minimum({0}, {1})',
           'jnp.arctan2({0}, {1})', 'jnp.hypot({0}, {1})', 'jnp.logaddexp({0}, {1})',
           '(1 + jnp.abs({0})) ** jnp.tanh({1})', '{0} ** {1}',
           'lax.rem({0}, 1 + jnp.abs({1}))', 'jnp.mod({0}, 1 + jnp.abs({1}))', 'jnp.copysign({0}, jnp.nan_to_num({1}))',
           'lax.nextafter({0}, {1})',
           '{0} // (1 + jnp.abs({1}))', 'jnp.fmax({0}, {1})', 'jnp.where({0} > {1}, {0}, {1})', 'lax.complex({0}, {1})')
_NUMBER1 = ('-{0}', 'jnp.abs({0})', 'jnp.sign({0})', 'jnp.square({0})', '{0} * 2', '{0} + 1', '1 - {0}',
            'lax.integer_pow({0}, 3)',
            '{0}.astype("float32")', '{0}.astype("float64")', '{0}.astype("bfloat16")', '{0}.astype("float16")',
            'jnp.clip({0}, -9, 9).astype("int32")', 'jnp.clip({0}, 0, 9).astype("uint8")', '{0}.astype(bool)',
            '{0}.astype("complex64")')
_NUMBER2 = ('{0} < {1}', '{0} >= {1}', '{0} == {1}', '{0} != {1}', 'lax.clamp({1}, {0}, {1} + 1)')
_INTEGER1 = ('~{0}', 'lax.population_count({0})', 'lax.clz({0})', '{0} << 2', '{0} >> 1', '{0} % 5', '{0} // 3',
             '{0} & 7',
             'jnp.clip({0}, 0, 6)', 'jnp.bitwise_xor({0}, 5)', '{0} * {0}',
             'lax.shift_right_logical({0}, lax.full_like({0}, 2))',
             'lax.rem({0}, lax.full_like({0}, 3))', 'jnp.bitwise_count({0})')
_INTEGER2 = ('{0} + {1}', '{0} - {1}', '{0} * {1}', '{0} & {1}', '{0} | {1}', '{0} ^ {1}', 'jnp.maximum({0}, {1})',
             'jnp.minimum({0}, {1})',
             '{0} // jnp.where({1} == 0, 1, {1})', '{0} % jnp.where({1} == 0, 1, {1})',
             'jnp.left_shift({0}, jnp.clip({1}, 0, 7))',
             'jnp.right_shift({0}, jnp.clip({1}, 0, 7))', 'lax.div({0}, jnp.where({1} == 0, 1, {1}))')
_BOOLEAN1 = ('~{0}', '{0}.astype("float32")', '{0}.astype("int32")', '{0}.astype("uint8")')
_BOOLEAN2 = ('{0} & {1}', '{0} | {1}', '{0} ^ {1}', '{0} == {1}')
_COMPLEX1 = ('jnp.real({0})', 'jnp.imag({0})', 'jnp.conj({0})', 'jnp.abs({0})', '-{0}',
             'jnp.exp({0} / (1 + jnp.abs({0})))', 'jnp.sin({0} / (1 + jnp.abs({0})))',
             'jnp.square({0})', 'jnp.angle(2 + {0} / (1 + jnp.abs({0})))', 'jnp.sqrt(2 + {0} / (1 + jnp.abs({0})))',
             'jnp.log(2 + {0} / (1 + jnp.abs({0})))', 'jnp.tanh({0} / (2 + jnp.abs({0})))', 'jnp.sign({0})')
_COMPLEX2 = ('{0} + {1}', '{0} - {1}', '{0} * {1}', '{0} / (3 + jnp.abs({1}))', '{0} == {1}')

# Kinds: f float, n float or integer, i integer, b boolean, c complex, a any.
ELEMENTWISE = {1: {'f': _FLOAT1, 'n': _NUMBER1, 'i': _INTEGER1, 'b': _BOOLEAN1, 'c': _COMPLEX1},
               2: {'f': _FLOAT2, 'n': _NUMBER2, 'i': _INTEGER2, 'b': _BOOLEAN2, 'c': _COMPLEX2}}

REDUCTIONS = (('n1+',
               ('jnp.sum({0}, axis=R)', 'jnp.max({0}, axis=R)', 'jnp.min({0}, axis=R)', 'jnp.sum({0})',
                'jnp.cumsum({0}, axis=R)',
                       'jnp.argmax({0}, axis=R)', 'jnp.argmin({0}, axis=R)', 'lax.cummax({0}, axis=R)',
                       'lax.cummin({0}, axis=R, reverse=True)',
                       'jnp.sort({0}, axis=R)', 'jnp.argsort({0}, axis=R)', 'jnp.sum({0}, axis=R, keepdims=True)',
                       'jnp.ptp({0}, axis=R)',
                       'lax.cumsum({0}, axis=R, reverse=True)', 'jnp.diff({0}, axis=R)',
                       'jnp.count_nonzero({0}, axis=R)', 'jnp.flip(jnp.sort({0}, axis=R), axis=R)')),
              ('f1+',
               ('jnp.mean({0}, axis=R)', 'jnp.var({0}, axis=R)', 'jnp.std({0}, axis=R)',
                'jnp.prod(jnp.tanh({0}), axis=R)',
                       'jax.nn.logsumexp({0}, axis=R)', 'jnp.cumprod(jnp.tanh({0}), axis=R)',
                       'lax.cumlogsumexp({0}, axis=R)',
                       'jnp.linalg.norm({0}, axis=R)', 'jnp.median({0}, axis=R)', 'jnp.nansum({0}, axis=R)',
                       'jax.nn.softmax({0}, axis=R)',
                       'lax.top_k({0}, 1)[0]', 'lax.top_k({0}, 1)[1]', 'jnp.mean({0}, axis=R, keepdims=True) - {0}',
                       'jnp.quantile({0}, 0.3, axis=R)',
                       'lax.associative_scan(jnp.maximum, {0}, axis=R)',
                       'lax.associative_scan(jnp.add, {0}, axis=R, reverse=True)',
                       'jnp.gradient({0}, axis=R)', 'jnp.trapezoid({0}, axis=R)')),
              ('b1+',
               ('jnp.any({0}, axis=R)', 'jnp.all({0}, axis=R)', 'jnp.sum({0}, axis=R)', 'jnp.cumsum({0}, axis=R)')),
              ('i1+',
               ('jnp.bitwise_and.reduce({0}, axis=R)', 'jnp.prod({0} % 3, axis=R)',
                'jnp.bincount(jnp.clip({0}.ravel(), 0, 4).astype("int32"), length=5)')),
              ('c1+', ('jnp.sum({0}, axis=R)', 'jnp.mean({0}, axis=R)', 'jnp.cumsum({0}, axis=R)')))

SHAPES = (('a1+',
           ('{0}.T', 'jnp.flip({0}, axis=R)', 'jnp.roll({0}, K, axis=R)', 'jnp.concatenate([{0}, {0}], axis=R)',
            '{0}.ravel()',
                   'jnp.expand_dims({0}, R)', 'jnp.stack([{0}, {0}], axis=R)', 'jnp.repeat({0}, 2, axis=R)',
                   'jnp.tile({0}, 2)', '{0}[::2]', '{0}[1:]',
                   '{0}[..., :-1]', '{0}[..., ::-1]', '{0}[0]', '{0}[..., -1]', '{0}[None]',
                   'lax.slice_in_dim({0}, 0, 1, axis=R)',
                   'jnp.moveaxis({0}, 0, -1)', 'jnp.take({0}, jnp.arange(3) % {0}.shape[R], axis=R)',
                   '{0}[jnp.array([0, -1, 0])]',
                   '{0}[..., jnp.array([[0], [-1]])]', 'jnp.atleast_2d({0})',
                   'lax.dynamic_slice_in_dim({0}, K, 1, axis=R)', '{0}.reshape(-1)',
                   'jnp.broadcast_to({0}, (2, *S))', '{0}.at[0].set({0}[-1])', '{0}.at[..., 1:].set({0}[..., :-1])',
                   '{0}.at[1:].set({0}[:-1])',
                   '{0}.at[::2].set({0}[::-2])', 'lax.dynamic_update_slice_in_dim({0}, {0}[:1], K, axis=0)',
                   'jnp.where(jnp.arange(S[-1]) % 2 == 0, {0}, {0}[..., ::-1])',
                   'jnp.split({0}, [1], axis=R)[1]', 'jnp.swapaxes({0}, 0, R)', 'jnp.rot90(jnp.atleast_2d({0}))',
                   'jnp.array_split({0}, 2, axis=R)[0]',
                   '{0}.at[jnp.array([0, -1])].get(mode="fill", fill_value=1)',
                   '{0}.at[jnp.array([0, 99])].get(mode="clip")')),
          ('n1+',
           ('{0}.at[0].add(1)', '{0}.at[jnp.array([0, -1, 0])].add({0}[:1])', '{0}.at[jnp.array([0, -1])].max(1)',
            '{0}.at[..., 0].multiply(2)',
                   '{0}.at[jnp.array([0, 99, 0])].add(1, mode="drop")', '{0}.at[1:].add({0}[:-1])', 'jnp.pad({0}, 1)',
                   'jnp.pad({0}, 1, mode="edge")',
                   'jnp.pad({0}, 1, mode="wrap")', 'jnp.pad({0}, 1, mode="reflect")',
                   'lax.pad({0}, lax.full((), K, {0}.dtype), [(1, -1, 1)] + [(0, 0, 0)] * (len(S) - 1))',
                   'jnp.take_along_axis({0}, jnp.argsort({0}, axis=-1), axis=-1)',
                   'lax.sort(({0}, jnp.roll({0}, 1, axis=-1)), num_keys=1)[1]',
                   'lax.sort(({0}, lax.broadcasted_iota("int32", S, 0)), dimension=0, num_keys=2)[1]',
                   'jnp.searchsorted(jnp.sort({0}.ravel()), {0})', 'jnp.unique({0}, size=4, fill_value=0)',
                   'jnp.lexsort(({0}, -{0}))',
                   'jax.ops.segment_sum({0}, jnp.arange(S[0]) % 3, 3)',
                   'jax.ops.segment_max({0}, jnp.arange(S[0]) % 2, 2)')),
          ('n2+',
           ('jnp.tril({0})', 'jnp.triu({0}, 1)', 'jnp.diagonal({0})', 'jnp.trace({0})',
            '{0}.reshape(S[0] * S[1], *S[2:])', 'jnp.swapaxes({0}, 0, 1)',
                   '{0}[:, 0]', '{0}[0, :]', '{0}[jnp.array([0, -1]), jnp.array([-1, 0])]',
                   '{0}.at[jnp.arange(2), 0].add(3)', '{0}[1:, :-1]', 'jnp.hstack([{0}, {0}])',
                   'jnp.vstack([{0}, {0} + 1])', '{0}.at[:, ::2].set(0)', 'jnp.fill_diagonal({0}, 3, inplace=False)')),
          ('i1+',
           ('jax.nn.one_hot({0} % 4, 4)', 'jnp.arange(7)[jnp.clip({0}, 0, 6)]',
            'jnp.zeros(5).at[jnp.clip({0}, 0, 4)].add(1.5)',
            'lax.bitcast_convert_type({0}.astype("int32"), "float32") * 0')),
          ('f2 f2',
           ('{0} @ {1}', '{0} @ {1}.T', '{0}.T @ {1}', 'jnp.einsum("ij,kj->ik", {0}, {1})',
            'jnp.tensordot({0}, {1}, 1)', 'jnp.einsum("ij,ij->i", {0}, {1})',
                     'jnp.einsum("ij,jk->", {0}, {1})',
                     'lax.dot_general({0}, {1}, (((0,), (0,)), ((), ())), preferred_element_type="float32")',
                     'jnp.kron({0}, {1})[:8]')),
          ('f3 f2', ('{0} @ {1}', 'jnp.einsum("bij,jk->bik", {0}, {1})', 'jnp.einsum("bij,ij->b", {0}, {1})')),
          ('f3 f3', ('{0} @ {1}', 'jnp.einsum("bij,bkj->bik", {0}, {1})', 'lax.batch_matmul({0}, {1})')),
          ('f1 f1',
           ('jnp.outer({0}, {1})', 'jnp.dot({0}, {1})', 'jnp.convolve({0}, {1}, mode="same")',
            'jnp.interp({0}, jnp.arange(4.0), jnp.tanh(jnp.arange(4.0)))', 'jnp.vdot({0}, {1})',
            'jnp.correlate({0}, {1}[:2])', 'jnp.polyval({1}[:3], jnp.tanh({0}))')),
          ('c2 c2', ('{0} @ {1}', '{0} @ jnp.conj({1}).T')),
          ('i2 i2',
           ('{0} @ {1}', '{0} @ {1}.T',
            'lax.dot_general({0}, {1}, (((1,), (1,)), ((), ())), preferred_element_type="int32")')),
          ('f2',
           ('lax.reduce_window({0}, -jnp.inf, lax.max, (2, 2), (1, 1), "SAME")',
            'lax.reduce_window({0}, 0.0, lax.add, (2, 1), (2, 1), "VALID")',
                  'lax.reduce_window({0}, jnp.inf, lax.min, (1, 3), (1, 2), [(0, 0), (1, 1)])',
                  'lax.reduce_window({0}, 0.0, lax.add, (3, 2), (1, 1), "SAME", window_dilation=(1, 2))',
                  'lax.conv_general_dilated({0}[None, None], {0}[None, None, :2, :2], (1, 1), "SAME")[0, 0]',
                  'lax.conv_general_dilated({0}[None], jnp.stack([{0}[:, :3]] * 2), (1,), "SAME", '
                  'dimension_numbers=("NCW", "OIW", "NCW"))[0]',
                  'lax.conv_general_dilated({0}[None], {0}[:, None, :2], (1,), [(1, 1)], '
                  'feature_group_count=S[0], dimension_numbers=("NCW", "OIW", "NCW"))[0]',
                  'lax.conv_general_dilated({0}[None, None], {0}[None, None, :2, :2], (1, 1), [(1, 1), (1, 1)], '
                  'lhs_dilation=(2, 1), rhs_dilation=(1, 2))[0, 0]',
                  'jnp.linalg.cholesky({0} @ {0}.T + 9 * jnp.eye(S[0], dtype={0}.dtype))',
                  'jnp.linalg.solve(jnp.tanh({0} @ {0}.T) + 9 * jnp.eye(S[0], dtype={0}.dtype), {0})',
                  'jax.scipy.linalg.solve_triangular(jnp.tril(jnp.tanh({0} @ {0}.T)) '
                  '+ 9 * jnp.eye(S[0], dtype={0}.dtype), {0}, lower=True)',
                  'jnp.cov(jnp.tanh({0}))', 'jax.image.resize({0}, (3, 5), "linear")',
                  'jax.image.resize({0}, (4, 2), "nearest")', 'jnp.apply_along_axis(jnp.cumsum, 0, {0})')),
          ('f1+',
           ('jnp.fft.fft({0}.astype("float32"))', 'jnp.fft.rfft({0}.astype("float64"))',
            'jnp.real(jnp.fft.ifft({0}.astype("complex64")))',
                   'jax.nn.one_hot(jnp.argmax({0}, axis=-1), S[-1])',
                   'jnp.histogram({0}, bins=jnp.array([-2.0, -0.5, 0.3, 2.0]))[0]',
                   'jax.pure_callback(lambda x: np.asarray(x) * 2, '
                   'jax.ShapeDtypeStruct(S, {0}.dtype), {0}, vmap_method="sequential")',
                   'jax.pure_callback(lambda x: np.floor(np.asarray(x)), '
                   'jax.ShapeDtypeStruct(S, {0}.dtype), {0}, vmap_method="expand_dims")',
                   'jax.random.normal(jax.random.key(E), S, "float32") * {0}',
                   'jax.random.permutation(jax.random.key(E), {0})',
                   'jax.random.uniform(jax.random.key(E), S) + {0}', 'jax.random.bernoulli(jax.random.key(E), 0.4, S)',
                   'jax.random.randint(jax.random.fold_in(jax.random.key(E), 3), S, 0, 9)',
                   'jnp.arange(S[0]).astype({0}.dtype)', 'jnp.linspace(0, 1, S[0], dtype={0}.dtype)',
                   'jnp.full(S, K, {0}.dtype)')))

# Texts for the values of a device in a shard_map, with an axis for `A`, its size for `N` and a dimension for `R`; and the change
# of the operand's shape.
COLLECTIVES = (('lax.psum({0}, "A")', 'same'), ('lax.pmax({0}, "A")', 'same'), ('lax.pmin({0}, "A")', 'same'),
               ('lax.pmean({0}, "A")', 'same'),
               ('lax.all_gather({0}, "A", axis=R, tiled=True)', 'gathered'),
               ('lax.psum_scatter({0}, "A", scatter_dimension=R, tiled=True)', 'scattered'),
               ('lax.ppermute({0}, "A", [(i, (i + 1) % N) for i in range(N)])', 'same'),
               ('lax.ppermute({0}, "A", [(0, N - 1)])', 'same'),
               ('lax.all_to_all({0}, "A", R, R, tiled=True)', 'exchanged'),
               ('{0} + lax.axis_index("A").astype({0}.dtype)', 'same'))
