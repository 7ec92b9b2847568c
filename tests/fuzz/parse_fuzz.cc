// Fuzzes the parser: any text must yield a valid program that prints and parses back unchanged, or
// a UserError of kind kParse. scripts/fuzz runs it.
//
// folders: base cluster mesh ir ops trace transform control interchange
//
// libraries: -lfmt
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tessera/interchange/text/parser.h"
#include "tessera/interchange/text/printer.h"
#include "tessera/ir/verifier.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  tessera::ir::Function program;
  try {
    program = tessera::interchange::parse_mlir(
        std::string_view(reinterpret_cast<const char*>(data), size), "fuzz");
  } catch (const tessera::UserError& error) {
    TESSERA_CHECK(error.kind() == tessera::ErrorKind::kParse, "{}", error.what());
    return 0;
  }
  tessera::ir::verify(program);
  const std::string text = tessera::interchange::to_mlir(program);
  TESSERA_CHECK(tessera::interchange::parse_mlir(text, "printed") == program, "{}", text);
  return 0;
}
