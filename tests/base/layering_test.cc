// Tests the rules of docs/architecture.md and CONTRIBUTING.md that can be checked in the sources.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tessera/base/format.h"
#include "tests/base/source_tree.h"

namespace tessera::test::layering_test {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

const std::filesystem::path& root() {
  static const auto& path = *new std::filesystem::path(
      std::filesystem::path(TESSERA_GOLDEN_DIR).parent_path().parent_path());
  return path;
}
const SourceTree& sources() {
  static const SourceTree& tree = *new SourceTree(read_tree(root()));
  return tree;
}

constexpr int kTooLong = 600;

// Returns whether a file may ask which op it has. Rules of ops with regions look at the ops in the
// regions. Peephole rules, scatters that become loops, the recognition of loops that other
// libraries write, and the check of how a loss uses its examples depend on single ops by their
// nature.
bool may_ask(const std::string& path) {
  return path.starts_with("tessera/control/") ||
         path.starts_with("tessera/fusion/rewrites/simplify") ||
         path.starts_with("tessera/interchange/programs/") ||
         path == "tessera/fusion/rewrites/loop_over_windows.cc" ||
         path == "tessera/per_example/example_mixing.cc" ||
         path == "tessera/per_example/linear_in.cc";
}

TEST(Layering, SourcesAreFound) {
  EXPECT_GT(sources().files.size(), 200u);
  EXPECT_THAT(sources().deps.at("nnx"), ElementsAre("nn", "optim"));
  EXPECT_THAT(sources().deps.at("base"), IsEmpty());
}

TEST(Layering, EveryFolderIsATarget) {
  for (const auto& [path, file] : sources().files)
    EXPECT_TRUE(file.folder.empty() || sources().deps.contains(file.folder)) << path;
}

TEST(Layering, FoldersIncludeWhatTheyName) { EXPECT_THAT(wrong_includes(sources()), IsEmpty()); }

// Every program of a user compiles the headers that tessera/tessera.h includes. Each of the headers
// below would take a tenth of a second or more.
TEST(Layering, UsersDoNotCompileHeavyHeaders) {
  const std::set<std::string> heavy{
      "algorithm",    "chrono",  "complex", "filesystem", "fmt/core.h", "fmt/format.h",
      "fmt/ranges.h", "fstream", "iomanip", "iostream",   "locale",     "numeric",
      "random",       "ranges",  "regex",   "sstream",    "thread"};
  EXPECT_THAT(refused_includes(sources(), "tessera/tessera.h", heavy), IsEmpty());
  // Nor what is the compiler's own, or what they did not ask for.
  for (const std::string header :
       {"tessera/ir/function.h", "tessera/privacy/plan.h", "tessera/scipy/special.h"})
    EXPECT_THAT(files_below(sources(), "tessera/tessera.h"), Not(Contains(header)));
}
TEST(Layering, HeavyHeadersAreFoundThroughOthers) {
  const SourceTree tree{{},
                        {{"tessera/a.h", read_source("tessera/a.h", "#include \"tessera/b.h\"\n")},
                         {"tessera/b.h", read_source("tessera/b.h", "#include <regex>\n")}}};
  EXPECT_THAT(refused_includes(tree, "tessera/a.h", {"regex"}),
              ElementsAre("tessera/b.h includes <regex>"));
  EXPECT_THAT(refused_includes(tree, "tessera/a.h", {"thread"}), IsEmpty());
}

TEST(Layering, NoFileIncludesItself) { EXPECT_THAT(include_circles(sources()), IsEmpty()); }

TEST(Layering, FilesHoldOneConcept) { EXPECT_THAT(long_files(sources(), kTooLong), IsEmpty()); }

TEST(Layering, StagesDoNotAskWhichOpTheyHave) {
  std::set<std::string> found = files_that_ask(sources(), "ops");
  std::erase_if(found, may_ask);
  EXPECT_THAT(found, IsEmpty());
}

// The table of docs/architecture.md has every folder, below the folders that it includes.
TEST(Layering, TheTableOfFoldersIsInOrder) {
  std::istringstream lines(file_text(root() / "docs/architecture.md"));
  static const std::regex row(R"(\| (`\w+`(?:, `\w+`)*) \|.*)"), name(R"(`(\w+)`)");
  std::set<std::string> above;
  std::smatch match;
  for (std::string line; std::getline(lines, line);) {
    if (!std::regex_match(line, match, row)) continue;
    const std::string cell = match[1];
    for (std::sregex_iterator it(cell.begin(), cell.end(), name), end; it != end; ++it) {
      const std::string folder = (*it)[1];
      ASSERT_TRUE(sources().deps.contains(folder)) << folder;
      for (const std::string& dep : sources().deps.at(folder))
        EXPECT_TRUE(above.contains(dep)) << folder << " stands above " << dep;
      above.insert(folder);
    }
  }
  for (const auto& [folder, deps] : sources().deps) EXPECT_TRUE(above.contains(folder)) << folder;
}

// Files that documents name exist, with paths relative to the root or to a folder.
TEST(Layering, DocumentsNameFilesThatExist) {
  static const std::regex mention(R"(`((?:\w+/)*\w+\.(?:h|cc|def))`)");
  const auto exists = [](const std::string& path) {
    if (std::filesystem::exists(root() / path)) return true;
    if (std::filesystem::exists(root() / "tessera" / path)) return true;
    return std::any_of(sources().files.begin(), sources().files.end(),
                       [&](const auto& file) { return file.first.ends_with("/" + path); });
  };
  for (const char* document : {"README.md", "CONTRIBUTING.md", "docs/architecture.md"}) {
    const std::string text = file_text(root() / document);
    for (std::sregex_iterator it(text.begin(), text.end(), mention), end; it != end; ++it)
      EXPECT_TRUE(exists((*it)[1])) << document << " names " << (*it)[1];
  }
}

// --- The scanner, on a tree that breaks every rule ---

class SourceTreeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = std::filesystem::path(::testing::TempDir()) / fmt::format("source_tree.{}", getpid());
    write("CMakeLists.txt",
          "# tessera_folder(name DEPS folders)\n"
          "tessera_folder(base DEPS fmt::fmt)\n"
          "tessera_folder(ops DEPS base PRIVATE_DEPS stages)\n"
          "tessera_folder(stages\n  DEPS ops)\n");
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  void write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  SourceTree tree() const { return read_tree(root_); }

