// The peer's training workloads: an MLP and a small transformer, one step of gradient descent each.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace tessera::bench {

using Run = std::function<void()>;

// A step of the classifier with these layer sizes on `batch` rows; on 8 devices the batch is
// sharded.
Run mlp_step(int64_t batch, const std::vector<int64_t>& sizes, bool sharded);
// A step of the transformer (d 256, 4 heads, 4 layers, 128 tokens, vocabulary 512) on `batch`
// texts.
Run transformer_step(int64_t batch, bool sharded);
// A step of a small image classifier: (batch, 28, 28, 1), 3 x 3 windows of 32 and of 64 features,
// each followed by pooling of 2 x 2, and a dense layer.
Run conv_net_step(int64_t batch, bool sharded);
// The same steps by clipped gradients of each example, without noise.
Run private_mlp_step(int64_t batch, const std::vector<int64_t>& sizes, bool sharded);
Run private_transformer_step(int64_t batch, bool sharded);
Run private_conv_net_step(int64_t batch, bool sharded);
// A step of the classifier whose loss is the mean of vmap over examples.
Run per_example_mlp_step(int64_t batch, const std::vector<int64_t>& sizes);
// One convolution of (32, 56, 56, 64) by 3 x 3 windows to 64 features; with `gradients`, also those
// of its sum of squares by image and kernel.
Run convolution(bool gradients);
// Seconds to trace, partition and compile the steps, cold, once for each of several batch sizes.
std::vector<double> compile_mlp(const std::vector<int64_t>& sizes, int times);
std::vector<double> compile_transformer(int times);

}  // namespace tessera::bench
