// Files by descriptor, which every format of this folder uses to read and write. Failures are
// UserErrors (kIo) that name the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace tessera::internal {

// Owns a file descriptor, which is negative if opening failed.
class File {
 public:
  explicit File(int fd = -1) : fd_(fd) {}
  ~File();
  File(File&& other) noexcept;
  File& operator=(File&& other) noexcept;

  int fd() const { return fd_; }
  int close();  // returns 0, or -1 with errno: late write errors appear here

 private:
  int fd_;
};

// Returns the text of an errno: "No such file or directory".
std::string error_text(int error);

void write_all(int fd, const void* data, size_t n, std::string_view op,
               const std::filesystem::path& path);
// Reads exactly `n` bytes from `offset` on.
void read_at(int fd, void* data, size_t n, uint64_t offset, std::string_view op,
             const std::filesystem::path& path);

struct PlainFile {
  File file;
  uint64_t bytes = 0;
};
// Opens `path` to read it. Throws UserError if it does not exist, may not be read, or is a folder,
// a device or a pipe. It does not wait for any of these.
PlainFile open_plain(std::string_view op, const std::filesystem::path& path);

// Makes the names in a folder survive a power failure. Some file systems cannot flush a folder; the
// files in it are complete even then.
void flush_folder(const std::filesystem::path& folder);

}  // namespace tessera::internal
