// Writing a whole file at once: what every writer of this folder ends in.
//
// A plain file, through links to it, is written beside itself, flushed and renamed: after any
// failure the old file is as it was. The new one has the mode of the old one, and its owner where
// the process may give it. A device, a pipe or a socket stays what it is, and is written to.
#pragma once

#include <filesystem>
#include <functional>
#include <string_view>

namespace tessera::internal {

// Calls write(temporary) for a file that is there and empty, then puts its bytes in the place of
// `path`. `write` throws if it fails. UserError kIo for a folder, a file that may not be written,
// and a place that cannot be.
void replace_file(std::string_view op, const std::filesystem::path& path,
                  const std::function<void(const std::filesystem::path& temporary)>& write);

// The same of bytes in a row: write_all and the like fill the descriptor.
void replace_file_by(std::string_view op, const std::filesystem::path& path,
                     const std::function<void(int fd)>& write);

}  // namespace tessera::internal
