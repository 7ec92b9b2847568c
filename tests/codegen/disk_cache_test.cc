#include "tessera/codegen/machine_code/disk_cache.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <iterator>

#include "kernel_builder.h"
#include "tessera/base/error.h"
#include "tessera/base/warning.h"

namespace tessera::codegen::test::disk_cache_test {

using namespace runtime;

namespace {

namespace fs = std::filesystem;

class Folder : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "tessera-cache-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override {
    fs::permissions(folder_, fs::perms::owner_all);
    fs::remove_all(folder_);
  }
  std::vector<fs::path> files() const {
    std::vector<fs::path> out;
    for (const auto& entry : fs::directory_iterator(folder_)) out.push_back(entry.path());
    return out;
  }
  fs::path folder_;
};

// y = a * x
Kernel scaled(float a) {
  KernelMaker m;
  const int x = m.buffer(float32, 100), y = m.buffer(float32, 100, BufferKind::kOutput);
  m.k.parallel = {100};
  m.loop({});
  const int product = m.op(ScalarOp::kMul, float32, {m.load(x, {0, {1}, {}}), m.constant(a)});
  m.store(y, {0, {1}, {}}, product);
  return m.k;
}

void expect_scales(const KernelCode& fn, float a) {
  std::vector<float> x(100), y(100);
  for (int i = 0; i < 100; ++i) x[i] = static_cast<float>(i);
  void* buffers[] = {x.data(), y.data()};
  fn(buffers, 0, 100);
  for (int i = 0; i < 100; ++i) ASSERT_EQ(y[i], a * x[i]);
}

using DiskCacheTest = Folder;

TEST_F(DiskCacheTest, KeepsEntries) {
  DiskCache cache(folder_.string());
  EXPECT_FALSE(cache.load("key"));
  cache.store("key", "object");
  cache.flush();
  EXPECT_EQ(cache.load("key"), "object");
  EXPECT_FALSE(cache.load("other"));
  EXPECT_EQ(files().size(), 1u);
}

TEST_F(DiskCacheTest, OffDoesNothing) {
  DiskCache cache("off");
  cache.store("key", "object");
  cache.flush();
  EXPECT_FALSE(cache.load("key"));
}

