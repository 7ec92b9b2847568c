// NumPy's .npz: a zip file whose member `w.npy` is the array `w` (npy.h). Reads and writes
// Literals; needs only base/.
//
// It reads stored and deflated members, and zip64. A damaged file throws UserError (kIo) naming the
// file, the array and the remedy: a truncated one, checksums that differ, two arrays of one name, a
// member that is no array, a member whose sizes cannot be true. It writes stored (not compressed)
// members: the same bytes for the same arrays.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <span>
#include <string>

#include "tessera/base/literal.h"

namespace tessera {

std::map<std::string, Literal> read_npz(const std::filesystem::path& path);

// Reads the same from memory; `name` is used for the file in errors.
std::map<std::string, Literal> read_npz(std::span<const std::byte> bytes, const std::string& name);

// Writes by replace_file.h: after any failure the old file is unchanged.
void write_npz(const std::filesystem::path& path, const std::map<std::string, Literal>& arrays);

}  // namespace tessera
