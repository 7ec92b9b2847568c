#include "tessera/codegen/machine_code/disk_cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <llvm/ADT/StringRef.h>
#include <llvm/Support/BLAKE3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <new>
#include <system_error>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/base/warning.h"
#include "tessera/ir/format.h"

namespace tessera::codegen {
namespace {

constexpr std::string_view kMagic = "tessera-kernel-2";

// The header of a file. After it come the key and the object; the checksum is that of both.
struct Header {
  std::array<char, 16> magic{};
  uint64_t key_size = 0, object_size = 0, checksum = 0;
};
static_assert(sizeof(Header) == 40);

template <size_t kBytes>
std::array<uint8_t, kBytes> digest(std::initializer_list<std::string_view> parts) {
  llvm::BLAKE3 hash;
  for (std::string_view part : parts) hash.update(llvm::StringRef(part));
  return hash.final<kBytes>();
}
uint64_t checksum_of(std::string_view key, std::string_view object) {
  return std::bit_cast<uint64_t>(digest<sizeof(uint64_t)>({key, object}));
}

// Checks that nobody else could have written the file. Returns an empty string, or what is wrong.
std::string not_ones_own(const struct stat& found) {
  if (found.st_uid != ::geteuid())
    return fmt::format("expected it to belong to user {}, it belongs to user {}", ::geteuid(),
                       found.st_uid);
  if ((found.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return fmt::format("expected nobody else to be allowed to write it, its mode is {:04o}",
                       found.st_mode & 07777);
  return {};
}

class File {
 public:
  explicit File(int fd) : fd_(fd) {}
  ~File() {
    if (fd_ >= 0) ::close(fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int fd() const { return fd_; }

 private:
  int fd_;
};

// Closes the file, and removes it unless it was kept.
class TemporaryFile {
 public:
  TemporaryFile(int folder, std::string name)
      : folder_(folder),
        name_(std::move(name)),
        file_(::openat(folder, name_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600)) {}
  ~TemporaryFile() {
    if (open() && !kept_) ::unlinkat(folder_, name_.c_str(), 0);
  }
  bool open() const { return file_.fd() >= 0; }
  bool write(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t n = ::write(file_.fd(), bytes.data(), bytes.size());
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return false;
      bytes.remove_prefix(static_cast<size_t>(n));
    }
    return true;
  }
  bool keep_as(const std::string& name) {
    kept_ =
        ::fsync(file_.fd()) == 0 && ::renameat(folder_, name_.c_str(), folder_, name.c_str()) == 0;
    return kept_;
  }

 private:
  int folder_;
  std::string name_;
  File file_;
  bool kept_ = false;
};

std::string entry_name(std::string_view key) {
  return fmt::format("{:02x}.kernel", fmt::join(digest<16>({key}), ""));
}
constexpr std::string_view kSuffix = ".kernel";
constexpr size_t kEntryName = 32 + kSuffix.size();
bool is_entry_name(std::string_view name) {
  return name.size() == kEntryName && name.ends_with(kSuffix) &&
         name.find_first_not_of("0123456789abcdef") == 32;
}
// Returns the name of a file while it is written: the names of the entry and of the process, and a
// number.
std::string temporary_name(const std::string& entry) {
  static std::atomic<int> count{0};
  return fmt::format(".{}.{}.{}", entry, ::getpid(), count++);
}
bool is_temporary_name(std::string_view name) {
  if (name.size() < kEntryName + 4 || name[0] != '.' || name[kEntryName + 1] != '.') return false;
  return is_entry_name(name.substr(1, kEntryName)) &&
         name.find_first_not_of("0123456789.", kEntryName + 1) == std::string_view::npos;
}

constexpr time_t kAbandoned = 3600;  // seconds after which a temporary file counts as abandoned
// The least seconds between two updates of an entry's modification time, the time of its last use.
constexpr time_t kUseIsNoted = 3600;
constexpr int64_t kTrimShare = 8;  // an eighth of the limit may be written between two checks

struct Entry {
  std::string name;
  time_t used;
  int64_t bytes;
};

// Returns the entries of a folder, and removes abandoned temporary files.
std::vector<Entry> look_through(int folder) {
  std::vector<Entry> out;
  const int copy = ::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* const listing = copy >= 0 ? ::fdopendir(copy) : nullptr;
  if (!listing) {
    if (copy >= 0) ::close(copy);
    return out;
  }
  const time_t now = ::time(nullptr);
  while (const dirent* entry = ::readdir(listing)) {
    const std::string_view name = entry->d_name;
    const bool temporary = is_temporary_name(name);
    struct stat found;
    if ((!temporary && !is_entry_name(name)) ||
        ::fstatat(folder, entry->d_name, &found, AT_SYMLINK_NOFOLLOW) != 0 ||
        !S_ISREG(found.st_mode))
      continue;
    if (!temporary) {
      out.push_back({std::string(name), found.st_mtime, found.st_blocks * 512});
    } else if (found.st_mtime + kAbandoned < now) {
      ::unlinkat(folder, entry->d_name, 0);
    }
  }
  ::closedir(listing);
  return out;
}

// Removes the entries that have not been used for longest until an eighth of the limit is free.
// Returns the remaining bytes.
int64_t trim(int folder, int64_t max_bytes) {
  std::vector<Entry> entries = look_through(folder);
  int64_t bytes = 0;
  for (const Entry& entry : entries) bytes += entry.bytes;
  if (bytes <= max_bytes) return bytes;
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return a.used < b.used; });
  for (const Entry& entry : entries) {
    if (bytes <= max_bytes - max_bytes / kTrimShare) break;
    if (::unlinkat(folder, entry.name.c_str(), 0) == 0) bytes -= entry.bytes;
  }
  return bytes;
}

std::string read_all(int fd) {
  std::string out;
  std::array<char, 16384> part;
  for (;;) {
    const ssize_t n = ::read(fd, part.data(), part.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return out;
    out.append(part.data(), static_cast<size_t>(n));
  }
}

// Returns the object in the bytes of a file; nullopt if its key is another one or it is damaged.
std::optional<std::string> object_in(std::string_view bytes, std::string_view key) {
  Header header;
  if (bytes.size() < sizeof header) return std::nullopt;
  std::memcpy(&header, bytes.data(), sizeof header);
  const std::string_view rest = bytes.substr(sizeof header);
  if (std::string_view(header.magic.data(), header.magic.size()) != kMagic ||
      header.key_size > rest.size() || header.object_size != rest.size() - header.key_size) {
    return std::nullopt;
  }
  const std::string_view stored_key = rest.substr(0, header.key_size),
                         object = rest.substr(header.key_size);
  if (stored_key != key || checksum_of(stored_key, object) != header.checksum) return std::nullopt;
  return std::string(object);
}

}  // namespace

std::string default_cache_dir() {
  if (const char* dir = std::getenv("TESSERA_CACHE_DIR"); dir && *dir) return dir;
  if (const char* dir = std::getenv("XDG_CACHE_HOME"); dir && *dir)
    return std::string(dir) + "/tessera";
  if (const char* home = std::getenv("HOME"); home && *home)
    return std::string(home) + "/.cache/tessera";
  return "off";
}

int64_t default_cache_bytes() {
  constexpr int64_t kMib = int64_t{1} << 20, kMost = int64_t{1} << 30;
  const char* text = std::getenv("TESSERA_CACHE_MIB");
  if (!text || !*text) return 1024 * kMib;
  char* end = nullptr;
  const long mib = std::strtol(text, &end, 10);
  if (*end != '\0' || mib < 1 || mib > kMost)
    value_error("TESSERA_CACHE_MIB", "expected a number of MiB from 1 to {}, got '{}'", kMost,
                text);
  return mib * kMib;
}

DiskCache::DiskCache(std::string folder, int64_t max_bytes)
    : ForkParticipant(Level::kLeaves),
      path_(std::move(folder)),
      max_bytes_(max_bytes),
      enabled_(!path_.empty() && path_ != "off") {
  join();
}

DiskCache::~DiskCache() {
  leave();
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  if (writer_.joinable()) writer_.join();
  if (folder_ >= 0) ::close(folder_);
}

void DiskCache::before_fork() { mutex_.lock(); }
void DiskCache::after_fork(bool child) {
  if (child) {
    new (&writer_) std::thread;  // the parent's thread does not exist in the child
    new (&changed_) std::condition_variable;
    pending_.clear();
    busy_ = false;
  }
  mutex_.unlock();
}

std::filesystem::path DiskCache::path_of(std::string_view key) const {
  return path_ / entry_name(key);
}

void DiskCache::refuse(Lock& lock, const std::string& why) {
  broken_ = true;
  pending_.clear();
  lock.unlock();
  warn(
      fmt::format("the kernel cache {} is not used: {}; kernels are compiled again in every "
                  "process. Set TESSERA_CACHE_DIR to a folder of your own that nobody else may "
                  "write, or to off.",
                  path_.string(), why));
  lock.lock();
}

int DiskCache::folder(Lock& lock, bool make) {
  if (folder_ >= 0 || broken_) return folder_;
  if (make && ::access(path_.c_str(), F_OK) != 0) {
    std::error_code error;
    if (path_.has_parent_path()) std::filesystem::create_directories(path_.parent_path(), error);
    if (!error && ::mkdir(path_.c_str(), 0700) != 0 && errno != EEXIST)
      error.assign(errno, std::generic_category());
    if (error) return refuse(lock, error.message()), -1;
  }
  const int fd = ::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) {
    if (make || errno != ENOENT) refuse(lock, std::strerror(errno));
    return -1;
  }
  struct stat found;
  const std::string problem =
      ::fstat(fd, &found) == 0 ? not_ones_own(found) : std::string(std::strerror(errno));
  if (problem.empty()) return folder_ = fd;
  ::close(fd);
  refuse(lock, problem);
  return -1;
}

std::optional<std::string> DiskCache::load(std::string_view key) {
  if (!enabled_) return std::nullopt;
  int in = -1;
  {
    Lock lock(mutex_);
    in = folder(lock, false);
  }
  if (in < 0) return std::nullopt;
  const std::string name = entry_name(key);
  // Opens without blocking, since the file may be a FIFO.
  const File file(::openat(in, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (file.fd() < 0 && errno == ENOENT) return std::nullopt;
  struct stat found;
  std::string problem;
  if (file.fd() < 0 || ::fstat(file.fd(), &found) != 0) {
    problem = errno == ELOOP ? "expected a regular file, it is a link" : std::strerror(errno);
  } else if (!S_ISREG(found.st_mode)) {
    problem = "expected a regular file, it is none";
  } else {
    problem = not_ones_own(found);
  }
  if (!problem.empty()) {
    warn(fmt::format("the kernel {} is not used: {}; remove it", (path_ / name).string(), problem));
    return std::nullopt;
  }
  std::optional<std::string> object = object_in(read_all(file.fd()), key);
  // The time determines which entries are removed first; an hour is precise enough for that.
  if (object && found.st_mtime + kUseIsNoted < ::time(nullptr))
    (void)::futimens(file.fd(), nullptr);
  return object;
}

void DiskCache::store(std::string key, std::string object) {
  if (!enabled_) return;
  std::unique_lock lock(mutex_);
  if (broken_ || stop_) return;
  pending_.emplace_back(std::move(key), std::move(object));
  if (!writer_.joinable()) {
    try {
      writer_ = std::thread([this] { write_all(); });
    } catch (const std::system_error&) {
      write_pending(lock);  // this process must not start threads
    }
  }
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
    write_pending(lock);
    changed_.notify_all();
  }
}

void DiskCache::write_pending(Lock& lock) {
  while (!pending_.empty()) {
    const int in = folder(lock, true);
    if (in < 0) return;
    const auto [key, object] = std::move(pending_.front());
    pending_.pop_front();
    busy_ = true;
    lock.unlock();
    const std::string problem = write(in, key, object);
    lock.lock();
    busy_ = false;
    if (!problem.empty() && !broken_) refuse(lock, problem);
  }
}

std::string DiskCache::write(int folder, const std::string& key, const std::string& object) {
  const std::string target = entry_name(key);
  {
    TemporaryFile file(folder, temporary_name(target));
    Header header{{}, key.size(), object.size(), checksum_of(key, object)};
    std::copy(kMagic.begin(), kMagic.end(), header.magic.begin());
    const std::string_view head(reinterpret_cast<const char*>(&header), sizeof header);
    if (!file.open() || !file.write(head) || !file.write(key) || !file.write(object) ||
        !file.keep_as(target)) {
      return std::strerror(errno);
    }
  }
  // Other processes write, too, so the size is checked long before this one alone could fill the
  // folder.
  until_trim_ -= static_cast<int64_t>(sizeof(Header) + key.size() + object.size());
  if (until_trim_ <= 0) {
    const int64_t free = std::max<int64_t>(0, max_bytes_ - trim(folder, max_bytes_));
    until_trim_ = std::min(max_bytes_ / kTrimShare, free);
  }
  return {};
}

}  // namespace tessera::codegen
