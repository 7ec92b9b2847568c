#include "tessera/io/checkpoint.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "files.h"
#include "tessera/compile/grad.h"
#include "tessera/compile/jit.h"
#include "tessera/io/crc32c.h"
#include "tessera/io/safetensors.h"
#include "tessera/mesh/device_mesh.h"
#include "tessera/nnx/modules.h"
#include "tessera/nnx/optimizer.h"
#include "tessera/numpy/creation.h"
#include "tessera/numpy/linear.h"
#include "tessera/numpy/manipulation.h"
#include "tessera/numpy/math.h"
#include "tessera/numpy/operators.h"
#include "tessera/numpy/placement.h"
#include "tessera/numpy/reduce.h"
#include "tessera/optim/optim.h"

namespace tessera::checkpoint_test {

using namespace ir;

namespace {

namespace fs = std::filesystem;
using test::bytes_of;
using test::error_of;
using test::write_bytes;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class CheckpointTest : public test::FolderTest {
 protected:
  void SetUp() override { initialize({.devices = "cpu:8"}); }
  void TearDown() override { initialize({.devices = "cpu:1"}); }

  // Returns the names in the folder of checkpoints.
  std::vector<std::string> names() const {
    std::vector<std::string> out;
    for (const auto& entry : fs::directory_iterator(folder_))
      out.push_back(entry.path().filename());
    std::sort(out.begin(), out.end());
    return out;
  }
  fs::path file(int64_t step, const std::string& name = "arrays.safetensors") const {
    return folder_ / fmt::format("step_{:08}", step) / name;
  }
};

struct Params {
  Array w, b;
  int64_t steps = 3;  // a static field
};
Params params(float start) {
  return {reshape(arange(start, start + 12), {3, 4}), arange(start, start + 4)};
}

Literal pattern(DType dtype, const Shape& shape) {
  Literal out(dtype, shape);
  for (int64_t i = 0; i < out.bytes(); ++i)
    out.mutable_raw()[i] = dtype == bool_ ? std::byte{i % 3 == 0} : static_cast<std::byte>(i * 37);
  return out;
}

TEST_F(CheckpointTest, EveryDTypeBitForBit) {
  std::map<std::string, Array> tree;
  std::map<std::string, Array> like;
  for (int d = 0; d < kNumDTypes; ++d) {
    const auto dtype = static_cast<DType>(d);
    for (const Shape& shape : {Shape{}, Shape{3, 5}, Shape{2, 0}}) {
      const std::string name = fmt::format("{} {}", dtype, shape);
      tree.emplace(name, device_put(Array(pattern(dtype, shape)), devices()[1]));
      like.emplace(name, abstract_array(shape, dtype));
    }
  }
  save_checkpoint(folder_, 0, tree);
  for (const auto& [name, array] : restore_checkpoint(folder_, like))
    EXPECT_EQ(array.to_host(), tree.at(name).to_host()) << name;
  // The index has the dtypes; the data files can be read by every reader of the format.
  const auto index = nlohmann::json::parse(bytes_of(file(0, "index.json")));
  std::map<std::string, std::string> dtypes;
  for (const auto& leaf : index["leaves"]) dtypes[leaf["path"]] = leaf["dtype"];
  EXPECT_EQ(dtypes.at("[complex128 (3, 5)]"), "complex128");
  const auto stored = read_safetensors(file(0));
  EXPECT_EQ(stored.at("[complex64 (3, 5)]").shape(), (Shape{3, 5, 2}));
  EXPECT_EQ(stored.at("[bfloat16 (3, 5)]"), tree.at("bfloat16 (3, 5)").to_host());
}

TEST_F(CheckpointTest, LeavesAreAsThoseOfLike) {
  struct Tree {
    Array host, weak, device;
    std::optional<Array> none;
    std::vector<std::pair<Array, Array>> layers;
  };
  const Array x = arange(4.0f);
  const Tree tree{Array(pattern(int32, {5})),
                  Array(2.5f),
                  device_put(x, devices()[3]),
                  {},
                  {{x, x + 1}, {x + 2, x + 3}}};
  save_checkpoint(folder_, 3, tree);
  const Tree back = restore_checkpoint(folder_, tree, 3);
  EXPECT_EQ(back.host.data()->kind, ArrayData::Kind::kHost);
  EXPECT_EQ(back.host.to_host(), tree.host.to_host());
  EXPECT_TRUE(back.weak.weak_type());
  EXPECT_EQ(back.weak.item<float>(), 2.5f);
  EXPECT_EQ(back.device.sharding(), tree.device.sharding());
  EXPECT_EQ(back.device.to_host(), x.to_host());
  EXPECT_FALSE(back.none.has_value());
  EXPECT_EQ(back.layers[1].second.to_host(), (x + 3).to_host());
  // A weak array on a device, and a tree that is one leaf.
  const Array weak = device_put(Array(1.5f), devices()[2]);
  ASSERT_TRUE(weak.weak_type());
  save_checkpoint(folder_, 4, weak);
  const Array weak_back = restore_checkpoint(folder_, weak);
  EXPECT_TRUE(weak_back.weak_type());
  EXPECT_EQ(weak_back.sharding(), weak.sharding());
  EXPECT_EQ(weak_back.item<float>(), 1.5f);
}

TEST_F(CheckpointTest, AnyMeshToAnyMesh) {
  const Mesh grid(create_device_mesh({2, 4}), {"x", "y"}), line(create_device_mesh({8}), {"z"});
  const Literal data = pattern(float32, {10, 12});  // neither 4 nor 8 divides 10
  std::vector<Sharding> places{NamedSharding(grid, P("x", "y")),
                               NamedSharding(grid, P("y", "x")),
                               NamedSharding(grid, P(joint("x", "y"))),
                               NamedSharding(grid, P(None, "y")),
                               NamedSharding(grid, P()),
                               NamedSharding(line, P("z")),
                               NamedSharding(line, P(None, "z")),
                               SingleDeviceSharding(devices()[5])};
  int64_t step = 0;
  for (int64_t single_file : {int64_t{0}, int64_t{1} << 20})
    for (const Sharding& from : places) {
      save_checkpoint(folder_, ++step, std::vector{device_put(Array(data), from)},
                      {.keep = 1, .single_file_bytes = single_file});
      for (const Sharding& to : places) {
        const auto like = std::vector{device_put(zeros({10, 12}, float32), to)};
        const Array back = restore_checkpoint(folder_, like)[0];
        EXPECT_EQ(back.sharding(), to);
        EXPECT_EQ(back.to_host(), data) << from << " -> " << to;
      }
    }
}

TEST_F(CheckpointTest, RestoresToMeshesOfOtherSizes) {
  const Mesh eight(create_device_mesh({8}), {"x"});
  const Literal data = pattern(float32, {16, 3});
  save_checkpoint(folder_, 1, device_put(Array(data), NamedSharding(eight, P("x"))));
  initialize({.devices = "cpu:2"});
  const Mesh two(create_device_mesh({2}), {"d"});
  const NamedSharding sharding(two, P("d"));
  const Array back = restore_checkpoint(folder_, abstract_array({16, 3}, float32, sharding));
  EXPECT_EQ(back.sharding(), Sharding(sharding));
  EXPECT_EQ(addressable_shards(back)[1].index[0], (IndexRange{8, 16}));
  EXPECT_EQ(back.to_host(), data);
}

TEST_F(CheckpointTest, EachShardIsWrittenOnce) {
  const Mesh grid(create_device_mesh({2, 4}), {"x", "y"});
  const Array x = device_put(arange(64.0f), NamedSharding(grid, P("y")));  // two copies of each
  const Array r = device_put(arange(8.0f), NamedSharding(grid, P()));
  save_checkpoint(folder_, 1, std::vector{x, r});
  EXPECT_EQ(read_safetensors(file(1)).size(), 5u);
  EXPECT_EQ(read_safetensors(file(1)).at("[0]@16:32").elements(), 16);
  EXPECT_EQ(read_safetensors(file(1)).at("[1]").elements(), 8);
  save_checkpoint(folder_, 2, std::vector{x, r}, {.single_file_bytes = 0});
  EXPECT_EQ(read_safetensors(file(2, "arrays-00002-of-00004.safetensors")).at("[0]@16:32"),
            read_safetensors(file(1)).at("[0]@16:32"));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_ / "step_00000002"), {}), 5);
}

