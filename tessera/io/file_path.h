// FilePath: the name of a file or folder, as users pass it to the functions of io/: a text or a
// std::filesystem::path. A program includes the header of the latter only if it uses it.
#pragma once

#include <concepts>
#include <string>
#include <string_view>
#include <utility>

namespace tessera {

class FilePath {
 public:
  FilePath(const char* text) : text_(text) {}
  FilePath(std::string text) : text_(std::move(text)) {}
  FilePath(std::string_view text) : text_(text) {}
  template <class Path>
  requires requires(const Path& path) {
    { path.native() } -> std::convertible_to<const std::string&>;
  }
  FilePath(const Path& path) : text_(path.native()) {}

  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

}  // namespace tessera
