#include "tessera/compile/load_program.h"

#include "tests/compile/devices.h"

namespace tessera::load_program_test {
namespace {

class LoadProgram : public DevicesTest {
 protected:
  // (x, y) -> (x + y, the sum of x y), of eight elements each.
  static Lowered lowered(const Array& x, const Array& y) {
    return jit([](const Array& a, const Array& b) { return std::pair(a + b, sum(a * b)); })
        .lower(x, y);
  }
  static engine::LoadedProgramRef loaded(const Lowered& from) {
    const compile::Stages& stages = from.stages();
    return compile::load_program(stages.traced, stages, devices()[0]);
  }
  static const runtime::DeviceData* data(const Array& x) { return runtime::device_data(*x.data()); }
};

TEST_F(LoadProgram, OnOneDevice) {
  const Array x = device_put(iota({8}), devices()[0]), y = device_put(iota({8}) + 1, devices()[0]);
  const auto program = loaded(lowered(x, y));
  ASSERT_EQ(program->num_inputs(), 2U);
  ASSERT_EQ(program->num_outputs(), 2U);
  EXPECT_EQ(program->input_layout(0)->sharding, x.sharding());
  EXPECT_EQ(program->output_layout(1)->global, Shape());
  EXPECT_GT(program->code_bytes(), 0);
  const std::vector<Array> results = program->run(std::vector{data(x), data(y)});
  EXPECT_EQ(values(results[0]), values(iota({8}) * 2 + 1));
  EXPECT_EQ(results[1].item<float>(), 168);
}

TEST_F(LoadProgram, OnTheDevicesOfAMesh) {
  const Array x = device_put(iota({8}), on8(P("x"))), y = device_put(iota({8}) + 1, on8(P("x")));
  const Lowered from = lowered(x, y);
  const auto program = loaded(from);
  EXPECT_EQ(program->input_layout(1)->sharding, y.sharding());
  EXPECT_EQ(program->arena_bytes(), from.cost().arena_bytes);
  EXPECT_EQ(program->run(std::vector{data(x), data(y)})[1].item<float>(), 168);
}

TEST_F(LoadProgram, TakesArraysThatAreWhereItsInputsMustBe) {
  const Array x = device_put(iota({8}), on8(P("x")));
  const auto program = loaded(lowered(x, x));
  EXPECT_TRUE(program->takes(*x.data(), 0));
  // The same shards on the same devices, with another mesh.
  EXPECT_TRUE(program->takes(
      *device_put(iota({8}), NamedSharding(make_mesh({8}, {"other"}), P("other"))).data(), 0));
  EXPECT_FALSE(program->takes(*device_put(iota({8}), on8(P())).data(), 0));
  EXPECT_FALSE(program->takes(*device_put(iota({8}), devices()[0]).data(), 0));
  EXPECT_FALSE(program->takes(*Array(1.0F).data(), 0)) << "on no device yet";
}

// A copied input is deleted together with the array from which it was copied. If a second donation
// fails, neither is deleted.
TEST_F(LoadProgram, DonatesWhatInputsWereCopiedFrom) {
  const Array x = device_put(iota({8}), on8(P("x"))), copy = device_put(iota({8}), on8(P("x"))),
              y = device_put(iota({8}), on8(P("x"))), gone = device_put(iota({8}), on8(P("x")));
  const auto program = loaded(lowered(x, y));
  const std::vector<uint8_t> both{1, 1};
  data(gone)->donate()->commit();
  EXPECT_TRUE(data(gone)->is_deleted());
  EXPECT_THAT(
      error_of([&] {
        program->run(std::vector{data(copy), data(y)}, both, std::vector{data(x), data(gone)});
      }),
      testing::HasSubstr("[array] expected a live array"));
  EXPECT_FALSE(data(x)->is_deleted());
  EXPECT_FALSE(data(copy)->is_deleted());
  program->run(std::vector{data(copy), data(y)}, both,
               std::vector<const runtime::DeviceData*>{data(x), nullptr});
  EXPECT_TRUE(data(x)->is_deleted());
  EXPECT_TRUE(data(copy)->is_deleted());
  EXPECT_TRUE(data(y)->is_deleted());
}

// A donation that is not committed is undone.
TEST_F(LoadProgram, DonationsAreTakenBack) {
  const Array x = device_put(iota({8}), on8(P("x")));
  {
    const auto donation = data(x)->donate();
    EXPECT_TRUE(data(x)->is_deleted());
    EXPECT_THAT(error_of([&] { data(x)->check_alive(); }),
                testing::HasSubstr("[array] expected a live array"));
    EXPECT_THAT(error_of([&] { data(x)->donate(); }),
                testing::HasSubstr("[array] expected a live array"));
  }
  EXPECT_FALSE(data(x)->is_deleted());
  EXPECT_EQ(values(x), values(iota({8})));
}

TEST_F(LoadProgram, RefusesMeshesWithoutDevices) {
  const Mesh abstract = Mesh::abstract({8}, {"x"});
  EXPECT_THAT(error_of([&] { compile::engine_for(abstract, devices()[0]); }),
              testing::HasSubstr("[jit] expected a mesh of devices to run on, got AbstractMesh("));
  EXPECT_EQ(&compile::engine_for(Mesh(), devices()[0]),
            &compile::engine_for(mesh8(), devices()[1]));
}

TEST_F(LoadProgram, TheEngineSaysHowFarThePipelineRuns) {
  EXPECT_EQ(compile::last_stage(compile::engine_for(mesh8(), devices()[0])),
            compile::Stage::kFused);
}

}  // namespace
}  // namespace tessera::load_program_test
