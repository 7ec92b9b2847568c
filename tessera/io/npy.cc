#include "tessera/io/npy.h"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "tessera/io/file.h"
#include "tessera/io/replace_file.h"
#include "tessera/ir/format.h"

namespace tessera {
namespace {

using internal::NpySource;

static_assert(std::endian::native == std::endian::little,
              "files are little endian, and written as memory stands");

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kMaxHeader = 1 << 16;  // NumPy itself refuses headers beyond 10,000 bytes
constexpr size_t kMaxRank = 64;         // NumPy's
// The most bytes read at once: libzip counts unpacked bytes in 32 bits.
constexpr size_t kMaxRead = 1 << 24;

struct Header {
  DType dtype = float32;
  bool swap = false;  // big endian
  bool fortran = false;
  Shape shape;
};

[[noreturn]] void damaged(const NpySource& source, std::string_view what) {
  io_error(source.op,
           "expected {} to be an array in NumPy's npy format, got {}; write it again with "
           "numpy.save or numpy.savez",
           source.where, what);
}

void read_exactly(const NpySource& source, void* buffer, size_t n) {
  char* out = static_cast<char*>(buffer);
  while (n > 0) {
    const size_t got = source.read(out, std::min(n, kMaxRead));
    if (got == 0) damaged(source, "a file that ends early");
    out += got;
    n -= got;
  }
}

// --- The header. ---

// Reads the Python dictionary of a header: {'descr': '<f4', 'fortran_order': False, 'shape': (3,
// 4), }.
class HeaderParser {
 public:
  HeaderParser(const NpySource& source, std::string_view text) : source_(source), text_(text) {}

  Header parse() {
    std::optional<std::string> descr;
    std::optional<bool> fortran;
    std::optional<Shape> shape;
    expect('{');
    while (!accept('}')) {
      const std::string key = quoted();
      expect(':');
      if (key == "descr" && !descr) {
        if (peek() == '[')
          unsupported("a structured array", "save each field as an array of its own");
        descr = quoted();
      } else if (key == "fortran_order" && !fortran) {
        fortran = boolean();
      } else if (key == "shape" && !shape) {
        shape = tuple();
      } else {
        damaged(source_, fmt::format("a header with an unexpected '{}'", key));
      }
      if (!accept(',') && peek() != '}') damaged_text();
    }
    skip_space();
    if (at_ != text_.size()) damaged_text();
    if (!descr || !fortran || !shape)
      damaged(source_, "a header without 'descr', 'fortran_order' or 'shape'");
    Header header{.fortran = *fortran, .shape = *shape};
    read_descr(*descr, header);
    return header;
  }

 private:
  [[noreturn]] void damaged_text() {
    const size_t from = std::min(at_, text_.size());
    damaged(source_, fmt::format("a header that is not understood at character {} of {}", from,
                                 text_.size()));
  }
  [[noreturn]] void unsupported(std::string_view what, std::string_view remedy) {
    io_error(source_.op, "expected {} to hold numbers or bools, got {}; {}", source_.where, what,
             remedy);
  }

  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t'))
      ++at_;
  }
  char peek() {
    skip_space();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool accept(char c) {
    if (peek() != c || at_ >= text_.size()) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) damaged_text();
  }
  std::string quoted() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') damaged_text();
    const size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) damaged_text();
    const std::string out(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return out;
  }
  bool word(std::string_view expected) {
    skip_space();
    if (text_.substr(at_, expected.size()) != expected) return false;
    at_ += expected.size();
    return true;
  }
  bool boolean() {
    if (word("True")) return true;
    if (!word("False")) damaged_text();
    return false;
  }
  Shape tuple() {
    Shape out;
    expect('(');
    while (!accept(')')) {
      skip_space();
      int64_t extent = 0;
      const auto [end, error] =
          std::from_chars(text_.data() + at_, text_.data() + text_.size(), extent);
      if (error != std::errc() || extent < 0) damaged_text();
      at_ = static_cast<size_t>(end - text_.data());
      if (at_ < text_.size() && text_[at_] == 'L') ++at_;  // Python 2 wrote long integers with an L
      if (out.size() == kMaxRank)
        damaged(source_, fmt::format("a shape of more than {} dimensions", kMaxRank));
      out.push_back(extent);
      if (!accept(',') && peek() != ')') damaged_text();
    }
    return out;
  }

