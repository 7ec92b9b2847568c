#include "tessera/ops/factor/matrix_op.h"

#include <algorithm>

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

// Copies tile by tile, because rows whose length is a power of two compete for the same lines of
// the cache.
template <class T>
void transpose_matrix(const T* in, int64_t rows, int64_t cols, T* out) {
  constexpr int64_t kTile = 64 / sizeof(T), kRowsOfTask = 256;
  parallel_for_ranges(rows, kRowsOfTask, [&](int64_t begin, int64_t end) {
    alignas(64) T tile[kTile * kTile];
    alignas(64) T turned[kTile * kTile];
    for (int64_t i0 = begin; i0 < end; i0 += kTile)
      for (int64_t j0 = 0; j0 < cols; j0 += kTile) {
        const int64_t m = std::min(kTile, end - i0), n = std::min(kTile, cols - j0);
        if (m == kTile && n == kTile) {
          for (int64_t i = 0; i < kTile; ++i)
            std::copy_n(in + (i0 + i) * cols + j0, kTile, tile + i * kTile);
          for (int64_t j = 0; j < kTile; ++j)
            for (int64_t i = 0; i < kTile; ++i) turned[j * kTile + i] = tile[i * kTile + j];
          for (int64_t j = 0; j < kTile; ++j)
            std::copy_n(turned + j * kTile, kTile, out + (j0 + j) * rows + i0);
          continue;
        }
        for (int64_t j = 0; j < n; ++j)
          for (int64_t i = 0; i < m; ++i)
            out[(j0 + j) * rows + i0 + i] = in[(i0 + i) * cols + j0 + j];
      }
  });
}
template void transpose_matrix(const float*, int64_t, int64_t, float*);
template void transpose_matrix(const double*, int64_t, int64_t, double*);
template void transpose_matrix(const std::complex<float>*, int64_t, int64_t, std::complex<float>*);
template void transpose_matrix(const std::complex<double>*, int64_t, int64_t,
                               std::complex<double>*);

}  // namespace tessera::ops::factor
