// Arrays in NumPy's and in safetensors files. As in jnp.asarray, 64-bit data becomes 32-bit data if
// x64 is disabled.
#pragma once

#include <map>
#include <string>

#include "tessera/io/file_path.h"
#include "tessera/ir/array.h"

namespace tessera {

// Throw UserError kIo, naming the file, the error and the remedy, for files that are missing,
// damaged or contain anything else than arrays.
std::map<std::string, Array> load_npz(const FilePath& path);
Array load(const FilePath& path);  // .npy
std::map<std::string, Array> load_safetensors(const FilePath& path);

// Write whole arrays, which are gathered, to a temporary file, which is then flushed and renamed.
// Throw UserError kTrace for traced arrays.
void save_npz(const FilePath& path, const std::map<std::string, Array>& arrays);
void save(const FilePath& path, const Array& array);
void save_safetensors(const FilePath& path, const std::map<std::string, Array>& arrays);

}  // namespace tessera