  // Reads a text like '<f4': byte order, kind, bytes.
  void read_descr(const std::string& descr, Header& header) {
    std::string_view rest = descr;
    if (!rest.empty() && std::string_view("<>|=").find(rest[0]) != std::string_view::npos) {
      header.swap = rest[0] == '>';
      rest.remove_prefix(1);
    }
    static constexpr std::pair<std::string_view, DType> kDescr[] =
        {
            {"b1", bool_},   {"?", bool_},    {"i1", int8},      {"i2", int16},
            {"i4", int32},   {"i8", int64},   {"u1", uint8},     {"u2", uint16},
            {"u4", uint32},  {"u8", uint64},  {"f2", float16},   {"V2", bfloat16},
            {"V1", uint8},   {"f1", uint8},  // narrow dtypes have no names in NumPy: their bits
            {"f4", float32}, {"f8", float64}, {"c8", complex64}, {"c16", complex128}};
    for (const auto& [name, dtype] : kDescr)
      if (rest == name) {
        header.dtype = dtype;
        return;
      }
    if (rest.starts_with("O"))
      unsupported("Python objects",
                  "convert the array first, e.g. numpy.asarray(x, dtype=numpy.float32)");
    unsupported(fmt::format("elements of type '{}'", descr),
                "convert the array first, e.g. with x.astype(numpy.float32)");
  }

  const NpySource& source_;
  std::string_view text_;
  size_t at_ = 0;
};

// Returns the header, and its size in bytes.
std::pair<Header, uint64_t> read_header(const NpySource& source) {
  char start[8];
  if (source.size < sizeof start + 2) damaged(source, fmt::format("{} bytes", source.size));
  read_exactly(source, start, sizeof start);
  if (std::string_view(start, kMagic.size()) != kMagic)
    damaged(source, "a file that does not start with its magic bytes");
  const int version = static_cast<unsigned char>(start[6]);
  if (version < 1 || version > 3)
    damaged(source, fmt::format("version {} of the format (1 to 3 are known)", version));
  unsigned char length_bytes[4] = {};
  const size_t length_size = version == 1 ? 2 : 4;
  read_exactly(source, length_bytes, length_size);
  uint32_t length = 0;
  std::memcpy(&length, length_bytes, sizeof length);
  const uint64_t before = sizeof start + length_size;
  if (length > kMaxHeader || length > source.size - std::min(before, source.size))
    damaged(source, fmt::format("a header of {} bytes in a file of {}", length, source.size));
  std::string text(length, '\0');
  read_exactly(source, text.data(), length);
  return {HeaderParser(source, text).parse(), before + length};
}

std::string_view descr(DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return "|b1";
    case DType::kInt8:
      return "|i1";
    case DType::kInt16:
      return "<i2";
    case DType::kInt32:
      return "<i4";
    case DType::kInt64:
      return "<i8";
    case DType::kUint8:
      return "|u1";
    case DType::kUint16:
      return "<u2";
    case DType::kUint32:
      return "<u4";
    case DType::kUint64:
      return "<u8";
    case DType::kFloat16:
      return "<f2";
    case DType::kBfloat16:
      return "<V2";
    case DType::kFloat32:
      return "<f4";
    case DType::kFloat64:
      return "<f8";
    case DType::kComplex64:
      return "<c8";
    case DType::kComplex128:
      return "<c16";
    default:
      return "<V1";  // as ml_dtypes' types; NumPy writes float8_e5m2 as <f1, and cannot read it
  }
  TESSERA_CHECK(false, "dtype {}", static_cast<int>(dtype));
  __builtin_unreachable();
}

// --- The bytes. ---

// Reverses the bytes of each number; a complex one is two numbers.
void swap_bytes(std::byte* data, int64_t bytes, int64_t width) {
  for (std::byte* p = data; p < data + bytes; p += width) std::reverse(p, p + width);
}

// Returns the elements of `in` in row-major order. In `in` the first index varies fastest.
Literal from_fortran_order(const Literal& in) {
  Literal out(in.dtype(), in.shape());
  const int64_t size = itemsize(in.dtype()), rank = in.shape().rank();
  Dims strides(in.shape().size(), 1);  // of `in`, in elements
  for (int64_t i = 1; i < rank; ++i) strides[i] = strides[i - 1] * in.shape()[i - 1];
  Dims index(in.shape().size(), 0);
  const std::byte* from = in.raw();
  std::byte* to = out.mutable_raw();
  int64_t at = 0;
  for (int64_t n = 0; n < in.elements(); ++n) {
    std::memcpy(to + n * size, from + at * size, static_cast<size_t>(size));
    for (int64_t axis = rank - 1; axis >= 0; --axis) {  // the next index, last axis fastest
      at += strides[axis];
      if (++index[axis] < in.shape()[axis]) break;
      at -= strides[axis] * in.shape()[axis];
      index[axis] = 0;
    }
  }
  return out;
}

