#include "tessera/io/replace_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/io/file.h"
#include "tessera/ir/format.h"

namespace tessera::internal {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void failed(std::string_view op, const fs::path& path, int error,
                         std::string_view remedy) {
  io_error(op, "expected to write '{}', got: {}; {}", path.string(), error_text(error), remedy);
}
constexpr std::string_view kNoPlace = "check that the folder exists and is writable";
constexpr std::string_view kNoSpace = "free space or choose another place";

// A file that is removed when this object is destroyed, unless keep() was called.
class Temporary {
 public:
  Temporary(std::string_view op, const fs::path& folder, const std::string& stem, mode_t mode,
            const fs::path& path) {
    static std::atomic<int64_t> count = 0;
    // Leaves room within the 255 bytes of a name for the suffix that libzip appends.
    const std::string start = stem.substr(0, 200);
    for (int attempt = 0; attempt < 1000; ++attempt) {
      path_ = folder / fmt::format("{}.{}.{}.tmp", start, ::getpid(), count++);
      const File file(::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
      if (file.fd() >= 0) return;
      if (errno != EEXIST) break;
    }
    failed(op, path, errno, kNoPlace);
  }
  ~Temporary() {
    if (!kept_) ::unlink(path_.c_str());
  }
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;

  const fs::path& path() const { return path_; }
  void keep() { kept_ = true; }

 private:
  fs::path path_;
  bool kept_ = false;
};

// Returns the file that `path` links to, even if it does not exist yet.
fs::path through_links(std::string_view op, const fs::path& path) {
  fs::path at = path;
  for (int links = 0; links < 40; ++links) {  // Linux' own limit
    std::error_code no_link;
    const fs::path to = fs::read_symlink(at, no_link);
    if (no_link) return at;
    at = at.parent_path() / to;  // `to` alone if it is absolute
  }
  failed(op, path, ELOOP, "check the link");
}

void keep_owner_and_mode(int fd, const struct stat& old) {
  mode_t mode = old.st_mode & 07777;
  // If the group cannot be set, the new group gets no permissions of the old one.
  if (::fchown(fd, static_cast<uid_t>(-1), old.st_gid) != 0) mode &= ~mode_t{02070};
  if (::fchown(fd, old.st_uid, static_cast<gid_t>(-1)) != 0) mode &= ~mode_t{04000};
  ::fchmod(fd, mode);
}

void write_in_place(std::string_view op, const fs::path& path,
                    const std::function<void(const fs::path&)>& write) {
  File to(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
  if (to.fd() < 0) failed(op, path, errno, "check its permissions");
  std::error_code none;
  const fs::path folder = fs::temp_directory_path(none);
  const Temporary temporary(op, none ? fs::path("/tmp") : folder, "tessera", 0600, path);
  write(temporary.path());
  const File from(::open(temporary.path().c_str(), O_RDONLY | O_CLOEXEC));
  if (from.fd() < 0) failed(op, path, errno, kNoSpace);
  std::vector<char> buffer(1 << 20);
  for (;;) {
    const ssize_t got = ::read(from.fd(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) failed(op, path, errno, kNoSpace);
    if (got == 0) break;
    write_all(to.fd(), buffer.data(), static_cast<size_t>(got), op, path);
  }
  if (to.close() != 0) failed(op, path, errno, kNoSpace);
}

void replace(std::string_view op, const fs::path& path, const struct stat* old,
             const std::function<void(const fs::path&)>& write) {
  const fs::path target = through_links(op, path), folder = target.parent_path();
  // Renaming a file does not check whether it may be written.
  if (old && ::faccessat(AT_FDCWD, target.c_str(), W_OK, AT_EACCESS) != 0)
    failed(op, path, errno, "make it writable or choose another name");
  // Others must not be able to read it before it has the old file's mode.
  Temporary temporary(op, folder, target.filename().string(), old ? 0600 : 0666, path);
  write(temporary.path());
  const File file(::open(temporary.path().c_str(), O_RDONLY | O_CLOEXEC));
  if (file.fd() < 0) failed(op, path, errno, kNoSpace);
  if (old) keep_owner_and_mode(file.fd(), *old);
  if (::fsync(file.fd()) != 0) failed(op, path, errno, kNoSpace);
  if (::rename(temporary.path().c_str(), target.c_str()) != 0) failed(op, path, errno, kNoPlace);
  temporary.keep();
  flush_folder(folder);  // the rename reaches the disk only with the folder
}

}  // namespace

void replace_file(std::string_view op, const fs::path& path,
                  const std::function<void(const fs::path&)>& write) {
  struct stat status {};
  const bool there = ::stat(path.c_str(), &status) == 0;
  if (!there && errno != ENOENT) failed(op, path, errno, kNoPlace);
  if (there && S_ISDIR(status.st_mode))
    io_error(op, "expected '{}' to be a file, got a folder; give the name of a file in it",
             path.string());
  if (there && !S_ISREG(status.st_mode)) return write_in_place(op, path, write);
  replace(op, path, there ? &status : nullptr, write);
}

void replace_file_by(std::string_view op, const fs::path& path,
                     const std::function<void(int)>& write) {
  replace_file(op, path, [&](const fs::path& temporary) {
    File file(::open(temporary.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC));
    if (file.fd() < 0) failed(op, path, errno, kNoPlace);
    write(file.fd());
    if (file.close() != 0) failed(op, path, errno, kNoSpace);
  });
}

}  // namespace tessera::internal