TEST_F(CheckpointTest, TrainingResumesBitForBit) {
  const Mesh mesh(create_device_mesh({8}), {"data"});
  const auto tx = optim::adam(0.05);
  const Array x = device_put(reshape(sin(arange(64.0f)), {16, 4}), NamedSharding(mesh, P("data")));
  const Array y = device_put(cos(arange(16.0f)), NamedSharding(mesh, P("data")));
  Params start{reshape(cos(arange(4.0f)), {4, 1}), zeros({1}, float32)};
  start = device_put(start, NamedSharding(mesh, P()));
  using State = decltype(tx.init(start));
  auto step = jit([&](const Params& params, const State& state, const Array& x, const Array& y) {
    auto [loss, grads] = value_and_grad([](const Params& p, const Array& x, const Array& y) {
      const Array error = reshape(matmul(x, p.w), {16}) + p.b - y;
      return mean(error * error);
    })(params, x, y);
    auto [updates, next] = tx.update(grads, state, params);
    return std::tuple(optim::apply_updates(params, updates), next, loss);
  });
  const auto run = [&](Params params, State state, int from, int to, int save_at) {
    for (int i = from; i < to; ++i) {
      auto [p, s, loss] = step(params, state, x, y);
      params = p;
      state = s;
      if (i + 1 == save_at) save_checkpoint(folder_, save_at, std::pair(params, state));
    }
    return std::pair(params, state);
  };
  const auto whole = run(start, tx.init(start), 0, 20, 11);
  const int64_t last = *latest_step(folder_);
  ASSERT_EQ(last, 11);
  // Restores into new arrays with the shardings of a running loop.
  const auto like = run(start, tx.init(start), 0, 1, -1);
  auto [params, state] = restore_checkpoint(folder_, like);
  const auto resumed = run(params, state, 11, 20, -1);
  const auto expected = tree::leaves(whole), got = tree::leaves(resumed);
  ASSERT_EQ(expected.size(), got.size());
  for (size_t i = 0; i < got.size(); ++i)
    EXPECT_EQ(got[i].to_host(), expected[i].to_host()) << "leaf " << i;
  EXPECT_NE(got[0].to_host(), params.w.to_host());
}

