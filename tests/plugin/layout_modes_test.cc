// Arguments and results that are not stored in row-major order.
#include <gmock/gmock.h>

#include <array>

#include "tests/plugin/plugin_test.h"

namespace tessera::plugin_test::layout_modes_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Returns a program of one argument and one result with these attributes.
std::string program(const std::string& argument, const std::string& result,
                    const std::string& body = "return %a : tensor<2x3xf32>",
                    const std::string& type = "tensor<2x3xf32>") {
  return "module @m { func.func public @main(%a: tensor<2x3xf32> {" + argument + "}) -> (" + type +
         " {" + result + "}) { " + body + " } }";
}

class LayoutModes : public Plugin {
 protected:
  static PJRT_LoadedExecutable* compiled(const std::string& program) {
    return Plugin::compiled(program, "");
  }
  static PJRT_Buffer_MemoryLayout layout(const std::vector<int64_t>& order) {
    PJRT_Buffer_MemoryLayout out{};
    out.struct_size = PJRT_Buffer_MemoryLayout_STRUCT_SIZE;
    out.type = PJRT_Buffer_MemoryLayout_Type_Tiled;
    out.tiled.struct_size = PJRT_Buffer_MemoryLayout_Tiled_STRUCT_SIZE;
    out.tiled.minor_to_major = order.data();
    out.tiled.minor_to_major_size = order.size();
    return out;
  }
  // Puts the rows 0 1 2 and 3 4 5 on the device in this order of dimensions.
  static Error put(PJRT_Buffer_MemoryLayout* device_layout, PJRT_Buffer** buffer) {
    static constexpr std::array<float, 6> kData{0, 1, 2, 3, 4, 5};
    static constexpr std::array<int64_t, 2> kDims{2, 3};
    auto a = args<PJRT_Client_BufferFromHostBuffer_Args>();
    a.client = client;
    a.data = kData.data();
    a.type = PJRT_Buffer_Type_F32;
    a.dims = kDims.data();
    a.num_dims = kDims.size();
    a.host_buffer_semantics = PJRT_HostBufferSemantics_kImmutableOnlyDuringCall;
    a.memory = memory;
    a.device_layout = device_layout;
    const Error error = taken(api().PJRT_Client_BufferFromHostBuffer(&a));
    if (a.done_with_host_buffer) destroy(a.done_with_host_buffer);
    *buffer = a.buffer;
    return error;
  }
  static PJRT_Buffer* put(const std::vector<int64_t>& order) {
    PJRT_Buffer* out = nullptr;
    PJRT_Buffer_MemoryLayout device = layout(order);
    EXPECT_EQ(put(&device, &out).message, "");
    return out;
  }
  static Error run(PJRT_LoadedExecutable* executable, PJRT_Buffer* argument, PJRT_Buffer** result) {
    auto options = args<PJRT_ExecuteOptions>();
    auto a = args<PJRT_LoadedExecutable_Execute_Args>();
    PJRT_Buffer* const* arguments[] = {&argument};
    PJRT_Buffer** results[] = {result};
    a.executable = executable;
    a.options = &options;
    a.argument_lists = arguments;
    a.num_devices = 1;
    a.num_args = 1;
    a.output_lists = results;
    return taken(api().PJRT_LoadedExecutable_Execute(&a));
  }
  static std::vector<int64_t> order_of(PJRT_Buffer* buffer) {
    auto a = args<PJRT_Buffer_GetMemoryLayout_Args>();
    a.buffer = buffer;
    expect_ok(api().PJRT_Buffer_GetMemoryLayout(&a));
    const auto& tiled = a.layout.tiled;
    return {tiled.minor_to_major, tiled.minor_to_major + tiled.minor_to_major_size};
  }
  // Returns the elements in the order in which the device stores them.
  static std::vector<float> raw(PJRT_Buffer* buffer) {
    std::vector<float> out(6);
    auto a = args<PJRT_Buffer_CopyRawToHost_Args>();
    a.buffer = buffer;
    a.dst = out.data();
    a.transfer_size = 6 * sizeof(float);
    expect_ok(api().PJRT_Buffer_CopyRawToHost(&a));
    destroy(a.event);
    return out;
  }
  static std::vector<float> rows(PJRT_Buffer* buffer) {
    std::vector<float> out(6);
    const std::vector<int64_t> row_major{1, 0};
    PJRT_Buffer_MemoryLayout host = layout(row_major);
    auto a = args<PJRT_Buffer_ToHostBuffer_Args>();
    a.src = buffer;
    a.host_layout = &host;
    a.dst = out.data();
    a.dst_size = 6 * sizeof(float);
    expect_ok(api().PJRT_Buffer_ToHostBuffer(&a));
    destroy(a.event);
    return out;
  }
};

