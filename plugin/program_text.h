// The text of a program as it was received, which an executable keeps to be serialised. What large
// constants hold is in the text and in the program: here it is in memory once.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/literal.h"

namespace tessera::plugin {

// Bytes of the text, and a literal that was made of them.
struct HeldBytes {
  std::string_view bytes;
  Literal value;
};

class ProgramText {
 public:
  static constexpr size_t kLarge = 1 << 16;  // bytes
  // `held` refers to parts of `text`. Those that are large, and are the elements of their literal
  // as they are in memory, are kept as this literal.
  ProgramText(std::string_view text, std::vector<HeldBytes> held);
  // Returns the text as it was received.
  std::string text() const;
  // Returns the number of its bytes that no literal holds.
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
