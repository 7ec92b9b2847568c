"""calls_spatial.json, calls_spatial.npz: calls of jax.scipy.spatial.transform, as golden.Calls makes them."""
import jax.numpy as jnp
import numpy as np
from jax.scipy.spatial.transform import Rotation, Slerp

import golden

golden.setup()
rng = np.random.default_rng(38)
topic = golden.Calls('calls_spatial')
S = 'transform'
call = lambda *a, **k: topic.call(S, *a, **k)
Q, V, M = rng.uniform(-1, 1, (4, 4)), rng.uniform(-1, 1, (4, 3)), rng.uniform(-1, 1, (4, 3))
R = np.linalg.qr(rng.uniform(-1, 1, (5, 3, 3)))[0]
R = R * np.sign(np.linalg.det(R))[:, None, None]
same = lambda q: q * np.where(q[..., 3:] < 0, -1, 1) if isinstance(q, np.ndarray) else q * jnp.where(q[..., 3:] < 0, -1, 1)
call('from_quat', lambda q: Rotation.from_quat(q).as_matrix(), Q, tolerance=4)
call('from_matrix', lambda m: Rotation.from_matrix(m).as_matrix(), R, tolerance=10, gradient=False)
call('from_rotvec', lambda v: Rotation.from_rotvec(v).as_quat(), V, tolerance=4)
call('as_rotvec', lambda q: Rotation.from_quat(q).as_rotvec(), Q, tolerance=10)
call('from_mrp', lambda v: Rotation.from_mrp(v).as_matrix(), V, tolerance=4)
call('as_mrp', lambda q: Rotation.from_quat(q).as_mrp(), Q, tolerance=10)
for seq in ('xyz', 'zyx', 'ZXZ', 'YZX', 'xyx'):
  call(f'from_euler_{seq}', lambda v, s=seq: Rotation.from_euler(s, v).as_matrix(), V, tolerance=4)
  call(f'as_euler_{seq}', lambda q, s=seq: Rotation.from_quat(q).as_euler(s), Q, tolerance=20, gradient=False)
call('from_euler_degrees', lambda v: Rotation.from_euler('y', v, degrees=True).as_matrix(), 50 * V[:, 0], tolerance=4)
call('apply', lambda q, v: Rotation.from_quat(q).apply(v), Q, V, tolerance=4)
call('apply_inverse', lambda q, v: Rotation.from_quat(q).apply(v, inverse=True), Q, V, tolerance=4)
call('product', lambda q, r: (Rotation.from_quat(q) * Rotation.from_quat(r)).as_matrix(), Q, Q[::-1], tolerance=10)
call('inv', lambda q: Rotation.from_quat(q).inv().as_matrix(), Q, tolerance=4)
call('magnitude', lambda q: Rotation.from_quat(q).magnitude(), Q, tolerance=10)
call('mean', lambda q: Rotation.from_quat(q).mean(jnp.array([1.0, 2.0, 1.0, 0.5])).as_matrix(), Q, tolerance=20,
     gradient=False)
call('slerp', lambda q, t: Slerp.init(jnp.arange(4.0), Rotation.from_quat(q))(t).as_matrix(), Q,
     np.array([0.25, 1.5, 2.9]), tolerance=20, gradient=False)
topic.write()
