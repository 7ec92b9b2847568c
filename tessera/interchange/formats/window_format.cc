#include "tessera/interchange/formats/window_format.h"

#include "tessera/interchange/formats/formats.h"
#include "tessera/ops/core/convert.h"
#include "tessera/ops/reductions/select_and_scatter.h"
#include "tessera/ops/reductions/written_kind.h"

namespace tessera::interchange::formats {
namespace {

TextAttr array(const Dims& dims) { return TextAttr::Array{{dims.begin(), dims.end()}}; }

OpText write_reduce_window(const Op& op, const Function& function) {
  const auto& p = op.params.as<ReduceWindowParams>();
  const size_t n = op.operands.size() / 2;
  OpText text;
  text.attributes = {{"base_dilations", array(p.base_dilation)},
                     {"padding", window_padding(p.low, p.high)},
                     {"window_dilations", array(p.window_dilation)},
                     {"window_dimensions", array(p.size)},
                     {"window_strides", array(p.strides)}};
  text.regions = {p.kind == ReduceKind::kCustom
                      ? p.body
                      : reduce_body(p.kind, function.type(op.operands[0]).dtype,
                                    n == 2 ? function.type(op.operands[1]).dtype : int32)};
  return text;
}

OpParams read_reduce_window(const OpDef&, OpReader& reader) {
  if (reader.text.regions.size() != 1 || reader.operands.empty())
    reader.error(fmt::format("expected operands and one region, got {} and {}",
                             reader.operands.size(), reader.text.regions.size()));
  const FunctionRef body = plain_body(reader.text.regions[0]);
  const Windows w = read_windows(reader, reader.type(reader.operands[0]).rank());
  ReduceWindowParams p{w.size, w.strides, w.base_dilation,    w.window_dilation,
                       w.low,  w.high,    written_kind(*body)};
  if (p.kind == ReduceKind::kCustom) p.body = body;
  return p;
}

OpText write_select_and_scatter(const Op& op, const Function& function) {
  const auto& p = op.params.as<SelectAndScatterParams>();
  const DType dtype = function.type(op.operands[0]).dtype;
  OpText text;
  text.attributes = {{"padding", window_padding(p.low, p.high)},
                     {"window_dimensions", array(p.size)},
                     {"window_strides", array(p.strides)}};
  text.regions = {p.select ? p.select : select_body(p.kind, dtype),
                  p.scatter ? p.scatter : reduce_body(ReduceKind::kSum, dtype)};
  return text;
}

OpParams read_select_and_scatter(const OpDef&, OpReader& reader) {
  if (reader.text.regions.size() != 2 || reader.operands.size() != 3)
    reader.error(fmt::format("expected three operands and two regions, got {} and {}",
                             reader.operands.size(), reader.text.regions.size()));
  const Type x = reader.type(reader.operands[0]);
  const Windows w = read_windows(reader, x.rank());
  SelectAndScatterParams p{w.size, w.strides, w.low, w.high};
  const FunctionRef select = plain_body(reader.text.regions[0]),
                    scatter = plain_body(reader.text.regions[1]);
  p.kind = SelectKind::kCustom;
  for (SelectKind kind : {SelectKind::kGe, SelectKind::kLe})
    if (*select_body(kind, x.dtype) == *select) p.kind = kind;
  if (p.kind == SelectKind::kCustom) p.select = select;
  if (written_kind(*scatter) != ReduceKind::kSum) p.scatter = scatter;
  return p;
}

}  // namespace

TextAttr window_padding(const Dims& low, const Dims& high) {
  Literal pairs(int64, {low.rank(), 2});
  for (size_t d = 0; d < low.size(); ++d) {
    pairs.mutable_data<int64_t>()[2 * d] = low[d];
    pairs.mutable_data<int64_t>()[2 * d + 1] = high[d];
  }
  return TextAttr::Tensor{pairs, pairs.shape()};
}

Windows read_windows(OpReader& reader, int64_t rank) {
  auto dims = [&](const char* name) {
    return reader.text.find(name) ? reader.require_dims(name) : Dims(static_cast<size_t>(rank), 1);
  };
  Windows w{reader.require_dims("window_dimensions"),
            dims("window_strides"),
            dims("base_dilations"),
            dims("window_dilations"),
            Dims(static_cast<size_t>(rank), 0),
            Dims(static_cast<size_t>(rank), 0)};
  if (const TextAttr* padding = reader.text.take("padding")) {
    const auto* tensor = padding->get<TextAttr::Tensor>();
    if (!tensor || tensor->shape != Shape{rank, 2} || !is_integer(tensor->value.dtype()))
      reader.error(fmt::format("expected the padding to be dense<...> : tensor<{}x2xi64>", rank));
    const Literal value = convert_literal(tensor->value, int64);
    const bool splat = value.shape().empty();
    for (int64_t d = 0; d < rank; ++d) {
      w.low[d] = value.data<int64_t>()[splat ? 0 : 2 * d];
      w.high[d] = value.data<int64_t>()[splat ? 0 : 2 * d + 1];
    }
  }
  return w;
}

OpFormat reduce_window() { return {.write = write_reduce_window, .read = read_reduce_window}; }
OpFormat select_and_scatter() {
  return {.write = write_select_and_scatter, .read = read_select_and_scatter};
}

}  // namespace tessera::interchange::formats
