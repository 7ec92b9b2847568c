#include "tessera/io/safetensors.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>

#include "tessera/io/crc32c.h"
#include "tessera/io/replace_file.h"
#include "tessera/ir/format.h"

namespace tessera {
namespace {

using internal::SafetensorsEntry;
using Json = nlohmann::json;

constexpr std::string_view kMetadata = "__metadata__";

constexpr std::pair<std::string_view, DType> kNames[] = {{"BOOL", bool_},
                                                         {"I8", int8},
                                                         {"I16", int16},
                                                         {"I32", int32},
                                                         {"I64", int64},
                                                         {"U8", uint8},
                                                         {"U16", uint16},
                                                         {"U32", uint32},
                                                         {"U64", uint64},
                                                         {"F16", float16},
                                                         {"F32", float32},
                                                         {"F64", float64},
                                                         {"BF16", bfloat16},
                                                         {"C64", complex64},
                                                         {"F8_E4M3", float8_e4m3fn},
                                                         {"F8_E5M2", float8_e5m2},
                                                         {"F8_E8M0", float8_e8m0fnu}};

std::optional<DType> dtype_of_name(std::string_view name) {
  for (const auto& [text, dtype] : kNames)
    if (text == name) return dtype;
  return std::nullopt;
}

std::string_view name_of_dtype(std::string_view op, const SafetensorsEntry& entry) {
  for (const auto& [text, dtype] : kNames)
    if (dtype == entry.dtype) return text;
  type_error(op,
             "expected '{}' to have a dtype of the safetensors format, got {}; store its real and "
             "imaginary parts",
             entry.name, entry.dtype);
}

[[noreturn]] void damaged(std::string_view op, const std::filesystem::path& path,
                          std::string_view what) {
  io_error(op,
           "expected '{}' to be a file in safetensors format, got {}; the file is damaged or of "
           "another format: fetch or write it again",
           path.string(), what);
}

// Returns the number of elements, or nullopt if it does not fit.
std::optional<int64_t> elements_of(const Json& shape, Shape& out) {
  if (!shape.is_array()) return std::nullopt;
  int64_t elements = 1;
  bool empty = false;
  for (const Json& extent : shape) {
    if (!extent.is_number_unsigned() || extent.get<uint64_t>() > INT64_MAX) return std::nullopt;
    out.push_back(extent.get<int64_t>());
    empty |= out.back() == 0;
    if (out.back() > 0 && __builtin_mul_overflow(elements, out.back(), &elements))
      return std::nullopt;
  }
  return empty ? 0 : elements;
}

}  // namespace

namespace internal {

// An entry is "name":{"data_offsets":[0,24],"dtype":"F32","shape":[2,3]}, with numbers of up to 20
// digits.
uint64_t safetensors_entry_bytes(const SafetensorsEntry& entry) {
  uint64_t bytes = 100 + 21 * static_cast<uint64_t>(entry.shape.rank());
  for (char c : entry.name)
    bytes += static_cast<unsigned char>(c) < 0x20 ? 6 : c == '"' || c == '\\' ? 2 : 1;
  return bytes;
}

std::string safetensors_header(std::string_view op, std::vector<SafetensorsEntry>& entries,
                               uint64_t limit) {
  Json header = Json::object();
  uint64_t offset = 0;
  for (SafetensorsEntry& entry : entries) {
    if (entry.name == kMetadata)
      value_error(op,
                  "expected another name than '{}', which is the format's own; rename the array",
                  kMetadata);
    entry.offset = offset;
    offset += entry.bytes();
    header[entry.name] = {{"dtype", name_of_dtype(op, entry)},
                          {"shape", std::vector<int64_t>(entry.shape.begin(), entry.shape.end())},
                          {"data_offsets", {entry.offset, offset}}};
  }
  std::string text;
  try {
    text = header.dump();
  } catch (const Json::exception&) {
    value_error(op, "expected names in UTF-8, got other bytes in one of {}; rename that array",
                entries.size());
  }
  text.append((8 - text.size() % 8) % 8, ' ');
  const uint64_t length = text.size();
  if (length > limit)
    value_error(op,
                "expected arrays whose names and shapes take up to {} bytes, the most that readers "
                "of the format take, got {} bytes of {} arrays; use shorter names or several files",
                limit, length, entries.size());
  std::string out(sizeof length, '\0');
  std::memcpy(out.data(), &length, sizeof length);
  return out + text;
}

SafetensorsFile::SafetensorsFile(std::string_view op, const std::filesystem::path& path)
    : op_(op), path_(path) {
  PlainFile plain = open_plain(op, path);
  file_ = std::move(plain.file);
  bytes_ = plain.bytes;
  uint64_t length = 0;
  if (bytes_ < sizeof length) damaged(op_, path_, fmt::format("{} bytes", bytes_));
  read_at(file_.fd(), &length, sizeof length, 0, op_, path_);
  if (length > std::min(kMaxSafetensorsHeader, bytes_ - sizeof length))
    damaged(op_, path_, fmt::format("a header of {} bytes in a file of {}", length, bytes_));
  data_start_ = sizeof length + length;
  std::string header(length, '\0');
  read_at(file_.fd(), header.data(), header.size(), sizeof length, op_, path_);
  header_crc32c_ = crc32c(header.data(), header.size(), crc32c(&length, sizeof length));
  read_entries(header);
}

void SafetensorsFile::read_entries(const std::string& text) {
  const Json header = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!header.is_object()) damaged(op_, path_, "a header that is no JSON object");
  struct Range {
    uint64_t begin, end;
    const std::string* name;
  };
  std::vector<Range> ranges;
  for (const auto& [name, value] : header.items()) {
    if (name == kMetadata) continue;
    const auto wrong = [&, &name = name](std::string_view what) {
      damaged(op_, path_, fmt::format("an array '{}' {}", name, what));
    };
    if (!value.is_object() || !value.contains("dtype") || !value.contains("shape") ||
        !value.contains("data_offsets"))
      wrong("without dtype, shape or data_offsets");
    SafetensorsEntry entry{.name = name};
    const Json& dtype = value["dtype"];
    if (!dtype.is_string()) wrong("whose dtype is no name");
    const std::optional<DType> known = dtype_of_name(dtype.get_ref<const std::string&>());
    if (!known)
      io_error(op_,
               "expected '{}' to hold dtypes of this library, got {} in its array '{}'; convert it",
               path_.string(), dtype.get_ref<const std::string&>(), name);
    entry.dtype = *known;
    const std::optional<int64_t> elements = elements_of(value["shape"], entry.shape);
    int64_t bytes = 0;
    if (!elements || __builtin_mul_overflow(*elements, itemsize(entry.dtype), &bytes))
      wrong("whose shape cannot be true");
    const Json& offsets = value["data_offsets"];
    if (!offsets.is_array() || offsets.size() != 2 || !offsets[0].is_number_unsigned() ||
        !offsets[1].is_number_unsigned())
      wrong("whose data_offsets are not two numbers");
    const uint64_t begin = offsets[0].get<uint64_t>(), end = offsets[1].get<uint64_t>();
    if (end < begin || end - begin != static_cast<uint64_t>(bytes))
      wrong(fmt::format("of {}{} at bytes {} to {}", entry.dtype, entry.shape, begin, end));
    entry.offset = begin;
    const auto [inserted, fresh] = entries_.emplace(name, std::move(entry));
    TESSERA_CHECK(fresh);
    ranges.push_back({begin, end, &inserted->first});
  }
  std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) {
    return std::tie(a.begin, a.end) < std::tie(b.begin, b.end);
  });
  uint64_t at = 0;
  for (const Range& range : ranges) {
    if (range.begin != at)
      damaged(op_, path_,
              fmt::format("an array '{}' at byte {} of the data where {} was expected", *range.name,
                          range.begin, at));
    at = range.end;
  }
  if (at != bytes_ - data_start_)
    damaged(
        op_, path_,
        fmt::format("{} bytes of data after a header that promises {}", bytes_ - data_start_, at));
}

