// Files by descriptor: what every format of this folder reads and writes with. Failures are
// UserErrors (kIo) that name the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace tessera::internal {

// Owns a file descriptor; negative where opening failed.
class File {
 public:
  explicit File(int fd = -1) : fd_(fd) {}
  ~File();
  File(File&& other) noexcept;
  File& operator=(File&& other) noexcept;

  int fd() const { return fd_; }
  int close();  // 0, or -1 with errno: late write errors show here

 private:
  int fd_;
};

// Of an errno: "No such file or directory".
std::string error_text(int error);

void write_all(int fd, const void* data, size_t n, std::string_view op,
               const std::filesystem::path& path);
// Exactly `n` bytes from `offset` on.
void read_at(int fd, void* data, size_t n, uint64_t offset, std::string_view op,
             const std::filesystem::path& path);

struct PlainFile {
  File file;
  uint64_t bytes = 0;
};
// Opens `path` to read it. UserError for what is not there, may not be read, or is a folder, a
// device or a pipe, which nobody waits for.
PlainFile open_plain(std::string_view op, const std::filesystem::path& path);

// Makes the names in a folder survive a power failure. Some file systems cannot flush a folder;
// what the folder holds is whole anyway.
void flush_folder(const std::filesystem::path& folder);

}  // namespace tessera::internal
