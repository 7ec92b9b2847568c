// Fuzzes the reader of bytecode, and of what jax.export serialises: any bytes must yield a valid
// program, which is written and read back unchanged, or a UserError of kind kParse. scripts/fuzz
// runs it.
//
// folders: base cluster mesh ir ops trace transform control interchange
//
// libraries: -lfmt
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tessera/interchange/bytecode/reader.h"
#include "tessera/interchange/bytecode/writer.h"
#include "tessera/ir/verifier.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  tessera::ir::Function program;
  try {
    program = tessera::interchange::read_bytecode(bytes, "fuzz").main;
  } catch (const tessera::UserError& error) {
    TESSERA_CHECK(error.kind() == tessera::ErrorKind::kParse, "{}", error.what());
    return 0;
  }
  tessera::ir::verify(program);
  std::string written;
  try {
    written = tessera::interchange::to_bytecode(program);
  } catch (const tessera::UserError& error) {  // VHLO does not have the op
    TESSERA_CHECK(error.kind() == tessera::ErrorKind::kValue, "{}", error.what());
    return 0;
  }
  TESSERA_CHECK(tessera::interchange::read_bytecode(written, "written").main == program);
  return 0;
}
