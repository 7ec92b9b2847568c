#include "tessera/io/npz.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zip.h>

#include <algorithm>
#include <complex>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <numeric>

#include "files.h"
#include "tessera/io/npy.h"
#include "tests/golden/golden.h"

namespace tessera::npz_test {
namespace {

namespace fs = std::filesystem;
using test::bytes_of;
using ::testing::AllOf;
using ::testing::HasSubstr;

class NpzTest : public test::FolderTest {
 protected:
  fs::path write(const std::string& name, const std::string& bytes) const {
    test::write_bytes(path(name), bytes);
    return path(name);
  }
  int64_t files() const { return std::distance(fs::directory_iterator(folder_), {}); }
};

// Returns the text of the kIo error that `f` throws.
template <class F>
std::string io_error_of(F&& f) {
  return test::error_of(ErrorKind::kIo, f);
}

std::string npy(const std::string& descr, const std::string& order, const std::string& shape,
                const std::string& payload) {
  std::string header =
      fmt::format("{{'descr': {}, 'fortran_order': {}, 'shape': {}, }}", descr, order, shape);
  header.append((64 - (11 + header.size()) % 64) % 64, ' ');
  header += '\n';
  return std::string("\x93NUMPY\1\0", 8) + static_cast<char>(header.size()) +
         static_cast<char>(header.size() >> 8) + header + payload;
}

struct Entry {
  std::string name, bytes;
};
// Returns a zip file that may be wrong: `sizes` replaces the recorded size of each member, and with
// `shared` all entries refer to the bytes of the first one.
std::string zip(const std::vector<Entry>& entries, const std::vector<uint32_t>& sizes = {},
                bool shared = false) {
  std::string out, directory;
  const auto put = [](std::string& to, auto value) {
    to.append(reinterpret_cast<const char*>(&value), sizeof value);
  };
  for (size_t i = 0; i < entries.size(); ++i) {
    const auto& [name, bytes] = entries[i];
    uint32_t crc = 0xffffffff;
    for (unsigned char c : bytes) {
      crc ^= c;
      for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
    }
    const uint32_t offset = shared ? 0 : static_cast<uint32_t>(out.size()),
                   size = static_cast<uint32_t>(bytes.size());
    std::string common;
    for (uint16_t v : {20, 0, 0, 0, 0x21}) put(common, v);  // version, flags, stored, time, date
    put(common, ~crc);
    put(common, size);
    put(common, i < sizes.size() ? sizes[i] : size);
    put(common, static_cast<uint16_t>(name.size()));
    put(common, uint16_t{0});
    if (!shared || i == 0) out += "PK\3\4" + common + name + bytes;
    directory += std::string("PK\1\2\x14\0", 6) + common + std::string(10, '\0');
    put(directory, offset);
    directory += name;
  }
  const uint32_t start = static_cast<uint32_t>(out.size());
  out += directory + std::string("PK\5\6\0\0\0\0", 8);
  for (int i = 0; i < 2; ++i) put(out, static_cast<uint16_t>(entries.size()));
  put(out, static_cast<uint32_t>(directory.size()));
  put(out, start);
  return out + std::string(2, '\0');
}

std::map<std::string, Literal> read_bytes(const std::string& bytes) {
  return read_npz(std::as_bytes(std::span(bytes)), "memory.npz");
}

Literal counting(DType dtype, const Shape& shape) {
  Literal out(dtype, shape);
  std::byte* data = out.mutable_raw();
  for (int64_t i = 0; i < out.bytes(); ++i)
    data[i] = static_cast<std::byte>(dtype == bool_ ? i % 2 : i * 7 + 1);
  return out;
}

std::map<std::string, Literal> one_of_each() {
  std::map<std::string, Literal> out;
  for (int d = 0; d < kNumDTypes; ++d)
    for (const Shape& shape : {Shape{}, Shape{5}, Shape{2, 3}, Shape{0, 4}, Shape{2, 1, 3, 2}}) {
      const DType dtype = static_cast<DType>(d);
      out.emplace(fmt::format("{}{}", dtype, shape), counting(dtype, shape));
    }
  return out;
}

// ---- Reading written files
// ----------------------------------------------------------------------------------------

TEST_F(NpzTest, EveryDTypeAndShapeReturns) {
  const auto arrays = one_of_each();
  write_npz(path("all.npz"), arrays);
  EXPECT_EQ(read_npz(path("all.npz")), arrays);
  EXPECT_EQ(read_bytes(bytes_of(path("all.npz"))), arrays);
  for (const auto& [name, value] : arrays) {
    write_npy(path("one.npy"), value);
    EXPECT_EQ(read_npy(path("one.npy")), value) << name;
  }
  EXPECT_EQ(files(), 2);  // no temporary file is left
}

TEST_F(NpzTest, NarrowDTypesAreTheirBits) {
  Literal narrow(float8_e5m2, {2});
  narrow.mutable_raw()[0] = std::byte{0x3c};
  write_npy(path("narrow.npy"), narrow);
  const Literal back = read_npy(path("narrow.npy"));
  EXPECT_EQ(back.dtype(), uint8);
  EXPECT_EQ(back.data<uint8_t>()[0], 0x3c);
}

TEST_F(NpzTest, NamesMayBeAnyText) {
  std::map<std::string, Literal> arrays;
  for (const char* name : {"w", "layer/0/weights", "été", "a b", "", "x.y"})
    arrays.emplace(name, Literal::scalar(1.0f));
  write_npz(path("names.npz"), arrays);
  EXPECT_EQ(read_npz(path("names.npz")), arrays);
}

TEST_F(NpzTest, NoArrays) {
  write_npz(path("none.npz"), {});
  EXPECT_TRUE(read_npz(path("none.npz")).empty());
}

TEST_F(NpzTest, SameArraysMakeTheSameBytes) {
  write_npz(path("a.npz"), one_of_each());
  write_npz(path("b.npz"), one_of_each());
  EXPECT_EQ(bytes_of(path("a.npz")), bytes_of(path("b.npz")));
}

TEST_F(NpzTest, ReplacesAFile) {
  write_npz(path("a.npz"), one_of_each());
  write_npz(path("a.npz"), {{"w", Literal::scalar(2.0f)}});
  EXPECT_EQ(read_npz(path("a.npz")).size(), 1u);
  EXPECT_EQ(files(), 1);
}

// ---- NumPy's own files
// ----------------------------------------------------------------------------------------------

TEST_F(NpzTest, WritesTheBytesOfNumpySave) {
  const float data[] = {0, 1, 2, 3, 4, 5};
  write_npy(path("w.npy"), Literal::from<float>(data, {2, 3}));
  std::string expected = std::string("\x93NUMPY\1\0v\0", 10) +
                         "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";
  expected.append(127 - expected.size(), ' ');
  expected += '\n' + std::string(reinterpret_cast<const char*>(data), sizeof data);
  EXPECT_EQ(bytes_of(path("w.npy")), expected);
}

TEST_F(NpzTest, ReadsNumpySavez) {
  const golden::Topic topic("printing");
  const auto arrays = read_npz(fs::path(TESSERA_GOLDEN_DIR) / "printing.npz");
  int compared = 0;
  for (const golden::Json& c : topic["cases"]) {
    const Literal expected = topic.array(c["value"]);
    if (expected.dtype() == bfloat16) continue;  // stored there as uint16
    EXPECT_EQ(arrays.at(c["value"]["key"]), expected) << c["name"];
    ++compared;
  }
  EXPECT_GE(compared, 200);
}

TEST_F(NpzTest, ReadsNumpySavezCompressed) {
  // numpy.savez_compressed(file, w=numpy.arange(4, dtype=numpy.float32))
  const std::string hex =
      "504b03042d000000080000002100523313fbffffffffffffffff05001400772e6e707901001000900000000000"
      "00004e000000000000009bec17ea1b10c9c850c650ad9e925a9c5ca46ea5a06e9366a2aea3a09e965f54529498"
      "179f5f94920a12774bcc294e058a17672416a402f91a263a9a3a0ab50a14002e063068b007120e40e40000504b"
      "01022d032d000000080000002100523313fb4e0000009000000005000000000000000000000080010000000077"
      "2e6e7079504b0506000000000100010033000000850000000000";
  std::string bytes;
  for (size_t i = 0; i < hex.size(); i += 2)
    bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  const float expected[] = {0, 1, 2, 3};
  EXPECT_EQ(read_bytes(bytes),
            (std::map<std::string, Literal>{{"w", Literal::from<float>(expected, {4})}}));

  // The recorded size of this member is larger than deflate can produce: it is refused before
  // memory is allocated.
  const uint32_t size = 0xf0000000;
  const size_t directory = bytes.find("PK\1\2");
  std::memcpy(bytes.data() + directory + 24, &size, sizeof size);
  EXPECT_THAT(io_error_of([&] { read_bytes(bytes); }),
              HasSubstr("78 bytes that unpack to 4026531840"));
}

TEST_F(NpzTest, FortranOrderAndBigEndian) {
  // numpy.asfortranarray(numpy.arange(6, dtype='>i2').reshape(2, 3))
  const std::string payload("\0\0\0\3\0\1\0\4\0\2\0\5", 12);
  const int16_t expected[] = {0, 1, 2, 3, 4, 5};
  EXPECT_EQ(read_npy(write("f.npy", npy("'>i2'", "True", "(2, 3)", payload))),
            Literal::from<int16_t>(expected, {2, 3}));

  // The bytes of each half of a complex number are reversed separately.
  const std::string complex("\x3f\x80\0\0\x40\0\0\0", 8);
  EXPECT_EQ(read_npy(write("c.npy", npy("'>c8'", "False", "()", complex))),
            Literal::scalar(std::complex<float>(1, 2)));

  // Element (i, j, k) of a Fortran-ordered (2, 3, 4) array is at i + 2 j + 6 k.
  std::string cube(24, '\0');
  std::iota(cube.begin(), cube.end(), '\0');
  const Literal read = read_npy(write("3.npy", npy("'|i1'", "True", "(2, 3, 4)", cube)));
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 3; ++j)
      for (int k = 0; k < 4; ++k)
        EXPECT_EQ(read.data<int8_t>()[(i * 3 + j) * 4 + k], i + 2 * j + 6 * k);
}

TEST_F(NpzTest, BfloatIsTwoRawBytes) {
  const std::string two("\x80\x3f", 2);
  EXPECT_EQ(read_npy(write("b.npy", npy("'<V2'", "False", "()", two))),
            Literal::scalar(Bfloat16(1.0f)));
  EXPECT_EQ(read_npy(write("b.npy", npy("'|V2'", "False", "()", two))),
            Literal::scalar(Bfloat16(1.0f)));
  write_npy(path("w.npy"), Literal::scalar(Bfloat16(1.0f)));
  EXPECT_THAT(bytes_of(path("w.npy")), HasSubstr("'descr': '<V2'"));
}

TEST_F(NpzTest, AnyNonzeroByteIsTrue) {
  const bool expected[] = {false, true, true};
  EXPECT_EQ(read_npy(write("b.npy", npy("'|b1'", "False", "(3,)", std::string("\0\1\xff", 3)))),
            Literal::from<bool>(expected, {3}));
}

TEST_F(NpzTest, OtherVersionsAndSpellings) {
  const std::string text = "{\"shape\": (2L,),\"descr\":\"=u1\", 'fortran_order' : False}\n";
  for (char version : {'\2', '\3'}) {
    const std::string file = "\x93NUMPY" + std::string(1, version) + '\0' +
                             static_cast<char>(text.size()) + std::string(3, '\0') + text + "\5\6";
    const uint8_t expected[] = {5, 6};
    EXPECT_EQ(read_npy(write("v.npy", file)), Literal::from<uint8_t>(expected, {2}));
  }
}

// ---- Damaged and foreign files
// --------------------------------------------------------------------------------------

TEST_F(NpzTest, ForeignElementsAreNamed) {
  const auto error = [&](const std::string& descr) {
    return io_error_of(
        [&] { read_npy(write("x.npy", npy(descr, "False", "(1,)", std::string(64, '\0')))); });
  };
  EXPECT_THAT(error("'|O'"), AllOf(HasSubstr("x.npy'"), HasSubstr("got Python objects"),
                                   HasSubstr("dtype=numpy.float32")));
  EXPECT_THAT(error("'<U3'"), AllOf(HasSubstr("type '<U3'"), HasSubstr("astype")));
  EXPECT_THAT(error("'<M8[s]'"), HasSubstr("type '<M8[s]'"));
  EXPECT_THAT(error("'<f16'"), HasSubstr("type '<f16'"));
  EXPECT_THAT(error("'|V3'"), HasSubstr("type '|V3'"));
  EXPECT_THAT(error("[('a', '<f4')]"),
              AllOf(HasSubstr("a structured array"), HasSubstr("each field")));
}

TEST_F(NpzTest, DamagedHeaders) {
  const auto error = [&](const std::string& bytes) {
    return io_error_of([&] { read_npy(write("x.npy", bytes)); });
  };
  EXPECT_THAT(error(""), HasSubstr("got 0 bytes"));
  EXPECT_THAT(error("hello, this is no array"), HasSubstr("does not start with its magic bytes"));
  EXPECT_THAT(error(std::string("\x93NUMPY\7\0v\0", 10)), HasSubstr("version 7"));
  EXPECT_THAT(error(std::string("\x93NUMPY\1\0v\0{}", 12)),
              HasSubstr("a header of 118 bytes in a file of 12"));
  EXPECT_THAT(error(std::string("\x93NUMPY\2\0\xff\xff\xff\xff", 12)),
              HasSubstr("a header of 4294967295 bytes"));
  EXPECT_THAT(error(npy("'<f4'", "Maybe", "()", "1234")),
              HasSubstr("not understood at character 34"));
  EXPECT_THAT(error(npy("'<f4'", "False", "(-1,)", "")), HasSubstr("not understood"));
  EXPECT_THAT(error(npy("'<f4'", "False", "(99999999999999999999,)", "")),
              HasSubstr("not understood"));
  EXPECT_THAT(error(npy("'<f4'", "False", "(1,), 'x': 1", "")), HasSubstr("unexpected 'x'"));
  EXPECT_THAT(error(npy("'<f4'", "False", "(1,), 'shape': (1,)", "")),
              HasSubstr("unexpected 'shape'"));
  std::string deep = "(";
  for (int i = 0; i < 70; ++i) deep += "1,";
  EXPECT_THAT(error(npy("'<f4'", "False", deep + ")", "1234")),
              HasSubstr("more than 64 dimensions"));
  EXPECT_THAT(error(std::string("\x93NUMPY\1\0\3\0{}\n", 13)), HasSubstr("without 'descr'"));
}

TEST_F(NpzTest, SizesThatDoNotMatchTakeNoMemory) {
  const auto error = [&](const std::string& shape, const std::string& payload) {
    return io_error_of([&] { read_npy(write("x.npy", npy("'<f4'", "False", shape, payload))); });
  };
  EXPECT_THAT(error("(3,)", "12345678"),
              HasSubstr("8 bytes after a header that promises float32 of shape (3,)"));
  EXPECT_THAT(error("(1,)", "12345678"), HasSubstr("8 bytes after"));
  EXPECT_THAT(error("(1000000000000,)", "1234"), HasSubstr("(1000000000000,)"));
  EXPECT_THAT(error("(4294967296, 4294967296)", ""), HasSubstr("0 bytes after"));  // 2^64 elements
  EXPECT_THAT(error("(0, 4294967296, 4294967296, 4294967296)", ""),
              HasSubstr("0 bytes after"));  // strides overflow
}

TEST_F(NpzTest, DamagedArchives) {
  const std::string good = npy("'<f4'", "False", "(1,)", "1234");
  EXPECT_EQ(read_bytes(zip({{"w.npy", good}})).size(),
            1u);  // only the damage itself causes the following errors
  const auto error = [&](const std::string& bytes) {
    return io_error_of([&] { read_bytes(bytes); });
  };
  EXPECT_THAT(error(""),
              AllOf(HasSubstr("'memory.npz'"), HasSubstr("0 bytes"), HasSubstr("numpy.savez")));
  EXPECT_THAT(error(good), HasSubstr("cut off, or of another format"));
  EXPECT_THAT(error(zip({{"w.npy", good}, {"w.npy", good}})), HasSubstr("two arrays named 'w'"));
  EXPECT_THAT(error(zip({{"w.npy", good}, {"w", good}})), HasSubstr("two arrays named 'w'"));
  EXPECT_THAT(error(zip({{"readme.txt", "some text here"}})),
              AllOf(HasSubstr("array 'readme.txt'"), HasSubstr("magic bytes")));
  EXPECT_THAT(error(zip({{"w.npy", good.substr(0, good.size() - 1)}})),
              HasSubstr("3 bytes after a header"));
  EXPECT_THAT(error(zip({{"w.npy", good}}, {4000000000})),
              HasSubstr("132 bytes that unpack to 4000000000"));
  std::string flipped = zip({{"w.npy", good}});
  flipped[flipped.find("1234")] ^= 1;
  EXPECT_THAT(error(flipped), AllOf(HasSubstr("array 'w'"), HasSubstr("CRC error")));
}

// All members refer to the same packed bytes. Each size is possible for deflate, but not all
// together.
TEST_F(NpzTest, OverlappingMembers) {
  const std::string good = npy("'<f4'", "False", "(1,)", "1234");
  std::vector<Entry> entries;
  for (char c = 'a'; c < 'i'; ++c) entries.push_back({std::string(1, c) + ".npy", good});
  EXPECT_EQ(read_bytes(zip(entries)).size(), entries.size());
  EXPECT_THAT(io_error_of([&] { read_bytes(zip(entries, {}, true)); }),
              AllOf(HasSubstr("longer than its"), HasSubstr("memory.npz")));
}

// Every prefix of a good file, and every change of a byte, must yield the same arrays or a
// UserError.
TEST_F(NpzTest, NoDamageCrashes) {
  write_npz(path("a.npz"), {{"w", counting(float32, {3})}, {"v", counting(int8, {2, 2})}});
  const std::string good = bytes_of(path("a.npz"));
  const auto expected = read_bytes(good);
  int refused = 0, unharmed = 0;
  size_t damaged = 0;
  const auto attempt = [&](const std::string& bytes) {
    try {
      const auto arrays = read_bytes(bytes);
      // Everything except names is covered by a checksum.
      ASSERT_EQ(arrays.size(), expected.size()) << "changed byte " << damaged;
      for (const Literal& value : {expected.at("w"), expected.at("v")})
        ASSERT_TRUE(std::any_of(arrays.begin(), arrays.end(),
                                [&](const auto& a) { return a.second == value; }));
      ++unharmed;
    } catch (const UserError& error) {
      ASSERT_EQ(error.kind(), ErrorKind::kIo);
      ++refused;
    }
  };
  for (size_t size = 0; size < good.size(); ++size) attempt(good.substr(0, size));
  EXPECT_EQ(unharmed, 0);
  for (size_t& i = damaged; i < good.size(); ++i)
    for (int bit = 0; bit < 8; ++bit) {
      std::string bytes = good;
      bytes[i] = static_cast<char>(bytes[i] ^ 1 << bit);
      attempt(bytes);
    }
  EXPECT_GT(refused, 2000);
  EXPECT_GT(unharmed, 0);  // changes of dates and similar fields
}

// ---- The surroundings
// -----------------------------------------------------------------------------------------------

TEST_F(NpzTest, FilesThatCannotBeRead) {
  EXPECT_THAT(io_error_of([&] { read_npz(path("none.npz")); }),
              AllOf(HasSubstr("[load_npz]"), HasSubstr("none.npz"), HasSubstr("check the path")));
  EXPECT_THAT(io_error_of([&] { read_npy(path("none.npy")); }),
              AllOf(HasSubstr("[load_npy]"), HasSubstr("none.npy"), HasSubstr("check the path")));
  EXPECT_THAT(io_error_of([&] { read_npz(folder_); }), HasSubstr(folder_.string()));
  EXPECT_THAT(io_error_of([&] { read_npy(folder_); }), HasSubstr("a plain file"));
}

TEST_F(NpzTest, AFailedWriteLeavesTheOldFile) {
  const std::map<std::string, Literal> old = {{"w", Literal::scalar(1.0f)}};
  const std::map<std::string, Literal> bad = {{"w", Literal::scalar(2.0f)},
                                              {std::string("a\0b", 3), Literal()}};
  write_npz(path("w.npz"), old);
  EXPECT_THAT(io_error_of([&] { write_npz(path("w.npz"), bad); }), HasSubstr("without zero bytes"));
  EXPECT_THAT(io_error_of([&] {
                write_npz(path("w.npz"), {{"\xff\xfe", Literal()}});
              }),
              HasSubstr("[save_npz]"));
  EXPECT_EQ(read_npz(path("w.npz")), old);
  EXPECT_EQ(files(), 1);
}

TEST_F(NpzTest, PlacesThatCannotBeWritten) {
  const Literal value = Literal::scalar(1.0f);
  fs::create_directory(path("folder"));
  for (const fs::path& place : {path("missing/x"), path("folder")}) {
    EXPECT_THAT(io_error_of([&] { write_npy(place, value); }),
                AllOf(HasSubstr("[save_npy]"), HasSubstr(place.string())));
    EXPECT_THAT(io_error_of([&] {
                  write_npz(place, {{"w", value}});
                }),
                AllOf(HasSubstr("[save_npz]"), HasSubstr(place.string())));
    EXPECT_THAT(io_error_of([&] { write_npz(place, {}); }), HasSubstr("[save_npz]"));
  }
  EXPECT_EQ(files(), 1);  // only the folder: no temporary file is left
}

// libzip counts unpacked bytes in 32 bits, so an array of 4 GiB must be read in parts.
TEST_F(NpzTest, LargeArraysAreReadInParts) {
  constexpr size_t kBytes = (size_t{1} << 24) + 3;
  const std::string file = npy("'|u1'", "False", fmt::format("({},)", kBytes), "");
  size_t at = 0, most = 0;
  const auto read = [&](void* buffer, size_t n) {
    most = std::max(most, n);
    if (at < file.size()) {
      n = std::min(n, file.size() - at);
      std::memcpy(buffer, file.data() + at, n);
    }
    at += n;
    return n;
  };
  const Literal out = internal::read_npy({"load_npz", "'w'", file.size() + kBytes, read});
  EXPECT_EQ(out.shape(), Shape({static_cast<int64_t>(kBytes)}));
  EXPECT_EQ(at, file.size() + kBytes);
  EXPECT_LE(most, size_t{1} << 24);
}

TEST_F(NpzTest, PipesAreNotWaitedFor) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_THAT(io_error_of([&] { read_npz(path("pipe")); }), HasSubstr("a plain file, got a dev"));
  EXPECT_THAT(io_error_of([&] { read_npy(path("pipe")); }), HasSubstr("a plain file, got a dev"));
}

}  // namespace
}  // namespace tessera::npz_test
