// DiskCache: object code in a folder, shared by processes.
//
// An entry is one file, named by a hash of its key and holding the whole key, the object code and a
// checksum, so that a collision, a torn write or a flipped bit is a miss, never a wrong kernel.
// Entries are written aside, synced and renamed by a thread of the cache's own: nobody waits for
// the disk.
#pragma once

#include <condition_variable>
#include <deque>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

namespace tessera::codegen {

// `$TESSERA_CACHE_DIR`, else `$XDG_CACHE_HOME/tessera`, else `~/.cache/tessera`; "off" where there
// is none.
std::string default_cache_dir();

class DiskCache {
 public:
  // "off" or empty: stores and finds nothing. The folder is made when the first entry is written.
  explicit DiskCache(std::string folder);
  ~DiskCache();  // after pending writes
  DiskCache(const DiskCache&) = delete;
  DiskCache& operator=(const DiskCache&) = delete;

  std::optional<std::string> load(std::string_view key) const;
  // Returns at once. A failure to write is a warning, once; later entries are kept in memory only.
  void store(std::string key, std::string object);
  void flush();  // waits for pending writes
  std::filesystem::path path_of(std::string_view key) const;

 private:
  void write_all();
  // Empty, or why it failed.
  std::string write(const std::string& key, const std::string& object) const;

  std::filesystem::path folder_;
  bool enabled_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::pair<std::string, std::string>> pending_;
  bool busy_ = false, stop_ = false, broken_ = false;
  std::thread writer_;
};

}  // namespace tessera::codegen