// Modules and optimizers are trees too. A missing part of a module (a bias) takes no bytes.
TEST_F(CheckpointTest, Modules) {
  struct Model {
    nnx::Linear in, out;
  };
  const auto make = [](int64_t seed) {
    return Model{nnx::Linear(4, 8, nnx::Rngs(seed)),
                 nnx::Linear(8, 2, nnx::Rngs(seed + 1), {.use_bias = false})};
  };
  Model model = make(0);
  nnx::Optimizer optimizer(model, optim::adam(0.1));
  const Array x = reshape(sin(arange(12.0f)), {3, 4});
  const auto loss = [](const Model& m, const Array& x) { return mean(m.out(tanh(m.in(x)))); };
  optimizer.update(model, grad(loss)(model, x));
  save_checkpoint(folder_, 1, std::pair(model, optimizer));
  Model other = make(7);
  const nnx::Optimizer fresh(other, optim::adam(0.1));
  auto [restored, restored_optimizer] = restore_checkpoint(folder_, std::pair(other, fresh));
  EXPECT_NE(loss(other, x).to_host(), loss(model, x).to_host());
  EXPECT_EQ(loss(restored, x).to_host(), loss(model, x).to_host());
  EXPECT_EQ(restored_optimizer.step.item<int>(), 1);
  optimizer.update(model, grad(loss)(model, x));
  restored_optimizer.update(restored, grad(loss)(restored, x));
  EXPECT_EQ(restored.in.kernel.to_host(), model.in.kernel.to_host());
}

