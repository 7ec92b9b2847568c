// DiskCache: object code in a folder, shared by processes.
//
// An entry is one file. Its name is a hash of its key, and it contains the whole key, the object
// code and a checksum, so that a collision, a torn write or a flipped bit is a miss, never a wrong
// kernel. A thread of the cache writes entries under another name, syncs and renames them, so
// nobody waits for the disk.
//
// Its content is executed, so it must be the user's own: folder and entries must belong to the user
// of the process, nobody else may have permission to write them, and entries must be regular files,
// no links. Otherwise the folder is not used, or the entry is skipped, and a warning says why.
//
// The folder contains at most `max_bytes`: beyond that the entries that were used last stay. Files
// that killed writers left behind are removed after an hour.
#pragma once

#include <condition_variable>
#include <deque>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "tessera/base/fork.h"
#include "tessera/base/namespaces.h"

namespace tessera::codegen {

// Returns `$TESSERA_CACHE_DIR`, otherwise `$XDG_CACHE_HOME/tessera`, otherwise `~/.cache/tessera`;
// "off" if there is none.
std::string default_cache_dir();
// Returns `$TESSERA_CACHE_MIB` MiB, otherwise 1 GiB. Throws UserError if that is no number.
int64_t default_cache_bytes();

class DiskCache final : public ForkParticipant {
 public:
  // If `folder` is "off" or empty, it stores and finds nothing. The folder is made when the first
  // entry is written.
  explicit DiskCache(std::string folder, int64_t max_bytes = int64_t{1} << 30);
  ~DiskCache();  // waits for pending writes
  DiskCache(const DiskCache&) = delete;
  DiskCache& operator=(const DiskCache&) = delete;

  std::optional<std::string> load(std::string_view key);
  // Stores an entry; returns at once. A failure to write causes one warning; later entries are kept
  // in memory only.
  void store(std::string key, std::string object);
  void flush();  // waits for pending writes
  std::filesystem::path path_of(std::string_view key) const;

  void before_fork() override;
  // The parent writes the pending entries.
  void after_fork(bool child) override;

 private:
  using Lock = std::unique_lock<std::mutex>;
  // Returns the open folder, -1 if there is none or it must not be used.
  int folder(Lock& lock, bool make);
  void write_all();
  // Writes the pending entries; releases the lock meanwhile.
  void write_pending(Lock& lock);
  // Returns an empty string, or why it failed.
  std::string write(int folder, const std::string& key, const std::string& object);
  void refuse(Lock& lock, const std::string& why);  // warns without the lock

  const std::filesystem::path path_;
  const int64_t max_bytes_;
  const bool enabled_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::pair<std::string, std::string>> pending_;
  int folder_ = -1;
  int64_t until_trim_ = 0;  // the bytes to write before the size of the folder is checked again
  bool busy_ = false, stop_ = false, broken_ = false;
  std::thread writer_;
};

}  // namespace tessera::codegen
