// The environment of the examples of the pages: the library, its optional headers, host functions
// that programs call, eight devices, and an empty folder to work in.
#pragma once

#include <gtest/gtest.h>
#include <tessera/eigen.h>
#include <tessera/numpy/dlpack.h>
#include <tessera/ops/control/host_callback.h>
#include <tessera/privacy/privacy.h>
#include <tessera/scipy/special.h>
#include <tessera/scipy/stats.h>
#include <tessera/tessera.h>
#include <unistd.h>

#include <complex>
#include <filesystem>
#include <iostream>

class Docs : public ::testing::Test {
 protected:
  void SetUp() override {
    if (tessera::device_count() != 8) tessera::initialize({.devices = "cpu:8"});
    folder_ = std::filesystem::path(::testing::TempDir()) / ("docs." + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
    before_ = std::filesystem::current_path();
    std::filesystem::current_path(folder_);
  }
  void TearDown() override {
    std::filesystem::current_path(before_);
    std::filesystem::remove_all(folder_);
  }

 private:
  std::filesystem::path folder_, before_;
};
