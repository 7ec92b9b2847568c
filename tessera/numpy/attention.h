// Attention on arrays, as jax.nn.dot_product_attention.
#pragma once

#include <optional>
#include <utility>

#include "tessera/ir/array.h"

namespace tessera {

struct DotProductAttentionOptions {
  // Broadcast to (batch, heads, query length, key length), as arrays of at most 4 dimensions;
  // absent: none. `mask` is bool, true where to look.
  Array bias = {}, mask = {};
  std::optional<double> scale = std::nullopt;  // of query . key; absent: 1 / sqrt(depth)
  bool is_causal = false;                      // position i looks at positions up to i
  // int32[batch]: how many positions count, the first ones.
  Array query_seq_lengths = {}, key_value_seq_lengths = {};
  // At most so many positions to the left and to the right.
  std::optional<std::pair<int64_t, int64_t>> local_window_size = std::nullopt;
};
// softmax(scale query key^T + bias) value, the softmax in float32. Shapes (batch, length, heads,
// depth), or without the batch; key and value may have fewer heads, which groups of the query's
// share. UserError where shapes, dtypes or numbers of heads do not fit.
Array dot_product_attention(const Array& query, const Array& key, const Array& value,
                            const DotProductAttentionOptions& options = {});

}  // namespace tessera