TEST_F(CheckpointTest, StepsAndKeep) {
  EXPECT_TRUE(all_steps(path("absent")).empty());
  EXPECT_EQ(latest_step(path("absent")), std::nullopt);
  for (int64_t step : {2, 5, 30, 7}) save_checkpoint(folder_, step, params(1.0f * step));
  EXPECT_THAT(all_steps(folder_), ElementsAre(2, 5, 7, 30));
  EXPECT_EQ(latest_step(folder_), 30);
  EXPECT_EQ(restore_checkpoint(folder_, params(0), 5).b.to_host(), params(5).b.to_host());
  EXPECT_EQ(restore_checkpoint(folder_, params(0)).b.to_host(), params(30).b.to_host());
  // Lower steps are removed. The higher step, of a run that was reset to an earlier step, stays.
  save_checkpoint(folder_, 8, params(8), {.keep = 2});
  EXPECT_THAT(all_steps(folder_), ElementsAre(7, 8, 30));
  save_checkpoint(folder_, 123456789, params(9), {.keep = 1});
  EXPECT_THAT(names(), ElementsAre("step_123456789"));
  // Other names are ignored.
  fs::create_directories(path("step_1"));
  fs::create_directories(path("step_-0000001"));
  write_bytes(path("step_00000044"), "a file");
  EXPECT_THAT(all_steps(folder_), ElementsAre(123456789));
}

TEST_F(CheckpointTest, LeftoversAreIgnoredAndRemoved) {
  save_checkpoint(folder_, 1, params(1));
  fs::copy(path("step_00000001"), path(".tmp-step_00000002"));
  fs::remove(path(".tmp-step_00000002/index.json"));
  fs::copy(path("step_00000001"), path(".tmp-step_00000000"));
  EXPECT_EQ(latest_step(folder_), 1);
  EXPECT_THAT(error_of(ErrorKind::kIo, [&] { restore_checkpoint(folder_, params(0), 2); }),
              AllOf(HasSubstr("is being written"), HasSubstr(".tmp-step_00000002")));
  save_checkpoint(folder_, 2, params(2));
  EXPECT_THAT(names(), ElementsAre("step_00000001", "step_00000002"));
}

// Of the files that begin with .tmp-, only those of earlier saves are removed.
TEST_F(CheckpointTest, OtherTemporaryFilesStay) {
  write_bytes(path(".tmp-notes"), "mine");
  write_bytes(path(".tmp-step_00000003"), "mine");
  fs::create_directories(path(".tmp-step_3"));
  fs::create_directories(path(".tmp-data"));
  fs::create_directories(path("elsewhere"));
  write_bytes(path("elsewhere/index.json"), "mine");
  fs::create_directory_symlink("elsewhere", path(".tmp-step_00000004"));
  fs::create_directories(path(".tmp-step_00000005"));
  write_bytes(path(".tmp-step_00000005/notes"), "mine");
  fs::create_directories(path(".tmp-step_00000006/index.json"));
  auto before = names();
  save_checkpoint(folder_, 1, params(1), {.keep = 1});
  save_checkpoint(folder_, 2, params(2), {.keep = 1});
  before.push_back("step_00000002");
  EXPECT_EQ(names(), before);
  EXPECT_EQ(bytes_of(path("elsewhere/index.json")), "mine");
  // The error names the file that is in the way. The file stays.
  for (int64_t step : {3, 4, 5, 6})
    EXPECT_THAT(error_of(ErrorKind::kIo, [&] { save_checkpoint(folder_, step, params(1)); }),
                AllOf(HasSubstr(fmt::format(".tmp-step_{:08}", step)), HasSubstr("rename it")));
  EXPECT_EQ(names(), before);
  EXPECT_EQ(bytes_of(path(".tmp-step_00000005/notes")), "mine");
  EXPECT_THAT(error_of(ErrorKind::kIo, [&] { restore_checkpoint(folder_, params(0), 5); }),
              HasSubstr("got steps 2"));
}

