// Text of stablehlo.convolution.
#include <cctype>

#include "tessera/interchange/formats/formats.h"
#include "tessera/interchange/formats/window_format.h"
#include "tessera/ops/core/convert.h"
#include "tessera/ops/linear/convolution_text.h"

namespace tessera::interchange::formats {
namespace {

OpText write_convolution(const Op& op, const Function&) {
  const auto& p = op.params.as<ConvolutionParams>();
  const auto array = [](const Dims& dims) {
    return TextAttr(TextAttr::Array{{dims.begin(), dims.end()}});
  };
  OpText text;
  // These are the attributes of the generic form; assembly spells the same differently.
  text.attributes = {{"dimension_numbers",
                      TextAttr::Record{"stablehlo.conv", {{"text", convolution_numbers_text(p)}}}},
                     {"lhs_dilation", array(p.lhs_dilation)},
                     {"padding", window_padding(p.low, p.high)},
                     {"rhs_dilation", array(p.rhs_dilation)},
                     {"window_reversal", array(p.reversal)},
                     {"window_strides", array(p.strides)}};
  text.extra = {{"batch_group_count", TextAttr::Integer{p.batch_group_count}},
                {"feature_group_count", TextAttr::Integer{p.feature_group_count}}};
  return text;
}

void print_convolution(const OpText&, const Op& op, const Function&, OpWriter& writer) {
  writer.write("(");
  writer.write_operand(0);
  writer.write(", ");
  writer.write_operand(1);
  writer.write(") " + convolution_text(op.params.as<ConvolutionParams>()));
  writer.write_extra();
  writer.write_signature();
}

// Returns the names of a spec's dimensions, in order.
std::vector<std::string> names_of(const TextAttr& attribute, const OpScanner& scanner) {
  std::vector<std::string> out;
  if (const auto* array = attribute.get<TextAttr::Array>()) {
    for (int64_t v : array->values) out.push_back(fmt::format("{}", v));
  } else if (const auto* list = attribute.get<TextAttr::List>()) {
    for (const TextAttr& item : list->items) {
      const auto* word = item.get<TextAttr::Keyword>();
      const auto* number = item.get<TextAttr::Integer>();
      if (!word && !number) scanner.error("expected a dimension's letter or number");
      out.push_back(word ? word->name : fmt::format("{}", number->value));
    }
  } else {
    scanner.error("expected the names of the dimensions, as [b, 0, 1, f]");
  }
  return out;
}

// Returns (batch, feature, spatial...), or nothing if a name is missing.
Dims spec_of(const std::vector<std::string>& names, const std::string& first,
             const std::string& second) {
  Dims spec(names.size(), -1);
  for (size_t d = 0; d < names.size(); ++d) {
    size_t at = names.size();
    if (names[d] == first) {
      at = 0;
    } else if (names[d] == second) {
      at = 1;
    } else if (!names[d].empty() && std::isdigit(static_cast<unsigned char>(names[d][0])) &&
               names[d].size() < 4) {
      at = static_cast<size_t>(std::stoi(names[d])) + 2;
    }
    if (at >= spec.size() || spec[at] >= 0) return {};
    spec[at] = static_cast<int64_t>(d);
  }
  return spec;
}

void add_spec(OpReader& reader, const char* name, const Dims& spec) {
  if (spec.size() < 2)
    reader.error(
        "expected dimension numbers that name batch, features and spatial dimensions, as "
        "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]");
  reader.text.attributes.emplace_back(name, TextAttr::Array{{spec.begin(), spec.end()}});
}

void parse_convolution(OpScanner& scanner, OpReader& reader) {
  scanner.expect("(");
  reader.operands.push_back(scanner.operand());
  scanner.expect(",");
  reader.operands.push_back(scanner.operand());
  scanner.expect(")");
  scanner.expect("dim_numbers");
  scanner.expect("=");
  add_spec(reader, "lhs_spec", spec_of(names_of(scanner.attribute(), scanner), "b", "f"));
  scanner.expect("x");
  add_spec(reader, "rhs_spec", spec_of(names_of(scanner.attribute(), scanner), "o", "i"));
  scanner.expect("->");
  add_spec(reader, "out_spec", spec_of(names_of(scanner.attribute(), scanner), "b", "f"));
  scanner.expect(",");
  scanner.expect("window");
  scanner.expect("=");
  reader.text.attributes.emplace_back("window", scanner.attribute());
  scanner.extra(reader.text);
  scanner.signature(reader);
}

// Reads the specs in `[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]`, the text of #stablehlo.conv<...>.
void read_numbers(OpReader& reader, const std::string& text) {
  std::vector<std::vector<std::string>> specs;
  std::string word;
  bool inside = false;
  for (char c : text) {
    if (c == '[') {
      specs.emplace_back();
      inside = true;
    } else if (inside && (c == ',' || c == ']')) {
      specs.back().push_back(word);
      word.clear();
      inside = c != ']';
    } else if (inside && !std::isspace(static_cast<unsigned char>(c))) {
      word.push_back(c);
    }
  }
  if (specs.size() != 3) reader.error("expected dimension numbers of two operands and the result");
  add_spec(reader, "lhs_spec", spec_of(specs[0], "b", "f"));
  add_spec(reader, "rhs_spec", spec_of(specs[1], "o", "i"));
  add_spec(reader, "out_spec", spec_of(specs[2], "b", "f"));
}

OpParams read_convolution(const OpDef&, OpReader& reader) {
  reader.text.take("precision_config");
  if (const TextAttr* numbers = reader.text.take("dimension_numbers")) {
    const auto* record = numbers->get<TextAttr::Record>();
    const std::string* text =
        record && record->name == "stablehlo.conv" && record->entries.size() == 1
            ? record->entries[0].second.get<std::string>()
            : nullptr;
    if (!text) reader.error("expected dimension_numbers = #stablehlo.conv<...>");
    const std::string copy = *text;
    read_numbers(reader, copy);
  }
  ConvolutionParams p;
  p.lhs_spec = reader.require_dims("lhs_spec");
  p.rhs_spec = reader.require_dims("rhs_spec");
  p.out_spec = reader.require_dims("out_spec");
  const size_t n = p.lhs_spec.size() - 2;
  // Assembly has the window's fields in one record, under short names.
  TextAttr::Entries window;
  if (const TextAttr* attribute = reader.text.take("window"))
    if (const auto* record = attribute->get<TextAttr::Record>()) window = record->entries;
  auto field = [&](std::string_view brief, std::string_view name) -> std::optional<TextAttr> {
    for (const auto& [key, value] : window)
      if (key == brief) return value;
    if (const TextAttr* attribute = reader.text.take(name)) return *attribute;
    return std::nullopt;
  };
  auto dims = [&](std::string_view brief, std::string_view name, int64_t otherwise) {
    const std::optional<TextAttr> attribute = field(brief, name);
    if (!attribute) return Dims(n, otherwise);
    Dims out;
    if (const auto* array = attribute->get<TextAttr::Array>()) {
      out = Dims(array->values.begin(), array->values.end());
    } else if (const auto* list = attribute->get<TextAttr::List>()) {
      for (const TextAttr& item : list->items)
        if (const bool* flag = item.get<bool>()) out.push_back(*flag);
    }
    if (out.size() != n) reader.error(fmt::format("expected {} entries of {}", n, name));
    return out;
  };
  p.strides = dims("stride", "window_strides", 1);
  p.lhs_dilation = dims("lhs_dilate", "lhs_dilation", 1);
  p.rhs_dilation = dims("rhs_dilate", "rhs_dilation", 1);
  p.reversal = dims("reverse", "window_reversal", 0);
  p.low = p.high = Dims(n, 0);
  if (const std::optional<TextAttr> padding = field("pad", "padding")) {
    const auto* list = padding->get<TextAttr::List>();
    const auto* tensor = padding->get<TextAttr::Tensor>();
    if (list && list->items.size() == n) {
      for (size_t d = 0; d < n; ++d) {
        const auto* pair = list->items[d].get<TextAttr::Array>();
        if (!pair || pair->values.size() != 2) reader.error("expected pairs of padding");
        p.low[d] = pair->values[0];
        p.high[d] = pair->values[1];
      }
    } else if (tensor && is_integer(tensor->value.dtype()) &&
               tensor->shape == Shape{static_cast<int64_t>(n), 2}) {
      const Literal value = convert_literal(tensor->value, int64);
      const bool splat = value.shape().empty();
      for (size_t d = 0; d < n; ++d) {
        p.low[d] = value.data<int64_t>()[splat ? 0 : 2 * d];
        p.high[d] = value.data<int64_t>()[splat ? 0 : 2 * d + 1];
      }
    } else if (!(n == 0)) {
      reader.error(fmt::format("expected {} pairs of padding", n));
    }
  }
  p.feature_group_count = reader.require_int("feature_group_count");
  p.batch_group_count = reader.require_int("batch_group_count");
  if (reader.result_types.empty()) reader.error("expected the type of the result");
  p.result = reader.result_types[0].dtype;
  return p;
}

}  // namespace

OpFormat convolution() {
  return {.write = write_convolution,
          .read = read_convolution,
          .print = print_convolution,
          .parse = parse_convolution};
}

}  // namespace tessera::interchange::formats
