#include "plugin/program_text.h"

#include <algorithm>
#include <cstring>
#include <functional>

namespace tessera::plugin {
namespace {

bool holds(const HeldBytes& held) {
  return held.bytes.size() >= ProgramText::kLarge &&
         static_cast<size_t>(held.value.bytes()) == held.bytes.size() &&
         std::memcmp(held.value.raw(), held.bytes.data(), held.bytes.size()) == 0;
}

}  // namespace

ProgramText::ProgramText(std::string_view text, std::vector<HeldBytes> held) {
  std::erase_if(held, [](const HeldBytes& part) { return !holds(part); });
  std::sort(held.begin(), held.end(), [](const HeldBytes& a, const HeldBytes& b) {
    return std::less<>()(a.bytes.data(), b.bytes.data());
  });
  size_t end = 0;
  for (HeldBytes& part : held) {
    const auto begin = static_cast<size_t>(part.bytes.data() - text.data());
    if (begin < end) continue;  // several attributes may share their bytes
    pieces_.push_back({std::string(text.substr(end, begin - end)), std::move(part.value)});
    end = begin + part.bytes.size();
  }
  rest_ = text.substr(end);
}

std::string ProgramText::text() const {
  size_t size = own_bytes();
  for (const Piece& piece : pieces_) size += static_cast<size_t>(piece.value.bytes());
  std::string out;
  out.reserve(size);
  for (const Piece& piece : pieces_) {
    out += piece.before;
    out.append(reinterpret_cast<const char*>(piece.value.raw()),
               static_cast<size_t>(piece.value.bytes()));
  }
  return out += rest_;
}

size_t ProgramText::own_bytes() const {
  size_t size = rest_.size();
  for (const Piece& piece : pieces_) size += piece.before.size();
  return size;
}

}  // namespace tessera::plugin
