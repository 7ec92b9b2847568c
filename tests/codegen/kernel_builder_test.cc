#include "kernel_builder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "tessera/base/visit_dtype.h"
#include "tessera/fusion/kernels/kernel_body.h"
#include "tests/ops/apply_scalar.h"

namespace tessera::codegen::test {
namespace {

using Real = long double;

// A number of any dtype: integers and bools in `i` (sign- or zero-extended to 64 bits), floats and
// complex in re, im.
struct Num {
  DType dtype = float32;
  int64_t i = 0;
  Real re = 0, im = 0;
};

bool is_real(DType d) { return is_inexact(d); }

// Rounds to the precision in which the dtype is computed.
Num rounded(Num n) {
  auto round = [&](Real v) -> Real {
    return real_dtype(n.dtype) == float64 ? static_cast<double>(v) : static_cast<float>(v);
  };
  if (is_real(n.dtype)) {
    n.re = round(n.re);
    n.im = round(n.im);
    return n;
  }
  if (n.dtype == bool_) {
    n.i = n.i != 0;
    return n;
  }
  visit_dtype(n.dtype, [&]<class T>(TypeTag<T>) {
    if constexpr (std::is_integral_v<T>) n.i = static_cast<int64_t>(static_cast<T>(n.i));
  });
  return n;
}

Num read(DType dtype, const void* bytes) {
  Num n{dtype};
  visit_dtype(dtype, [&]<class T>(TypeTag<T>) {
    if constexpr (std::is_same_v<T, bool>) {
      n.i = *static_cast<const uint8_t*>(bytes) != 0;
    } else {
      T value;
      std::memcpy(&value, bytes, sizeof(T));
      if constexpr (std::is_integral_v<T>) {
        n.i = static_cast<int64_t>(value);
      } else if constexpr (std::is_same_v<T, std::complex<float>> ||
                           std::is_same_v<T, std::complex<double>>) {
        n.re = value.real();
        n.im = value.imag();
      } else if constexpr (std::is_floating_point_v<T>) {
        n.re = value;
      } else {
        n.re = static_cast<float>(value);
      }
    }
  });
  return n;
}

// Returns the nearest float16 or bfloat16 (ties to even). It is found among the neighbours of a
// first guess, because rounding through float would round twice.
template <class Half>
Half nearest_half(Real x) {
  const Half guess(static_cast<float>(x));
  if (!std::isfinite(x) || x == 0) return guess;
  const Half largest = [] {
    Half h;
    h.bits = std::is_same_v<Half, Float16> ? 0x7bff : 0x7f7f;
    return h;
  }();
  const Real limit = static_cast<float>(largest);
  Half best = guess;
  Real best_distance = INFINITY;
  for (int step = -1; step <= 1; ++step) {
    Half h = guess;
    const int magnitude = (guess.bits & 0x7fff) + step;
    if (magnitude < 0 || magnitude > largest.bits + 1) continue;
    h.bits = static_cast<uint16_t>((guess.bits & 0x8000) | magnitude);
    // Infinity counts as the next number after the largest.
    Half before = largest;
    before.bits -= 1;
    const Real value = magnitude > largest.bits
                           ? std::copysign(2 * limit - static_cast<float>(before), x)
                           : static_cast<float>(h);
    const Real distance = std::fabs(value - x);
    if (distance < best_distance || (distance == best_distance && h.bits % 2 == 0)) {
      best = h;
      best_distance = distance;
    }
  }
  return best;
}

void write(Num n, void* bytes) {
  visit_dtype(n.dtype, [&]<class T>(TypeTag<T>) {
    T value;
    if constexpr (std::is_same_v<T, bool>) {
      value = n.i != 0;
    } else if constexpr (std::is_integral_v<T>) {
      value = static_cast<T>(n.i);
    } else if constexpr (std::is_same_v<T, std::complex<float>>) {
      value = {static_cast<float>(n.re), static_cast<float>(n.im)};
    } else if constexpr (std::is_same_v<T, std::complex<double>>) {
      value = {static_cast<double>(n.re), static_cast<double>(n.im)};
    } else if constexpr (std::is_floating_point_v<T>) {
      value = static_cast<T>(n.re);
    } else {
      value = nearest_half<T>(n.re);
    }
    std::memcpy(bytes, &value, sizeof(T));
  });
}

Num narrowed(Num n) {
  if (n.dtype != float16 && n.dtype != bfloat16) return n;
  std::byte bytes[16];
  write(n, bytes);
  return read(n.dtype, bytes);
}

Num convert(Num n, DType to) {
  n = narrowed(n);
  Num r{to};
  if (is_real(to)) {
    r.re = is_real(n.dtype)       ? n.re
           : is_unsigned(n.dtype) ? static_cast<Real>(static_cast<uint64_t>(n.i))
                                  : static_cast<Real>(n.i);
    r.im = is_complex(to) ? n.im : 0;
    return itemsize(to) == 2 ? narrowed(r) : rounded(r);
  }
  if (!is_real(n.dtype)) {
    r.i = n.i;
  } else if (to == bool_) {
    r.i = n.re != 0 || n.im != 0 || std::isnan(n.re);
  } else if (std::isnan(n.re)) {
    r.i = 0;
  } else {
    visit_dtype(to, [&]<class T>(TypeTag<T>) {
      if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
        const Real low = static_cast<Real>(std::numeric_limits<T>::min());
        const Real high = static_cast<Real>(std::numeric_limits<T>::max());
        const Real t = std::trunc(n.re);
        r.i = static_cast<int64_t>(t <= low    ? std::numeric_limits<T>::min()
                                   : t >= high ? std::numeric_limits<T>::max()
                                               : static_cast<T>(t));
      }
    });
  }
  return rounded(r);
}

// Returns the dtype in registers: float16 and bfloat16 are held as float32.
DType held_as(DType dtype) { return is_half(dtype) ? float32 : dtype; }

Num apply(ScalarOp op, DType result, std::span<const Num> args) {
  if (op == ScalarOp::kConvert) return convert(args[0], result);
  if (op == ScalarOp::kBitcast) {
    std::byte bytes[16];
    write(args[0], bytes);
    return read(result, bytes);
  }
  std::vector<Scalar> held;
  for (Num arg : args) {
    arg.dtype = held_as(arg.dtype);
    held.push_back({.dtype = arg.dtype});
    write(arg, held.back().bytes.data());
  }
  Num out = read(held_as(result), apply_scalar(op, held_as(result), held).bytes.data());
  out.dtype = result;
  return out;
}

class Interpreter {
 public:
  Interpreter(const Kernel& k, const std::vector<void*>& buffers) : k_(k), buffers_(buffers) {}

