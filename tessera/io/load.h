// Arrays in NumPy's and in safetensors files. As jnp.asarray does, 64-bit data becomes its 32-bit
// kin where x64 is off.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "tessera/ir/array.h"

namespace tessera {

// UserError kIo naming the file, what is wrong with it and the remedy, for files that are missing,
// damaged or hold other than arrays.
std::map<std::string, Array> load_npz(const std::filesystem::path& path);
Array load(const std::filesystem::path& path);  // .npy
std::map<std::string, Array> load_safetensors(const std::filesystem::path& path);

// Whole arrays, gathered; written beside the file, flushed and renamed. UserError kTrace for traced
// arrays.
void save_npz(const std::filesystem::path& path, const std::map<std::string, Array>& arrays);
void save(const std::filesystem::path& path, const Array& array);
void save_safetensors(const std::filesystem::path& path,
                      const std::map<std::string, Array>& arrays);

}  // namespace tessera
