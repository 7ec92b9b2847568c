// Writes a whole file at once. Every writer of this folder uses it.
//
// A plain file (or the one that a link names) is written under a temporary name in its folder,
// flushed and renamed: after any failure the old file is unchanged. The new file has the mode of
// the old one, and its owner if the process may set it. A device, a pipe or a socket is kept and
// written to.
#pragma once

#include <filesystem>
#include <functional>
#include <string_view>

namespace tessera::internal {

// Calls write(temporary) for an empty file, then replaces the contents of `path` by that file's.
// `write` throws if it fails. Throws UserError kIo for a folder, for a file that may not be
// written, and for an impossible path.
void replace_file(std::string_view op, const std::filesystem::path& path,
                  const std::function<void(const std::filesystem::path& temporary)>& write);

// Does the same with functions that write to a descriptor, such as write_all.
void replace_file_by(std::string_view op, const std::filesystem::path& path,
                     const std::function<void(int fd)>& write);

}  // namespace tessera::internal
