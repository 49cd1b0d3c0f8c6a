#include "scenarios/description/quantity.hpp"

#include <gtest/gtest.h>

namespace spillway::description {
namespace {

std::string problem(Dimension dimension, const std::string& text) {
  const ParsedQuantity parsed = parse_quantity(dimension, text);
  return parsed.problem.empty() ? "" : parsed.problem + "; " + parsed.hint;
}

TEST(Quantity, ReadsTheUnitsThatPeopleWrite) {
  EXPECT_EQ(quantity_from<Bytes>("24 GiB").value(), 24ull << 30);
  EXPECT_EQ(quantity_from<Bytes>("3.84 TB").value(), 3'840'000'000'000ull);
  EXPECT_EQ(quantity_from<Bytes>("0 B").value(), 0u);
  EXPECT_EQ(quantity_from<BytesPerSecond>("6.9 GB/s").value(), 6.9e9);
  EXPECT_EQ(quantity_from<FlopsPerSecond>("149 TFLOPS").value(), 149e12);
  EXPECT_EQ(quantity_from<Params>("1e8 params").value(), 100'000'000u);
  EXPECT_EQ(quantity_from<ParamsPerSecond>("0.95 Gparam/s").value(), 0.95e9);
  EXPECT_DOUBLE_EQ(quantity_from<Seconds>("85 us").value(), 85e-6);
}

TEST(Quantity, CountsAYearAs365DaysAndAMonthAsItsTwelfth) {
  EXPECT_EQ(quantity_from<Seconds>("3 years").value(), 3 * 365 * 86400.0);
  EXPECT_EQ(quantity_from<Seconds>("3 months").value(), 365 * 86400.0 / 4);
  EXPECT_EQ(quantity_from<Seconds>("1 day").value(), 86400.0);
}

TEST(Quantity, RoundsBytesToWholeOnes) {
  // 1.67 x 2^30 = 1,793,148,846.08
  EXPECT_EQ(quantity_from<Bytes>("1.67 GiB").value(), 1'793'148'846u);
}

TEST(Quantity, AcceptsSpacesOrNone) {
  EXPECT_EQ(quantity_from<Bytes>(" 2GiB "), 2_GiB);
  EXPECT_EQ(quantity_from<Bytes>("2   GiB"), 2_GiB);
}

TEST(Quantity, ShowsTheUnitThatIsMissing) {
  EXPECT_EQ(problem(Dimension::bytes_per_second, "6.8"),
            "\"6.8\" has no unit; write a rate such as \"6.8 GB/s\"");
  const ParsedQuantity number = missing_unit(Dimension::bytes, "12");
  EXPECT_EQ(number.problem + "; " + number.hint, "12 has no unit; write a size such as \"12 GiB\"");
}

// What programs print is in bytes, or bytes per second.
TEST(Quantity, ShowsALargeNumberWithoutUnitInOneThatFits) {
  const auto hint = [](Dimension dimension, const std::string& number) {
    const ParsedQuantity missing = missing_unit(dimension, number);
    EXPECT_EQ(missing.problem, number + " has no unit");
    return missing.hint;
  };
  EXPECT_EQ(hint(Dimension::bytes, "68719476736"), "write a size such as \"64 GiB\"");
  EXPECT_EQ(hint(Dimension::bytes, "2000000000000.0"), "write a size such as \"2 TB\"");
  EXPECT_EQ(hint(Dimension::bytes, "2e12"), "write a size such as \"2 TB\"");
  EXPECT_EQ(hint(Dimension::bytes, "1048576"), "write a size such as \"1 MiB\"");
  EXPECT_EQ(hint(Dimension::bytes, "999999"), "write a size such as \"999999 GiB\"");
  EXPECT_EQ(hint(Dimension::bytes_per_second, "6900000000"), "write a rate such as \"6.9 GB/s\"");
  EXPECT_EQ(hint(Dimension::flops_per_second, "1.49e14"), "write a speed such as \"149 TFLOPS\"");
  EXPECT_EQ(hint(Dimension::params, "100000000"), "write a count such as \"100000000 params\"");
  EXPECT_EQ(problem(Dimension::bytes, "68719476736"),
            "\"68719476736\" has no unit; write a size such as \"64 GiB\"");
  // What is exact stays exact, in whatever unit.
  const std::string odd = hint(Dimension::bytes, "68719476737");
  const std::size_t begin = odd.find('"') + 1;
  EXPECT_EQ(parse_quantity(Dimension::bytes, odd.substr(begin, odd.rfind('"') - begin)).value,
            68719476737.0L);
}

TEST(Quantity, RefusesAnotherUnit) {
  EXPECT_EQ(problem(Dimension::bytes_per_second, "6.8 GiB"),
            "\"6.8 GiB\" is not a rate; write a rate such as \"6.8 GB/s\"");
  EXPECT_EQ(problem(Dimension::seconds, "3 parsecs"),
            "\"3 parsecs\" is not a time; write a time such as \"3 us\"");
}

TEST(Quantity, RefusesWhatIsNoNumberOrNoAmount) {
  for (const char* text : {"fast", "", "nan GB/s", "inf GB/s", "GB/s", "0x10 GB/s"})
    EXPECT_NE(problem(Dimension::bytes_per_second, text), "") << text;
  EXPECT_EQ(problem(Dimension::bytes, "-1 GiB"),
            "\"-1 GiB\" is negative; write a size such as \"24 GiB\"");
  EXPECT_EQ(problem(Dimension::bytes_per_second, "0 GB/s"),
            "\"0 GB/s\" is too small; write a rate such as \"6.9 GB/s\"");
}

TEST(Quantity, StopsAtTheLargestAmount) {
  EXPECT_EQ(problem(Dimension::bytes, "1 EiB"), "");
  EXPECT_EQ(problem(Dimension::bytes, "1.01 EiB"),
            "\"1.01 EiB\" is too large; write a size such as \"24 GiB\"");
  EXPECT_EQ(problem(Dimension::params, "1e18 params"), "");
  EXPECT_NE(problem(Dimension::params, "1.1e18 params"), "");
  EXPECT_NE(problem(Dimension::bytes, "1e99999 GiB"), "");
}

TEST(Quantity, PrintsTheShortestTextThatReadsBackTheSame) {
  EXPECT_EQ(to_text(24_GiB), "24 GiB");
  EXPECT_EQ(to_text(94_GB), "94 GB");
  EXPECT_EQ(to_text(Bytes(1'793'148'846)), "1.67 GiB");
  EXPECT_EQ(to_text(Bytes(0)), "0 B");
  EXPECT_EQ(to_text(BytesPerSecond(6.9e9)), "6.9 GB/s");
  EXPECT_EQ(to_text(Seconds(85e-6)), "85 us");
  EXPECT_EQ(to_text(Seconds(3 * 365 * 86400.0)), "3 years");
  EXPECT_EQ(to_text(Seconds(86400)), "1 day");
  EXPECT_EQ(to_text(Params(100'000'000)), "1e8 params");
  EXPECT_EQ(to_text(Params(38'597'376)), "38597376 params");
}

TEST(Quantity, PrintsEveryAmountSoThatItReadsBack) {
  for (std::uint64_t bytes = 1; bytes < (1ull << 60); bytes = bytes * 7 + 3)
    EXPECT_EQ(quantity_from<Bytes>(to_text(Bytes(bytes))).value(), bytes);
  for (double rate = 1; rate < 1e23; rate *= 3.7) {
    EXPECT_EQ(quantity_from<BytesPerSecond>(to_text(BytesPerSecond(rate))).value(), rate);
    EXPECT_EQ(quantity_from<Seconds>(to_text(Seconds(rate * 1e-13))).value(), rate * 1e-13);
  }
}

TEST(Count, ReadsSuffixesExponentsAndThousands) {
  EXPECT_EQ(parse_count("60M").value, 60e6L);
  EXPECT_EQ(parse_count("1.5B").value, 1.5e9L);
  EXPECT_EQ(parse_count("2 T").value, 2e12L);
  EXPECT_EQ(parse_count("1e9").value, 1e9L);
  EXPECT_EQ(parse_count("1,000,000").value, 1e6L);
  EXPECT_EQ(parse_count("250k").value, 250e3L);
}

TEST(Count, RefusesWhatIsNoneAndSaysHowToWriteOne) {
  EXPECT_EQ(parse_count("60 Q").problem, "\"60 Q\" has no suffix that is known");
  EXPECT_EQ(parse_count("M").problem, "\"M\" is no number");
  EXPECT_EQ(parse_count("0").problem, "\"0\" is not above 0");
  EXPECT_EQ(parse_count("-5M").problem, "\"-5M\" is not above 0");
  EXPECT_EQ(parse_count("1e30").problem, "\"1e30\" is too large");
  EXPECT_EQ(parse_count("x").hint, "write for example 60M, 1.5B or 1e9");
}

TEST(Quantity, KnowsTheFormatsOfTheSchemas) {
  EXPECT_EQ(dimension_of_format("bytes-per-second"), Dimension::bytes_per_second);
  EXPECT_EQ(dimension_of_format("params"), Dimension::params);
  EXPECT_FALSE(dimension_of_format("email"));
}

/// 112 Gb/s are 112 / 8 = 14 GB/s, not 112.
TEST(ParseQuantity, SaysBitsInBytes) {
  for (const char* unit : {"Gb/s", "Gbit/s", "Gbps"}) {
    const auto parsed = parse_quantity(Dimension::bytes_per_second, std::string("112 ") + unit);
    EXPECT_EQ(parsed.problem, std::string("\"112 ") + unit + "\" counts bits");
    EXPECT_EQ(parsed.hint, "in bytes it is \"14 GB/s\"");
  }
}

}  // namespace
}  // namespace spillway::description
