// What a user is told.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tessera/base/error.h"

namespace tessera::test {

// The message of the UserError that f throws, or nothing.
template <class F>
std::string error_of(const F& f) {
  try {
    f();
  } catch (const UserError& e) {
    return e.what();
  }
  return "";
}

// f throws a UserError whose message has `text`.
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
