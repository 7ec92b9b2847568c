// Makes arrays of memory that an mdspan describes, and shows arrays as mdspans. It is not part of
// tessera.h. The mdspan is std::mdspan, the reference implementation's, or any other type with its
// interface.
//
//   Array x = borrow(span, [] {});                                  // no copy of a row-major one
//   const MdspanView<std::mdspan<const float, std::dextents<size_t, 2>>> rows(x);
//   float first = rows[0, 0];
//
// Arrays are row-major, like an mdspan of layout_right.
#pragma once

#include <array>
#include <concepts>
#include <functional>
#include <limits>
#include <type_traits>
#include <utility>

#include "tessera/base/format.h"
#include "tessera/numpy/host_memory.h"

namespace tessera {

// An mdspan with elements of a dtype, reached through a pointer at fixed distances.
template <class M>
concept Mdspan = Element<typename M::element_type> && requires(const M& m) {
  typename M::index_type;
  { m.data_handle() } -> std::convertible_to<const typename M::element_type*>;
  { m.extent(size_t{0}) } -> std::convertible_to<int64_t>;
  { M::static_extent(size_t{0}) } -> std::convertible_to<size_t>;
  { M::rank() } -> std::convertible_to<size_t>;
};

namespace internal {

template <Mdspan M>
Shape mdspan_shape(const M& m) {
  Shape shape;
  for (size_t d = 0; d < M::rank(); ++d) shape.push_back(static_cast<int64_t>(m.extent(d)));
  return shape;
}
// Returns the distance in elements of neighbours along each dimension. An mdspan of rank 0 has no
// stride().
template <Mdspan M>
Dims mdspan_strides(const M& m) {
  Dims strides;
  if constexpr (M::rank() > 0)
    for (size_t d = 0; d < M::rank(); ++d) strides.push_back(static_cast<int64_t>(m.stride(d)));
  return strides;
}

// Throws UserError unless an mdspan of this type can have the shape.
template <Mdspan M>
void check_mdspan_shape(const Shape& shape) {
  using Index = typename M::index_type;
  if (shape.rank() != static_cast<int64_t>(M::rank()))
    shape_error("MdspanView", "expected an array of {} dimensions, got the shape {}; reshape it",
                M::rank(), shape);
  for (size_t d = 0; d < M::rank(); ++d) {
    const size_t fixed = M::static_extent(d);
    if (fixed != std::numeric_limits<size_t>::max() && static_cast<int64_t>(fixed) != shape[d])
      shape_error("MdspanView",
                  "expected the extent {} in dimension {}, as the type of the mdspan says, got the "
                  "shape {}; pass such an array, or make the extent dynamic",
                  fixed, d, shape);
  }
  if (std::cmp_greater(shape.elements(), std::numeric_limits<Index>::max()))
    shape_error("MdspanView",
                "expected at most {} elements, which the index type of the mdspan counts, got the "
                "shape {}; take a wider index type",
                std::numeric_limits<Index>::max(), shape);
}

template <Mdspan M>
M mdspan_of(const typename M::element_type* data, const Shape& shape) {
  std::array<typename M::index_type, M::rank()> extents{};
  for (size_t d = 0; d < M::rank(); ++d) extents[d] = static_cast<typename M::index_type>(shape[d]);
  return M(data, extents);
}

// A base class for the elements, which must be initialized before the mdspan of them.
template <class T>
struct ViewedElements {
  HostView<T> elements;
};

}  // namespace internal

// Returns an array of the elements that the mdspan shows, as borrow() of its pointer, extents and
// strides does. If they are dense and row-major, nothing is copied; otherwise it throws UserError,
// or copies them with {.copy = true}. options.strides must not be set. `release` is called once,
// when nothing uses the memory any more.
template <Mdspan M>
Array borrow(const M& elements, std::function<void()> release, const BorrowOptions& options = {}) {
  using T = std::remove_cv_t<typename M::element_type>;
  if (options.strides)
    value_error("borrow", "expected no strides beside those of the mdspan, got {}; leave them out",
                *options.strides);
  return borrow(static_cast<const T*>(elements.data_handle()), internal::mdspan_shape(elements),
                std::move(release),
                {.strides = internal::mdspan_strides(elements), .copy = options.copy});
}

// The elements of an array as a constant mdspan, without a copy. It keeps the array's memory. M is
// an mdspan of const elements with layout_right.
template <Mdspan M>
requires std::is_const_v<typename M::element_type>
class MdspanView : private internal::ViewedElements<std::remove_cv_t<typename M::element_type>>,
                   public M {
  using T = std::remove_cv_t<typename M::element_type>;

 public:
  // Throws UserError for an array of another rank or of extents that M does not have, for an M of
  // another layout, and as view() does (host_memory.h).
  explicit MdspanView(const Array& x) : MdspanView(checked(x)) {}

 private:
  explicit MdspanView(HostView<T> view)
      : internal::ViewedElements<T>{std::move(view)},
        M(internal::mdspan_of<M>(this->elements.data(), this->elements.shape())) {
    const Dims strides = internal::mdspan_strides(static_cast<const M&>(*this));
    int64_t dense = 1;
    for (size_t d = M::rank(); d-- > 0; dense *= this->elements.shape()[d])
      if (this->elements.shape()[d] > 1 && strides[d] != dense)
        type_error("MdspanView",
                   "expected an mdspan of layout_right, whose last dimension is dense, got the "
                   "strides {} for the shape {}; leave its layout out",
                   strides, this->elements.shape());
  }
  static HostView<T> checked(const Array& x) {
    internal::check_mdspan_shape<M>(x.shape());
    return view<T>(x);
  }
};

}  // namespace tessera
