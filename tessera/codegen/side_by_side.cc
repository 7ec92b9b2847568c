// Vectors that are computed side by side, in kernels that are mostly one chain of dependent
// operations (an elementary function; random numbers: a hash, then a polynomial of the hash).
//
// The CPU does not look far enough ahead to overlap such chains if one comes after the other, so
// the instructions of several vectors must alternate. On Zen 5 the scheduler holds some 200
// operations of vectors, so exp of float64 (25 operations in 100 cycles) takes 13 cycles a vector
// by itself, 10 with four vectors side by side and 9 with eight. LLVM keeps the order in which they
// are emitted, node by node, within a block. But it moves what only a later block reads into that
// block, and so puts one vector after the other if there are branches in between.
#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/InlineAsm.h>

#include <algorithm>
#include <numeric>

#include "tessera/codegen/emitter.h"

namespace tessera::codegen {

namespace {

// Returns whether the code of the operation (elementary.h) has a branch that some vectors take.
bool branches(ScalarOp op, DType dtype) {
  if (op == ScalarOp::kErfInv || op == ScalarOp::kSin || op == ScalarOp::kCos ||
      op == ScalarOp::kTan)
    return true;
  return dtype == float64 && (op == ScalarOp::kSinh || op == ScalarOp::kCosh ||
                              op == ScalarOp::kAsinh || op == ScalarOp::kAcosh);
}

// Returns whether the operation is a chain by itself. Gammas and powers have parts that do not wait
// for each other, and too many values for the registers; remainders call a function.
bool is_chain(ScalarOp op, DType dtype) {
  using enum ScalarOp;
  return is_floating(dtype) && op != kLgamma && op != kDigamma && op != kPow && op != kRem &&
         op_weight(op, dtype) >= op_weight(kExp, dtype);
}

// Returns whether the operation is computed in float64, in twice as many registers (math_f64.cc).
bool widens(ScalarOp op, DType dtype) {
  using enum ScalarOp;
  return dtype != float64 &&
         (op == kAsinh || op == kAcosh || op == kAtanh || op == kErfc || op == kCbrt);
}

}  // namespace

bool KernelEmitter::has_function() const {
  return std::any_of(k_.nodes.begin(), k_.nodes.end(), [](const KernelNode& node) {
    return node.kind == NodeKind::kScalarOp && !is_complex(node.dtype) &&
           is_chain(node.op, node.dtype);
  });
}

// Computes the node for all vectors of the block, if it is an elementary function: as one wide
// vector, whose parts LLVM computes in turn, instruction by instruction. If its code branches for
// rare arguments, there is one branch for all of them.
void KernelEmitter::compute_together(int node) {
  const KernelNode& n = k_.nodes[node];
  if (n.kind != NodeKind::kScalarOp || is_complex(n.dtype)) return;
  if (!scopes_[static_cast<size_t>(depth_[node])].values[node].empty()) return;
  const bool branch = branches(n.op, n.dtype);
  if (!branch && !(ir_.target.avx512 && is_chain(n.op, n.dtype))) return;
  const int together = !branch && widens(n.op, n.dtype) ? 2 : unroll_;
  for (int from = 0; from < unroll_; from += together)
    compute_together(node, from, std::min(from + together, unroll_));
}

// Computes the node for vectors [from, to).
void KernelEmitter::compute_together(int node, int from, int to) {
  const KernelNode& n = k_.nodes[node];
  boost::container::small_vector<Val, 2> args;
  for (int arg : n.args) {
    std::vector<Value*> parts;
    Val whole;
    for (int u = from; u < to; ++u) {
      const Val part = value(arg, u);
      use_scope(depth_[node]);
      parts.push_back(broadcast_val(ir_, part).re);
      whole.rounded = whole.rounded && part.rounded;
    }
    whole.re = llvm::concatenateVectors(b_, parts);
    args.push_back(whole);
  }
  const Val result = emit_scalar_op(ir_, n.op, n.dtype, k_.nodes[n.args.back()].dtype, args);
  auto& values = scopes_[static_cast<size_t>(depth_[node])].values[node];
  std::vector<int> lanes(static_cast<size_t>(lanes_));
  for (int u = from; u < to; ++u) {
    std::iota(lanes.begin(), lanes.end(), (u - from) * lanes_);
    values.push_back({b_.CreateShuffleVector(result.re, lanes), nullptr, result.rounded});
  }
  keep_scope(depth_[node]);
}

// Computes the results of the loop before the first store, whose branches end the block: an empty
// statement of assembly reads them there. It can read whole vector registers only.
void KernelEmitter::finish_before_stores(int l) {
  if (ir_.target.architecture != Architecture::kX86) return;
  const auto fills_register = [&](Value* part) {
    const Vec lanes{ir_, part};
    const unsigned bits = lanes.is_vector() ? lanes.bits() * lanes.width() : 0;
    return lanes.bits() >= 8 && (bits == 128 || bits == 256 || bits == 512);
  };
  for (const KernelStore& store : k_.loops[l].stores) {
    int node = store.node;  // in the box between the borders, what a condition chooses there
    while (const std::optional<int> chosen = known_choice(node)) node = *chosen;
    if (!by_lane_[node] || known(node) || is_never_loaded(k_.nodes[node])) continue;
    for (int u = 0; u < unroll_; ++u) {
      Val result = value(node, u);
      use_scope(top());
      for (Value** part : {&result.re, &result.im}) {
        if (!*part || !fills_register(*part)) continue;
        llvm::Type* lanes = (*part)->getType();
        auto* type = llvm::FunctionType::get(lanes, {lanes}, false);
        *part = b_.CreateCall(llvm::InlineAsm::get(type, "", "=v,0", true), {*part});
      }
      scopes_[static_cast<size_t>(depth_[node])].values.at(node).at(static_cast<size_t>(u)) =
          result;
    }
  }
}

}  // namespace tessera::codegen