TEST_F(DiskCacheTest, DamageIsAMiss) {
  DiskCache cache(folder_.string());
  cache.store("key", "some object code");
  cache.flush();
  const fs::path path = cache.path_of("key");
  std::ifstream in(path, std::ios::binary);
  const std::string good((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  auto write = [&](const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; };
  for (size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 0x10);
    write(bad);
    ASSERT_FALSE(cache.load("key")) << "byte " << i;
    write(good.substr(0, i));
    ASSERT_FALSE(cache.load("key")) << "cut to " << i;
  }
  write(good + "x");
  EXPECT_FALSE(cache.load("key"));
  write(good);
  EXPECT_EQ(cache.load("key"), "some object code");
}

TEST_F(DiskCacheTest, CompilerFindsItsKernels) {
  for (int run = 0; run < 2; ++run) {
    KernelCompiler compiler({std::nullopt, folder_.string()});
    expect_scales(compiler.compile(scaled(3)), 3);
    expect_scales(compiler.compile(scaled(3)), 3);
    EXPECT_EQ(compiler.statistics().compiled, run == 0 ? 1 : 0);
    EXPECT_EQ(compiler.statistics().from_disk, run == 0 ? 0 : 1);
    EXPECT_EQ(compiler.statistics().from_memory, 1);
  }
}

TEST_F(DiskCacheTest, TargetsDoNotMix) {
  if (!host_target().avx512) GTEST_SKIP() << "the host has one level only";
  KernelCompiler wide({host_target(), folder_.string()});
  wide.compile(scaled(2));
  wide.flush();
  KernelCompiler narrow({narrow_target(), folder_.string()});
  expect_scales(narrow.compile(scaled(2)), 2);
  EXPECT_EQ(narrow.statistics().compiled, 1);
}

TEST_F(DiskCacheTest, CorruptEntryIsReplaced) {
  {
    KernelCompiler compiler({std::nullopt, folder_.string()});
    compiler.compile(scaled(5));
  }
  ASSERT_EQ(files().size(), 1u);
  std::fstream(files()[0], std::ios::binary | std::ios::in | std::ios::out).seekp(200) << "garbage";
  {
    KernelCompiler compiler({std::nullopt, folder_.string()});
    expect_scales(compiler.compile(scaled(5)), 5);
    EXPECT_EQ(compiler.statistics().compiled, 1);
  }
  KernelCompiler compiler({std::nullopt, folder_.string()});
  expect_scales(compiler.compile(scaled(5)), 5);
  EXPECT_EQ(compiler.statistics().from_disk, 1);
}

// An entry with a correct checksum, but without object code: the linker refuses it, and the kernel
// is compiled.
TEST_F(DiskCacheTest, ForeignObjectIsReplaced) {
  fs::path path;
  {
    KernelCompiler compiler({std::nullopt, folder_.string()});
    compiler.compile(scaled(6));
  }
  std::ifstream in(files()[0], std::ios::binary);
  const std::string file((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  uint64_t key_size;
  std::memcpy(&key_size, file.data() + 16, 8);
  const std::string key = file.substr(40, key_size);
  {
    DiskCache cache(folder_.string());
    cache.store(key, "this is not an object file");
  }
  KernelCompiler compiler({std::nullopt, folder_.string()});
  expect_scales(compiler.compile(scaled(6)), 6);
  EXPECT_EQ(compiler.statistics().compiled, 1);
}

TEST_F(DiskCacheTest, UnwritableFolderWarnsOnceAndGoesOn) {
  std::vector<std::string> warnings;
  const WarningHandler before =
      set_warning_handler([&](const std::string& text) { warnings.push_back(text); });
  {
    std::ofstream(folder_ / "file") << "not a folder";
    KernelCompiler compiler({std::nullopt, (folder_ / "file" / "cache").string()});
    for (float a : {1.5f, 2.5f, 3.5f}) expect_scales(compiler.compile(scaled(a)), a);
    compiler.flush();
    expect_scales(compiler.compile(scaled(4.5f)), 4.5f);
  }
  set_warning_handler(before);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find("TESSERA_CACHE_DIR"), std::string::npos) << warnings[0];
}

// Collects the warnings during a test.
class Warnings {
 public:
  Warnings()
      : before_(set_warning_handler([this](const std::string& text) { texts_.push_back(text); })) {}
  ~Warnings() { set_warning_handler(before_); }
  const std::vector<std::string>& texts() const { return texts_; }
  bool one_says(const std::string& part) const {
    return texts_.size() == 1 && texts_[0].find(part) != std::string::npos;
  }

 private:
  std::vector<std::string> texts_;
  WarningHandler before_;
};

// Otherwise code that another user puts there would be executed.
TEST_F(DiskCacheTest, FolderThatOthersMayWriteIsRefused) {
  DiskCache(folder_.string()).store("key", "object");
  for (const fs::perms others : {fs::perms::group_write, fs::perms::others_write}) {
    fs::permissions(folder_, fs::perms::owner_all | others);
    const Warnings warnings;
    DiskCache cache(folder_.string());
    EXPECT_FALSE(cache.load("key"));
    cache.store("other", "object");
    cache.flush();
    EXPECT_EQ(files().size(), 1u);
    EXPECT_TRUE(warnings.one_says("expected nobody else to be allowed to write it"))
        << ::testing::PrintToString(warnings.texts());
    EXPECT_TRUE(warnings.one_says("TESSERA_CACHE_DIR"));
  }
  fs::permissions(folder_, fs::perms::owner_all);
  EXPECT_EQ(DiskCache(folder_.string()).load("key"), "object");
}

TEST_F(DiskCacheTest, FolderOfAnotherUserIsRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root gives folders away";
  DiskCache(folder_.string()).store("key", "object");
  ASSERT_EQ(::chown(folder_.c_str(), 12345, static_cast<gid_t>(-1)), 0);
  const Warnings warnings;
  EXPECT_FALSE(DiskCache(folder_.string()).load("key"));
  EXPECT_TRUE(warnings.one_says("expected it to belong to user 0, it belongs to user 12345"));
}

TEST_F(DiskCacheTest, EntriesThatOthersMayWriteAreRefused) {
  DiskCache cache(folder_.string());
  cache.store("key", "object");
  cache.flush();
  const fs::path path = cache.path_of("key");
  for (const fs::perms others : {fs::perms::group_write, fs::perms::others_write}) {
    fs::permissions(path, fs::perms::owner_read | fs::perms::owner_write | others);
    const Warnings warnings;
    EXPECT_FALSE(cache.load("key"));
    EXPECT_TRUE(warnings.one_says("expected nobody else to be allowed to write it"));
    EXPECT_TRUE(warnings.one_says("remove it"));
  }
  if (::geteuid() == 0) {
    fs::permissions(path, fs::perms::owner_read);
    ASSERT_EQ(::chown(path.c_str(), 12345, static_cast<gid_t>(-1)), 0);
    const Warnings warnings;
    EXPECT_FALSE(cache.load("key"));
    EXPECT_TRUE(warnings.one_says("it belongs to user 12345"));
  }
}

// Opening a FIFO would wait for somebody to write.
TEST_F(DiskCacheTest, LinksAndFifosAreRefusedAndReplaced) {
  DiskCache cache(folder_.string());
  cache.store("key", "object");
  cache.flush();
  const fs::path path = cache.path_of("key"), elsewhere = folder_ / "elsewhere";
  fs::rename(path, elsewhere);
  fs::create_symlink(elsewhere, path);
  {
    const Warnings warnings;
    EXPECT_FALSE(cache.load("key"));
    EXPECT_TRUE(warnings.one_says("expected a regular file, it is a link"));
  }
  fs::remove(path);
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  {
    const Warnings warnings;
    EXPECT_FALSE(cache.load("key"));
    EXPECT_TRUE(warnings.one_says("expected a regular file, it is none"));
  }
  cache.store("key", "object");
  cache.flush();
  EXPECT_EQ(cache.load("key"), "object");
}

TEST_F(DiskCacheTest, FoldersAndEntriesAreTheUsersOwn) {
  const fs::path inner = folder_ / "a" / "b";
  DiskCache cache(inner.string());
  cache.store("key", "object");
  cache.flush();
  constexpr fs::perms kOthers = fs::perms::group_all | fs::perms::others_all;
  EXPECT_EQ(fs::status(inner).permissions() & kOthers, fs::perms::none);
  EXPECT_EQ(fs::status(cache.path_of("key")).permissions() & kOthers, fs::perms::none);
  EXPECT_EQ(cache.load("key"), "object");
}

TEST_F(DiskCacheTest, WhatWasUsedLastStaysWithinTheBound) {
  constexpr int64_t kBound = 1 << 20;
  DiskCache cache(folder_.string(), kBound);
  const std::string object(40000, 'x');
  auto age = [&](int i, int hours) {
    const fs::path path = cache.path_of(std::to_string(i));
    if (fs::exists(path))
      fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::hours(hours));
  };
  std::ofstream(folder_ / "notes.txt") << std::string(2 << 20, 'n');
  for (int i = 0; i < 100; ++i) {
    cache.store(std::to_string(i), object);
    cache.flush();
    age(i, 1000 - i);
    EXPECT_TRUE(cache.load("0")) << i;  // a load makes the entry new again
  }
  int64_t bytes = 0;
  for (const fs::path& path : files())
    if (path.extension() == ".kernel") bytes += static_cast<int64_t>(fs::file_size(path));
  EXPECT_LE(bytes, kBound + kBound / 8);
  EXPECT_GE(bytes, kBound / 2);
  EXPECT_TRUE(cache.load("99"));
  EXPECT_FALSE(cache.load("1"));
  EXPECT_TRUE(fs::exists(folder_ / "notes.txt"));
}

TEST_F(DiskCacheTest, FilesOfKilledWritersAreRemovedWhenTheyAreOld) {
  const std::string entry = std::string(32, 'a') + ".kernel";
  const fs::path old = folder_ / ("." + entry + ".4711.0"),
                 fresh = folder_ / ("." + entry + ".4711.1"), users = folder_ / ".tmp-notes";
  for (const fs::path& path : {old, fresh, users}) std::ofstream(path) << "half";
  for (const fs::path& path : {old, users})
    fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::hours(2));
  DiskCache cache(folder_.string());
  cache.store("key", "object");
  cache.flush();
  EXPECT_FALSE(fs::exists(old));
  EXPECT_TRUE(fs::exists(fresh));
  EXPECT_TRUE(fs::exists(users));
}

