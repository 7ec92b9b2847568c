#include "tessera/ops/factor/matrix_op.h"

#include <algorithm>
#include <cstring>

#include "tessera/base/blas.h"
#include "tessera/base/thread_pool.h"
#include "tessera/cluster/processes.h"
#include "tessera/ops/structural/broadcast.h"

namespace tessera::ops::factor {

void expect_matrix(std::string_view op, const Type& x) {
  if (x.dtype != float32 && x.dtype != float64 && x.dtype != complex64 && x.dtype != complex128)
    type_error(op,
               "expected float32, float64, complex64 or complex128, got {}; convert it with "
               "convert_element_type",
               describe(x));
  if (x.rank() < 2)
    shape_error(op, "expected a matrix, or a batch of them: rank 2 or more, got {}; reshape it",
                describe(x));
}

void expect_square(std::string_view op, const Type& x) {
  expect_matrix(op, x);
  if (rows_of(x) != cols_of(x))
    shape_error(op, "expected square matrices [..., n, n], got {}; slice or pad it", describe(x));
}

void expect_shape(std::string_view op, const Type& like, const Type& x, const Dims& dims) {
  const Shape expected = batch_with(like, dims);
  if (x.shape != expected)
    shape_error(op, "expected an operand of shape {} with {}, got {}; reshape or broadcast it",
                expected, describe(like), describe(x));
}

Shape batch_with(const Type& x, const Dims& dims) {
  Shape out(x.shape.begin(), x.shape.end() - 2);
  out.insert(out.end(), dims.begin(), dims.end());
  return out;
}

Type result_type(std::span<const Type> operands, DType dtype, Shape shape) {
  return {.dtype = dtype, .shape = std::move(shape), .varying = varying_union(operands)};
}

Factors matrix_factors(std::span<const Type> operands, std::span<const Type> results,
                       int64_t batch) {
  Factors out;
  for (int64_t d = 0; d < batch; ++d) out.add(operands[0].shape[d]);
  auto dims_of = [&](const Type& x) {
    TensorFactors dims;
    for (int64_t d = 0; d < x.rank(); ++d)
      dims.push_back(
          {d < batch ? static_cast<int>(d) : out.add(x.shape[d], FactorKind::kNeedReplication)});
    return dims;
  };
  for (const Type& x : operands) out.operands.push_back(dims_of(x));
  for (const Type& x : results) out.results.push_back(dims_of(x));
  return out;
}

std::vector<Array> mapped_in_front(std::span<const Array> x, std::span<const int> dims) {
  int64_t size = 0;
  for (size_t k = 0; k < x.size(); ++k)
    if (dims[k] >= 0) size = x[k].shape()[dims[k]];
  std::vector<Array> out;
  for (size_t k = 0; k < x.size(); ++k) out.push_back(lax::with_batch_first(x[k], dims[k], size));
  return out;
}

int64_t members_of(const Type& matrix) {
  int64_t members = 1;
  for (int64_t d = 0; d + 2 < matrix.rank(); ++d) members *= matrix.shape[d];
  return members;
}

namespace {

// With fewer operations, a task costs more than it saves, or several threads for one matrix do.
// OpenBLAS's threads wait for each other dozens of times a matrix by spinning; on cores that other
// programs use, every wait takes milliseconds. One thread computes a matrix of this size within
// milliseconds.
constexpr double kTaskOperations = 1e5, kThreadedOperations = 1e8;

std::vector<int64_t> member_bytes(std::span<const Type> types, int64_t members) {
  std::vector<int64_t> out;
  for (const Type& t : types)
    out.push_back(t.elements() / std::max<int64_t>(1, members) * itemsize(t.dtype));
  return out;
}

// Where member i is in each operand and result, whose members have so many bytes.
struct MemberPointers {
  MemberPointers(std::span<const void* const> in, std::span<void* const> out,
                 const std::vector<int64_t>& in_bytes, const std::vector<int64_t>& out_bytes,
                 int64_t i) {
    for (size_t k = 0; k < in.size(); ++k)
      from.push_back(static_cast<const std::byte*>(in[k]) + i * in_bytes[k]);
    for (size_t r = 0; r < out.size(); ++r)
      to.push_back(static_cast<std::byte*>(out[r]) + i * out_bytes[r]);
  }
  boost::container::small_vector<const void*, 4> from;
  boost::container::small_vector<void*, 5> to;
};

}  // namespace

BlasThreads blas_threads_for(double operations) {
  // Several threads sum in another order than one thread does. In a cluster, the number of devices
  // of a process decides whether one matrix gets all threads, so a reproducible run uses one
  // thread.
  const bool threaded = operations > kThreadedOperations && !in_parallel_task() &&
                        !cluster::Processes::reproducible();
  return BlasThreads(threaded ? num_threads() : 1);
}

HostCall over_batch(std::span<const Type> operands, std::span<const Type> results, int64_t members,
                    double operations, Member member, LargeMember large) {
  return
      [=, in_bytes = member_bytes(operands, members), out_bytes = member_bytes(results, members)](
          std::span<const void* const> in, std::span<void* const> out) {
        const auto run = [&](int64_t i) {
          const MemberPointers at(in, out, in_bytes, out_bytes, i);
          member(at.from.data(), at.to.data());
        };
        prepare_blas();
        if (members == 1) {
          const BlasThreads threads =
              blas_threads_for(large == LargeMember::kBlasThreads ? operations : 0);
          return run(0);
        }
        const auto grain = static_cast<int64_t>(kTaskOperations / std::max(1.0, operations));
        parallel_for_ranges(members, std::max<int64_t>(1, grain), [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) run(i);
        });
      };
}

