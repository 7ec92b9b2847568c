// Converts Eigen's matrices to arrays, and arrays to Eigen's matrices. It is not part of tessera.h:
// programs that include it need Eigen 3.4 or later.
//
// Arrays are row-major and Eigen's matrices are column-major by default, so only row-major matrices
// and vectors are converted without a copy.
#pragma once

#include <Eigen/Core>
#include <memory>
#include <utility>

#include "tessera/base/format.h"
#include "tessera/numpy/host_memory.h"

namespace tessera::eigen {

template <class T>
using RowMajorMatrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
template <class T>
using Vector = Eigen::Matrix<T, Eigen::Dynamic, 1>;

namespace internal {

// A base class for the elements, which must be initialized before the map of them.
template <class T>
struct Elements {
  HostView<T> elements;
};

}  // namespace internal

// An array of two dimensions as a constant Eigen matrix. It keeps the array's memory.
template <Element T>
class MatrixView : private internal::Elements<T>, public Eigen::Map<const RowMajorMatrix<T>> {
 public:
  explicit MatrixView(HostView<T> view)
      : internal::Elements<T>{std::move(view)},
        Eigen::Map<const RowMajorMatrix<T>>(this->elements.data(), this->elements.shape()[0],
                                            this->elements.shape()[1]) {}
};

// An array of one dimension as a constant Eigen vector. It keeps the array's memory.
template <Element T>
class VectorView : private internal::Elements<T>, public Eigen::Map<const Vector<T>> {
 public:
  explicit VectorView(HostView<T> view)
      : internal::Elements<T>{std::move(view)},
        Eigen::Map<const Vector<T>>(this->elements.data(), this->elements.shape()[0]) {}
};

// Returns x as a matrix, without a copy. Throws UserError if x has not two dimensions, and as
// view() does (host_memory.h).
template <Element T>
MatrixView<T> matrix(const Array& x) {
  if (x.ndim() != 2)
    shape_error("eigen::matrix",
                "expected an array of two dimensions, got the shape {}; reshape it", x.shape());
  return MatrixView<T>(view<T>(x));
}
// Returns x as a vector, without a copy. Throws UserError if x has not one dimension, and as view()
// does.
template <Element T>
VectorView<T> vector(const Array& x) {
  if (x.ndim() != 1)
    shape_error("eigen::vector", "expected an array of one dimension, got the shape {}; reshape it",
                x.shape());
  return VectorView<T>(view<T>(x));
}

// Returns the values of a matrix or an expression as an array of two dimensions, those of a type
// that is a vector as an array of one. They are copied once.
template <class Derived>
Array from_eigen(const Eigen::DenseBase<Derived>& values) {
  using T = typename Derived::Scalar;
  const auto rows = static_cast<int64_t>(values.rows()),
             columns = static_cast<int64_t>(values.cols());
  const Shape shape = Derived::IsVectorAtCompileTime ? Shape{rows * columns} : Shape{rows, columns};
  Literal out = Literal::uninitialized(dtype_of<T>, shape);
  if (out.elements() > 0)
    Eigen::Map<RowMajorMatrix<T>>(out.template mutable_data<T>(), values.rows(), values.cols()) =
        values.derived().matrix();
  return from_host(out);
}

// Returns an array that owns the matrix's memory, which is not copied. Throws UserError as adopt()
// does (host_memory.h), and then leaves the matrix unchanged.
template <Element T>
Array adopt(RowMajorMatrix<T>&& values) {
  const auto owner = std::make_shared<RowMajorMatrix<T>>();
  Array out = borrow(values.data(),
                     {static_cast<int64_t>(values.rows()), static_cast<int64_t>(values.cols())},
                     [owner] {});
  owner->swap(values);
  return out;
}
template <Element T>
Array adopt(Vector<T>&& values) {
  const auto owner = std::make_shared<Vector<T>>();
  Array out = borrow(values.data(), {static_cast<int64_t>(values.size())}, [owner] {});
  owner->swap(values);
  return out;
}

}  // namespace tessera::eigen
