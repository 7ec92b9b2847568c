// Arrays in NumPy's and in safetensors files. As jnp.asarray does, 64-bit data becomes its 32-bit
// kin where x64 is off.
#pragma once

#include <map>
#include <string>

#include "tessera/io/file_path.h"
#include "tessera/ir/array.h"

namespace tessera {

// UserError kIo naming the file, what is wrong with it and the remedy, for files that are missing,
// damaged or hold other than arrays.
std::map<std::string, Array> load_npz(const FilePath& path);
Array load(const FilePath& path);  // .npy
std::map<std::string, Array> load_safetensors(const FilePath& path);

// Whole arrays, gathered; written beside the file, flushed and renamed. UserError kTrace for traced
// arrays.
void save_npz(const FilePath& path, const std::map<std::string, Array>& arrays);
void save(const FilePath& path, const Array& array);
void save_safetensors(const FilePath& path, const std::map<std::string, Array>& arrays);

}  // namespace tessera
