// Fuzzes the npz reader: any bytes must yield arrays or a UserError of kind kIo. scripts/fuzz runs
// it.
//
// folders: base io
//
// libraries: -lfmt -lzip
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "tessera/io/npy.h"
#include "tessera/io/npz.h"
#include "tessera/ir/format.h"

namespace {

template <class F>
void only_io_errors(F&& f) {
  try {
    f();
  } catch (const tessera::UserError& error) {
    TESSERA_CHECK(error.kind() == tessera::ErrorKind::kIo);
  }
}

}  // namespace

// Reads the input as an archive, and as the bytes of one member, because checksums are wrong in
// most mutated archives.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span<const std::byte> bytes = std::as_bytes(std::span(data, size));
  only_io_errors([&] { tessera::read_npz(bytes, "fuzz"); });
  only_io_errors([&] {
    size_t at = 0;
    const auto read = [&](void* buffer, size_t n) {
      n = std::min(n, size - at);
      std::memcpy(buffer, data + at, n);
      at += n;
      return n;
    };
    tessera::internal::read_npy({"load_npy", "fuzz", size, read});
  });
  return 0;
}
