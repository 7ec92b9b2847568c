#include "tessera/ops/core/elementwise_family.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "tessera/ops/structural/broadcast.h"
#include "tessera/ops/structural/reshape.h"

namespace tessera::ops::elementwise {
namespace {

std::string kind_names(Kinds kinds) {
  std::vector<std::string_view> names;
  if (kinds & kBools) names.push_back("bool");
  if ((kinds & kInt) == kInt) {
    names.push_back("integer");
  } else {
    if (kinds & kSigned) names.push_back("signed integer");
    if (kinds & kUnsigned) names.push_back("unsigned integer");
  }
  if (kinds & kFloat) names.push_back("floating-point");
  if (kinds & kComplex) names.push_back("complex");
  const std::string last(names.back());
  names.pop_back();
  const std::string list =
      names.empty() ? last : fmt::format("{} or {}", fmt::join(names, ", "), last);
  const bool vowel = list[0] == 'i' || list[0] == 'u';
  return (vowel ? "an " : "a ") + list;
}

}  // namespace

void expect_kind(std::string_view op, Kinds kinds, const Type& operand) {
  if (!contains(kinds, operand.dtype))
    type_error(op, "expected {} array (I1), got {}; convert it with astype", kind_names(kinds),
               describe(operand));
}

DType result_dtype(ResultIs result, DType operand) {
  switch (result) {
    case ResultIs::kSame:
      return operand;
    case ResultIs::kRealPart:
      return real_dtype(operand);
    case ResultIs::kPredicate:
      return bool_;
  }
  __builtin_unreachable();
}

std::vector<Type> infer(std::string_view op, Kinds kinds, ResultIs result, size_t count,
                        std::span<const Type> operands) {
  expect_operands(op, operands, count);
  expect_kind(op, kinds, operands[0]);
  bool weak = true;
  for (const Type& t : operands) {
    weak = weak && t.weak;
    if (t.dtype != operands[0].dtype)
      type_error(op,
                 "expected operands of one dtype (C1), got {} and {}; convert one of them with "
                 "convert_element_type",
                 describe(operands[0]), describe(t));
    if (t.shape != operands[0].shape)
      shape_error(op,
                  "expected operands of one shape (C1), got {} and {}; broadcast one of them with "
                  "broadcast_in_dim",
                  describe(operands[0]), describe(t));
  }
  return {Type{.dtype = result_dtype(result, operands[0].dtype),
               .shape = operands[0].shape,
               .weak = weak && result != ResultIs::kPredicate,
               .varying = varying_union(operands)}};
}

BatchResult batch_pointwise(const OpDef& def, OpParams params, std::span<const Array> operands,
                            std::span<const int> dims, unsigned may_be_scalar) {
  Shape example, batch;  // the shape of the largest operand's example; the mapped extent
  bool alike = true;
  for (size_t k = 0; k < operands.size(); ++k) {
    Shape own = operands[k].shape();
    if (dims[k] >= 0) {
      batch = {own[dims[k]]};
      own.erase(own.begin() + dims[k]);
    }
    if (own.rank() >= example.rank()) example = own;
    alike = alike && dims[k] == dims[0] && operands[k].ndim() == operands[0].ndim();
  }
  std::vector<Array> moved(operands.begin(), operands.end());
  if (!alike) {
    Shape full = batch;
    full.insert(full.end(), example.begin(), example.end());
    for (size_t k = 0; k < operands.size(); ++k) {
      const bool mapped = dims[k] >= 0, stays = (may_be_scalar >> k & 1) && moved[k].ndim() == 0;
      if (stays) continue;
      if (mapped) moved[k] = lax::move_to_front(moved[k], dims[k]);
      if (moved[k].shape() == full) continue;
      Dims into;
      for (int64_t d = 0; d < moved[k].ndim(); ++d) into.push_back(mapped ? d : d + 1);
      moved[k] = lax::broadcast_in_dim(moved[k], full, into);
    }
  }
  std::vector<Array> results = bind_op(def, std::move(params), moved);
  return {results, std::vector<int>(results.size(), alike ? dims[0] : 0)};
}

std::vector<Sample> samples(Kinds kinds, size_t count, double low, double high) {
  std::vector<Sample> out;
  auto add = [&](DType dtype, const Shape& shape) {
    if (!contains(kinds, dtype)) return;
    Type type{.dtype = dtype, .shape = shape};
    out.push_back(
        {.operands = std::vector<Type>(count, type), .params = {}, .low = low, .high = high});
  };
  for (DType dtype : {float32, complex64, int32, uint8, bool_}) {
    add(dtype, {});
    add(dtype, {3, 5});
  }
  for (DType dtype :
       {int8, int16, int64, uint16, uint32, uint64, float16, bfloat16, float64, complex128})
    add(dtype, {2, 3});
  add(contains(kinds, float32) ? float32 : int32, {2, 1, 37});
  add(contains(kinds, float32) ? float32 : int32, {0, 3});
  return out;
}

Buffer<double> widen_real(const Literal& x) {
  Buffer<double> out(new double[static_cast<size_t>(x.elements())]);
  visit_dtype(x.dtype(), [&]<class T>(TypeTag<T>) {
    if constexpr (std::is_same_v<T, Float16> || std::is_same_v<T, Bfloat16>) {
      for (int64_t i = 0; i < x.elements(); ++i) out[i] = static_cast<float>(x.data<T>()[i]);
    } else if constexpr (std::is_floating_point_v<T>) {
      for (int64_t i = 0; i < x.elements(); ++i) out[i] = x.data<T>()[i];
    } else {
      TESSERA_CHECK(false, "{} is not floating-point", dtype_name(x.dtype()));
    }
  });
  return out;
}

Buffer<scalar::Complex> widen_complex(const Literal& x) {
  Buffer<scalar::Complex> out(new scalar::Complex[static_cast<size_t>(x.elements())]);
  for (int64_t i = 0; i < x.elements(); ++i)
    out[i] = x.dtype() == complex64 ? scalar::Complex(x.data<std::complex<float>>()[i])
                                    : x.data<std::complex<double>>()[i];
  return out;
}

Literal narrow(const double* values, DType dtype, const Shape& shape) {
  Literal out(dtype, shape);
  visit_dtype(dtype, [&]<class T>(TypeTag<T>) {
    T* to = out.mutable_data<T>();
    if constexpr (std::is_same_v<T, Float16> || std::is_same_v<T, Bfloat16>) {
      for (int64_t i = 0; i < out.elements(); ++i) to[i] = T(static_cast<float>(values[i]));
    } else if constexpr (std::is_floating_point_v<T>) {
      for (int64_t i = 0; i < out.elements(); ++i) to[i] = static_cast<T>(values[i]);
    } else {
      TESSERA_CHECK(false, "{} is not floating-point", dtype_name(dtype));
    }
  });
  return out;
}

Literal narrow(const scalar::Complex* values, DType dtype, const Shape& shape) {
  Literal out(dtype, shape);
  if (dtype == complex64) {
    auto* to = out.mutable_data<std::complex<float>>();
    for (int64_t i = 0; i < out.elements(); ++i) to[i] = std::complex<float>(values[i]);
  } else {
    std::copy(values, values + out.elements(), out.mutable_data<std::complex<double>>());
  }
  return out;
}

}  // namespace tessera::ops::elementwise
