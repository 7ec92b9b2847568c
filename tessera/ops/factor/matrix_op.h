// What the ops of this folder have in common: batches of matrices of shape [..., m, n] of float32,
// float64, complex64 or complex128, each member computed by a routine of LAPACK (lapack.h).
//
// Dimensions before the last two are batches: they may be sharded and mapped, and are computed in
// parallel. A matrix itself is never divided among devices. LAPACK's matrices are column-major and
// ours row-major, so members are transposed before and after a routine.
#pragma once

#include <algorithm>
#include <complex>
#include <functional>

#include "tessera/base/blas.h"
#include "tessera/base/visit_dtype.h"
#include "tessera/base/workspace.h"
#include "tessera/ops/core/op.h"
#include "tessera/ops/factor/lapack.h"

namespace tessera::ops::factor {

// --- Types ---

// Throws UserError unless the operand's dtype and rank are those of matrices.
void expect_matrix(std::string_view op, const Type& x);
void expect_square(std::string_view op, const Type& x);
// Throws UserError unless the operand's shape is the batch dimensions of `like` followed by `dims`.
// The batch dimensions of `like` are all except its last `rank`.
void expect_shape(std::string_view op, const Type& like, const Type& x, const Dims& dims);

inline int64_t rows_of(const Type& x) { return x.shape[x.rank() - 2]; }
inline int64_t cols_of(const Type& x) { return x.shape[x.rank() - 1]; }
// Returns x.shape without its last two dimensions, followed by `dims`.
Shape batch_with(const Type& x, const Dims& dims);
// Returns the type of a result: it varies over the axes over which any operand varies.
Type result_type(std::span<const Type> operands, DType dtype, Shape shape);

// --- Rules ---

// Returns one factor for each of the first `batch` dimensions of all operands and results; every
// other dimension needs replication.
Factors matrix_factors(std::span<const Type> operands, std::span<const Type> results,
                       int64_t batch);
template <class P>
Factors whole_matrices(std::span<const Type> operands, std::span<const Type> results, const P&) {
  return matrix_factors(operands, results, operands[0].rank() - 2);
}
// Returns all operands with their mapped dimension first. Operands that are not mapped are
// repeated.
std::vector<Array> mapped_in_front(std::span<const Array> x, std::span<const int> dims);
template <class P>
BatchResult batch_matrices(const OpDef& op, const P& p, std::span<const Array> x,
                           std::span<const int> dims) {
  std::vector<Array> results = bind_op(op, p, mapped_in_front(x, dims));
  std::vector<int> out(results.size(), 0);
  return {std::move(results), std::move(out)};
}

// --- Compiled ---

// Computes one member of the batch. `in` and `out` point to that member of each operand and result.
using Member = std::function<void(const void* const* in, void* const* out)>;
// Returns the call that computes all members of the batch; one member takes `operations`
// operations. Members run in parallel. If there is one large member, it gets OpenBLAS's threads, or
// divides itself into tasks.
enum class LargeMember : uint8_t { kBlasThreads, kOwnTasks };
HostCall over_batch(std::span<const Type> operands, std::span<const Type> results, int64_t members,
                    double operations, Member member,
                    LargeMember large = LargeMember::kBlasThreads);
// Computes `count` members, which are contiguous in each operand and result.
using Members = std::function<void(const void* const* in, void* const* out, int64_t count)>;
// Does the same as over_batch for code without LAPACK that computes many small members at once.
HostCall over_members(std::span<const Type> operands, std::span<const Type> results,
                      int64_t members, double operations, Members compute);
// Sets the number of threads of OpenBLAS for this many operations: all threads if these are worth
// it and the caller is not in a task, otherwise one.
BlasThreads blas_threads_for(double operations);
// Evaluates an op by its compiled call. Naive evaluation would choose other signs and phases than
// LAPACK, which are part of the op's meaning. Tests multiply the factors.
std::vector<Literal> evaluate_by_call(const HostCall& call, std::span<const Type> results,
                                      std::span<const Literal> operands);
std::vector<Type> types_of(std::span<const Literal> operands);
template <auto infer, auto call, class P>
std::vector<Literal> evaluate_call(std::span<const Literal> operands, const P& p) {
  const std::vector<Type> types = types_of(operands), results = infer(types, p);
  return evaluate_by_call(call(OpParams(p), types, results), results, operands);
}
int64_t members_of(const Type& matrix);

template <class F>
decltype(auto) visit_matrix_dtype(DType dtype, F&& f) {
  switch (dtype) {
    case DType::kFloat32:
      return f(TypeTag<float>{});
    case DType::kFloat64:
      return f(TypeTag<double>{});
    case DType::kComplex64:
      return f(TypeTag<std::complex<float>>{});
    default:
      TESSERA_CHECK(dtype == complex128, "a matrix of {}", dtype);
      return f(TypeTag<std::complex<double>>{});
  }
}

// Computes out[j, i] = in[i, j] for a row-major matrix.
template <class T>
void transpose_matrix(const T* in, int64_t rows, int64_t cols, T* out);

// Writes zeros outside of one triangle of a row-major square matrix.
template <class T>
void keep_triangle(bool lower, int64_t n, T* a) {
  for (int64_t i = 0; i < n; ++i) {
    if (lower)
      std::fill(a + i * n + i + 1, a + (i + 1) * n, T{});
    else
      std::fill(a + i * n, a + i * n + i, T{});
  }
}

}  // namespace tessera::ops::factor