TEST_F(DiskCacheTest, BoundFromTheEnvironment) {
  ::setenv("TESSERA_CACHE_MIB", "3", 1);
  EXPECT_EQ(default_cache_bytes(), 3 << 20);
  ::setenv("TESSERA_CACHE_MIB", "many", 1);
  try {
    default_cache_bytes();
    ADD_FAILURE() << "no error";
  } catch (const UserError& error) {
    EXPECT_STREQ(error.what(),
                 "[TESSERA_CACHE_MIB] expected a number of MiB from 1 to 1073741824, got 'many'");
  }
  ::unsetenv("TESSERA_CACHE_MIB");
  EXPECT_EQ(default_cache_bytes(), int64_t{1} << 30);
}

// The parent writes the pending entries, and the child those that it compiles itself.
TEST_F(DiskCacheTest, GoesOnInAChild) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "the thread sanitizer allows no threads in a child of a fork";
#endif
  DiskCache cache(folder_.string());
  cache.store("parent", "object");
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::alarm(20);
    cache.flush();
    cache.store("child", "object");
    cache.flush();
    ::_exit(cache.load("child") ? 0 : 1);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  cache.flush();
  EXPECT_TRUE(cache.load("parent"));
  EXPECT_TRUE(cache.load("child"));
}

TEST_F(DiskCacheTest, ManyProcessesShareAFolder) {
  std::vector<pid_t> children;
  for (int c = 0; c < 4; ++c) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      bool good = true;
      {
        KernelCompiler compiler({std::nullopt, folder_.string()});
        for (int i = 0; i < 5; ++i) {
          const float a = static_cast<float>(i) + 0.5f;
          const KernelCode fn = compiler.compile(scaled(a));
          std::vector<float> x(100, 2), y(100);
          void* buffers[] = {x.data(), y.data()};
          fn(buffers, 0, 100);
          for (float v : y) good = good && v == 2 * a;
        }
      }
      ::_exit(good ? 0 : 1);
    }
    children.push_back(pid);
  }
  for (pid_t pid : children) {
    int status = 0;
    ::waitpid(pid, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  EXPECT_EQ(files().size(), 5u);
  KernelCompiler compiler({std::nullopt, folder_.string()});
  for (int i = 0; i < 5; ++i) compiler.compile(scaled(static_cast<float>(i) + 0.5f));
  EXPECT_EQ(compiler.statistics().from_disk, 5);
}

}  // namespace
}  // namespace tessera::codegen::test::disk_cache_test
