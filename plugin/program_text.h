// ProgramText: the text of a program as it was received. An executable keeps it to be serialised.
// The elements of large constants are in the text and in the program; ProgramText shares those of
// the program, so they are in memory once.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/literal.h"

namespace tessera::plugin {

// Bytes of the text, and the literal that was read from them.
struct HeldBytes {
  std::string_view bytes;
  Literal value;
};

class ProgramText {
 public:
  static constexpr size_t kLarge = 1 << 16;  // bytes
  // `held` refers to parts of `text`. A part is kept as its literal if it has at least kLarge bytes
  // and these are the bytes of the literal in memory.
  ProgramText(std::string_view text, std::vector<HeldBytes> held);
  // Returns the text as it was received.
  std::string text() const;
  // Returns the number of bytes of the text that no literal holds.
  size_t own_bytes() const;

 private:
  struct Piece {
    std::string before;
    Literal value;
  };
  std::vector<Piece> pieces_;
  std::string rest_;
};

}  // namespace tessera::plugin
