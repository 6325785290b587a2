// Tests reading and writing .npy files, and the errors of bad files.
#include "tools/skewer/Npy.h"
#include "gtest/gtest.h"
#include <cmath>
#include <limits>

using namespace skewer::driver;

namespace {

/// Returns a version 1 file with this header text and data.
std::string fileOf(const std::string &header, const std::string &data) {
  std::string bytes("\x93NUMPY\x01\x00", 8);
  bytes += static_cast<char>(header.size() & 0xff);
  bytes += static_cast<char>(header.size() >> 8);
  return bytes + header + data;
}
std::string errorOf(const std::string &bytes) {
  auto file = parseNpy(bytes);
  return file ? "no error" : llvm::toString(file.takeError());
}
bool contains(const std::string &text, const char *part) { return text.find(part) != std::string::npos; }

TEST(Npy, ReturnsWhatWasWritten) {
  Array array{{2, 3}, {0, -1, 2.5, 1e-3, -0.0, std::numeric_limits<double>::infinity()}};
  auto read = parseNpy(npyBytes(array, "<f8"));
  ASSERT_TRUE(static_cast<bool>(read));
  EXPECT_EQ(read->type, "<f8");
  EXPECT_EQ(read->array.shape, array.shape);
  EXPECT_EQ(read->array.values, array.values);
}

TEST(Npy, RoundsToTheFilesType) {
  Array array{{1}, {0.1}};
  auto single = parseNpy(npyBytes(array, "<f4"));
  auto half = parseNpy(npyBytes(array, "<f2"));
  ASSERT_TRUE(single && half);
  EXPECT_EQ(single->array.values[0], 0.1f);
  EXPECT_EQ(half->array.values[0], 0.0999755859375);
}

TEST(Npy, HeaderIsAlignedAndHasNumPysTuples) {
  for (const std::vector<int64_t> &shape : {std::vector<int64_t>{}, {3}, {2, 3}}) {
    Array array{shape, std::vector<double>(*elementsOf(shape), 1.0)};
    std::string bytes = npyBytes(array, "<f4");
    EXPECT_EQ((bytes.size() - array.values.size() * 4) % 64, 0u);
    auto read = parseNpy(bytes);
    ASSERT_TRUE(static_cast<bool>(read));
    EXPECT_EQ(read->array.shape, shape);
  }
  EXPECT_TRUE(contains(npyBytes({{3}, {1, 2, 3}}, "<f4"), "'shape': (3,)"));
  EXPECT_TRUE(contains(npyBytes({{1, 2}, {1, 2}}, "<f4"), "'shape': (1, 2)"));
}

TEST(Npy, KeepsNaN) {
  auto read = parseNpy(npyBytes({{1}, {std::nan("")}}, "<f4"));
  ASSERT_TRUE(static_cast<bool>(read));
  EXPECT_TRUE(std::isnan(read->array.values[0]));
}

TEST(Npy, EveryCutIsAnError) {
  std::string bytes = npyBytes({{2, 2}, {1, 2, 3, 4}}, "<f4");
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_NE(errorOf(bytes.substr(0, size)), "no error") << "of " << size << " bytes";
  EXPECT_TRUE(contains(errorOf(bytes.substr(0, bytes.size() - 1)),
                       "cut short: expected 16 bytes of data for shape [2, 2] of <f4, found 15"));
  EXPECT_TRUE(contains(errorOf(bytes + "x"), "bytes left over"));
}

TEST(Npy, WholeNumbers) {
  for (const char *type : {"<i4", "<i8"}) {
    Array array{{4}, {0, -1, INT32_MAX, INT32_MIN}};
    auto read = parseNpy(npyBytes(array, type));
    ASSERT_TRUE(static_cast<bool>(read));
    EXPECT_EQ(read->type, type);
    EXPECT_EQ(read->array.values, array.values);
  }
}

TEST(Npy, BytesHaveASignOrNone) {
  const char *kRest = ", 'fortran_order': False, 'shape': (3,), }";
  for (bool isSigned : {true, false}) {
    const char *type = isSigned ? "|i1" : "|u1";
    auto read = parseNpy(fileOf("{'descr': '" + std::string(type) + "'" + kRest, "\x7f\x80\xff"));
    ASSERT_TRUE(static_cast<bool>(read));
    std::vector<double> expected{127, isSigned ? -128.0 : 128, isSigned ? -1.0 : 255};
    EXPECT_EQ(read->array.values, expected);
    auto again = parseNpy(npyBytes(read->array, type));
    ASSERT_TRUE(static_cast<bool>(again));
    EXPECT_EQ(again->array.values, expected);
  }
}

TEST(Npy, WholeNumbersAtTheEndsOf64Bits) {
  // float64 rounds the largest i64 to 2^63, which is no i64.
  auto read = parseNpy(npyBytes({{2}, {0x1p63, -0x1p63}}, "<i8"));
  ASSERT_TRUE(static_cast<bool>(read));
  EXPECT_EQ(read->array.values, (std::vector<double>{0x1p63, -0x1p63}));
}

TEST(Npy, NamesTheTypeItDoesNotRead) {
  const char *kRest = ", 'fortran_order': False, 'shape': (1,), }";
  for (const char *type : {"<i2", ">i4", ">f4", "|b1", "<c8", "<f16"}) {
    std::string error = errorOf(fileOf("{'descr': '" + std::string(type) + "'" + kRest, "12345678"));
    EXPECT_TRUE(contains(error, "expected elements of type <f4, <f8, <f2, |i1, |u1, <i4 or <i8, found")) << error;
    EXPECT_TRUE(contains(error, type)) << error;
  }
  EXPECT_TRUE(contains(errorOf(fileOf("{'descr': [('a', '<f4'), ('b', '<f4')]" + std::string(kRest), "12345678")),
                       "expected elements of type"));
}

TEST(Npy, RefusesFortranOrder) {
  std::string error = errorOf(fileOf("{'descr': '<f4', 'fortran_order': True, 'shape': (1,), }", "1234"));
  EXPECT_TRUE(contains(error, "expected C order (row-major), found Fortran order")) << error;
}

TEST(Npy, SurvivesAnyHeader) {
  for (const char *header :
       {"", "{", "}", "{}", "{'descr'", "{'descr': }", "{'descr': '<f4'}", "{'descr': '<f4', 'fortran_order': Maybe",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (", "{'descr': '<f4', 'fortran_order': False, 'shape': (1",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (x,), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 4611686018427387904), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775807,), }", "{'shape': (1,), 'descr': [",
        "{'other': 3, 'descr': '<f4', 'fortran_order': False, 'shape': (1,), }"}) {
    EXPECT_NE(errorOf(fileOf(header, "1234")), "no error") << header;
  }
  // The header's length goes beyond the file.
  std::string bytes("\x93NUMPY\x02\x00\xff\xff\xff\xff{}", 14);
  EXPECT_TRUE(contains(errorOf(bytes), "cut short"));
  EXPECT_TRUE(contains(errorOf(std::string("\x93NUMPY\x09\x00zz", 10)), "version"));
}

TEST(Tensors, RoundToNearestEven) {
  using skewer::ElementType;
  EXPECT_EQ(roundTo(ElementType::BF16, 1.0 + 1.0 / 256), 1.0);             // a tie, to even
  EXPECT_EQ(roundTo(ElementType::BF16, 1.0 + 3.0 / 256), 1.0 + 4.0 / 256); // a tie, to even
  EXPECT_EQ(roundTo(ElementType::F16, 65504.0), 65504.0);
  EXPECT_TRUE(std::isinf(roundTo(ElementType::F16, 65520.0)));
  EXPECT_TRUE(std::isnan(roundTo(ElementType::BF16, std::nan(""))));
  std::vector<double> values{1, -2.5, 3e-3};
  for (ElementType type : {ElementType::F32, ElementType::F16, ElementType::BF16}) {
    Buffer buffer(values.size() * 4);
    pack(type, values, buffer.data());
    for (size_t k = 0; k < values.size(); ++k)
      EXPECT_EQ(unpack(type, buffer.data(), static_cast<int64_t>(k)), roundTo(type, values[k]));
  }
}

TEST(Tensors, CountsElementsWithoutOverflow) {
  EXPECT_EQ(elementsOf({}), 1);
  EXPECT_EQ(elementsOf({2, 3, 4}), 24);
  EXPECT_EQ(elementsOf({0, 5}), 0);
  EXPECT_FALSE(elementsOf({-1}).has_value());
  EXPECT_FALSE(elementsOf({1LL << 40, 1LL << 40}).has_value());
}

} // namespace
