// DiskCache: object code in a folder, shared by processes.
//
// An entry is one file. Its name is a hash of its key. It contains the whole key, the object code
// and a checksum, so that a collision of hashes, a half-written file or a flipped bit never returns
// a wrong kernel: the entry counts as missing. A thread of the cache writes each entry under
// another name, syncs it and renames it, so that no other thread waits for the disk.
//
// Its content is executed, so it must be the user's own: the folder and the entries must belong to
// the user of the process, nobody else may have permission to write them, and entries must be
// regular files, not links. Otherwise the folder is not used, or the entry is skipped, and a
// warning says why.
//
// The folder contains at most `max_bytes`; if it has more, the entries that were used least
// recently are removed. Files of writers that were killed are removed after an hour.
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
// "off" if none of the variables ($HOME for the last one) is set.
std::string default_cache_dir();
// Returns `$TESSERA_CACHE_MIB` MiB, otherwise 1 GiB. Throws UserError if the variable is not a
// number.
int64_t default_cache_bytes();

class DiskCache final : public ForkParticipant {
 public:
  // If `folder` is "off" or empty, the cache stores and finds nothing. The folder is made when the
  // first entry is written.
  explicit DiskCache(std::string folder, int64_t max_bytes = int64_t{1} << 30);
  ~DiskCache();  // waits for pending writes
  DiskCache(const DiskCache&) = delete;
  DiskCache& operator=(const DiskCache&) = delete;

  std::optional<std::string> load(std::string_view key);
  // Queues an entry to be written and returns at once. If writing fails, one warning is printed and
  // later entries are not written.
  void store(std::string key, std::string object);
  void flush();  // waits for pending writes
  std::filesystem::path path_of(std::string_view key) const;

  void before_fork() override;
  // In the parent, pending entries remain to be written; the child drops them.
  void after_fork(bool child) override;

 private:
  using Lock = std::unique_lock<std::mutex>;
  // Returns the open folder; -1 if it does not exist or must not be used.
  int folder(Lock& lock, bool make);
  void write_all();
  // Writes the pending entries; releases the lock meanwhile.
  void write_pending(Lock& lock);
  // Returns an empty string, or why writing failed.
  std::string write(int folder, const std::string& key, const std::string& object);
  void refuse(Lock& lock, const std::string& why);  // releases the lock while it warns

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
