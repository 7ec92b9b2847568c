// Attention on arrays, as jax.nn.dot_product_attention.
#pragma once

#include <optional>
#include <utility>

#include "tessera/ir/array.h"

namespace tessera {

struct DotProductAttentionOptions {
  // Arrays of at most 4 dimensions, which broadcast to (batch, heads, query length, key length);
  // absent: none. `mask` is bool: a query attends to the keys for which it is true.
  Array bias = {}, mask = {};
  std::optional<double> scale = std::nullopt;  // factor of query . key; absent: 1 / sqrt(depth)
  bool is_causal = false;                      // position i attends to positions <= i
  // int32[batch]: only this many first positions of the query, or of key and value, count.
  Array query_seq_lengths = {}, key_value_seq_lengths = {};
  // Each position attends to at most this many positions on its left and on its right.
  std::optional<std::pair<int64_t, int64_t>> local_window_size = std::nullopt;
};
// Returns softmax(scale query key^T + bias) value, with the softmax in float32. Shapes are (batch,
// length, heads, depth), or without the batch. Key and value may have fewer heads, each shared by a
// group of the query's. Throws UserError if shapes, dtypes or numbers of heads do not fit.
Array dot_product_attention(const Array& query, const Array& key, const Array& value,
                            const DotProductAttentionOptions& options = {});

}  // namespace tessera
