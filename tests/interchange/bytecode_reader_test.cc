#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <set>

#include "tessera/interchange/bytecode/blob.h"
#include "tessera/interchange/bytecode/reader.h"
#include "tessera/interchange/bytecode/writer.h"
#include "tessera/interchange/text/printer.h"
#include "tessera/ir/verifier.h"
#include "tests/golden/golden.h"

namespace tessera::bytecode_reader_test {

using namespace interchange;

namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string error_of(std::string_view bytes) {
  try {
    read_module(bytes, "file");
  } catch (const UserError& e) {
    EXPECT_EQ(e.kind(), ErrorKind::kParse) << e.what();
    return e.what();
  }
  return "no error";
}

class BytecodeReader : public testing::Test {
 protected:
  std::string bytes(const golden::Json& place) const {
    return packed_.substr(place["begin"],
                          place["end"].get<size_t>() - place["begin"].get<size_t>());
  }
  // Returns the name of the file of this kind for this program.
  std::string file(const std::string& program, const std::string& kind) const {
    for (const golden::Json& p : topic_["programs"])
      for (const golden::Json& f : p["files"])
        if (p["name"] == program && f["kind"] == kind) return bytes(f);
    ADD_FAILURE() << "no file " << program << " " << kind;
    return {};
  }

  golden::Topic topic_{"bytecode"};
  std::string packed_ = golden::read_file("bytecode.bin");
};

TEST_F(BytecodeReader, GivesWhatTheTextGives) {
  int count = 0;
  for (const golden::Json& p : topic_["programs"]) {
    const ParsedModule text =
        parse_module(p["text"].get<std::string>(), p["name"].get<std::string>());
    for (const golden::Json& f : p["files"]) {
      SCOPED_TRACE(p["name"].get<std::string>() + " " + f["kind"].get<std::string>());
      const ParsedModule module = read_module(bytes(f), "file");
      verify(module.main);
      EXPECT_EQ(to_mlir(module.main), to_mlir(text.main));
      EXPECT_TRUE(module.main == text.main);
      EXPECT_EQ(module.name, text.name);
      EXPECT_EQ(module.input_shardings, text.input_shardings);
      EXPECT_EQ(module.output_shardings, text.output_shardings);
      EXPECT_EQ(module.meshes, text.meshes);
      ++count;
    }
  }
  EXPECT_GE(count, 120);
}

// Axes of a mesh, devices in no group, priorities, tuples, scans.
TEST(BytecodeForms, GiveWhatTheTextGives) {
  const golden::Topic topic("bytecode_forms");
  int count = 0;
  for (const golden::Json& p : topic["programs"]) {
    const ParsedModule text =
        parse_module(p["text"].get<std::string>(), p["name"].get<std::string>());
    for (const auto& [kind, hex] : p["files"].items()) {
      SCOPED_TRACE(p["name"].get<std::string>() + " " + kind);
      const std::string bytes = golden::bytes_of_hex(hex);
      const ParsedModule module = read_module(bytes, "file");
      verify(module.main);
      EXPECT_EQ(to_mlir(module.main), to_mlir(text.main));
      EXPECT_EQ(module.input_shardings, text.input_shardings);
      EXPECT_EQ(module.input_names.size(), text.input_names.size());
      for (size_t at = 4; at < bytes.size(); at += 3) {  // damaged: a program or an error
        std::string damaged = bytes;
        damaged[at] = static_cast<char>(damaged[at] ^ 0x22);
        try {
          verify(read_module(damaged, "file").main);
        } catch (const UserError& e) {
          EXPECT_EQ(e.kind(), ErrorKind::kParse) << e.what();
        }
      }
      ++count;
    }
  }
  EXPECT_EQ(count, 11);
}

// Bytecode of jaxlib 0.12.0.1: it has later versions of ops, and groups as axes of a mesh.
TEST(Vhlo122, GivesWhatTheTextGives) {
  const golden::Topic topic("vhlo_1_22");
  EXPECT_EQ(topic["jaxlib"], "0.12.0.1");
  std::set<std::string> names;
  for (const golden::Json& p : topic["programs"]) {
    const std::string name = p["name"];
    SCOPED_TRACE(name);
    const ParsedModule text = parse_module(p["text"].get<std::string>(), name);
    const ParsedModule module = read_module(golden::bytes_of_hex(p["files"]["1.22.0"]), "file");
    verify(module.main);
    EXPECT_EQ(to_mlir(module.main), to_mlir(text.main));
    EXPECT_EQ(module.input_shardings, text.input_shardings);
    names.insert(name);
  }
  EXPECT_THAT(names, ::testing::ElementsAre("axes_all_reduce", "broadcast", "broadcast_from_root",
                                            "custom_call", "reduce", "reduce_to_root"));
}

// Sizes of segments are numbers among the properties: 1, 1 for operands and 1, 1 for results.
TEST(BytecodeForms, WrongSizesOfSegmentsAreErrors) {
  const golden::Topic topic("bytecode_forms");
  for (const golden::Json& p : topic["programs"]) {
    if (p["name"] != "scans") continue;
    const std::string bytes = golden::bytes_of_hex(p["files"]["native"]);
    const size_t at = bytes.find("\x09\x03\x03\x09\x03\x03");
    ASSERT_NE(at, std::string::npos);
    for (const auto& [wrong, message] :
         {std::pair{"\x0d\x03\x03", "expected the sizes of two segments"},
          {"\x07\x05\x03", "expected one bit to say which segment it is"},
          {"\x09\x03\x05", "expected 'operandSegmentSizes' to be two numbers whose sum is 2"}}) {
      std::string damaged = bytes;
      damaged.replace(at, 3, wrong);
      EXPECT_THAT(error_of(damaged), HasSubstr(message));
    }
    return;
  }
  FAIL() << "expected a program of scans";
}

TEST_F(BytecodeReader, ReadsArtifactsOfGoldenTexts) {
  for (const golden::Json& p : topic_["golden"]) {
    const std::string name = p["text"];
    SCOPED_TRACE(name);
    const Function text = parse_mlir(golden::read_file("stablehlo/" + name), name);
    EXPECT_EQ(to_mlir(read_bytecode(bytes(p), name).main), to_mlir(text));
  }
  EXPECT_GE(topic_["golden"].size(), 25u);
}

TEST_F(BytecodeReader, OpsKnowWhereTheyWereCalled) {
  const Function f = read_bytecode(file("top_k", "export"), "file").main;
  EXPECT_THAT(f.ops[0].source, HasSubstr("jit("));
}

TEST_F(BytecodeReader, KnowsItsFormats) {
  EXPECT_TRUE(is_bytecode(file("sort", "native")));
  EXPECT_TRUE(is_bytecode(file("sort", "export")));
  EXPECT_FALSE(is_bytecode("module {}"));
  EXPECT_FALSE(is_bytecode(""));
  EXPECT_FALSE(is_bytecode(std::string(64, '\xff')));
  EXPECT_THAT(error_of(std::string_view("PK\x03\x04\0\0\0\0", 8)), HasSubstr("got other bytes"));
}

TEST_F(BytecodeReader, EveryTruncationIsAnError) {
  const std::string whole = file("calls", "1.17.0");
  for (size_t size = 4; size < whole.size(); size += 9)
    EXPECT_THAT(error_of(whole.substr(0, size)), HasSubstr("[parse] file: byte ")) << size;
}

TEST_F(BytecodeReader, EveryFlippedByteIsAProgramOrAnError) {
  const std::string whole = file("cond", "1.17.0");
  for (size_t at = 4; at < whole.size(); at += 2)
    for (const int flip : {2, 0xff}) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(damaged[at] ^ flip);
      try {
        verify(read_module(damaged, "file").main);
      } catch (const UserError& e) {
        EXPECT_EQ(e.kind(), ErrorKind::kParse) << e.what();
      }
    }
}

