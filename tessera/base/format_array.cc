#include "tessera/base/format_array.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <iterator>
#include <type_traits>

#include "tessera/base/format.h"
#include "tessera/base/format_number.h"
#include "tessera/base/narrow.h"
#include "tessera/base/visit_dtype.h"

namespace tessera {
namespace {

constexpr int kPrecision = 8;         // digits after the point, at most
constexpr int64_t kThreshold = 1000;  // elements; beyond it an array is summarised
constexpr int64_t kEdgeItems = 3;     // kept at each end of a summarised axis
constexpr int64_t kLineWidth = 75;

// Writes the element at a row-major position.
using ElementFormat = std::function<std::string(int64_t)>;

std::string spaces(size_t count) { return std::string(count, ' '); }

// ---- Which elements are shown
// ---------------------------------------------------------------------------------

// Positions along one axis; kGap stands for the "..." of a summarised one.
constexpr int64_t kGap = -1;
std::vector<int64_t> shown_along(int64_t extent, bool summarised) {
  std::vector<int64_t> out;
  if (!summarised || extent <= 2 * kEdgeItems) {
    for (int64_t i = 0; i < extent; ++i) out.push_back(i);
  } else {
    for (int64_t i = 0; i < kEdgeItems; ++i) out.push_back(i);
    out.push_back(kGap);
    for (int64_t i = extent - kEdgeItems; i < extent; ++i) out.push_back(i);
  }
  return out;
}

bool is_summarised(const Literal& literal) { return literal.elements() > kThreshold; }

// Returns the row-major positions of all elements shown, on which alone the column widths depend.
std::vector<int64_t> shown_elements(const Literal& literal) {
  std::vector<int64_t> positions{0};
  for (int64_t extent : literal.shape()) {
    std::vector<int64_t> next;
    const std::vector<int64_t> along = shown_along(extent, is_summarised(literal));
    for (int64_t base : positions)
      for (int64_t i : along)
        if (i != kGap) next.push_back(base * extent + i);
    positions = std::move(next);
  }
  return positions;
}

// ---- One column format for all floats of an array
// -----------------------------------------------------------------

// Returns a / b in the dtype's own arithmetic, which decides about the notation: 60000 / 0.001 is
// infinite in float16.
double ratio(double a, double b) { return a / b; }
float ratio(float a, float b) { return a / b; }
double ratio(Float16 a, Float16 b) {
  return static_cast<float>(Float16(static_cast<float>(a) / static_cast<float>(b)));
}

// Returns a threshold as a value of the array's dtype, as NumPy compares with it.
template <class T>
double rounded_to(double value) {
  if constexpr (std::is_same_v<T, Float16>)
    return element_cast<double>(Float16(static_cast<float>(value)));
  else
    return static_cast<T>(value);
}

// Returns the value from which on plain digits would show more than the dtype holds.
template <class T>
constexpr double kPlainLimit = std::is_same_v<T, double>  ? 1e8
                               : std::is_same_v<T, float> ? 1e6
                                                          : 1e3;

// The text of a number, split at its point and its exponent: "-1", "25", "-05" for -1.25e-05.
struct Parts {
  std::string integer, fraction, exponent;
};
Parts split(const std::string& text) {
  Parts out;
  const size_t e = text.find('e');
  if (e != std::string::npos) out.exponent = text.substr(e + 1);
  const std::string mantissa = text.substr(0, e);
  const size_t point = mantissa.find('.');
  out.integer = mantissa.substr(0, point);
  if (point != std::string::npos) out.fraction = mantissa.substr(point + 1);
  return out;
}

// Returns `value` with exactly `digits` digits after the point, correctly rounded.
std::string fixed_digits(double value, std::chars_format format, int digits) {
  char buffer[512];
  return {buffer, std::to_chars(buffer, buffer + sizeof buffer, value, format, digits).ptr};
}

// Returns the fewest digits that identify `value`, limited to kPrecision after the point (correctly
// rounded from the exact value) and, in scientific notation, extended to `min_digits` with further
// digits of the value.
template <class T>
Parts number_parts(T value, bool scientific, int min_digits) {
  const Decimal decimal = shortest_decimal(value);
  const double wide = element_cast<double>(value);
  Parts parts = split(scientific ? scientific_text(decimal) : positional_text(decimal));
  const int digits = static_cast<int>(parts.fraction.size());
  const auto format = scientific ? std::chars_format::scientific : std::chars_format::fixed;
  if (digits > kPrecision) {
    parts = split(fixed_digits(wide, format, kPrecision));
    parts.fraction.erase(parts.fraction.find_last_not_of('0') + 1);
  }
  if (scientific && static_cast<int>(parts.fraction.size()) < min_digits)
    parts = split(fixed_digits(wide, format, min_digits));
  return parts;
}

template <class T>
class FloatFormat {
 public:
  FloatFormat(const std::vector<T>& values, bool always_sign) : always_sign_(always_sign) {
    choose_notation(values);
    bool all_finite = true, negative_inf = false;
    for (T value : values) {
      const double wide = element_cast<double>(value);
      all_finite &= std::isfinite(wide);
      negative_inf |= std::isinf(wide) && wide < 0;
      if (!std::isfinite(wide)) continue;
      const Parts parts = signed_parts(value, 0);
      left_ = std::max(left_, parts.integer.size());
      fraction_ = std::max(fraction_, parts.fraction.size());
      if (scientific_) exponent_ = std::max(exponent_, parts.exponent.size());
    }
    if (all_finite) return;
    const size_t word = negative_inf || always_sign_ ? 4 : 3;  // "-inf", "nan"
    const size_t right = right_width() + 1;                    // including the point
    left_ = std::max(left_, word > right ? word - right : 0);
  }

