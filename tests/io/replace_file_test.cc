#include "tessera/io/replace_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "files.h"
#include "tessera/io/npy.h"
#include "tessera/io/npz.h"
#include "tessera/io/safetensors.h"

namespace tessera::replace_file_test {
namespace {

namespace fs = std::filesystem;
using test::bytes_of;
using test::error_of;
using test::write_bytes;
using ::testing::AllOf;
using ::testing::HasSubstr;

const std::map<std::string, Literal> kArrays = {{"w", Literal::scalar(1.5f)}};

class ReplaceFileTest : public test::FolderTest {
 protected:
  struct Writer {
    const char* name;
    void (*write)(const fs::path&);
  };
  // Every function that writes a file.
  static constexpr Writer kWriters[] = {
      {"npy", [](const fs::path& p) { write_npy(p, kArrays.at("w")); }},
      {"npz", [](const fs::path& p) { write_npz(p, kArrays); }},
      {"no arrays", [](const fs::path& p) { write_npz(p, {}); }},
      {"safetensors", [](const fs::path& p) { write_safetensors(p, kArrays); }}};

  static mode_t mode(const fs::path& p) {
    struct stat status {};
    EXPECT_EQ(::lstat(p.c_str(), &status), 0);
    return status.st_mode;
  }
  int64_t files() const { return std::distance(fs::directory_iterator(folder_), {}); }
};

TEST_F(ReplaceFileTest, KeepsTheMode) {
  for (const auto& [name, write] : kWriters)
    for (mode_t bits : {0600, 0640, 0755}) {
      write_bytes(path("file"), "old");
      ASSERT_EQ(::chmod(path("file").c_str(), bits), 0);
      write(path("file"));
      EXPECT_EQ(mode(path("file")) & 07777, bits) << name;
      EXPECT_NE(bytes_of(path("file")), "old") << name;
    }
  EXPECT_EQ(files(), 1);
}

TEST_F(ReplaceFileTest, NewFilesHaveTheModeOfTheProcess) {
  const mode_t before = ::umask(027);
  for (const auto& [name, write] : kWriters) {
    write(path(name));
    EXPECT_EQ(mode(path(name)) & 07777, 0640) << name;
  }
  ::umask(before);
}

TEST_F(ReplaceFileTest, LinksStayAndWhatTheyNameIsWritten) {
  fs::create_directory(path("folder"));
  fs::create_symlink("folder/file", path("relative"));
  fs::create_symlink(path("relative"), path("absolute"));
  for (const auto& [name, write] : kWriters) {
    fs::remove(path("folder/file"));
    write(path("absolute"));  // the link has no target yet
    const std::string bytes = bytes_of(path("folder/file"));
    EXPECT_FALSE(bytes.empty()) << name;
    write_bytes(path("folder/file"), "old");
    write(path("relative"));
    EXPECT_EQ(bytes_of(path("folder/file")), bytes) << name;
    EXPECT_TRUE(fs::is_symlink(path("relative")) && fs::is_symlink(path("absolute"))) << name;
  }
  fs::create_symlink("round", path("round"));
  EXPECT_THAT(error_of(ErrorKind::kIo, [&] { write_npz(path("round"), kArrays); }),
              AllOf(HasSubstr("round"), HasSubstr("symbolic links")));
}

TEST_F(ReplaceFileTest, PipesAndDevicesAreWrittenTo) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  for (const auto& [name, write] : kWriters) {
    write(path("file"));
    std::string through;
    std::thread reader([&] { through = bytes_of(path("pipe")); });
    write(path("pipe"));
    reader.join();
    EXPECT_EQ(through, bytes_of(path("file"))) << name;
    EXPECT_TRUE(S_ISFIFO(mode(path("pipe")))) << name;
  }
  // The test makes a device of its own; otherwise root could remove the machine's.
  if (::mknod(path("null").c_str(), S_IFCHR | 0600, makedev(1, 3)) != 0)
    GTEST_SKIP() << "only root makes devices";
  for (const auto& [name, write] : kWriters) {
    try {
      write(path("null"));
    } catch (const UserError& error) {  // the file system does not allow devices
      EXPECT_THAT(error.what(), HasSubstr("Permission denied")) << name;
    }
    EXPECT_TRUE(S_ISCHR(mode(path("null")))) << name;
  }
  write_npz("/dev/null", kArrays);
  EXPECT_TRUE(S_ISCHR(mode("/dev/null")));
}

TEST_F(ReplaceFileTest, AFullDeviceIsAnError) {
  for (const auto& [name, write] : kWriters)
    EXPECT_THAT(
        error_of(ErrorKind::kIo, [&, &write = write] { write("/dev/full"); }),
        AllOf(HasSubstr("'/dev/full'"), HasSubstr("No space left"), HasSubstr("free space")))
        << name;
}

TEST_F(ReplaceFileTest, NamesMayBeAsLongAsTheFileSystemTakes) {
  const std::string longest(255, 'n'), too_long(256, 'n');
  for (const auto& [name, write] : kWriters) {
    write(path(longest));
    EXPECT_TRUE(fs::exists(path(longest))) << name;
    EXPECT_THAT(error_of(ErrorKind::kIo, [&, &write = write] { write(path(too_long)); }),
                HasSubstr("File name too long"))
        << name;
  }
  EXPECT_EQ(files(), 1);
}

TEST_F(ReplaceFileTest, Folders) {
  for (const auto& [name, write] : kWriters)
    EXPECT_THAT(error_of(ErrorKind::kIo, [&, &write = write] { write(folder_); }),
                AllOf(HasSubstr("to be a file, got a folder"), HasSubstr(folder_.string())))
        << name;
}

// A rename needs only the permissions of the folder.
TEST_F(ReplaceFileTest, FilesThatMayNotBeWritten) {
  write_bytes(path("file"), "old");
  ASSERT_EQ(::chmod(path("file").c_str(), 0400), 0);
  const bool root = ::geteuid() == 0;
  constexpr uid_t kNobody = 65534;
  if (root) {  // root may write every file
    for (const fs::path& p : {folder_, path("file")})
      ASSERT_EQ(::chown(p.c_str(), kNobody, static_cast<gid_t>(-1)), 0);
    ASSERT_EQ(::seteuid(kNobody), 0);
  }
  const std::string text = error_of(ErrorKind::kIo, [&] { write_npz(path("file"), kArrays); });
  if (root) {
    ASSERT_EQ(::seteuid(0), 0);
  }
  EXPECT_THAT(text, AllOf(HasSubstr("Permission denied"), HasSubstr("make it writable")));
  EXPECT_EQ(bytes_of(path("file")), "old");
  EXPECT_EQ(files(), 1);
}

}  // namespace
}  // namespace tessera::replace_file_test