TEST_F(BytecodeReader, NamesTheByteAndTheOp) {
  EXPECT_THAT(error_of("ML\xefR"), HasSubstr("[parse] file: byte 4: expected more bytes"));
  EXPECT_THAT(error_of("ML\xefR\x0f"
                       "MLIR\0"),
              HasSubstr("expected bytecode of a version up to 6, got 7"));
  std::string damaged = file("resource", "native");
  damaged.replace(damaged.find("constant"), 8, "konstant");
  EXPECT_THAT(error_of(damaged), AllOf(HasSubstr("[parse] file: byte "),
                                       HasSubstr("expected an op that Tessera has, got "
                                                 "'stablehlo.konstant'")));
}

TEST(BytecodeBlobs, EqualBoolsAreASplat) {
  std::string problem;
  const auto shape_of = [&](std::string_view bytes, int64_t n) {
    return bytecode::literal_of_bytes(bytes, {bool_, {n}}, problem)->shape();
  };
  EXPECT_EQ(shape_of(std::string_view("\0\0\0\0", 4), 4), Shape{});
  EXPECT_EQ(shape_of(std::string_view("\x0f", 1), 4), Shape{});
  EXPECT_EQ(shape_of(std::string_view("\x05", 1), 4), Shape{4});
}

}  // namespace
}  // namespace tessera::bytecode_reader_test
