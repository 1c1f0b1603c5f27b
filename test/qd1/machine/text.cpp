// SPDX-License-Identifier: BSL-1.0
#include "catch.hpp"

#include <qd1/machine/core_kinds.hpp>
#include <qd1/machine/linux/text.hpp>

using namespace qd1::linux_system;

TEST_CASE("a number is a number and nothing else") {
  CHECK(to_number("42") == 42);
  CHECK(to_number("18446744073709551615") == 18446744073709551615U);
  for (const char* text : {"", "-1", "42 ", "0x10", "18446744073709551616", "max"}) CHECK_FALSE(to_number(text));
  CHECK(to_decimal("8.0") == 8.0);
  CHECK_FALSE(to_decimal("Unknown"));
}

TEST_CASE("a value is found by its whole key") {
  CHECK(value_of("model\t\t: 183\nmodel name\t: AMD EPYC\n", "model name") == "AMD EPYC");
  CHECK(value_of("MemTotalX: 1 kB\nMemTotal:  24684092 kB", "MemTotal") == "24684092 kB");
  CHECK(value_of("PRETTY_NAME=\"Debian GNU/Linux 12\"", "PRETTY_NAME") == "Debian GNU/Linux 12");
  CHECK(value_of("nr_dirty 3\nnr_dirty_threshold 1234", "nr_dirty_threshold") == "1234");
  CHECK(value_of("empty:", "empty") == "");
  CHECK_FALSE(value_of("a: 1", "b"));
}

TEST_CASE("a choice is what stands in brackets") {
  const choice scheduler = to_choice("none [mq-deadline] kyber");
  CHECK(scheduler.current == "mq-deadline");
  CHECK(scheduler.available == std::vector<std::string>{"none", "mq-deadline", "kyber"});
  CHECK(to_choice("none").current == "none");
  CHECK_FALSE(to_choice("").current);
  CHECK_FALSE(to_choice("one two").current);
}

TEST_CASE("threads are listed as Linux lists them") {
  const auto list = [](std::vector<std::uint64_t> threads) { return qd1::cpu_list(threads); };
  CHECK(list({}).empty());
  CHECK(list({3}) == "3");
  CHECK(list({0, 1, 2, 3, 8}) == "0-3,8");
  CHECK(list({0, 2, 4, 5}) == "0,2,4-5");
}

TEST_CASE("a list of CPUs") {
  CHECK(to_cpu_list("0-3,8") == std::vector<std::uint64_t>{0, 1, 2, 3, 8});
  CHECK(to_cpu_list("5") == std::vector<std::uint64_t>{5});
  CHECK(to_cpu_list("").empty());
  CHECK(to_cpu_list("0-x").empty());
  CHECK(to_cpu_list("0-18446744073709551615").empty());
  CHECK(to_cpu_list("0-3,2").empty());
}
