#include "tessera/io/safetensors.h"

#include <cstring>
#include <filesystem>

#include "files.h"
#include "tessera/base/visit_dtype.h"
#include "tessera/io/load.h"
#include "tessera/numpy/creation.h"

namespace tessera::safetensors_test {
namespace {

using test::bytes_of;
using test::error_of;
using test::write_bytes;
using ::testing::AllOf;
using ::testing::HasSubstr;

class SafetensorsTest : public test::FolderTest {};

// Returns 0 to 5, as in make_safetensors.py.
Literal six(DType dtype) {
  Literal out(dtype, {2, 3});
  visit_dtype(dtype, [&]<class T>(TypeTag<T>) {
    for (int k = 0; k < 6; ++k) {
      T& value = out.mutable_data<T>()[k];
      if constexpr (std::is_same_v<T, bool>) {
        value = k % 2 == 1;
      } else if constexpr (requires { value.real(); }) {
        value = T(static_cast<float>(k), static_cast<float>(k + 1));
      } else {
        value = T(static_cast<float>(k));
      }
    }
  });
  return out;
}

std::map<std::string, Literal> every_dtype() {
  std::map<std::string, Literal> out{{"empty", Literal(float32, {0, 4})},
                                     {"scalar", Literal::scalar(0.5f)}};
  for (int d = 0; d < kNumDTypes; ++d) {
    const auto dtype = static_cast<DType>(d);
    if (dtype != complex128) out.emplace(dtype_name(dtype), six(dtype));
  }
  return out;
}

TEST_F(SafetensorsTest, ReadsWhatTheReferencePackageWrites) {
  EXPECT_EQ(read_safetensors(std::filesystem::path(TESSERA_GOLDEN_DIR) / "array.safetensors"),
            every_dtype());
}

TEST_F(SafetensorsTest, RoundTrips) {
  write_safetensors(path("a"), every_dtype());
  EXPECT_EQ(read_safetensors(path("a")), every_dtype());
  write_safetensors(path("none"), {});
  EXPECT_TRUE(read_safetensors(path("none")).empty());
  EXPECT_EQ(bytes_of(path("none")), std::string("\x08\0\0\0\0\0\0\0{}      ", 16));
  save_safetensors(path("b"), {{"x", arange(3.0f)}});
  EXPECT_EQ(load_safetensors(path("b")).at("x").to_host(), arange(3.0f).to_host());
}

TEST_F(SafetensorsTest, AlignsEveryArray) {
  write_safetensors(path("a"), every_dtype());
  const internal::SafetensorsFile file("test", path("a"));
  for (const auto& [name, entry] : file.entries())
    EXPECT_EQ(entry.offset % static_cast<uint64_t>(itemsize(entry.dtype)), 0u) << name;
  uint64_t length = 0;
  std::memcpy(&length, bytes_of(path("a")).data(), 8);
  EXPECT_EQ(length % 8, 0u);
}

std::string file_of(std::string header, const std::string& data) {
  const uint64_t length = header.size();
  return std::string(reinterpret_cast<const char*>(&length), 8) + header + data;
}

TEST_F(SafetensorsTest, DamagedFilesAreErrors) {
  const auto error = [&](const std::string& bytes) {
    write_bytes(path("bad"), bytes);
    const std::string text = error_of(ErrorKind::kIo, [&] { read_safetensors(path("bad")); });
    EXPECT_THAT(text, AllOf(HasSubstr("[load_safetensors] expected "), HasSubstr(path("bad"))));
    return text;
  };
  write_safetensors(path("good"), {{"w", six(float32)}});
  const std::string good = bytes_of(path("good"));
  for (size_t n = 0; n < good.size(); ++n) error(good.substr(0, n));
  EXPECT_THAT(error(good + "x"), HasSubstr("25 bytes of data after a header that promises 24"));
  EXPECT_THAT(error(""), HasSubstr("0 bytes"));
  EXPECT_THAT(error(std::string(8, '\xff')), HasSubstr("a header of 18446744073709551615 bytes"));
  EXPECT_THAT(error(file_of("[1]", "")), HasSubstr("no JSON object"));
  EXPECT_THAT(error(file_of(R"({"w":3})", "")), HasSubstr("'w' without dtype"));
  const auto entry = [](const char* dtype, const char* shape, const char* offsets) {
    return fmt::format(R"({{"w":{{"dtype":{},"shape":{},"data_offsets":{}}}}})", dtype, shape,
                       offsets);
  };
  EXPECT_THAT(error(file_of(entry("\"F6_E2M3\"", "[4]", "[0,4]"), "1234")),
              AllOf(HasSubstr("F6_E2M3"), HasSubstr("'w'"), HasSubstr("convert it")));
  EXPECT_THAT(error(file_of(entry("7", "[4]", "[0,4]"), "1234")), HasSubstr("no name"));
  EXPECT_THAT(error(file_of(entry("\"U8\"", "[-4]", "[0,4]"), "1234")), HasSubstr("shape"));
  EXPECT_THAT(error(file_of(entry("\"U8\"", "[4294967296,4294967296]", "[0,0]"), "")),
              HasSubstr("shape"));
  EXPECT_THAT(error(file_of(entry("\"U8\"", "[4]", "[0]"), "1234")), HasSubstr("data_offsets"));
  EXPECT_THAT(error(file_of(entry("\"U8\"", "[3]", "[0,4]"), "1234")), HasSubstr("bytes 0 to 4"));
  EXPECT_THAT(error(file_of(entry("\"U8\"", "[3]", "[1,4]"), "1234")),
              HasSubstr("at byte 1 of the data where 0 was expected"));
}

TEST_F(SafetensorsTest, BytesThatAreNoBoolsAreRead) {
  write_bytes(path("b"),
              file_of(R"({"w":{"dtype":"BOOL","shape":[2],"data_offsets":[0,2]}})", {"\2\0", 2}));
  EXPECT_EQ(read_safetensors(path("b")).at("w"),
            Literal::from<bool>(std::initializer_list<bool>{true, false}, {2}));
}

TEST_F(SafetensorsTest, OtherErrors) {
  EXPECT_THAT(error_of(ErrorKind::kIo, [&] { read_safetensors(path("absent")); }),
              HasSubstr("No such file"));
  EXPECT_THAT(error_of(ErrorKind::kIo, [&] { read_safetensors(folder_); }),
              HasSubstr("plain file"));
  const auto write = [&](const std::string& name, const Literal& value) {
    write_safetensors(path("w"), {{name, value}});
  };
  EXPECT_THAT(error_of(ErrorKind::kType, [&] { write("w", six(complex128)); }),
              AllOf(HasSubstr("'w'"), HasSubstr("complex128")));
  EXPECT_THAT(error_of(ErrorKind::kValue, [&] { write("__metadata__", six(int8)); }),
              HasSubstr("__metadata__"));
  EXPECT_THAT(error_of(ErrorKind::kValue, [&] { write("\xff", six(int8)); }), HasSubstr("UTF-8"));
  EXPECT_FALSE(std::filesystem::exists(path("w")));
  EXPECT_THAT(error_of(ErrorKind::kIo,
                       [&] {
                         write_safetensors(path("no/w"), {{"w", six(int8)}});
                       }),
              HasSubstr("No such file"));
}

// A header that no reader accepts is refused before a file is made.
TEST_F(SafetensorsTest, HeadersHaveALimit) {
  std::vector<internal::SafetensorsEntry> entries;
  for (int i = 0; i < 100; ++i) entries.push_back({fmt::format("w{}", i), float32, {2}});
  const std::string header = internal::safetensors_header("save", entries);
  const uint64_t length = header.size() - 8;
  EXPECT_EQ(internal::safetensors_header("save", entries, length), header);
  EXPECT_THAT(
      error_of(ErrorKind::kValue,
               [&] { internal::safetensors_header("save", entries, length - 1); }),
      AllOf(HasSubstr(fmt::format("{} bytes of 100 arrays", length)), HasSubstr("several files")));
}

// The estimate by which a checkpoint splits its files is never below the size of the header.
TEST_F(SafetensorsTest, EntriesTakeAtMostTheBytesThatAreSaid) {
  const Shape long_shape{int64_t{1} << 40, int64_t{1} << 20, 1, 1, 1};
  for (const std::string& name :
       {std::string("w"), std::string(), std::string("\"\\\n\x01\x7f"), std::string("\xc3\xa9")}) {
    std::vector<internal::SafetensorsEntry> entries = {{name, bfloat16, long_shape}};
    EXPECT_LE(internal::safetensors_header("save", entries).size() - 8,
              internal::safetensors_entry_bytes(entries[0]));
  }
}

}  // namespace
}  // namespace tessera::safetensors_test
