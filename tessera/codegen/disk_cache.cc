#include "tessera/codegen/disk_cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

#include "tessera/base/warning.h"

namespace tessera::codegen {
namespace {

constexpr std::string_view kMagic = "tessera-kernel-1";

// FNV-1a; `seed` makes independent hashes.
uint64_t hash_bytes(std::string_view bytes, uint64_t seed = 0xcbf29ce484222325) {
  uint64_t h = seed;
  for (char c : bytes) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return h;
}

// magic, sizes of key and object, checksum of both, key, object.
struct Header {
  std::array<char, 16> magic{};
  uint64_t key_size = 0, object_size = 0, checksum = 0;
};
static_assert(sizeof(Header) == 40);

uint64_t checksum_of(std::string_view key, std::string_view object) {
  return hash_bytes(object, hash_bytes(key, 0x9ae16a3b2f90404f));
}

// Closes, and removes the file unless it was kept.
class TemporaryFile {
 public:
  explicit TemporaryFile(std::filesystem::path path)
      : path_(std::move(path)),
        fd_(::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644)) {}
  ~TemporaryFile() {
    if (fd_ < 0) return;
    ::close(fd_);
    if (!kept_) ::unlink(path_.c_str());
  }
  bool open() const { return fd_ >= 0; }
  bool write(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t n = ::write(fd_, bytes.data(), bytes.size());
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return false;
      bytes.remove_prefix(static_cast<size_t>(n));
    }
    return true;
  }
  bool keep_as(const std::filesystem::path& path) {
    kept_ = ::fsync(fd_) == 0 && ::rename(path_.c_str(), path.c_str()) == 0;
    return kept_;
  }

 private:
  std::filesystem::path path_;
  int fd_;
  bool kept_ = false;
};

}  // namespace

std::string default_cache_dir() {
  if (const char* dir = std::getenv("TESSERA_CACHE_DIR"); dir && *dir) return dir;
  if (const char* dir = std::getenv("XDG_CACHE_HOME"); dir && *dir)
    return std::string(dir) + "/tessera";
  if (const char* home = std::getenv("HOME"); home && *home)
    return std::string(home) + "/.cache/tessera";
  return "off";
}

DiskCache::DiskCache(std::string folder)
    : folder_(std::move(folder)), enabled_(!folder_.empty() && folder_ != "off") {}

DiskCache::~DiskCache() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  if (writer_.joinable()) writer_.join();
}

std::filesystem::path DiskCache::path_of(std::string_view key) const {
  return folder_ /
         fmt::format("{:016x}{:016x}.kernel", hash_bytes(key), hash_bytes(key, 0x2545f4914f6cdd1d));
}

std::optional<std::string> DiskCache::load(std::string_view key) const {
  if (!enabled_) return std::nullopt;
  std::ifstream file(path_of(key), std::ios::binary);
  if (!file) return std::nullopt;
  const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  Header header;
  if (bytes.size() < sizeof header) return std::nullopt;
  std::memcpy(&header, bytes.data(), sizeof header);
  const std::string_view rest = std::string_view(bytes).substr(sizeof header);
  if (std::string_view(header.magic.data(), header.magic.size()) != kMagic ||
      header.key_size > rest.size() || header.object_size != rest.size() - header.key_size) {
    return std::nullopt;
  }
  const std::string_view stored_key = rest.substr(0, header.key_size),
                         object = rest.substr(header.key_size);
  if (stored_key != key || checksum_of(stored_key, object) != header.checksum) return std::nullopt;
  return std::string(object);
}

void DiskCache::store(std::string key, std::string object) {
  if (!enabled_) return;
  std::lock_guard lock(mutex_);
  if (broken_ || stop_) return;
  pending_.emplace_back(std::move(key), std::move(object));
  if (!writer_.joinable()) writer_ = std::thread([this] { write_all(); });
  changed_.notify_all();
}

void DiskCache::flush() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return pending_.empty() && !busy_; });
}

void DiskCache::write_all() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return stop_ || !pending_.empty(); });
    if (pending_.empty()) return;
    const auto [key, object] = std::move(pending_.front());
    pending_.pop_front();
    busy_ = true;
    lock.unlock();
    const std::string problem = write(key, object);
    lock.lock();
    busy_ = false;
    if (!problem.empty() && !broken_) {
      broken_ = true;
      pending_.clear();
      lock.unlock();
      warn(
          fmt::format("the kernel cache {} cannot be written ({}); kernels are compiled again in "
                      "every process. Set "
                      "TESSERA_CACHE_DIR to a writable folder, or to off.",
                      folder_.string(), problem));
      lock.lock();
    }
    changed_.notify_all();
  }
}

std::string DiskCache::write(const std::string& key, const std::string& object) const {
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  if (error) return error.message();
  static std::atomic<int> count{0};
  const std::filesystem::path target = path_of(key);
  TemporaryFile file(folder_ /
                     fmt::format(".{}.{}.{}", target.filename().string(), ::getpid(), count++));
  Header header{{}, key.size(), object.size(), checksum_of(key, object)};
  std::copy(kMagic.begin(), kMagic.end(), header.magic.begin());
  const std::string_view head(reinterpret_cast<const char*>(&header), sizeof header);
  if (!file.open() || !file.write(head) || !file.write(key) || !file.write(object) ||
      !file.keep_as(target)) {
    return std::strerror(errno);
  }
  return {};
}

}  // namespace tessera::codegen