TEST_F(CheckpointTest, AHeaderThatIsFullBeginsAnotherFile) {
  std::map<std::string, Array> tree;
  for (int i = 0; i < 40; ++i) tree[fmt::format("w{}", i)] = arange(i, i + 3.0f);
  const Mesh mesh(create_device_mesh({8}), {"x"});
  tree["w3"] = device_put(arange(16), NamedSharding(mesh, P("x")));
  constexpr uint64_t kLimit = 1000;
  internal::save_checkpoint(folder_, 1, internal::named_leaves(tree), {}, kLimit);
  int64_t files = 0;
  for (const auto& entry : fs::directory_iterator(path("step_00000001"))) {
    if (entry.path().extension() != ".safetensors") continue;
    ++files;
    uint64_t length = 0;
    std::memcpy(&length, bytes_of(entry.path()).data(), sizeof length);
    EXPECT_LE(length, kLimit);
    EXPECT_FALSE(read_safetensors(entry.path()).empty());
  }
  EXPECT_GT(files, 3);
  const auto back = restore_checkpoint(folder_, tree);
  for (const auto& [name, value] : tree) EXPECT_EQ(back.at(name).to_host(), value.to_host());
  EXPECT_THAT(
      error_of(
          ErrorKind::kValue,
          [&] { internal::save_checkpoint(folder_, 2, internal::named_leaves(tree), {}, 50); }),
      HasSubstr("up to 50 bytes"));
  EXPECT_THAT(names(), ElementsAre("step_00000001"));
}

TEST_F(CheckpointTest, OneSaveAtATime) {
  save_checkpoint(folder_, 1, params(1));
  const int other = ::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  ASSERT_EQ(::flock(other, LOCK_EX), 0);
  EXPECT_THAT(error_of(ErrorKind::kIo, [&] { save_checkpoint(folder_, 2, params(2)); }),
              HasSubstr("no other save"));
  ::close(other);
  save_checkpoint(folder_, 2, params(2));
}

TEST_F(CheckpointTest, ErrorsOfSaving) {
  save_checkpoint(folder_, 1, params(1));
  const auto before = names();
  const auto error = [&](ErrorKind kind, const auto& tree, int64_t step = 2,
                         const SaveOptions& options = {}) {
    const std::string text = error_of(kind, [&] { save_checkpoint(folder_, step, tree, options); });
    EXPECT_THAT(text, HasSubstr("[save_checkpoint] expected "));
    EXPECT_EQ(names(), before);
    return text;
  };
  EXPECT_THAT(error(ErrorKind::kValue, params(1), -1), HasSubstr("a step of 0 or more, got -1"));
  EXPECT_THAT(error(ErrorKind::kValue, params(1), 2, {.keep = -1}), HasSubstr("got -1"));
  EXPECT_THAT(error(ErrorKind::kValue, params(2), 1), HasSubstr("a step that"));
  EXPECT_THAT(error(ErrorKind::kValue, Params{arange(2.0f), Array()}),
              AllOf(HasSubstr("leaf '.b'"), HasSubstr("got none")));
  EXPECT_THAT(error(ErrorKind::kValue, Params{abstract_array({2}, int32), arange(2.0f)}),
              AllOf(HasSubstr("leaf '.w'"), HasSubstr("the abstract int32")));
  EXPECT_THAT(error(ErrorKind::kValue, std::map<std::string, Array>{{"\xff", arange(2.0f)}}),
              HasSubstr("UTF-8"));
  using Nested = std::map<std::string, std::map<std::string, Array>>;
  EXPECT_THAT(error(ErrorKind::kValue,
                    Nested{{"a", {{"b][c", arange(2.0f)}}}, {"a][b", {{"c", arange(2.0f)}}}}),
              HasSubstr("two of leaf '[a][b][c]'"));
  jit([&](const Array& x) {
    EXPECT_THAT(error(ErrorKind::kTrace, std::vector{x}), HasSubstr("leaf '[0]'"));
    return x;
  })(arange(2.0f));
  Array donated = device_put(arange(8.0f), devices()[1]);
  jit([](const Array& x) { return x + 1; }, {.donate_argnums = {0}})(donated);
  EXPECT_THAT(error(ErrorKind::kValue, std::vector{donated}),
              AllOf(HasSubstr("leaf '[0]'"), HasSubstr("donated")));
  EXPECT_EQ(restore_checkpoint(folder_, params(0)).w.to_host(), params(1).w.to_host());
}