  std::string operator()(T value) const {
    const double wide = element_cast<double>(value);
    if (!std::isfinite(wide)) {
      std::string text = std::isnan(wide) ? "nan" : wide < 0 ? "-inf" : "inf";
      if (always_sign_ && text[0] != '-') text = "+" + text;
      const size_t width = left_ + right_width() + 1;
      return spaces(width > text.size() ? width - text.size() : 0) + text;
    }
    Parts parts = signed_parts(value, static_cast<int>(fraction_));
    std::string out = spaces(left_ - parts.integer.size()) + parts.integer + "." + parts.fraction;
    if (!scientific_) return out + spaces(fraction_ - parts.fraction.size());
    // All exponents have the width of the longest one: if one is e-100, others are e+000.
    parts.exponent.insert(1, exponent_ - parts.exponent.size(), '0');
    return out + std::string(fraction_ - parts.fraction.size(), '0') + "e" + parts.exponent;
  }

 private:
  // The notation is scientific if plain digits would be long: the values are large for the dtype,
  // below 1e-4, or differ by more than three decades.
  void choose_notation(const std::vector<T>& values) {
    bool found = false;
    T largest{}, smallest{};
    for (T value : values) {
      const double magnitude = std::abs(element_cast<double>(value));
      if (!std::isfinite(magnitude) || magnitude == 0) continue;
      const T absolute = element_cast<double>(value) < 0 ? negated(value) : value;
      if (!found || magnitude > element_cast<double>(largest)) largest = absolute;
      if (!found || magnitude < element_cast<double>(smallest)) smallest = absolute;
      found = true;
    }
    if (!found) return;
    scientific_ = element_cast<double>(largest) >= kPlainLimit<T> ||
                  element_cast<double>(smallest) < rounded_to<T>(1e-4) ||
                  ratio(largest, smallest) > 1000;
  }
  static double negated(double value) { return -value; }
  static float negated(float value) { return -value; }
  static Float16 negated(Float16 value) {
    value.bits ^= 0x8000;
    return value;
  }

  Parts signed_parts(T value, int min_digits) const {
    Parts parts = number_parts(value, scientific_, min_digits);
    if (always_sign_ && parts.integer[0] != '-') parts.integer.insert(0, 1, '+');
    return parts;
  }
  // Returns the columns right of the point: the fraction, and "e" with the exponent.
  size_t right_width() const { return fraction_ + (scientific_ ? 1 + exponent_ : 0); }

