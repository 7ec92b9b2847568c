#include "tessera/io/npz.h"

#include <zip.h>

#include <memory>
#include <string_view>
#include <vector>

#include "tessera/io/file.h"
#include "tessera/io/npy.h"
#include "tessera/io/replace_file.h"
#include "tessera/ir/format.h"

namespace tessera {
namespace {

constexpr std::string_view kSuffix = ".npy";

struct DiscardArchive {
  void operator()(zip_t* archive) const { zip_discard(archive); }
};
struct CloseMember {
  void operator()(zip_file_t* member) const { zip_fclose(member); }
};
using Archive = std::unique_ptr<zip_t, DiscardArchive>;
using Member = std::unique_ptr<zip_file_t, CloseMember>;

// The text of a libzip error, whose memory it frees.
class ZipError {
 public:
  ZipError() { zip_error_init(&error_); }
  explicit ZipError(int code) { zip_error_init_with_code(&error_, code); }
  ~ZipError() { zip_error_fini(&error_); }
  ZipError(const ZipError&) = delete;
  ZipError& operator=(const ZipError&) = delete;
  zip_error_t* get() { return &error_; }
  std::string text() { return zip_error_strerror(&error_); }

 private:
  zip_error_t error_;
};

[[noreturn]] void damaged(const std::string& where, std::string_view what) {
  io_error("load_npz",
           "expected {} to be a zip file of arrays, got: {}; write it again with save_npz or "
           "numpy.savez",
           where, what);
}

std::string opening_error(int code) {
  return code == ZIP_ER_NOZIP ? "a file that is cut off, or of another format"
                              : ZipError(code).text();
}

// A deflated byte represents at most 1032 bytes. If a member claims to have more, its sizes are
// wrong.
constexpr uint64_t kMaxDeflate = 1032;

Literal read_member(zip_t* archive, zip_uint64_t index, const zip_stat_t& status,
                    const std::string& where) {
  if (status.comp_method == ZIP_CM_STORE ? status.size != status.comp_size
                                         : status.size / kMaxDeflate > status.comp_size + 1)
    damaged(where, fmt::format("{} bytes that unpack to {}", status.comp_size, status.size));
  const Member member(zip_fopen_index(archive, index, 0));
  if (!member) damaged(where, zip_strerror(archive));
  const auto read = [&](void* buffer, size_t n) -> size_t {
    const zip_int64_t got = zip_fread(member.get(), buffer, n);
    if (got < 0) damaged(where, zip_file_strerror(member.get()));
    return static_cast<size_t>(got);
  };
  Literal out = internal::read_npy({"load_npz", where, status.size, read});
  char beyond = 0;
  if (read(&beyond, 1) != 0)
    damaged(where,
            "a member that is longer than it says");  // libzip checks the checksum at the end
  return out;
}

// `bytes` is the size of the whole file. Members may not overlap: many members that share one
// packed part could unpack to far more memory than the size of the file suggests.
std::map<std::string, Literal> read_archive(zip_t* archive, const std::string& file,
                                            uint64_t bytes) {
  std::map<std::string, Literal> out;
  uint64_t left = bytes;
  const zip_int64_t count = zip_get_num_entries(archive, 0);
  for (zip_int64_t i = 0; i < count; ++i) {
    const auto index = static_cast<zip_uint64_t>(i);
    zip_stat_t status;
    zip_stat_init(&status);
    constexpr zip_uint64_t kNeeded =
        ZIP_STAT_NAME | ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD;
    if (zip_stat_index(archive, index, 0, &status) != 0) damaged(file, zip_strerror(archive));
    if ((status.valid & kNeeded) != kNeeded)
      damaged(file, fmt::format("member {} without name or size", i));
    if (status.comp_size > left)
      damaged(file, fmt::format("members that are longer than its {} bytes", bytes));
    left -= status.comp_size;
    std::string name = status.name;
    if (name.ends_with(kSuffix)) name.resize(name.size() - kSuffix.size());
    const std::string where = fmt::format("{}, array '{}'", file, name);
    Literal value = read_member(archive, index, status, where);
    if (!out.emplace(name, std::move(value)).second)
      damaged(file, fmt::format("two arrays named '{}'", name));
  }
  return out;
}

// libzip deletes an archive that has no members. A file without members is only the end record of a
// zip file.
void write_empty_archive(const std::filesystem::path& path) {
  internal::replace_file_by("save_npz", path, [&](int fd) {
    const std::string end = "PK\5\6" + std::string(18, '\0');
    internal::write_all(fd, end.data(), end.size(), "save_npz", path);
  });
}

}  // namespace

std::map<std::string, Literal> read_npz(const std::filesystem::path& path) {
  const std::string file = fmt::format("'{}'", path.string());
  const uint64_t bytes = internal::open_plain("load_npz", path).bytes;
  int code = 0;
  const Archive archive(zip_open(path.c_str(), ZIP_RDONLY, &code));
  if (!archive && (code == ZIP_ER_NOENT || code == ZIP_ER_OPEN))
    io_error("load_npz", "expected a readable file {}, got: {}; check the path", file,
             ZipError(code).text());
  if (!archive) damaged(file, opening_error(code));
  return read_archive(archive.get(), file, bytes);
}

std::map<std::string, Literal> read_npz(std::span<const std::byte> bytes, const std::string& name) {
  const std::string file = fmt::format("'{}'", name);
  if (bytes.empty()) damaged(file, "0 bytes");  // libzip reads them as an empty archive
  ZipError error;
  zip_source_t* source = zip_source_buffer_create(bytes.data(), bytes.size(), 0, error.get());
  if (!source) throw RuntimeError(error.text());
  const Archive archive(zip_open_from_source(source, ZIP_RDONLY, error.get()));
  if (!archive) {
    zip_source_free(source);
    damaged(file, opening_error(zip_error_code_zip(error.get())));
  }
  return read_archive(archive.get(), file, bytes.size());
}

void write_npz(const std::filesystem::path& path, const std::map<std::string, Literal>& arrays) {
  const auto fail = [&](const std::string& what) {
    io_error(
        "save_npz",
        "expected to write '{}', got: {}; check that the folder exists, is writable and has space",
        path.string(), what);
  };
  for (const auto& [name, value] : arrays)
    if (name.find('\0') != std::string::npos || name.size() > 0xff00)
      io_error("save_npz",
               "expected names of arrays without zero bytes and up to {} bytes long, got one of "
               "{}; rename it",
               0xff00, name.size());
  if (arrays.empty()) return write_empty_archive(path);
  internal::replace_file("save_npz", path, [&](const std::filesystem::path& temporary) {
    int code = 0;
    Archive archive(zip_open(temporary.c_str(), ZIP_CREATE | ZIP_TRUNCATE, &code));
    if (!archive) fail(ZipError(code).text());
    std::vector<std::string> headers;
    headers.reserve(arrays.size());  // libzip reads them when it closes
    for (const auto& [name, value] : arrays) {
      headers.push_back(internal::npy_header(value));
      const zip_buffer_fragment_t parts[] = {
          {reinterpret_cast<zip_uint8_t*>(headers.back().data()), headers.back().size()},
          {const_cast<zip_uint8_t*>(reinterpret_cast<const zip_uint8_t*>(value.raw())),
           static_cast<zip_uint64_t>(value.bytes())}};
      zip_source_t* source =
          zip_source_buffer_fragment(archive.get(), parts, value.bytes() > 0 ? 2 : 1, 0);
      if (!source) fail(zip_strerror(archive.get()));
      const std::string member = name + std::string(kSuffix);
      const zip_int64_t index =
          zip_file_add(archive.get(), member.c_str(), source, ZIP_FL_ENC_UTF_8);
      if (index < 0) {
        const std::string text = zip_strerror(archive.get());
        zip_source_free(source);
        fail(text);
      }
      // The time is 1980-01-01, as NumPy writes: the same arrays make the same bytes.
      if (zip_set_file_compression(archive.get(), static_cast<zip_uint64_t>(index), ZIP_CM_STORE,
                                   0) != 0 ||
          zip_file_set_dostime(archive.get(), static_cast<zip_uint64_t>(index), 0, 0x21, 0) != 0)
        fail(zip_strerror(archive.get()));
    }
    if (zip_close(archive.get()) != 0) fail(zip_strerror(archive.get()));
    (void)archive.release();  // closed
  });
}

}  // namespace tessera
