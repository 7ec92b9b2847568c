// The properties that a compiled program reports: shardings, layouts, text.
#include <gmock/gmock.h>

#include <array>
#include <thread>

#include "tests/plugin/plugin_test.h"
#include "xla/pjrt/c/pjrt_c_api_layouts_extension.h"
#include "xla/pjrt/c/pjrt_c_api_shardings_extension.h"

namespace tessera::plugin_test::executable_test {
namespace {

using testing::HasSubstr;

class Executables : public Plugin {
 protected:
  void SetUp() override {
    // Two devices: each has half of the argument's first dimension, and the whole result.
    const std::string program =
        "module @halves { sdy.mesh @m = <[\"x\"=2]>  func.func public @main("
        "%a: tensor<4x3xf32> {sdy.sharding = #sdy.sharding<@m, [{\"x\"}, {}]>}, "
        "%b: tensor<f32>) -> (tensor<4x3xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {}]>}) { "
        "%0 = stablehlo.broadcast_in_dim %b, dims = [] : (tensor<f32>) -> tensor<4x3xf32> "
        "%1 = stablehlo.add %a, %0 : tensor<4x3xf32> return %1 : tensor<4x3xf32> } }";
    const std::string options("\x1a\x04\x20\x01\x28\x02", 6);  // one replica, two partitions
    loaded = compiled(program, options);
    executable = executable_of(loaded);
  }
  void TearDown() override {
    destroy(executable);
    destroy(loaded);
  }

  template <class Extension>
  static const Extension& extension(PJRT_Extension_Type type) {
    for (const PJRT_Extension_Base* at = api().extension_start; at; at = at->next)
      if (at->type == type) return *reinterpret_cast<const Extension*>(at);
    throw std::runtime_error("the plugin lacks the extension");
  }
  static const PJRT_Layouts_Extension& layouts() {
    return extension<PJRT_Layouts_Extension>(PJRT_Extension_Type_Layouts);
  }
  static std::string text(PJRT_Layouts_MemoryLayout* layout) {
    auto a = args<PJRT_Layouts_MemoryLayout_Serialize_Args>();
    a.layout = layout;
    expect_ok(layouts().PJRT_Layouts_MemoryLayout_Serialize(&a));
    std::string out(a.serialized_bytes, a.serialized_bytes_size);
    a.serialized_layout_deleter(a.serialized_layout);
    return out;
  }
  static std::string text_and_destroy(PJRT_Layouts_MemoryLayout* layout) {
    std::string out = text(layout);
    auto a = args<PJRT_Layouts_MemoryLayout_Destroy_Args>();
    a.layout = layout;
    expect_ok(layouts().PJRT_Layouts_MemoryLayout_Destroy(&a));
    return out;
  }
  // Returns the program as jaxlib reads it: its size, then the text.
  std::string program() const {
    PJRT_Program p{};
    p.struct_size = PJRT_Program_STRUCT_SIZE;
    auto a = args<PJRT_Executable_OptimizedProgram_Args>();
    a.executable = executable;
    a.program = &p;
    expect_ok(api().PJRT_Executable_OptimizedProgram(&a));
    std::string code(p.code_size, ' ');
    p.code = code.data();
    expect_ok(api().PJRT_Executable_OptimizedProgram(&a));
    EXPECT_EQ(std::string(p.format, p.format_size), "mlir");
    return code;
  }

