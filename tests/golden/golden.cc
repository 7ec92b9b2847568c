#include "tests/golden/golden.h"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include "tessera/base/format.h"

namespace tessera::golden {
namespace {

template <class T>
T read(std::string_view bytes, size_t at) {
  TESSERA_CHECK(at + sizeof(T) <= bytes.size(), "truncated at {}", at);
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof(T));
  return value;
}

}  // namespace

Shape dims(const Json& list) {
  Shape out;
  for (int64_t d : list) out.push_back(d);
  return out;
}

std::string read_file(std::string_view path) {
  const std::filesystem::path full = std::filesystem::path(TESSERA_GOLDEN_DIR) / path;
  std::ifstream in(full, std::ios::binary);
  TESSERA_CHECK(in.good(), "cannot open {}", full.string());
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string bytes_of_hex(const std::string& digits) {
  std::string bytes;
  for (size_t i = 0; i + 1 < digits.size(); i += 2)
    bytes += static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16));
  return bytes;
}

Topic::Topic(std::string_view name) : json_(Json::parse(read_file(std::string(name) + ".json"))) {
  const std::string npz = std::string(name) + ".npz";
  if (std::filesystem::exists(std::filesystem::path(TESSERA_GOLDEN_DIR) / npz))
    read_members(read_file(npz));
}

Literal Topic::array(const Json& reference) const {
  const std::string key = reference.at("key");
  const auto member = members_.find(key + ".npy");
  TESSERA_CHECK(member != members_.end(), "no array {}", key);
  const std::string_view npy = member->second;
  Literal out(dtype_from_name(reference.at("dtype").get<std::string>()),
              dims(reference.at("shape")));
  // An npy 1.0 file has a magic number, a version, the length of the text, and the text.
  const size_t header = 10 + read<uint16_t>(npy, 8);
  TESSERA_CHECK(npy.size() == header + static_cast<size_t>(out.bytes()), "{} holds {} bytes", key,
                npy.size() - header);
  if (out.bytes() > 0)
    std::memcpy(out.mutable_raw(), npy.data() + header, static_cast<size_t>(out.bytes()));
  return out;
}

std::vector<Literal> Topic::arrays(const Json& references) const {
  std::vector<Literal> out;
  for (const Json& reference : references) out.push_back(array(reference));
  return out;
}

// The central directory is at the end of a zip file. Its record (without a comment) is the last
// 22 bytes.
void Topic::read_members(std::string file) {
  file_ = std::move(file);
  const std::string_view zip = file_;
  const size_t end = zip.size() - 22;
  TESSERA_CHECK(zip.size() >= 22 && read<uint32_t>(zip, end) == 0x06054b50, "not a plain zip file");
  size_t at = read<uint32_t>(zip, end + 16);
  for (int left = read<uint16_t>(zip, end + 10); left > 0; --left) {
    TESSERA_CHECK(read<uint16_t>(zip, at + 10) == 0, "a deflated member");
    const size_t size = read<uint32_t>(zip, at + 20), local = read<uint32_t>(zip, at + 42);
    const size_t name = read<uint16_t>(zip, at + 28), extra = read<uint16_t>(zip, at + 30),
                 comment = read<uint16_t>(zip, at + 32);
    const size_t data =
        local + 30 + read<uint16_t>(zip, local + 26) + read<uint16_t>(zip, local + 28);
    TESSERA_CHECK(data + size <= zip.size(), "a member beyond the end");
    members_.emplace(zip.substr(at + 46, name), zip.substr(data, size));
    at += 46 + name + extra + comment;
  }
}

}  // namespace tessera::golden