  void run(int64_t begin, int64_t end) {
    for (int64_t flat = begin; flat < end; ++flat) {
      parallel_ = unflatten(flat, k_.parallel);
      results_.assign(k_.loops.size(), {});
      for (size_t l = 0; l < k_.loops.size(); ++l) loop(static_cast<int>(l));
    }
  }

 private:
  static Dims unflatten(int64_t flat, const Dims& extents) {
    Dims index = extents;
    for (size_t d = extents.size(); d-- > 0;) {
      index[d] = flat % extents[d];
      flat /= extents[d];
    }
    return index;
  }
  int64_t at(const Affine& a) const {
    int64_t sum = a.offset;
    for (size_t d = 0; d < a.parallel.size(); ++d) sum += a.parallel[d] * parallel_[d];
    for (size_t d = 0; d < a.inner.size() && d < inner_.size(); ++d) sum += a.inner[d] * inner_[d];
    return sum;
  }
  std::byte* element(int buffer, int64_t index) const {
    return static_cast<std::byte*>(buffers_[buffer]) + index * itemsize(k_.buffers[buffer].dtype);
  }
  Num eval(int id) {
    const KernelNode& n = k_.nodes[id];
    switch (n.kind) {
      case NodeKind::kConstant:
        return read(n.dtype, n.immediate.data());
      case NodeKind::kIndex:
        return rounded({n.dtype, at(n.address)});
      case NodeKind::kReduced:
        return results_[n.loop][n.reduction];
      case NodeKind::kLoad: {
        if (n.guard >= 0 && !eval(n.guard).i) return Num{n.dtype};
        int64_t index = at(n.address);
        for (const auto& [node, stride] : n.dynamic) index += eval(node).i * stride;
        return read(n.dtype, element(n.buffer, index));
      }
      case NodeKind::kScalarOp: {
        std::vector<Num> args;
        for (int arg : n.args) args.push_back(eval(arg));
        return apply(n.op, n.dtype, args);
      }
    }
    return {};
  }
  std::vector<Num> fold(const KernelReduction& r, const std::vector<Num>& acc,
                        const std::vector<Num>& x) {
    static constexpr ScalarOp kOps[] = {ScalarOp::kAdd, ScalarOp::kMul, ScalarOp::kMin,
                                        ScalarOp::kMax, ScalarOp::kAnd, ScalarOp::kOr};
    if (r.kind < ReduceKind::kArgMin) {
      const Num args[] = {acc[0], x[0]};
      Num out = acc[0];
      // Sums are computed in long double, because the kernel may add in another order.
      if (is_floating(out.dtype) && r.kind == ReduceKind::kSum) {
        out.re = acc[0].re + x[0].re;
      } else if (is_floating(out.dtype) && r.kind == ReduceKind::kProduct) {
        out.re = acc[0].re * x[0].re;
      } else {
        out = apply(kOps[static_cast<int>(r.kind)], out.dtype, args);
      }
      return {out};
    }
    const ScalarProgram body = record_body(*r.body);
    std::vector<Num> values;
    for (size_t i = 0; i < body.nodes.size(); ++i) {
      const ScalarNode& n = body.nodes[i];
      if (n.kind == ScalarNode::Kind::kInput) {
        values.push_back(i < acc.size() ? acc[i] : x[i - acc.size()]);
      } else if (n.kind == ScalarNode::Kind::kConstant) {
        values.push_back(read(n.dtype, n.immediate.data()));
      } else {
        std::vector<Num> args;
        for (int arg : n.args) args.push_back(values[arg]);
        values.push_back(apply(n.op, n.dtype, args));
      }
    }
    std::vector<Num> out;
    for (int o : body.outputs) out.push_back(values[o]);
    return out;
  }
  void loop(int l) {
    const KernelLoop& loop = k_.loops[l];
    std::vector<std::vector<Num>> acc;
    inner_.assign(loop.extents.size(), 0);
    for (const KernelReduction& r : loop.reductions) {
      acc.emplace_back();
      for (int init : r.init) acc.back().push_back(eval(init));
    }
    for (int64_t i = 0; i < loop.extents.elements(); ++i) {
      inner_ = unflatten(i, loop.extents);
      for (size_t r = 0; r < acc.size(); ++r) {
        std::vector<Num> x;
        for (int node : loop.reductions[r].nodes) x.push_back(eval(node));
        acc[r] = fold(loop.reductions[r], acc[r], x);
      }
      for (const KernelStore& store : loop.stores) {
        if (store.guard >= 0 && !eval(store.guard).i) continue;
        const Num n = eval(store.node);
        write(n, element(store.buffer, at(store.address)));
      }
    }
    for (const auto& a : acc) {
      for (const Num& n : a) results_[l].push_back(rounded(n));
    }
  }