  PJRT_LoadedExecutable* loaded = nullptr;
  PJRT_Executable* executable = nullptr;
};

// OpSharding: type OTHER (3) over tiles {2, 1} on devices {0, 1}; or REPLICATED (0).
TEST_F(Executables, SayHowTheyAreSharded) {
  const auto& shardings = extension<PJRT_Shardings_Extension>(PJRT_Extension_Type_Shardings);
  auto in = args<PJRT_Shardings_PJRT_Executable_ParameterShardings_Args>();
  in.executable = executable;
  expect_ok(shardings.PJRT_Shardings_PJRT_Executable_ParameterShardings(&in));
  ASSERT_EQ(in.num_parameters, 2U);
  const std::string halves("\x08\x03\x1a\x02\x02\x01\x22\x02\x00\x01", 10), whole("\x08\x00", 2);
  EXPECT_EQ(std::string(in.shardings[0], in.sharding_sizes[0]), halves);
  EXPECT_EQ(std::string(in.shardings[1], in.sharding_sizes[1]), whole);
  auto out = args<PJRT_Shardings_PJRT_Executable_OutputShardings_Args>();
  out.executable = executable;
  expect_ok(shardings.PJRT_Shardings_PJRT_Executable_OutputShardings(&out));
  ASSERT_EQ(out.num_outputs, 1U);
  EXPECT_EQ(std::string(out.shardings[0], out.sharding_sizes[0]), whole);
}

TEST_F(Executables, ArraysAreRowMajor) {
  auto in = args<PJRT_Layouts_PJRT_Executable_GetParameterLayouts_Args>();
  in.executable = executable;
  expect_ok(layouts().PJRT_Layouts_PJRT_Executable_GetParameterLayouts(&in));
  ASSERT_EQ(in.num_parameters, 2U);
  EXPECT_EQ(text(in.layouts[0]), "{1,0}");
  EXPECT_EQ(text(in.layouts[1]), "{}");
  auto out = args<PJRT_Layouts_PJRT_Executable_GetOutputLayouts_Args>();
  out.executable = executable;
  expect_ok(layouts().PJRT_Layouts_PJRT_Executable_GetOutputLayouts(&out));
  ASSERT_EQ(out.num_outputs, 1U);
  EXPECT_EQ(text(out.layouts[0]), "{1,0}");

  const std::array<int64_t, 3> dims{2, 3, 4};
  auto of_client = args<PJRT_Layouts_PJRT_Client_GetDefaultLayout_Args>();
  of_client.client = client;
  of_client.type = PJRT_Buffer_Type_F32;
  of_client.dims = dims.data();
  of_client.num_dims = dims.size();
  expect_ok(layouts().PJRT_Layouts_PJRT_Client_GetDefaultLayout(&of_client));
  EXPECT_EQ(text_and_destroy(of_client.layout), "{2,1,0}");
  auto of_topology = args<PJRT_Layouts_PJRT_Topology_GetDefaultLayout_Args>();
  of_topology.type = PJRT_Buffer_Type_F32;
  of_topology.dims = dims.data();
  of_topology.num_dims = 1;
  expect_ok(layouts().PJRT_Layouts_PJRT_Topology_GetDefaultLayout(&of_topology));
  EXPECT_EQ(text_and_destroy(of_topology.layout), "{0}");
  const std::array<float, 4> data{};
  const int64_t n = 4;
  auto put = host_args(client, memory, data.data(), n);
  put.host_buffer_semantics = PJRT_HostBufferSemantics_kImmutableOnlyDuringCall;
  expect_ok(api().PJRT_Client_BufferFromHostBuffer(&put));
  auto of_buffer = args<PJRT_Layouts_PJRT_Buffer_MemoryLayout_Args>();
  of_buffer.buffer = put.buffer;
  expect_ok(layouts().PJRT_Layouts_PJRT_Buffer_MemoryLayout(&of_buffer));
  EXPECT_EQ(text_and_destroy(of_buffer.layout), "{0}");
  destroy(put.buffer);
  destroy(put.done_with_host_buffer);
}

// The text is always that of the program for a device, the first time and also if several threads
// ask at once.
TEST_F(Executables, TheTextDoesNotDependOnWhoHasAsked) {
  std::vector<std::string> texts(4);
  std::vector<std::thread> threads;
  for (std::string& text : texts) threads.emplace_back([&] { text = program(); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(texts[0], HasSubstr("stablehlo.all_gather"));
  EXPECT_THAT(texts[0], HasSubstr("mhlo.spmd_parameters_shardings = "
                                  "[\"{devices=[2,1]0,1}\", \"{replicated}\"]"));
  EXPECT_THAT(texts, testing::Each(texts[0]));
  for (int i = 0; i < 20; ++i) EXPECT_EQ(program(), texts[0]);
}

}  // namespace
}  // namespace tessera::plugin_test::executable_test
