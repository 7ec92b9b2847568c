// Builds kernels for the tests of code generation, and runs their oracle, a naive interpreter of
// the loop nest.
#pragma once

#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <random>
#include <vector>

#include "tessera/codegen/compiler.h"
#include "tessera/fusion/kernel.h"

namespace tessera::codegen::test {

// Owns the memory of a kernel's buffers, with guard bytes behind each.
class Buffers {
 public:
  explicit Buffers(const Kernel& kernel, uint32_t seed = 1);
  template <class T>
  T* data(int b) {
    return reinterpret_cast<T*>(bytes_[b].data() + offset_);
  }
  std::byte* raw(int b) { return bytes_[b].data() + offset_; }
  std::vector<void*> pointers();
  bool guards_intact() const;

 private:
  static constexpr size_t kGuard = 64;
  size_t offset_ = 0;
  std::vector<std::vector<std::byte>> bytes_;
};

struct KernelMaker {
  Kernel k;

  int buffer(DType dtype, int64_t elements, BufferKind kind = BufferKind::kInput) {
    k.buffers.push_back({dtype, kind, elements});
    return static_cast<int>(k.buffers.size()) - 1;
  }
  int loop(Dims extents) {
    k.loops.push_back({std::move(extents), {}, {}});
    return static_cast<int>(k.loops.size()) - 1;
  }
  int add(KernelNode node) {
    k.nodes.push_back(std::move(node));
    return static_cast<int>(k.nodes.size()) - 1;
  }
  int load(int buffer, Affine address, int loop = 0, int guard = -1,
           std::vector<std::pair<int, int64_t>> dynamic = {}) {
    KernelNode n{NodeKind::kLoad, k.buffers[buffer].dtype};
    n.buffer = buffer;
    n.address = std::move(address);
    n.loop = loop;
    n.guard = guard;
    n.dynamic = std::move(dynamic);
    return add(std::move(n));
  }
  int index(DType dtype, Affine address, int loop = 0) {
    KernelNode n{NodeKind::kIndex, dtype};
    n.address = std::move(address);
    n.loop = loop;
    return add(std::move(n));
  }
  int op(ScalarOp op, DType dtype, std::initializer_list<int> args) {
    KernelNode n{NodeKind::kScalarOp, dtype};
    n.op = op;
    n.args.assign(args.begin(), args.end());
    return add(std::move(n));
  }
  template <class T>
  int constant(T value) {
    KernelNode n{NodeKind::kConstant, dtype_of<T>};
    std::memcpy(n.immediate.data(), &value, sizeof(T));
    return add(std::move(n));
  }
  int number(DType dtype, double value);
  int reduced(DType dtype, int loop, int reduction = 0) {
    KernelNode n{NodeKind::kReduced, dtype};
    n.loop = loop;
    n.reduction = reduction;
    return add(std::move(n));
  }
  void store(int buffer, Affine address, int node, int loop = 0, int guard = -1) {
    k.loops[loop].stores.push_back({buffer, std::move(address), node, guard});
  }
  void reduce(int loop, ReduceKind kind, int node, int init, DType accumulate = float32) {
    k.loops[loop].reductions.push_back({kind, {node}, {init}, nullptr, accumulate});
  }
};

// Runs the kernel by scalar loops over the same memory. Floats of 32 bits and fewer are computed in
// double.
void interpret(const Kernel& kernel, const std::vector<void*>& buffers, int64_t begin, int64_t end);

// Returns compilers that do not touch the disk: for AVX2 and, if the host has it, AVX-512.
std::vector<KernelCompiler*> compilers();

// Compiles for every target, runs [0, n) in `pieces` ranges, and compares all output buffers with
// the interpreter: exactly for integers, within `tolerance` (relative, with `tolerance` as absolute
// floor) for floats.
void check(const Kernel& kernel, double tolerance = 0, int pieces = 1,
           const std::function<void(Buffers&)>& fill = {});

// Returns a kernel of the function of n numbers in memory.
inline Kernel function_of(ScalarOp op, DType dtype, int64_t n) {
  KernelMaker m;
  m.k.parallel = {n};
  m.loop({});
  const int x = m.buffer(dtype, n), y = m.buffer(dtype, n, BufferKind::kOutput);
  m.store(y, {0, {1}, {}}, m.op(op, dtype, {m.load(x, {0, {1}, {}})}));
  return m.k;
}

// Returns the relative difference that sums of a few dozen values may have; 0 if the dtype is
// exact.
inline double tolerance_of(DType d) {
  switch (real_dtype(d)) {
    case DType::kFloat16:
      return 4e-3;
    case DType::kBfloat16:
      return 3e-2;
    case DType::kFloat32:
      return 1e-5;
    case DType::kFloat64:
      return 1e-13;
    default:
      return 0;
  }
}

}  // namespace tessera::codegen::test