// Returns the bytes of an array of that shape, or nullopt if they are more than a file can hold.
std::optional<uint64_t> payload_bytes(const Header& header) {
  int64_t bytes = itemsize(header.dtype);
  // If an extent is zero, the others do not matter.
  if (std::find(header.shape.begin(), header.shape.end(), 0) != header.shape.end()) bytes = 0;
  int64_t extents = 1;
  for (int64_t extent : header.shape) {
    if (__builtin_mul_overflow(bytes, extent, &bytes)) return std::nullopt;
    if (extent > 0 && __builtin_mul_overflow(extents, extent, &extents)) return std::nullopt;
  }
  return static_cast<uint64_t>(bytes);
}

}  // namespace

internal::NpyLayout internal::read_npy_layout(const NpySource& source) {
  const auto [header, header_bytes] = read_header(source);
  const std::optional<uint64_t> bytes = payload_bytes(header);
  const uint64_t rest = source.size - header_bytes;
  if (!bytes || *bytes != rest)
    damaged(source, fmt::format("{} bytes after a header that promises {} of shape {}", rest,
                                header.dtype, header.shape));
  return {header.dtype, header.shape, header.swap, header.fortran, header_bytes};
}

void internal::normalize_npy(const NpyLayout& layout, std::byte* data, int64_t bytes) {
  if (layout.swap && layout.dtype != bool_) {
    const int64_t parts = is_complex(layout.dtype) ? 2 : 1;
    swap_bytes(data, bytes, itemsize(layout.dtype) / parts);
  }
  // NumPy reads any byte except 0 as true, but a C++ bool must be 0 or 1.
  if (layout.dtype == bool_)
    std::transform(data, data + bytes, data,
                   [](std::byte b) { return b == std::byte{0} ? b : std::byte{1}; });
}

Literal internal::read_npy(const NpySource& source) {
  const NpyLayout layout = read_npy_layout(source);
  Literal out(layout.dtype, layout.shape);
  std::byte* data = out.mutable_raw();
  read_exactly(source, data, static_cast<size_t>(out.bytes()));
  normalize_npy(layout, data, out.bytes());
  return layout.fortran && layout.shape.rank() > 1 ? from_fortran_order(out) : out;
}

// Returns {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), } followed by spaces and a new
// line. The first spaces let the leading extent grow to 21 digits in place; the others fill up a
// multiple of 64 bytes.
std::string internal::npy_header(const Literal& literal) {
  std::string text = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': {}, }}",
                                 descr(literal.dtype()), literal.shape());
  if (!literal.shape().empty()) text.append(21 - std::to_string(literal.shape()[0]).size(), ' ');
  const size_t before = kMagic.size() + 4, total = (before + text.size() + 1 + 63) / 64 * 64;
  text.append(total - before - text.size() - 1, ' ');
  text += '\n';
  std::string out(kMagic);
  out += {'\1', '\0', static_cast<char>(text.size() & 0xff), static_cast<char>(text.size() >> 8)};
  TESSERA_CHECK(text.size() < 0x10000, "rank {}", literal.shape().rank());
  return out + text;
}

Literal read_npy(const std::filesystem::path& path) {
  const internal::PlainFile plain = internal::open_plain("load_npy", path);
  const auto read = [&](void* buffer, size_t n) -> size_t {
    for (;;) {
      const ssize_t got = ::read(plain.file.fd(), buffer, n);
      if (got >= 0) return static_cast<size_t>(got);
      if (errno != EINTR)
        io_error("load_npy", "expected to read '{}', got: {}; check the disk", path.string(),
                 internal::error_text(errno));
    }
  };
  return internal::read_npy({"load_npy", fmt::format("'{}'", path.string()), plain.bytes, read});
}

void write_npy(const std::filesystem::path& path, const Literal& literal) {
  constexpr std::string_view kOp = "save_npy";
  internal::replace_file_by(kOp, path, [&](int fd) {
    const std::string header = internal::npy_header(literal);
    internal::write_all(fd, header.data(), header.size(), kOp, path);
    internal::write_all(fd, literal.raw(), static_cast<size_t>(literal.bytes()), kOp, path);
  });
}

}  // namespace tessera
