// Facts about the sources: the folders, the includes and the length of each file, and the lines
// that ask which op they have. layering_test.cc compares them with the rules.
//
// A tree is a folder with `CMakeLists.txt`, whose lines `tessera_folder(name DEPS ...)` name the
// folders, and the sources below `tessera/`. A file belongs to a folder below `tessera/`, however
// deep in it the file is; files directly in `tessera/` belong to no folder.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace tessera::test {

struct SourceFile {
  std::string folder;
  int lines = 0;
  std::vector<std::string> includes;         // only of this project: "tessera/base/error.h"
  std::vector<std::string> system_includes;  // of others: "algorithm", "fmt/format.h"
  std::vector<int> asks_for_an_op;           // lines with `.def == &some_op` or the like
};

struct SourceTree {
  std::map<std::string, std::vector<std::string>> deps;  // the folders that each folder names
  std::map<std::string, SourceFile> files;               // by path: "tessera/ops/core/add.cc"
};

inline std::string file_text(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline std::map<std::string, std::vector<std::string>> folder_deps(const std::string& cmake) {
  std::map<std::string, std::vector<std::string>> out;
  static const std::regex folder(R"(tessera_folder\(\s*(\w+)\s+DEPS\s([^)]*)\))");
  for (std::sregex_iterator it(cmake.begin(), cmake.end(), folder), end; it != end; ++it) {
    std::istringstream words((*it)[2]);
    std::vector<std::string>& deps = out[(*it)[1]];
    for (std::string word; words >> word && word != "PRIVATE_DEPS";) deps.push_back(word);
  }
  for (auto& [name, deps] : out)  // drops packages, which are not folders
    std::erase_if(deps, [&](const std::string& dep) { return !out.contains(dep); });
  return out;
}

inline SourceFile read_source(const std::string& path, const std::string& text) {
  static const std::regex include(R"re(\s*#\s*include\s+"(tessera/[^"]+)".*)re");
  static const std::regex system_include(R"re(\s*#\s*include\s+<([^>]+)>.*)re");
  static const std::regex asks(R"(.*\bdef\s*[!=]=\s*&.*)");
  SourceFile out;
  const size_t begin = path.find('/') + 1, end = path.find('/', begin);
  if (end != std::string::npos) out.folder = path.substr(begin, end - begin);
  std::istringstream lines(text);
  std::smatch match;
  for (std::string line; std::getline(lines, line);) {
    ++out.lines;
    if (std::regex_match(line, match, include)) out.includes.push_back(match[1]);
    if (std::regex_match(line, match, system_include)) out.system_includes.push_back(match[1]);
    if (std::regex_match(line, asks)) out.asks_for_an_op.push_back(out.lines);
  }
  return out;
}

inline SourceTree read_tree(const std::filesystem::path& root) {
  SourceTree out{folder_deps(file_text(root / "CMakeLists.txt")), {}};
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root / "tessera")) {
    const std::string suffix = entry.path().extension();
    if (suffix != ".h" && suffix != ".cc" && suffix != ".def") continue;
    const std::string path = entry.path().lexically_relative(root).generic_string();
    out.files[path] = read_source(path, file_text(entry.path()));
  }
  return out;
}

// Returns the folder and all folders that it may include.
inline std::set<std::string> folders_below(const SourceTree& tree, const std::string& folder) {
  std::set<std::string> out{folder};
  std::vector<std::string> todo{folder};
  while (!todo.empty()) {
    const std::string name = todo.back();
    todo.pop_back();
    if (const auto it = tree.deps.find(name); it != tree.deps.end())
      for (const std::string& dep : it->second)
        if (out.insert(dep).second) todo.push_back(dep);
  }
  return out;
}

// Returns the file and all files that it includes, directly or through others.
inline std::set<std::string> files_below(const SourceTree& tree, const std::string& path) {
  std::set<std::string> out{path};
  std::vector<std::string> todo{path};
  while (!todo.empty()) {
    const auto file = tree.files.find(todo.back());
    todo.pop_back();
    if (file == tree.files.end()) continue;
    for (const std::string& include : file->second.includes)
      if (out.insert(include).second) todo.push_back(include);
  }
  return out;
}

// Returns "a.h includes <b>" for each header b of other projects that is in `refused` and that the
// file `path` includes, directly or through others.
inline std::vector<std::string> refused_includes(const SourceTree& tree, const std::string& path,
                                                 const std::set<std::string>& refused) {
  std::vector<std::string> out;
  for (const std::string& reached : files_below(tree, path)) {
    const auto file = tree.files.find(reached);
    if (file == tree.files.end()) continue;
    for (const std::string& include : file->second.system_includes)
      if (refused.contains(include)) out.push_back(reached + " includes <" + include + ">");
  }
  return out;
}

// Returns "a.h includes b.h" for each include of a folder that a's folder does not name, directly
// or indirectly.
inline std::vector<std::string> wrong_includes(const SourceTree& tree) {
  std::vector<std::string> out;
  for (const auto& [path, file] : tree.files) {
    if (file.folder.empty()) continue;
    const std::set<std::string> allowed = folders_below(tree, file.folder);
    for (const std::string& include : file.includes)
      if (!allowed.contains(read_source(include, "").folder))
        out.push_back(path + " includes " + include);
  }
  return out;
}

// Returns "a.h -> b.h -> a.h" for each include that closes a circle.
inline std::vector<std::string> include_circles(const SourceTree& tree) {
  std::vector<std::string> out, path;
  std::set<std::string> done;
  const auto visit = [&](const auto& self, const std::string& name) -> void {
    if (const auto at = std::find(path.begin(), path.end(), name); at != path.end()) {
      std::string circle;
      for (auto it = at; it != path.end(); ++it) circle += *it + " -> ";
      out.push_back(circle + name);
      return;
    }
    const auto file = tree.files.find(name);
    if (file == tree.files.end() || done.contains(name)) return;
    path.push_back(name);
    for (const std::string& include : file->second.includes) self(self, include);
    path.pop_back();
    done.insert(name);
  };
  for (const auto& [name, file] : tree.files) visit(visit, name);
  return out;
}

// Returns the files of `lines` lines or more.
inline std::set<std::string> long_files(const SourceTree& tree, int lines) {
  std::set<std::string> out;
  for (const auto& [path, file] : tree.files)
    if (file.lines >= lines) out.insert(path);
  return out;
}

// Returns the files outside of `folder` that compare an op's definition with a particular one.
inline std::set<std::string> files_that_ask(const SourceTree& tree, const std::string& folder) {
  std::set<std::string> out;
  for (const auto& [path, file] : tree.files)
    if (file.folder != folder && !file.asks_for_an_op.empty()) out.insert(path);
  return out;
}

}  // namespace tessera::test
