// Reads the golden data of this folder: Topic("random") is random.json and, if it has arrays,
// random.npz.
//
//   const golden::Topic topic("printing");
//   for (const golden::Json& c : topic["cases"])
//     EXPECT_EQ(print(topic.array(c["value"])), c["str"]) << c["name"];
//
// It needs only base/, so that the tests of every folder can use it. It reads files that golden.py
// writes (stored members, no zip64), and aborts on other files.
#pragma once

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/format.h"  // for the tests that include this
#include "tessera/base/literal.h"

namespace tessera::golden {

using Json = nlohmann::json;

// Returns a list of extents, or of dimensions.
Shape dims(const Json& list);

// Returns the bytes of a file below tests/golden/, for example "stablehlo/softmax.mlir".
std::string read_file(std::string_view path);

std::string bytes_of_hex(const std::string& digits);

class Topic {
 public:
  explicit Topic(std::string_view name);
  Topic(const Topic&) = delete;
  Topic& operator=(const Topic&) = delete;

  const Json& json() const { return json_; }
  const Json& operator[](const char* key) const { return json_.at(key); }

  // Returns the array that {"key", "dtype", "shape"} refers to.
  Literal array(const Json& reference) const;
  std::vector<Literal> arrays(const Json& references) const;

 private:
  void read_members(std::string file);

  Json json_;
  std::string file_;
  std::map<std::string_view, std::string_view, std::less<>> members_;  // views of file_
};

}  // namespace tessera::golden
