// Rows of npy files: they equal those of the whole array; and errors.
#include "tessera/io/npy_rows.h"

#include <filesystem>

#include "../errors.h"
#include "files.h"
#include "tessera/io/npy.h"

namespace tessera::npy_rows_test {
namespace {

using test::expect_error;

class NpyRowsTest : public test::FolderTest {};

TEST_F(NpyRowsTest, AreThoseOfTheArray) {
  std::vector<float> values;
  for (int i = 0; i < 5 * 6; ++i) values.push_back(static_cast<float>(i));
  write_npy(path("x.npy"), Literal::from<float>(values, {5, 2, 3}));
  const NpyRows rows(path("x.npy"));
  EXPECT_EQ(rows.num_rows(), 5);
  EXPECT_EQ(rows.shape(), (Shape{5, 2, 3}));
  EXPECT_EQ(rows.dtype(), float32);
  const std::vector<int64_t> indices{4, 0, 0};
  const Literal read = rows.read(indices);
  ASSERT_EQ(read.shape(), (Shape{3, 2, 3}));
  for (int k = 0; k < 3; ++k)
    for (int j = 0; j < 6; ++j)
      EXPECT_EQ(read.data<float>()[6 * k + j], static_cast<float>(6 * indices[k] + j));
  EXPECT_EQ(rows.read({}).shape(), (Shape{0, 2, 3}));
}

TEST_F(NpyRowsTest, BigEndianAndBools) {
  std::string header = "{'descr': '>i2', 'fortran_order': False, 'shape': (2,), }";
  header.resize(117, ' ');
  header += '\n';
  const std::string start = std::string("\x93NUMPY\x01\x00", 8) + '\x76' + '\0';
  test::write_bytes(path("big.npy"), start + header + std::string("\x01\x02\x03\x04", 4));
  const std::vector<int64_t> second{1};
  EXPECT_EQ(NpyRows(path("big.npy")).read(second).data<int16_t>()[0], 0x0304);
  header.replace(header.find(">i2"), 3, "|b1");
  test::write_bytes(path("bool.npy"), start + header + std::string("\x00\x02", 2));
  EXPECT_EQ(NpyRows(path("bool.npy")).read(second).raw()[0], std::byte{1});
}

TEST_F(NpyRowsTest, WhatIsRefused) {
  write_npy(path("x.npy"), Literal::from<float>(std::vector<float>{1, 2, 3}, {3}));
  const NpyRows rows(path("x.npy"));
  const std::vector<int64_t> beyond{3}, before{-1}, last{2};
  expect_error([&] { rows.read(beyond); }, "[NpyRows] expected indices of rows in [0, 3)");
  expect_error([&] { rows.read(before); }, "got -1");
  write_npy(path("scalar.npy"), Literal::scalar(1.f));
  expect_error([&] { NpyRows{path("scalar.npy")}; }, "expected an array with rows");
  std::string fortran = test::bytes_of(path("x.npy"));
  const size_t at = fortran.find("'fortran_order': False, 'shape': (3,)");
  ASSERT_NE(at, std::string::npos);
  fortran.replace(at, 37, "'fortran_order': True, 'shape': (1,3)");
  test::write_bytes(path("fortran.npy"), fortran);
  expect_error([&] { NpyRows{path("fortran.npy")}; }, "Fortran order");
  expect_error([&] { NpyRows{path("none.npy")}; }, "none.npy");
  test::write_bytes(path("short.npy"), test::bytes_of(path("x.npy")).substr(0, 130));
  expect_error([&] { NpyRows{path("short.npy")}; }, "bytes after a header that promises");
  // A file that shrinks while it is open.
  std::filesystem::resize_file(path("x.npy"), 136);
  EXPECT_EQ(rows.num_rows(), 3);
  expect_error([&] { rows.read(last); }, "x.npy");
}

}  // namespace
}  // namespace tessera::npy_rows_test
