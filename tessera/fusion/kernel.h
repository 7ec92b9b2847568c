// Kernel: a loop nest over elements, the unit of code generation. Fusion makes it and codegen
// compiles it; the runtime reads its loops to estimate its time and to run it in place.
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

// offset + sum over all loop dimensions (parallel ones first, then the current loop's extents) of
// coefficient * index, in elements.
struct Affine {
  int64_t offset = 0;
  Dims parallel;  // one for each parallel dimension
  Dims inner;     // one for each extent of its loop
  friend bool operator==(const Affine&, const Affine&) = default;
};

enum class NodeKind : uint8_t {
  kConstant,  // `immediate`
  kIndex,     // the value of `address`, as an integer of the node's dtype
  // buffer[address + sum of dynamic] if the guard is true; otherwise 0, and memory is not accessed.
  kLoad,
  kScalarOp,  // op(args)
  kReduced,   // result `reduction` of an earlier loop
};

struct KernelNode {
  NodeKind kind;
  DType dtype;
  ScalarOp op = ScalarOp::kAdd;
  boost::container::small_vector<int, 3> args;  // node ids, always smaller than this node's
  std::array<std::byte, 16> immediate{};        // for kConstant: the bytes of one element
  int buffer = -1;                              // for kLoad
  Affine address;                               // for kLoad, kIndex; in terms of the loop below
  // For kLoad: (int32/int64 node, stride in elements), uniform or per lane (a gather).
  std::vector<std::pair<int, int64_t>> dynamic;
  int guard = -1;  // for kLoad: a bool node, or -1
  // The loop whose indices the addresses use; for kReduced: the loop that reduces.
  int loop = 0;
  int reduction = 0;  // for kReduced
};

struct KernelStore {
  int buffer = 0;
  Affine address;
  int node = 0;
  int guard = -1;  // a bool node: stores only if it is true
};

// A fold over all inner indices of a loop. It has several accumulators if its body is that of a
// variadic reduce (argmax).
struct KernelReduction {
  ReduceKind kind = ReduceKind::kSum;
  std::vector<int> nodes;  // the elements folded
  std::vector<int> init;   // nodes that do not depend on the loop (constants, loads, results)
  // For kCustom, kArgMin and kArgMax: the scalar function (acc..., x...) -> acc..., which is
  // associative and commutative and whose ops are all Pointwise.
  FunctionRef body;
  DType accumulate = float32;  // of the accumulator (float32 for f16 and bf16 sums)
};

struct KernelLoop {
  Dims extents;
  std::vector<KernelReduction> reductions;
  std::vector<KernelStore> stores;
};

// Scratch: one for each task, in the caller's memory, kept in cache.
enum class BufferKind : uint8_t { kInput, kOutput, kScratch };
struct KernelBuffer {
  DType dtype;
  BufferKind kind;
  int64_t elements = 0;  // of one instance
};

struct Kernel {
  std::vector<KernelBuffer> buffers;
  Dims parallel;
  std::vector<KernelLoop> loops;
  std::vector<KernelNode> nodes;
  enum class Vectorize : uint8_t { kParallel, kInner } vectorize = Vectorize::kParallel;
  bool streaming_stores = false;  // outputs are much larger than the caches: non-temporal stores

  int64_t parallel_elements() const { return parallel.elements(); }
};

// Machine code is called with one pointer for each buffer (scratch included), and the range of the
// flat parallel index.
using KernelFn = void (*)(void* const* buffers, int64_t begin, int64_t end);

// Machine code, which lives as long as one of its copies.
struct KernelCode {
  KernelFn fn = nullptr;
  std::shared_ptr<const void> memory = {};  // null: code that is part of the program
  int64_t bytes = 0;
  void operator()(void* const* buffers, int64_t begin, int64_t end) const {
    fn(buffers, begin, end);
  }
};

// Returns text that is equal only for equal kernels.
std::string to_string(const Kernel& kernel);
// Throws InternalError if the kernel breaks a rule above.
void verify(const Kernel& kernel);

}  // namespace tessera::fusion
