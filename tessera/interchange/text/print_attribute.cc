// The spelling of types, literals, names and shardings.
#include <fmt/ranges.h>

#include <bit>
#include <cmath>
#include <limits>

#include "tessera/base/narrow.h"
#include "tessera/base/visit_dtype.h"
#include "tessera/interchange/text/parser_lexer.h"
#include "tessera/interchange/text/printer.h"

namespace tessera::interchange {
namespace {

// Literals with more elements are printed as the hexadecimal bytes of all elements.
constexpr int64_t kMaxListed = 64;

template <class T>
std::string bits_text(T value) {
  if constexpr (sizeof(T) == 2) {
    return fmt::format("0x{:04X}", std::bit_cast<uint16_t>(value));
  } else if constexpr (sizeof(T) == 4) {
    return fmt::format("0x{:08X}", std::bit_cast<uint32_t>(value));
  } else {
    return fmt::format("0x{:016X}", std::bit_cast<uint64_t>(value));
  }
}

// Prints floats as MLIR does: with at least six digits, and as many as are needed to read back the
// same number. Numbers that are not finite are printed as their bits.
template <class T>
std::string float_text(T value) {
  double wide;
  if constexpr (std::is_same_v<T, double>) {
    wide = value;
  } else {
    wide = static_cast<float>(value);
  }
  if (!std::isfinite(wide)) return bits_text(value);
  for (int digits = 6;; ++digits) {
    std::string text = fmt::format("{:.{}e}", wide, digits);
    const bool same = std::is_same_v<T, double>
                          ? parse_real<double>(text) == wide
                          : parse_real<float>(text) == static_cast<float>(wide);
    if (same || digits == 17) return text;
  }
}

template <class T>
std::string element_text(T value) {
  if constexpr (std::is_same_v<T, bool>) {
    return value ? "true" : "false";
  } else if constexpr (std::is_integral_v<T>) {
    return fmt::format("{}", +value);
  } else if constexpr (std::is_same_v<T, std::complex<float>> ||
                       std::is_same_v<T, std::complex<double>>) {
    return fmt::format("({},{})", float_text(value.real()), float_text(value.imag()));
  } else {
    return float_text(value);
  }
}

template <class T>
void list_elements(std::string& out, const T* values, const Shape& shape, int64_t dim,
                   int64_t& next) {
  if (dim == shape.rank()) {
    out += element_text(values[next++]);
    return;
  }
  out += '[';
  for (int64_t i = 0; i < shape[dim]; ++i) {
    if (i) out += ", ";
    list_elements(out, values, shape, dim + 1, next);
  }
  out += ']';
}

// Prints integers as numbers, and floats as their bits, since some of the formats have neither
// infinity nor NaN.
std::string narrow_literal(const Literal& value, const Shape& shape) {
  if (is_integer(value.dtype())) return mlir_literal(widened(value), shape);
  std::string out;
  for (int64_t i = 0; i < value.bytes(); ++i)
    out += fmt::format("{:02X}", static_cast<uint8_t>(value.raw()[i]));
  if (value.shape().empty()) return fmt::format("dense<0x{}>", out);
  TESSERA_CHECK(value.shape() == shape, "a literal of shape {} as {}", value.shape(), shape);
  return shape.elements() == 0 ? "dense<>" : fmt::format("dense<\"0x{}\">", out);
}

std::string axes_text(const std::vector<AxisRef>& axes, bool open) {
  std::vector<std::string> parts;
  for (const AxisRef& axis : axes)
    parts.push_back(axis.is_whole() ? mlir_string(axis.name)
                                    : fmt::format("{}:({}){}", mlir_string(axis.name),
                                                  axis.pre_size, axis.size));
  if (open) parts.push_back("?");
  return fmt::format("{{{}}}", fmt::join(parts, ", "));
}

bool is_bare(std::string_view name) {
  if (name.empty() || (!std::isalpha(static_cast<unsigned char>(name[0])) && name[0] != '_'))
    return false;
  for (char c : name)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_' && c != '$' && c != '.')
      return false;
  return true;
}

}  // namespace

std::string mlir_type(const Type& type) { return fmt::format("{}", type); }

std::string mlir_string(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) == 0x7f) {
      out += fmt::format("\\{:02X}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string mlir_symbol(std::string_view name) {
  return is_bare(name) ? fmt::format("@{}", name) : fmt::format("@{}", mlir_string(name));
}

std::string mlir_key(std::string_view name) {
  return is_bare(name) ? std::string(name) : mlir_string(name);
}

std::string mlir_literal(const Literal& value, const Shape& shape) {
  if (is_narrow(value.dtype())) return narrow_literal(value, shape);
  return visit_dtype(value.dtype(), [&]<class T>(TypeTag<T>) -> std::string {
    const T* data = value.data<T>();
    if (value.shape().empty()) return fmt::format("dense<{}>", element_text(data[0]));
    TESSERA_CHECK(value.shape() == shape, "a literal of shape {} as {}", value.shape(), shape);
    if (shape.elements() == 0) return "dense<>";
    std::string out = "dense<";
    if (shape.elements() > kMaxListed && !std::is_same_v<T, bool>) {
      out += "\"0x";
      for (int64_t i = 0; i < value.bytes(); ++i)
        out += fmt::format("{:02X}", static_cast<uint8_t>(value.raw()[i]));
      return out + "\">";
    }
    int64_t next = 0;
    list_elements(out, data, shape, 0, next);
    return out + ">";
  });
}

std::string mlir_spec(const PartitionSpec& spec, int64_t rank) {
  std::vector<std::string> dims;
  for (int64_t d = 0; d < rank; ++d) dims.push_back(axes_text(spec.dim(d).axes, spec.dim(d).open));
  std::string out = fmt::format("[{}]", fmt::join(dims, ", "));
  if (!spec.replicated().empty()) out += ", replicated=" + axes_text(spec.replicated(), false);
  return out;
}

}  // namespace tessera::interchange
