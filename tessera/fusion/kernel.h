// Kernel: a loop nest over elements, the unit of code generation. Fusion makes it and codegen
// compiles it; the runtime reads its loops to estimate its time and to run it in place.
//
//   for p in parallel[0] x parallel[1] x ...         (split between threads and devices:
//                                                     [begin, end) of the flat index)
//     for each loop l, in order:
//       for i in l.extents[0] x l.extents[1] x ...   (empty extents: once)
//         the stores of l; the reductions of l take one more element
//
// Three shapes of kernel follow from where the vector lanes lie:
//   elementwise    one loop without extents; lanes along the last parallel dim
//                  (vectorize = kParallel)
//   column reduce  a loop over the reduced dims, accumulators per lane; lanes likewise
//                  (vectorize = kParallel)
//   row reduce     loops over the minor dims, lanes along the last inner extent; results of a
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

// offset + sum over all loop dims (parallel dims first, then the current loop's extents) of
// coefficient * index. Elements.
struct Affine {
  int64_t offset = 0;
  Dims parallel;  // one a parallel dim
  Dims inner;     // one an extent of the loop it is used in
  friend bool operator==(const Affine&, const Affine&) = default;
};

enum class NodeKind : uint8_t {
  kConstant,  // immediate
  kIndex,     // the value of `address`, as an integer of the node's dtype
  // buffer[address + sum of dynamic] where the guard holds; 0 elsewhere, the memory not touched.
  kLoad,
  kScalarOp,  // op(args)
  kReduced,   // result `reduction` of an earlier loop
};

struct KernelNode {
  NodeKind kind;
  DType dtype;
  ScalarOp op = ScalarOp::kAdd;
  boost::container::small_vector<int, 3> args;  // node ids, always smaller than this node's
  std::array<std::byte, 16> immediate{};        // kConstant: the bytes of one element
  int buffer = -1;                              // kLoad
  Affine address;                               // kLoad, kIndex; of the loop below
  // kLoad: (int32/int64 node, stride in elements), uniform or per lane (a gather).
  std::vector<std::pair<int, int64_t>> dynamic;
  int guard = -1;     // kLoad: a bool node, or -1
  int loop = 0;       // the loop whose indices the addresses use; kReduced: the loop that reduces
  int reduction = 0;  // kReduced
};

struct KernelStore {
  int buffer = 0;
  Affine address;
  int node = 0;
  int guard = -1;  // a bool node: store only where it holds
};

// A fold over all inner indices of a loop. Several accumulators when the body is one of a variadic
// reduce (argmax).
struct KernelReduction {
  ReduceKind kind = ReduceKind::kSum;
  std::vector<int> nodes;  // the elements folded
  std::vector<int> init;   // nodes that do not depend on the loop (constants, loads, results)
  // kCustom, kArgMin and kArgMax: the scalar function (acc..., x...) -> acc... whose ops are all
  // Pointwise, which is associative and commutative.
  FunctionRef body;
  DType accumulate = float32;  // of the accumulator (float32 for f16 and bf16 sums)
};

struct KernelLoop {
  Dims extents;
  std::vector<KernelReduction> reductions;
  std::vector<KernelStore> stores;
};

// Scratch: one a task, in the caller's memory, kept in cache.
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
  bool streaming_stores = false;  // outputs much larger than the caches: non-temporal stores

  int64_t parallel_elements() const { return parallel.elements(); }
};

// What the machine code is called with: one pointer a buffer (scratch included), and the range of
// the flat parallel index.
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

// Of equal kernels alone it is equal.
std::string to_string(const Kernel& kernel);
// Throws InternalError if the kernel breaks a rule above.
void verify(const Kernel& kernel);

}  // namespace tessera::fusion