  bool always_sign_ = false, scientific_ = false;
  size_t left_ = 0, fraction_ = 0, exponent_ = 0;
};

// ---- The format of each kind of element
// ------------------------------------------------------------------------

template <class T>
ElementFormat float_format(const T* data, const std::vector<int64_t>& shown) {
  std::vector<T> values;
  for (int64_t i : shown) values.push_back(data[i]);
  return [data, format = FloatFormat<T>(values, false)](int64_t i) { return format(data[i]); };
}

template <class T>
ElementFormat complex_format(const std::complex<T>* data, const std::vector<int64_t>& shown) {
  std::vector<T> real, imaginary;
  for (int64_t i : shown) {
    real.push_back(data[i].real());
    imaginary.push_back(data[i].imag());
  }
  return [data, re = FloatFormat<T>(real, false), im = FloatFormat<T>(imaginary, true)](int64_t i) {
    std::string text = im(data[i].imag());
    text.insert(text.find_last_not_of(' ') + 1, "j");
    return re(data[i].real()) + text;
  };
}

// The elements are right-aligned to the width of the longest text.
template <class T>
ElementFormat aligned_format(const T* data, const std::vector<int64_t>& shown, auto text) {
  size_t width = 0;
  for (int64_t i : shown) width = std::max<size_t>(width, text(data[i]).size());
  return [=](int64_t i) {
    const std::string out = text(data[i]);
    return spaces(width - out.size()) + out;
  };
}

// Integers print as integers; NumPy has no column format for narrow floats, so each prints by
// itself.
ElementFormat narrow_format(const Literal& literal, const std::vector<int64_t>& shown) {
  const auto value = [literal](int64_t i) {
    return narrow_value(literal.dtype(), static_cast<uint8_t>(literal.raw()[i]));
  };
  size_t width = 0;
  if (is_integer(literal.dtype()))
    for (int64_t i : shown) width = std::max(width, fmt::format("{}", value(i)).size());
  return [=](int64_t i) {
    const double x = value(i);
    const std::string out = std::isnan(x) ? "nan" : fmt::format("{:g}", x);
    return spaces(width > out.size() ? width - out.size() : 0) + out;
  };
}

ElementFormat element_format(const Literal& literal, const std::vector<int64_t>& shown) {
  if (is_narrow(literal.dtype())) return narrow_format(literal, shown);
  return visit_dtype(literal.dtype(), [&](auto tag) -> ElementFormat {
    using T = typename decltype(tag)::type;
    const T* data = literal.data<T>();
    if constexpr (std::is_same_v<T, bool>) {
      // NumPy gives every bool of an array five columns, a scalar none.
      if (literal.shape().empty()) return [=](int64_t i) { return numpy_scalar(data[i]); };
      return [=](int64_t i) { return data[i] ? " True" : "False"; };
    } else if constexpr (std::is_same_v<T, Bfloat16>) {
      // NumPy has no column format for the types of ml_dtypes: each element prints by itself.
      return [=](int64_t i) { return numpy_scalar(data[i]); };
    } else if constexpr (std::is_integral_v<T>) {
      return aligned_format(data, shown, [](T value) { return std::to_string(value); });
    } else if constexpr (std::is_same_v<T, std::complex<float>> ||
                         std::is_same_v<T, std::complex<double>>) {
      return complex_format(data, shown);
    } else {
      return float_format(data, shown);
    }
  });
}

// ---- Brackets and lines
// --------------------------------------------------------------------------------------------

class ArrayPrinter {
 public:
  // `separator` stands between elements; continuation lines begin below the first element, which is
  // indented by `indent` columns, and no line is longer than `width` columns.
  ArrayPrinter(const Literal& literal, std::string separator, size_t indent, int64_t width)
      : shape_(literal.shape()),
        summarised_(is_summarised(literal)),
        separator_(std::move(separator)),
        bare_separator_(separator_.substr(0, separator_.find_last_not_of(' ') + 1)),
        indent_(indent),
        width_(width),
        element_(element_format(literal, shown_elements(literal))) {}

  std::string print() const { return shape_.empty() ? element_(0) : block(0, 0); }

