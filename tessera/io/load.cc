#include "tessera/io/load.h"

#include "tessera/io/npy.h"
#include "tessera/io/npz.h"
#include "tessera/io/safetensors.h"
#include "tessera/numpy/creation.h"

namespace tessera {
namespace {

std::map<std::string, Array> from_host(const std::map<std::string, Literal>& literals) {
  std::map<std::string, Array> arrays;
  for (const auto& [name, literal] : literals) arrays.emplace(name, tessera::from_host(literal));
  return arrays;
}
std::map<std::string, Literal> to_host(const std::map<std::string, Array>& arrays) {
  std::map<std::string, Literal> literals;
  for (const auto& [name, array] : arrays) literals.emplace(name, array.to_host());
  return literals;
}

}  // namespace

std::map<std::string, Array> load_npz(const FilePath& path) {
  return from_host(read_npz(path.text()));
}
Array load(const FilePath& path) { return tessera::from_host(read_npy(path.text())); }
std::map<std::string, Array> load_safetensors(const FilePath& path) {
  return from_host(read_safetensors(path.text()));
}

void save_npz(const FilePath& path, const std::map<std::string, Array>& arrays) {
  write_npz(path.text(), to_host(arrays));
}
void save(const FilePath& path, const Array& array) { write_npy(path.text(), array.to_host()); }
void save_safetensors(const FilePath& path, const std::map<std::string, Array>& arrays) {
  write_safetensors(path.text(), to_host(arrays));
}

}  // namespace tessera
