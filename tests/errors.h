// Helpers for tests of error messages.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tessera/base/error.h"

namespace tessera::test {

// Returns the message of the UserError that f throws; empty if it throws none.
template <class F>
std::string error_of(const F& f) {
  try {
    f();
  } catch (const UserError& e) {
    return e.what();
  }
  return "";
}

// Expects that f throws a UserError with `text` in its message.
template <class F>
void expect_error(const F& f, const char* text) {
  try {
    f();
    ADD_FAILURE() << "no error; expected: " << text;
  } catch (const UserError& e) {
    EXPECT_THAT(e.what(), ::testing::HasSubstr(text));
  }
}

}  // namespace tessera::test