 private:
  // Returns the text of the sub-array at `position` along the axes before `axis`.
  std::string block(int64_t axis, int64_t position) const {
    if (axis == shape_.rank() - 1) return row(position);
    const std::string line_break =
        bare_separator_ + std::string(static_cast<size_t>(shape_.rank() - 1 - axis), '\n') +
        spaces(column(axis));
    std::string out;
    for (int64_t i : shown_along(shape_[axis], summarised_)) {
      out += out.empty() ? "[" : line_break;
      out += i == kGap ? "..." : block(axis + 1, position * shape_[axis] + i);
    }
    return out + "]";
  }

  // Prints the innermost axis, whose elements fill lines. The last line leaves room for the
  // brackets that close after it.
  std::string row(int64_t position) const {
    const int64_t axis = shape_.rank() - 1;
    const size_t start = column(axis);
    const int64_t limit = width_ - axis - 1;
    std::string done, line = spaces(start);
    bool first = true;
    for (int64_t i : shown_along(shape_[axis], summarised_)) {
      const std::string word = i == kGap ? "..." : element_(position * shape_[axis] + i);
      if (!first) line += separator_;
      first = false;
      if (std::ssize(line) + std::ssize(word) > limit && line.size() > start) {
        done += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
        line = spaces(start);
      }
      line += word;
    }
    done += line;
    return "[" + done.substr(start) + "]";
  }

  // Returns the column at which the contents of the brackets of `axis` start.
  size_t column(int64_t axis) const { return indent_ + static_cast<size_t>(axis) + 1; }

  const Shape shape_;
  const bool summarised_;
  const std::string separator_, bare_separator_;
  const size_t indent_;
  const int64_t width_;
  const ElementFormat element_;
};

}  // namespace

std::string str(const Literal& literal) {
  if (literal.shape().empty() && is_narrow(literal.dtype())) return narrow_format(literal, {0})(0);
  if (literal.shape().empty())
    return visit_dtype(literal.dtype(), [&](auto tag) {
      using T = typename decltype(tag)::type;
      const T value = *literal.data<T>();
      if constexpr (std::is_same_v<T, bool>)
        return numpy_scalar(value);
      else if constexpr (std::is_integral_v<T>)
        return std::to_string(value);
      else
        return numpy_scalar(value);
    });
  if (literal.elements() == 0) return "[]";
  return ArrayPrinter(literal, " ", 0, kLineWidth).print();
}

std::string to_string(const Literal& literal) {
  return literal.shape().empty() ? item_to_string(literal) : str(literal);
}

std::string repr(const Literal& literal, bool weak_type) {
  const std::string prefix = "Array(";
  std::string body;
  if (literal.elements() == 0)
    body = fmt::format("[], shape={}", literal.shape());
  else
    body = ArrayPrinter(literal, ", ", prefix.size(), kLineWidth - 1).print();
  const std::string dtype =
      fmt::format("dtype={}{}", literal.dtype(), weak_type ? ", weak_type=True" : "");
  // JAX leaves a gap as wide as the prefix if the dtype does not fit on the last line, and never
  // breaks the line. (npos + 1 is 0.)
  const int64_t last_line = std::ssize(body) - static_cast<int64_t>(body.rfind('\n') + 1) + 2;
  return prefix + body + "," +
         spaces(std::ssize(dtype) + last_line + 2 > kLineWidth ? prefix.size() : 1) + dtype + ")";
}

std::string item_to_string(const Literal& literal, int64_t index) {
  if (index < 0 || index >= literal.elements())
    value_error("item", "expected an index in [0, {}), got {}; the array has shape {}",
                literal.elements(), index, literal.shape());
  if (is_narrow(literal.dtype())) return item_to_string(widened(literal), index);
  return visit_dtype(literal.dtype(), [&](auto tag) -> std::string {
    using T = typename decltype(tag)::type;
    const T value = literal.data<T>()[index];
    if constexpr (std::is_same_v<T, bool>)
      return numpy_scalar(value);
    else if constexpr (std::is_integral_v<T>)
      return std::to_string(value);
    else if constexpr (std::is_same_v<T, std::complex<float>>)
      return python_complex(std::complex<double>(value));
    else if constexpr (std::is_same_v<T, std::complex<double>>)
      return python_complex(value);
    else if constexpr (std::is_same_v<T, double>)
      return python_float(value);
    else
      return python_float(static_cast<float>(value));
  });
}

}  // namespace tessera