 private:
  std::filesystem::path root_;
};

TEST_F(SourceTreeTest, ReadsFoldersFromCMake) {
  write("tessera/base/a.h", "");
  const SourceTree t = tree();
  EXPECT_THAT(t.deps.at("base"), IsEmpty());
  EXPECT_THAT(t.deps.at("ops"), ElementsAre("base"));
  EXPECT_THAT(t.deps.at("stages"), ElementsAre("ops"));
  EXPECT_THAT(folders_below(t, "stages"), UnorderedElementsAre("stages", "ops", "base"));
}

TEST_F(SourceTreeTest, FilesBelongToTheFolderBelowTheRoot) {
  write("tessera/all.h", "#include \"tessera/stages/run.h\"\n");
  write("tessera/ops/core/add.cc", "#include \"tessera/base/a.h\"  // why\n\n#include <map>\n");
  write("tessera/ops/notes.txt", "#include \"tessera/stages/run.h\"\n");
  const SourceTree t = tree();
  EXPECT_EQ(t.files.size(), 2u);
  EXPECT_EQ(t.files.at("tessera/all.h").folder, "");
  const SourceFile& add = t.files.at("tessera/ops/core/add.cc");
  EXPECT_EQ(add.folder, "ops");
  EXPECT_EQ(add.lines, 3);
  EXPECT_THAT(add.includes, ElementsAre("tessera/base/a.h"));
}

TEST_F(SourceTreeTest, FindsIncludesOfFoldersThatAreNotNamed) {
  write("tessera/base/a.h", "#include \"tessera/ops/core/add.h\"\n");
  write("tessera/ops/core/add.h",
        "#include \"tessera/base/b.h\"\n#include \"tessera/stages/run.h\"\n");
  write("tessera/stages/run.cc",
        "#include \"tessera/base/a.h\"\n#include \"tessera/ops/core/add.h\"\n");
  write("tessera/all.h", "#include \"tessera/stages/run.h\"\n");
  EXPECT_THAT(wrong_includes(tree()),
              ElementsAre("tessera/base/a.h includes tessera/ops/core/add.h",
                          "tessera/ops/core/add.h includes tessera/stages/run.h"));
}

TEST_F(SourceTreeTest, FindsCircles) {
  write("tessera/base/a.h", "#include \"tessera/base/b.h\"\n#include \"tessera/base/c.h\"\n");
  write("tessera/base/b.h", "#include \"tessera/base/c.h\"\n");
  write("tessera/base/c.h", "");
  EXPECT_THAT(include_circles(tree()), IsEmpty());
  write("tessera/base/c.h", "#include \"tessera/base/a.h\"\n");
  EXPECT_THAT(include_circles(tree()),
              ElementsAre("tessera/base/a.h -> tessera/base/b.h -> tessera/base/c.h -> "
                          "tessera/base/a.h"));
  write("tessera/base/c.h", "#include \"tessera/base/c.h\"\n");
  EXPECT_THAT(include_circles(tree()), ElementsAre("tessera/base/c.h -> tessera/base/c.h"));
}

TEST_F(SourceTreeTest, FindsLongFiles) {
  write("tessera/base/a.h", std::string(9, '\n'));
  write("tessera/base/b.h", std::string(10, '\n'));
  EXPECT_THAT(long_files(tree(), 10), ElementsAre("tessera/base/b.h"));
}

TEST_F(SourceTreeTest, FindsWhereAnOpIsAskedFor) {
  write("tessera/ops/add.cc", "if (op.def == &add_op) return;\n");
  write("tessera/stages/pointer.cc", "\n  return def != &ops::add_op;\n");
  write("tessera/stages/field.cc", "bool b = op->def==&add_op;\n");
  write("tessera/stages/same.cc", "bool b = a.def == b.def && undef == &x;\n");
  const SourceTree t = tree();
  EXPECT_THAT(files_that_ask(t, "ops"),
              ElementsAre("tessera/stages/field.cc", "tessera/stages/pointer.cc"));
  EXPECT_THAT(t.files.at("tessera/stages/pointer.cc").asks_for_an_op, ElementsAre(2));
}

}  // namespace
}  // namespace tessera::test::layering_test
