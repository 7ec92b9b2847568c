#include "tessera/io/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "tessera/base/error.h"
#include "tessera/ir/format.h"

namespace tessera::internal {

File::~File() {
  if (fd_ >= 0) ::close(fd_);
}
File::File(File&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
File& File::operator=(File&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}
int File::close() { return ::close(std::exchange(fd_, -1)); }

std::string error_text(int error) { return std::generic_category().message(error); }

void write_all(int fd, const void* data, size_t n, std::string_view op,
               const std::filesystem::path& path) {
  const char* from = static_cast<const char*>(data);
  while (n > 0) {
    const ssize_t done = ::write(fd, from, n);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0)
      io_error(op, "expected to write '{}', got: {}; free space or choose another place",
               path.string(), error_text(errno));
    from += done;
    n -= static_cast<size_t>(done);
  }
}

void read_at(int fd, void* data, size_t n, uint64_t offset, std::string_view op,
             const std::filesystem::path& path) {
  char* to = static_cast<char*>(data);
  while (n > 0) {
    const ssize_t got = ::pread(fd, to, std::min<size_t>(n, 1 << 30), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0)
      io_error(op, "expected to read '{}', got: {}; check the disk", path.string(),
               got < 0 ? error_text(errno) : "a file that ends early");
    to += got;
    offset += static_cast<uint64_t>(got);
    n -= static_cast<size_t>(got);
  }
}

PlainFile open_plain(std::string_view op, const std::filesystem::path& path) {
  // Without O_NONBLOCK opening would wait for a writer of a pipe.
  PlainFile out{File(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC))};
  struct stat status {};
  if (out.file.fd() < 0 || ::fstat(out.file.fd(), &status) != 0)
    io_error(op, "expected a file '{}', got: {}; check the path", path.string(), error_text(errno));
  if (!S_ISREG(status.st_mode))
    io_error(op, "expected '{}' to be a plain file, got {}; check the path", path.string(),
             S_ISDIR(status.st_mode) ? "a folder" : "a device, a pipe or a socket");
  out.bytes = static_cast<uint64_t>(status.st_size);
  return out;
}

void flush_folder(const std::filesystem::path& folder) {
  const File directory(
      ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory.fd() >= 0) ::fsync(directory.fd());
}

}  // namespace tessera::internal
