#include "tessera/io/load.h"

#include "tessera/io/npy.h"
#include "tessera/io/npz.h"
#include "tessera/numpy/creation.h"

namespace tessera {

std::map<std::string, Array> load_npz(const std::filesystem::path& path) {
  std::map<std::string, Array> arrays;
  for (const auto& [name, literal] : read_npz(path)) arrays.emplace(name, from_host(literal));
  return arrays;
}

Array load(const std::filesystem::path& path) { return from_host(read_npy(path)); }

void save_npz(const std::filesystem::path& path, const std::map<std::string, Array>& arrays) {
  std::map<std::string, Literal> literals;
  for (const auto& [name, array] : arrays) literals.emplace(name, array.to_host());
  write_npz(path, literals);
}

void save(const std::filesystem::path& path, const Array& array) {
  write_npy(path, array.to_host());
}

}  // namespace tessera
