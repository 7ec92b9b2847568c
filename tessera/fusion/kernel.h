// Kernel: a loop nest over elements, the unit of code generation. Fusion makes it and codegen
// compiles it. The runtime reads its loops to estimate its time and to decide whether it runs in
// place.
//
//   for p in parallel[0] x parallel[1] x ...         (divided between threads and devices:
//                                                     [begin, end) of the flat index)
//     for each loop l, in order:
//       for i in l.extents[0] x l.extents[1] x ...   (empty extents: once)
//         the stores of l; the reductions of l fold one more element
//
// There are three forms of kernel, by the position of the vector lanes:
//   elementwise    one loop without extents; lanes along the last parallel dimension
//                  (vectorize = kParallel)
//   column reduce  a loop over the reduced dimensions, accumulators per lane; lanes likewise
//                  (vectorize = kParallel)
//   row reduce     loops over the minor dimensions, lanes along the last inner extent; results of a
//                  loop's reductions are scalars that later loops use: softmax is three loops in
//                  one kernel (vectorize = kInner)
//
// Example, softmax of f32[n, m]: parallel {n};
//   loop 0, extents {m}: reduce max of x
//   loop 1, extents {m}: e = exp(x - max), store e to scratch, reduce sum of e
//   loop 2, extents {m}: store scratch / sum
#pragma once

#include <string>
#include <vector>

#include "tessera/ir/factors.h"
#include "tessera/ir/function.h"
#include "tessera/ir/scalar_op.h"

namespace tessera::fusion {

// The value offset + sum over all loop dimensions (parallel ones first, then the current loop's
// extents) of coefficient * index, in elements.
struct Affine {
  int64_t offset = 0;
  Dims parallel;  // one for each parallel dimension
  Dims inner;     // one for each extent of its loop
  friend bool operator==(const Affine&, const Affine&) = default;
};

enum class NodeKind : uint8_t {
  kConstant,  // the value of `immediate`
  kIndex,     // the value of `address`, as an integer of the node's dtype
  // buffer[address + sum of dynamic] if the guard is true; otherwise 0, without accessing memory.
  kLoad,
  kScalarOp,  // op(args)
  kReduced,   // result number `reduction` of an earlier loop
};

struct KernelNode {
  NodeKind kind;
  DType dtype;
  ScalarOp op = ScalarOp::kAdd;
  boost::container::small_vector<int, 3> args;  // node ids, always smaller than this node's
  std::array<std::byte, 16> immediate{};        // for kConstant: the bytes of one element
  int buffer = -1;                              // for kLoad
  Affine address;                               // for kLoad, kIndex: uses the indices of `loop`
  // For kLoad: pairs (int32/int64 node, stride in elements). A node may differ between lanes (a
  // gather).
  std::vector<std::pair<int, int64_t>> dynamic;
  int guard = -1;  // for kLoad: a bool node, or -1
  // The loop whose indices the addresses use; for kReduced, the loop of the reduction.
  int loop = 0;
  int reduction = 0;  // for kReduced
};

struct KernelStore {
  int buffer = 0;
  Affine address;
  int node = 0;
  int guard = -1;  // a bool node, or -1: stores only if it is true
};

// A fold over all inner indices of a loop. It has several accumulators if it is a variadic reduce
// (argmax).
struct KernelReduction {
  ReduceKind kind = ReduceKind::kSum;
  std::vector<int> nodes;  // the elements that are folded
  // Nodes that do not depend on the loop (constants, loads, results of earlier loops).
  std::vector<int> init;
  // For kCustom, kArgMin and kArgMax: the scalar function (acc..., x...) -> acc..., which is
  // associative and commutative and whose ops are all Pointwise.
  FunctionRef body;
  DType accumulate = float32;  // the accumulator's dtype (float32 for sums of f16 and bf16)
};

struct KernelLoop {
  Dims extents;
  std::vector<KernelReduction> reductions;
  std::vector<KernelStore> stores;
};

// kScratch is memory of the caller, one buffer for each task, small enough to stay in the cache.
enum class BufferKind : uint8_t { kInput, kOutput, kScratch };
struct KernelBuffer {
  DType dtype;
  BufferKind kind;
  int64_t elements = 0;  // of one instance
};
// Returns whether a buffer may be an array of the dtype: one of its own dtype, or one of float16,
// bfloat16 or bool whose bits it has as integers (half_extrema.h).
inline bool may_be_array_of(const KernelBuffer& buffer, DType dtype) {
  return buffer.dtype == dtype || (buffer.dtype == int16 && is_half(dtype)) ||
         (buffer.dtype == uint8 && dtype == bool_);
}

struct Kernel {
  std::vector<KernelBuffer> buffers;
  Dims parallel;
  std::vector<KernelLoop> loops;
  std::vector<KernelNode> nodes;
  enum class Vectorize : uint8_t { kParallel, kInner } vectorize = Vectorize::kParallel;
  // Stores are non-temporal, since the outputs are much larger than the caches.
  bool streaming_stores = false;

  int64_t parallel_elements() const { return parallel.elements(); }
};

// The type of machine code. It gets a pointer for each buffer (including scratch), and the range of
// the flat parallel index.
using KernelFn = void (*)(void* const* buffers, int64_t begin, int64_t end);

// Machine code. It lives as long as any copy of this struct.
struct KernelCode {
  KernelFn fn = nullptr;
  std::shared_ptr<const void> memory = {};  // null if the code is part of this library
  int64_t bytes = 0;
  void operator()(void* const* buffers, int64_t begin, int64_t end) const {
    fn(buffers, begin, end);
  }
};

// Returns the kernel as text. Different kernels have different texts.
std::string to_string(const Kernel& kernel);
// Throws InternalError if the kernel breaks a rule of this header.
void verify(const Kernel& kernel);

}  // namespace tessera::fusion