  const Kernel& k_;
  const std::vector<void*>& buffers_;
  Dims parallel_, inner_;
  std::vector<std::vector<Num>> results_;
};

}  // namespace

void interpret(const Kernel& kernel, const std::vector<void*>& buffers, int64_t begin,
               int64_t end) {
  Interpreter(kernel, buffers).run(begin, end);
}

int KernelMaker::number(DType dtype, double value) {
  KernelNode n{NodeKind::kConstant, dtype};
  Num num{dtype};
  num.i = static_cast<int64_t>(value);
  num.re = value;
  write(num, n.immediate.data());
  return add(std::move(n));
}

Buffers::Buffers(const Kernel& kernel, uint32_t seed) {
  std::mt19937_64 random(seed);
  for (const KernelBuffer& buffer : kernel.buffers) {
    const int64_t item = itemsize(buffer.dtype);
    bytes_.emplace_back(kGuard + buffer.elements * item, std::byte{0x5a});
    std::byte* at = bytes_.back().data();
    if (buffer.kind != BufferKind::kInput) continue;
    for (int64_t i = 0; i < buffer.elements; ++i) {
      Num n{buffer.dtype};
      n.i = buffer.dtype == bool_ ? random() % 2 : static_cast<int64_t>(random() % 201) - 100;
      if (is_unsigned(buffer.dtype)) n.i = random() % 200;
      n.re = static_cast<Real>(static_cast<int64_t>(random() % 4001) - 2000) / 512;
      n.im = is_complex(buffer.dtype)
                 ? static_cast<Real>(static_cast<int64_t>(random() % 4001) - 2000) / 512
                 : 0;
      write(n, at + i * item);
    }
  }
}