TEST_F(LayoutModes, TransfersKeepTheOrderOnTheDevice) {
  PJRT_Buffer* buffer = put({0, 1});
  EXPECT_THAT(order_of(buffer), ElementsAre(0, 1));
  EXPECT_THAT(raw(buffer), ElementsAre(0, 3, 1, 4, 2, 5));
  EXPECT_THAT(rows(buffer), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_EQ(read(buffer, 6), raw(buffer)) << "without a layout the host gets that of the device";
  auto copy = args<PJRT_Buffer_CopyToMemory_Args>();
  copy.buffer = buffer;
  copy.dst_memory = memory;
  expect_ok(api().PJRT_Buffer_CopyToMemory(&copy));
  EXPECT_THAT(order_of(copy.dst_buffer), ElementsAre(0, 1));
  destroy(copy.dst_buffer);
  destroy(buffer);
}

TEST_F(LayoutModes, ProgramsTakeAndReturnTheOrdersThatTheyName) {
  PJRT_LoadedExecutable* executable =
      compiled(program("mhlo.layout_mode = \"{0,1}\"", "mhlo.layout_mode = \"default\"",
                       "%0 = stablehlo.add %a, %a : tensor<2x3xf32> return %0 : tensor<2x3xf32>"));
  PJRT_Buffer *columns = put({0, 1}), *result = nullptr;
  EXPECT_EQ(run(executable, columns, &result).message, "");
  EXPECT_THAT(order_of(result), ElementsAre(1, 0));
  EXPECT_THAT(raw(result), ElementsAre(0, 2, 4, 6, 8, 10));
  destroy(result);
  destroy(executable);

  executable = compiled(program("mhlo.layout_mode = \"default\"", "mhlo.layout_mode = \"{0,1}\""));
  PJRT_Buffer* by_rows = put({1, 0});
  EXPECT_EQ(run(executable, by_rows, &result).message, "");
  EXPECT_THAT(order_of(result), ElementsAre(0, 1));
  EXPECT_THAT(raw(result), ElementsAre(0, 3, 1, 4, 2, 5));
  EXPECT_THAT(rows(result), ElementsAre(0, 1, 2, 3, 4, 5));
  destroy(result);

  EXPECT_THAT(run(executable, columns, &result).message,
              HasSubstr("[execute] expected argument 0 on a device to have its dimensions in the "
                        "order {1,0} in memory, got {0,1}"));
  destroy(by_rows);
  destroy(columns);
  destroy(executable);
}

TEST_F(LayoutModes, AutoIsTheOrderInWhichATransposeMovesNothing) {
  const std::string transpose =
      "%0 = stablehlo.transpose %a, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32> "
      "return %0 : tensor<3x2xf32>";
  for (const bool columns : {false, true}) {
    PJRT_LoadedExecutable* executable =
        compiled(program(columns ? "mhlo.layout_mode = \"{0,1}\"" : "mhlo.layout_mode = \"auto\"",
                         "mhlo.layout_mode = \"auto\"", transpose, "tensor<3x2xf32>"));
    PJRT_Buffer *argument = put(columns ? std::vector<int64_t>{0, 1} : std::vector<int64_t>{1, 0}),
                *result = nullptr;
    EXPECT_EQ(run(executable, argument, &result).message, "");
    EXPECT_EQ(raw(result), raw(argument));
    EXPECT_THAT(rows(result), ElementsAre(0, 3, 1, 4, 2, 5));
    for (PJRT_Buffer* buffer : {argument, result}) destroy(buffer);
    destroy(executable);
  }
}

TEST_F(LayoutModes, TextThatIsNoOrderIsRefused) {
  for (const char* mode : {"{1}", "{0,0}", "{1,0,}", "{1;0}", "1,0", "{2,1}", "{1,0:T(8,128)}"})
    for (const bool argument : {true, false}) {
      const std::string bad = "mhlo.layout_mode = \"" + std::string(mode) + "\"";
      const std::string error = compile(argument ? program(bad, "") : program("", bad), "").message;
      EXPECT_THAT(error, HasSubstr("[layout] expected an order of the 2 dimensions of " +
                                   std::string(argument ? "argument" : "result") + " 0, got '" +
                                   mode + "'; pass a Layout"));
    }
  EXPECT_THAT(compile(program("mhlo.layout_mode = 3 : i32", ""), "").message,
              HasSubstr("expected mhlo.layout_mode to be a string"));
}

TEST_F(LayoutModes, LayoutsOfTransfersThatAreNoOrderAreRefused) {
  PJRT_Buffer* buffer = nullptr;
  const std::vector<int64_t> twice{0, 0};
  PJRT_Buffer_MemoryLayout bad = layout(twice);
  EXPECT_THAT(put(&bad, &buffer).message,
              HasSubstr("[transfer] expected a layout that names each of 2 dimensions once, got "
                        "{0,0}; leave the layout out"));
  bad.type = PJRT_Buffer_MemoryLayout_Type_Strides;
  EXPECT_THAT(put(&bad, &buffer).message,
              HasSubstr("[transfer] expected a layout that is an order of dimensions on the "
                        "device, got strides or tiles"));
  // An array that is sent in pieces must be in row-major order on the device.
  const std::array<int64_t, 2> dims{2, 3};
  PJRT_ShapeSpec spec{};
  spec.struct_size = PJRT_ShapeSpec_STRUCT_SIZE;
  spec.dims = dims.data();
  spec.num_dims = dims.size();
  spec.element_type = PJRT_Buffer_Type_F32;
  const std::vector<int64_t> columns{0, 1};
  PJRT_Buffer_MemoryLayout by_columns = layout(columns);
  PJRT_Buffer_MemoryLayout* layouts[] = {&by_columns};
  auto a = args<PJRT_Client_CreateBuffersForAsyncHostToDevice_Args>();
  a.client = client;
  a.shape_specs = &spec;
  a.num_shape_specs = 1;
  a.device_layouts = layouts;
  a.num_device_layouts = 1;
  a.memory = memory;
  EXPECT_THAT(taken(api().PJRT_Client_CreateBuffersForAsyncHostToDevice(&a)).message,
              HasSubstr("[transfer] expected a row-major layout for data that comes in pieces"));
}

}  // namespace
}  // namespace tessera::plugin_test::layout_modes_test