HostCall over_members(std::span<const Type> operands, std::span<const Type> results,
                      int64_t members, double operations, Members compute) {
  // Tasks of small members have a multiple of the lanes of all vectors.
  constexpr int64_t kLanes = 16;
  const auto groups = static_cast<int64_t>(kTaskOperations / std::max(1.0, operations * kLanes));
  const int64_t grain = operations > kTaskOperations ? 1 : kLanes * std::max<int64_t>(1, groups);
  return
      [=, in_bytes = member_bytes(operands, members), out_bytes = member_bytes(results, members)](
          std::span<const void* const> in, std::span<void* const> out) {
        parallel_for_ranges(members, grain, [&](int64_t begin, int64_t end) {
          const MemberPointers at(in, out, in_bytes, out_bytes, begin);
          compute(at.from.data(), at.to.data(), end - begin);
        });
      };
}

std::vector<Type> types_of(std::span<const Literal> operands) {
  std::vector<Type> out;
  for (const Literal& x : operands) out.push_back({.dtype = x.dtype(), .shape = x.shape()});
  return out;
}

std::vector<Literal> evaluate_by_call(const HostCall& call, std::span<const Type> results,
                                      std::span<const Literal> operands) {
  std::vector<const void*> in;
  for (const Literal& x : operands) in.push_back(x.raw());
  std::vector<Literal> out;
  std::vector<void*> to;
  for (const Type& t : results) out.emplace_back(t.dtype, t.shape);
  for (Literal& x : out) to.push_back(x.mutable_raw());
  call(in, to);
  return out;
}

namespace {

typedef uint32_t Words __attribute__((vector_size(16)));
typedef uint64_t Pairs __attribute__((vector_size(16)));  // of words

template <class Vector>
Vector load(const void* from) {
  Vector x;
  std::memcpy(&x, from, sizeof(x));
  return x;
}

template <class Vector>
void store(void* to, const Vector& x) {
  std::memcpy(to, &x, sizeof(x));
}

// Transposes a block of 16 bytes in each direction: 4 x 4, 2 x 2 or 1 x 1 elements. Rows of `in`
// and `out` are so many elements apart.
template <class T>
[[gnu::always_inline]] inline void transpose_block(const T* in, int64_t apart, T* out,
                                                   int64_t out_apart) {
  if constexpr (sizeof(T) == 4) {
    const auto a = load<Words>(in), b = load<Words>(in + apart), c = load<Words>(in + 2 * apart),
               d = load<Words>(in + 3 * apart);
    const auto top = (Pairs)__builtin_shufflevector(a, b, 0, 4, 1, 5),
               bottom = (Pairs)__builtin_shufflevector(c, d, 0, 4, 1, 5),
               top_rest = (Pairs)__builtin_shufflevector(a, b, 2, 6, 3, 7),
               bottom_rest = (Pairs)__builtin_shufflevector(c, d, 2, 6, 3, 7);
    const Pairs columns[] = {__builtin_shufflevector(top, bottom, 0, 2),
                             __builtin_shufflevector(top, bottom, 1, 3),
                             __builtin_shufflevector(top_rest, bottom_rest, 0, 2),
                             __builtin_shufflevector(top_rest, bottom_rest, 1, 3)};
    for (int j = 0; j < 4; ++j) store(out + j * out_apart, columns[j]);
  } else if constexpr (sizeof(T) == 8) {
    const auto a = load<Pairs>(in), b = load<Pairs>(in + apart);
    store(out, __builtin_shufflevector(a, b, 0, 2));
    store(out + out_apart, __builtin_shufflevector(a, b, 1, 3));
  } else {
    *out = *in;
  }
}

// Transposes a block of a line of the cache in each direction.
template <class T>
void transpose_tile(const T* in, int64_t apart, T* out, int64_t out_apart) {
  constexpr int64_t kTile = 64 / sizeof(T), kBlock = 16 / sizeof(T);
#pragma GCC unroll 8
  for (int64_t j = 0; j < kTile; j += kBlock)
#pragma GCC unroll 8
    for (int64_t i = 0; i < kTile; i += kBlock)
      transpose_block(in + i * apart + j, apart, out + j * out_apart + i, out_apart);
}

}  // namespace

// Tile by tile, each of which reads and writes whole lines of the cache. The tiles that follow each
// other write the next lines of the same rows.
template <class T>
void transpose_matrix(const T* in, int64_t rows, int64_t cols, T* out) {
  constexpr int64_t kTile = 64 / sizeof(T), kColumnsOfTask = 256;
  parallel_for_ranges(cols, kColumnsOfTask, [&](int64_t begin, int64_t end) {
    for (int64_t j0 = begin; j0 < end; j0 += kTile) {
      const int64_t last = std::min(j0 + kTile, end);
      int64_t i0 = 0;
      if (last == j0 + kTile)
        for (; i0 + kTile <= rows; i0 += kTile)
          transpose_tile(in + i0 * cols + j0, cols, out + j0 * rows + i0, rows);
      for (int64_t j = j0; j < last; ++j)
        for (int64_t i = i0; i < rows; ++i) out[j * rows + i] = in[i * cols + j];
    }
  });
}
template void transpose_matrix(const float*, int64_t, int64_t, float*);
template void transpose_matrix(const double*, int64_t, int64_t, double*);
template void transpose_matrix(const std::complex<float>*, int64_t, int64_t, std::complex<float>*);
template void transpose_matrix(const std::complex<double>*, int64_t, int64_t,
                               std::complex<double>*);

}  // namespace tessera::ops::factor
