// DiskCache: object code in a folder, shared by processes.
//
// An entry is one file, named by a hash of its key and holding the whole key, the object code and a
// checksum, so that a collision, a torn write or a flipped bit is a miss, never a wrong kernel.
// Entries are written aside, synced and renamed by a thread of the cache's own: nobody waits for
// the disk.
//
// What is found is executed, so it must be the user's own: folder and entries belong to the user of
// the process and nobody else may write them; entries are regular files, no links. A folder that is
// otherwise is not used at all, an entry is passed over, and a warning says why.
//
// The folder holds at most `max_bytes`: beyond that the entries that were used last stay. What
// killed writers left behind is removed after an hour.
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

namespace tessera::codegen {

// `$TESSERA_CACHE_DIR`, else `$XDG_CACHE_HOME/tessera`, else `~/.cache/tessera`; "off" where there
// is none.
std::string default_cache_dir();
// `$TESSERA_CACHE_MIB` MiB, else 1 GiB. UserError where that is no number.
int64_t default_cache_bytes();

class DiskCache final : public ForkParticipant {
 public:
  // "off" or empty: stores and finds nothing. The folder is made when the first entry is written.
  explicit DiskCache(std::string folder, int64_t max_bytes = int64_t{1} << 30);
  ~DiskCache();  // after pending writes
  DiskCache(const DiskCache&) = delete;
  DiskCache& operator=(const DiskCache&) = delete;

  std::optional<std::string> load(std::string_view key);
  // Returns at once. A failure to write is a warning, once; later entries are kept in memory only.
  void store(std::string key, std::string object);
  void flush();  // waits for pending writes
  std::filesystem::path path_of(std::string_view key) const;

  void before_fork() override;
  // The parent writes what is pending.
  void after_fork(bool child) override;

 private:
  using Lock = std::unique_lock<std::mutex>;
  // The open folder, -1 where there is none or it may not be used.
  int folder(Lock& lock, bool make);
  void write_all();
  // What is pending; releases the lock meanwhile.
  void write_pending(Lock& lock);
  // Empty, or why it failed.
  std::string write(int folder, const std::string& key, const std::string& object);
  void refuse(Lock& lock, const std::string& why);  // warns without the lock

  const std::filesystem::path path_;
  const int64_t max_bytes_;
  const bool enabled_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::pair<std::string, std::string>> pending_;
  int folder_ = -1;
  int64_t until_trim_ = 0;  // bytes to write before the folder is looked through again
  bool busy_ = false, stop_ = false, broken_ = false;
  std::thread writer_;
};

}  // namespace tessera::codegen
