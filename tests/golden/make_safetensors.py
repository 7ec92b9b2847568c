"""array.safetensors: 0, 1, 2, 3, 4, 5 in shape (2, 3) of every dtype, written by the safetensors
package (0.8.0). Complex numbers are k + (k + 1)i; bools are k % 2. Also an empty array, a scalar and
metadata.
"""
import numpy as np
import safetensors

import golden

arrays = {}
for name in golden.DTYPES:
  if name == 'complex128':
    continue
  values = np.arange(6).reshape(2, 3)
  if name == 'bool':
    values = values % 2
  if name == 'complex64':
    values = values + (values + 1) * 1j
  arrays[name] = values.astype(golden.np_dtype(name))
arrays['empty'] = np.zeros((0, 4), np.float32)
arrays['scalar'] = np.array(0.5, np.float32)
specs = {
    k: safetensors.TensorSpec(dtype=v.dtype.name, shape=v.shape, data_ptr=v.ctypes.data, data_len=v.nbytes)
    for k, v in arrays.items()
}
# One key: the package writes several in any order.
safetensors.serialize_file(specs, golden.FOLDER / 'array.safetensors', {'by': 'make_safetensors.py'})