std::vector<void*> Buffers::pointers() {
  std::vector<void*> out;
  for (auto& b : bytes_) out.push_back(b.data() + offset_);
  return out;
}

bool Buffers::guards_intact() const {
  for (const auto& b : bytes_) {
    for (size_t i = b.size() - kGuard; i < b.size(); ++i) {
      if (b[i] != std::byte{0x5a}) return false;
    }
  }
  return true;
}

std::vector<KernelCompiler*> compilers() {
  static std::vector<std::unique_ptr<KernelCompiler>> owned = [] {
    std::vector<std::unique_ptr<KernelCompiler>> made;
    made.push_back(std::make_unique<KernelCompiler>(CompilerOptions{narrow_target(), "off"}));
    if (host_target().avx512) {
      made.push_back(std::make_unique<KernelCompiler>(CompilerOptions{host_target(), "off"}));
    }
    return made;
  }();
  std::vector<KernelCompiler*> out;
  for (const auto& c : owned) out.push_back(c.get());
  return out;
}

void check(const Kernel& kernel, double tolerance, int pieces,
           const std::function<void(Buffers&)>& fill) {
  const int64_t n = kernel.parallel_elements();
  Buffers expected(kernel);
  if (fill) fill(expected);
  interpret(kernel, expected.pointers(), 0, n);
  for (KernelCompiler* compiler : compilers()) {
    const KernelCode fn = compiler->compile(kernel);
    Buffers actual(kernel);
    if (fill) fill(actual);
    const std::vector<void*> pointers = actual.pointers();
    for (int p = 0; p < pieces; ++p) fn(pointers.data(), n * p / pieces, n * (p + 1) / pieces);
    ASSERT_TRUE(actual.guards_intact()) << to_string(kernel);
    for (size_t b = 0; b < kernel.buffers.size(); ++b) {
      if (kernel.buffers[b].kind != BufferKind::kOutput) continue;
      const DType dtype = kernel.buffers[b].dtype;
      for (int64_t i = 0; i < kernel.buffers[b].elements; ++i) {
        const int64_t at = i * itemsize(dtype);
        const Num want = read(dtype, expected.raw(static_cast<int>(b)) + at);
        const Num got = read(dtype, actual.raw(static_cast<int>(b)) + at);
        auto near = [&](Real x, Real y) {
          if (std::isnan(x) || std::isnan(y)) return std::isnan(x) == std::isnan(y);
          return x == y || std::fabs(x - y) <= tolerance * std::max<Real>(1, std::fabs(x));
        };
        ASSERT_TRUE(want.i == got.i && near(want.re, got.re) && near(want.im, got.im))
            << "buffer " << b << " element " << i << ": expected " << want.i << " "
            << static_cast<double>(want.re) << "+" << static_cast<double>(want.im) << "j, got "
            << got.i << " " << static_cast<double>(got.re) << "+" << static_cast<double>(got.im)
            << "j, " << (compiler == compilers()[0] ? "AVX2" : "AVX-512") << "\n"
            << to_string(kernel);
      }
    }
  }
}

// Tests the interpreter itself on a small case: row sums of [[1, 2, 3], [4, 5, 6]].
TEST(Interpreter, SumsRows) {
  KernelMaker m;
  const int in = m.buffer(int32, 6), out = m.buffer(int32, 2, BufferKind::kOutput);
  m.k.parallel = {2};
  m.k.vectorize = Kernel::Vectorize::kInner;
  m.loop({3});
  m.loop({});
  m.reduce(0, ReduceKind::kSum, m.load(in, {0, {3}, {1}}), m.constant<int32_t>(10));
  m.store(out, {0, {1}, {}}, m.reduced(int32, 0), 1);
  verify(m.k);
  Buffers b(m.k);
  for (int i = 0; i < 6; ++i) b.data<int32_t>(in)[i] = i + 1;
  interpret(m.k, b.pointers(), 0, 2);
  EXPECT_EQ(b.data<int32_t>(out)[0], 16);
  EXPECT_EQ(b.data<int32_t>(out)[1], 25);
}

}  // namespace tessera::codegen::test