Literal SafetensorsFile::read(const SafetensorsEntry& entry) const {
  Literal out(entry.dtype, entry.shape);
  read_at(file_.fd(), out.mutable_raw(), static_cast<size_t>(out.bytes()),
          data_start_ + entry.offset, op_, path_);
  if (entry.dtype == bool_) {  // a C++ bool must be 0 or 1
    std::byte* bytes = out.mutable_raw();
    for (int64_t i = 0; i < out.bytes(); ++i) bytes[i] = std::byte{bytes[i] != std::byte{0}};
  }
  return out;
}

}  // namespace internal

std::map<std::string, Literal> read_safetensors(const std::filesystem::path& path) {
  const internal::SafetensorsFile file("load_safetensors", path);
  std::map<std::string, Literal> out;
  for (const auto& [name, entry] : file.entries()) out.emplace(name, file.read(entry));
  return out;
}

void write_safetensors(const std::filesystem::path& path,
                       const std::map<std::string, Literal>& arrays) {
  constexpr std::string_view kOp = "save_safetensors";
  std::vector<SafetensorsEntry> entries;
  for (const auto& [name, value] : arrays) entries.push_back({name, value.dtype(), value.shape()});
  std::stable_sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) {
    return itemsize(a.dtype) > itemsize(b.dtype);
  });
  const std::string header = internal::safetensors_header(kOp, entries);
  internal::replace_file_by(kOp, path, [&](int fd) {
    internal::write_all(fd, header.data(), header.size(), kOp, path);
    for (const SafetensorsEntry& entry : entries)
      internal::write_all(fd, arrays.at(entry.name).raw(), static_cast<size_t>(entry.bytes()), kOp,
                          path);
  });
}

}  // namespace tessera
