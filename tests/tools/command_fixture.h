// A fixture for tests of commands: runs them with their streams, in a folder of their own.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tessera/tessera.h"
#include "tools/commands.h"

namespace tessera::tools {

struct Outcome {
  int code;
  std::string out, err;
};

inline Outcome run_command(int (*command)(const std::vector<std::string>&, const Streams&),
                           const std::vector<std::string>& arguments, const std::string& input) {
  std::istringstream in(input);
  std::ostringstream out, err;
  const int code = command(arguments, {in, out, err});
  return {code, out.str(), err.str()};
}
inline Outcome tessera_command(const std::vector<std::string>& arguments,
                               const std::string& input = "") {
  return run_command(run_tessera, arguments, input);
}
inline Outcome opt_command(const std::vector<std::string>& arguments,
                           const std::string& input = "") {
  return run_command(run_tessera_opt, arguments, input);
}

class CommandTest : public testing::Test {
 protected:
  void SetUp() override {
    unsetenv("TESSERA_DEVICES");
    folder_ =
        std::filesystem::temp_directory_path() / ("tessera_tools_" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override {
    std::filesystem::remove_all(folder_);
    initialize({});
  }
  std::string path(const std::string& name) const { return folder_ / name; }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name)) << text;
    return path(name);
  }

 private:
  std::filesystem::path folder_;
};

}  // namespace tessera::tools