TEST_F(CheckpointTest, FoldersThatCannotBeWritten) {
  write_bytes(path("file"), "");
  for (const fs::path& place : {path("file"), path("file/run"), fs::path("/proc/tessera")})
    EXPECT_THAT(error_of(ErrorKind::kIo, [&] { save_checkpoint(place, 1, params(1)); }),
                AllOf(HasSubstr("[save_checkpoint]"), HasSubstr(place.string())));
  if (::geteuid() == 0) GTEST_SKIP() << "root writes to every folder";
  fs::permissions(folder_, fs::perms::owner_read | fs::perms::owner_exec);
  EXPECT_THAT(error_of(ErrorKind::kIo, [&] { save_checkpoint(folder_, 1, params(1)); }),
              HasSubstr("Permission denied"));
  fs::permissions(folder_, fs::perms::owner_all);
}

// A limit of the file size simulates a full disk, at every size.
TEST_F(CheckpointTest, FullDisk) {
  save_checkpoint(folder_, 1, params(1));
  rlimit old{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const auto largest = static_cast<rlim_t>(fs::file_size(file(1, "index.json")));
  for (rlim_t bytes = 0; bytes < largest; bytes += largest / 13) {
    const rlimit limit{bytes, old.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    const std::string text =
        error_of(ErrorKind::kIo, [&] { save_checkpoint(folder_, 2, params(2), {.keep = 1}); });
    ::setrlimit(RLIMIT_FSIZE, &old);
    EXPECT_THAT(text, HasSubstr("File too large"));
    EXPECT_THAT(names(), ElementsAre("step_00000001"));
  }
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(restore_checkpoint(folder_, params(0)).w.to_host(), params(1).w.to_host());
}

TEST_F(CheckpointTest, OtherTrees) {
  save_checkpoint(folder_, 1, params(1));
  const auto error = [&](ErrorKind kind, const auto& like) {
    const std::string text = error_of(kind, [&] { restore_checkpoint(folder_, like); });
    EXPECT_THAT(text, HasSubstr("[restore_checkpoint] expected "));
    return text;
  };
  const Array w = zeros({3, 4}, float32), b = zeros({4}, float32);
  EXPECT_THAT(error(ErrorKind::kValue, std::pair(params(0), b)), HasSubstr("leaf '[0].w'"));
  struct More {
    Array w, b, c;
  };
  EXPECT_THAT(error(ErrorKind::kValue, More{w, b, b}),
              AllOf(HasSubstr("leaf '.c'"), HasSubstr("got none")));
  struct Less {
    Array w;
  };
  EXPECT_THAT(error(ErrorKind::kValue, Less{w}),
              AllOf(HasSubstr("the 1 leaves of `like`"), HasSubstr("leaf '.b' besides")));
  EXPECT_THAT(error(ErrorKind::kValue, w), HasSubstr("the only leaf"));
  EXPECT_THAT(error(ErrorKind::kShape, Params{w, zeros({5}, float32)}),
              AllOf(HasSubstr("leaf '.b' of shape (5,)"), HasSubstr("got (4,)")));
  EXPECT_THAT(error(ErrorKind::kShape, Params{zeros({4, 3}, float32), b}), HasSubstr("'.w'"));
  EXPECT_THAT(error(ErrorKind::kType, Params{w, zeros({4}, int32)}),
              AllOf(HasSubstr("leaf '.b' of int32"), HasSubstr("got float32")));
  EXPECT_THAT(error(ErrorKind::kValue, Params{w, Array()}), HasSubstr("leaf '.b'"));
  jit([&](const Array& x) {
    EXPECT_THAT(error(ErrorKind::kTrace, Params{w, x}), HasSubstr("leaf '.b'"));
    return x;
  })(b);
}

TEST_F(CheckpointTest, NoCheckpointThere) {
  const auto error = [&](const fs::path& place, std::optional<int64_t> step = {}) {
    return error_of(ErrorKind::kIo, [&] { restore_checkpoint(place, params(0), step); });
  };
  EXPECT_THAT(error(path("absent")), AllOf(HasSubstr("got no checkpoint"), HasSubstr("absent")));
  EXPECT_THAT(error(folder_), HasSubstr("got no checkpoint"));
  fs::create_directories(path(".tmp-step_00000003"));
  EXPECT_THAT(error(folder_), AllOf(HasSubstr("being written"), HasSubstr(".tmp-step_00000003")));
  save_checkpoint(folder_, 1, params(1));
  save_checkpoint(folder_, 4, params(1));
  EXPECT_THAT(error(folder_, 2), AllOf(HasSubstr("expected step 2"), HasSubstr("got steps 1, 4")));
  write_bytes(path("file"), "");
  EXPECT_THAT(error_of(ErrorKind::kIo, [&] { all_steps(path("file")); }), HasSubstr("folder"));
}

// Every byte of every file is covered by a checksum: if any is cut off or changed, there is an
// error.
TEST_F(CheckpointTest, DamagedFiles) {
  const Mesh mesh(create_device_mesh({8}), {"x"});
  Params tree = params(1);
  tree.b = device_put(arange(8.0f), NamedSharding(mesh, P("x")));
  save_checkpoint(folder_, 1, tree);
  const auto error = [&] {
    const std::string text = error_of(ErrorKind::kIo, [&] { restore_checkpoint(folder_, tree); });
    EXPECT_THAT(text, HasSubstr("[restore_checkpoint] expected "));
    return text;
  };
  for (const char* name : {"arrays.safetensors", "index.json"}) {
    const bool index = name[0] == 'i';
    const std::string good = bytes_of(file(1, name));
    for (size_t at = 0; at < good.size(); at += index ? 7 : 3) {
      std::string bad = good;
      bad[at] = static_cast<char>(bad[at] ^ 4);
      write_bytes(file(1, name), bad);
      const std::string text = error();
      EXPECT_THAT(text, HasSubstr(index ? "index.json" : "leaf '.")) << at;
    }
    for (size_t length : {size_t{0}, size_t{5}, good.size() / 2, good.size() - 2}) {
      write_bytes(file(1, name), good.substr(0, length));
      EXPECT_THAT(error(), HasSubstr(index ? "index.json" : "bytes instead of")) << length;
    }
    fs::remove(file(1, name));
    EXPECT_THAT(error(), HasSubstr(index ? "index.json" : "No such file"));
    write_bytes(file(1, name), good);
  }
  // The last float belongs to the last shard of .1.
  std::string bad = bytes_of(file(1));
  bad.back() = static_cast<char>(bad.back() ^ 1);
  write_bytes(file(1), bad);
  EXPECT_THAT(error(), AllOf(HasSubstr("leaf '.b'"), HasSubstr("checksum")));
  auto index = nlohmann::json::parse(bytes_of(file(1, "index.json")));
  index["version"] = 2;
  write_bytes(file(1, "index.json"), index.dump());
  EXPECT_THAT(error(), HasSubstr("version 2"));
}

// An index with correct checksums that another program has made.
TEST_F(CheckpointTest, IndicesThatLie) {
  initialize({.devices = "cpu:4"});
  const Mesh mesh(create_device_mesh({4}), {"x"});
  const std::vector<Array> tree = {device_put(arange(8.0f), NamedSharding(mesh, P("x")))};
  save_checkpoint(folder_, 1, tree);
  const auto good = nlohmann::json::parse(bytes_of(file(1, "index.json")));
  const auto error = [&](const auto& change) {
    auto index = good;
    change(index);
    index.erase("crc32c");
    const std::string text = index.dump();
    index["crc32c"] = internal::crc32c(text.data(), text.size());
    write_bytes(file(1, "index.json"), index.dump());
    const std::string what = error_of(ErrorKind::kIo, [&] { restore_checkpoint(folder_, tree); });
    EXPECT_THAT(what, AllOf(HasSubstr("[restore_checkpoint] expected"), HasSubstr("index.json")));
    return what;
  };
  using Json = nlohmann::json;
  fs::copy(file(1), path("outside.safetensors"));
  for (const char* name : {"../outside.safetensors", "/etc/passwd", "a/../b", "..", ""})
    EXPECT_THAT(error([&](Json& index) {
                  index["files"][name] = index["files"]["arrays.safetensors"];
                  index["leaves"][0]["slices"][0]["file"] = name;
                }),
                HasSubstr("not in its folder"));
  const auto with_ranges = [&](int64_t start, int64_t stop) {
    return error([&](Json& index) {
      index["leaves"][0]["slices"][1]["index"] = {Json::array({start, stop})};
    });
  };
  EXPECT_THAT(with_ranges(0, 2), HasSubstr("leave gaps or overlap"));  // the first one again
  EXPECT_THAT(with_ranges(1, 3), HasSubstr("leave gaps or overlap"));
  EXPECT_THAT(with_ranges(3, 4), HasSubstr("leave gaps or overlap"));
  EXPECT_THAT(error([](Json& index) { index["leaves"][0]["slices"].erase(3); }),
              HasSubstr("leave gaps or overlap"));
  EXPECT_THAT(error([](Json& index) { index["leaves"][0]["dtype"] = "int9"; }),
              HasSubstr("unknown dtype 'int9'"));
  EXPECT_THAT(error([](Json& index) { index["leaves"] = 3; }), HasSubstr("index"));
  std::string deep(100'000, '[');
  write_bytes(file(1, "index.json"), deep + std::string(100'000, ']'));
  EXPECT_THAT(error_of(ErrorKind::kIo, [&] { restore_checkpoint(folder_, tree); }),
              HasSubstr("damaged or no index"));
  fs::remove(file(1, "index.json"));
  fs::create_directory(file(1, "index.json"));
  EXPECT_THAT(error_of(ErrorKind::kIo, [&] { restore_checkpoint(folder_, tree); }),
              AllOf(HasSubstr("index.json"), HasSubstr("got a folder")));
}

TEST_F(CheckpointTest, LongNames) {
  const fs::path place = path(std::string(300, 'n'));
  EXPECT_THAT(error_of(ErrorKind::kIo, [&] { save_checkpoint(place, 1, params(1)); }),
              HasSubstr("File name too long"));
  EXPECT_THAT(error_of(ErrorKind::kIo, [&] { all_steps(place); }), HasSubstr("File name too long"));
  EXPECT_THAT(error_of(ErrorKind::kIo, [&] { restore_checkpoint(place, params(1)); }),
              HasSubstr("File name too long"));
}

TEST_F(CheckpointTest, PlacementsThatCannotBe) {
  save_checkpoint(folder_, 1, params(1));
  const NamedSharding nowhere(Mesh::abstract({2}, {"x"}), P("x"));
  EXPECT_THAT(error_of(ErrorKind::kSharding,
                       [&] {
                         restore_checkpoint(folder_, Params{abstract_array({3, 4}, float32),
                                                            abstract_array({4}, float32, nowhere)});
                       }),
              HasSubstr("leaf '.b'"));
}

}  // namespace
}  // namespace tessera::checkpoint_test
