#include "tessera/base/format_number.h"

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <string_view>

#include "tessera/base/format.h"
#include "tessera/base/visit_dtype.h"

namespace tessera {
namespace {

// Parses "-1.25e-05" as std::to_chars(scientific) prints it.
Decimal parse_scientific(std::string_view text) {
  Decimal out;
  if (text.front() == '-') {
    out.negative = true;
    text.remove_prefix(1);
  }
  const size_t e = text.find('e');
  for (char c : text.substr(0, e))
    if (c != '.') out.digits += c;
  while (out.digits.size() > 1 && out.digits.back() == '0') out.digits.pop_back();
  out.exponent = std::atoi(std::string(text.substr(e + 1)).c_str());
  return out;
}

// Returns units x 10^last_place.
Decimal from_units(bool negative, int units, int last_place) {
  Decimal out{negative, std::to_string(units), 0};
  out.exponent = last_place + static_cast<int>(out.digits.size()) - 1;
  while (out.digits.size() > 1 && out.digits.back() == '0') out.digits.pop_back();
  return out;
}

template <class T>
Decimal shortest_by_to_chars(T value) {
  char buffer[64];
  const auto end =
      std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific).ptr;
  return parse_scientific({buffer, end});
}

// NumPy's limits for a scalar: the notation is scientific from `large` on and below 1e-4.
struct Thresholds {
  double small, large;
};
constexpr Thresholds kFloat64Thresholds{1e-4, 1e16}, kFloat32Thresholds{1e-4, 1e6},
    kFloat16Thresholds{1e-4, 1e3};

std::string non_finite(double value) {
  if (std::isnan(value)) return "nan";
  return value < 0 ? "-inf" : "inf";
}

// Returns the text without ".0", as the parts of complex numbers are printed.
template <class T>
std::string bare_text(T value, Thresholds limits) {
  const double wide = element_cast<double>(value), magnitude = std::abs(wide);
  if (!std::isfinite(wide)) return non_finite(wide);
  const Decimal decimal = shortest_decimal(value);
  const bool plain = magnitude == 0 || (magnitude >= limits.small && magnitude < limits.large);
  return plain ? positional_text(decimal) : scientific_text(decimal);
}

// Returns the text with ".0" if nothing else in it shows that it is a float.
template <class T>
std::string float_text(T value, Thresholds limits) {
  std::string text = bare_text(value, limits);
  if (text.find_first_not_of("-0123456789") == std::string::npos) text += ".0";
  return text;
}

template <class T>
std::string complex_text(std::complex<T> value, Thresholds limits) {
  std::string imaginary = bare_text(value.imag(), limits) + "j";
  if (value.real() == 0 && !std::signbit(value.real())) return imaginary;
  if (imaginary.front() != '-') imaginary.insert(0, 1, '+');
  return "(" + bare_text(value.real(), limits) + imaginary + ")";
}

}  // namespace

Decimal shortest_decimal(double value) { return shortest_by_to_chars(value); }
Decimal shortest_decimal(float value) { return shortest_by_to_chars(value); }

// Five digits always identify a binary16, and most need fewer. At a power of two the values below
// are half as far apart as those above, so the closest decimal may read back as the lower
// neighbour, while the next decimal reads back as the number: 2^-6 prints as 0.01563, although
// 0.01562 is as close. Candidates are read back as float, whose steps are far finer than the
// differences of candidates.
Decimal shortest_decimal(Float16 value) {
  const float exact = static_cast<float>(value);
  for (int digits = 1; digits <= 5; ++digits) {
    char buffer[32];
    const auto end = std::to_chars(buffer, buffer + sizeof buffer, exact,
                                   std::chars_format::scientific, digits - 1)
                         .ptr;
    const std::string closest(buffer, end);
    const size_t e = closest.find('e');
    std::string mantissa = closest.substr(0, e);
    std::erase(mantissa, '.');
    const bool negative = mantissa[0] == '-';
    const int units = std::abs(std::atoi(mantissa.c_str())),
              last_place = std::atoi(closest.c_str() + e + 1) - digits + 1;
    for (int candidate : {units, units + 1}) {
      const std::string text = fmt::format("{}{}e{}", negative ? "-" : "", candidate, last_place);
      float read = 0;
      std::from_chars(text.data(), text.data() + text.size(), read);
      if (Float16(read) == value) return from_units(negative, candidate, last_place);
    }
  }
  TESSERA_CHECK(false, "binary16 {:#x}", value.bits);
  __builtin_unreachable();
}

std::string positional_text(const Decimal& decimal) {
  const int count = static_cast<int>(decimal.digits.size()), before_point = decimal.exponent + 1;
  std::string out = decimal.negative ? "-" : "";
  if (before_point <= 0)
    return out + "0." + std::string(static_cast<size_t>(-before_point), '0') + decimal.digits;
  if (before_point >= count)
    return out + decimal.digits + std::string(static_cast<size_t>(before_point - count), '0');
  return out + decimal.digits.substr(0, static_cast<size_t>(before_point)) + "." +
         decimal.digits.substr(static_cast<size_t>(before_point));
}

std::string scientific_text(const Decimal& decimal) {
  std::string out = decimal.negative ? "-" : "";
  out += decimal.digits[0];
  if (decimal.digits.size() > 1) out += "." + decimal.digits.substr(1);
  return out +
         fmt::format("e{}{:02}", decimal.exponent < 0 ? '-' : '+', std::abs(decimal.exponent));
}

std::string python_float(double value) { return float_text(value, kFloat64Thresholds); }
std::string python_complex(std::complex<double> value) {
  return complex_text(value, kFloat64Thresholds);
}

std::string numpy_scalar(bool value) { return value ? "True" : "False"; }
std::string numpy_scalar(int64_t value) { return std::to_string(value); }
std::string numpy_scalar(uint64_t value) { return std::to_string(value); }
std::string numpy_scalar(double value) { return float_text(value, kFloat64Thresholds); }
std::string numpy_scalar(float value) { return float_text(value, kFloat32Thresholds); }
std::string numpy_scalar(Float16 value) { return float_text(value, kFloat16Thresholds); }
// NumPy prints bfloat16 by ml_dtypes, which writes six digits as printf's %g does.
std::string numpy_scalar(Bfloat16 value) {
  const float wide = static_cast<float>(value);
  return std::isnan(wide) ? "nan" : fmt::format("{:g}", wide);
}
std::string numpy_scalar(std::complex<float> value) {
  return complex_text(value, kFloat32Thresholds);
}
std::string numpy_scalar(std::complex<double> value) {
  return complex_text(value, kFloat64Thresholds);
}

}  // namespace tessera
