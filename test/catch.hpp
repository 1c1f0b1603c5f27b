// Catch2, version 2 or 3, with the same names for both; and how a test reports that it could not run.
#pragma once

// Clang 22 warns about __COUNTER__, which C++ does not have. (Names by line, CATCH_CONFIG_NO_COUNTER, are the same for
// the two parts of a TEMPLATE_LIST_TEST_CASE in version 3.)
#if defined(__clang__) && __clang_major__ >= 22
#pragma clang diagnostic ignored "-Wc2y-extensions"
#endif
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using Catch::Approx;
#else
#include <catch2/catch.hpp>
#endif

#include <string>
#include <string_view>

namespace qio_test {

// A matcher: a string with this text in it.
#if CATCH_VERSION_MAJOR >= 3
inline auto Contains(const std::string& text) { return Catch::Matchers::ContainsSubstring(text); }
#else
using Catch::Matchers::Contains;
#endif

// Prints `SKIPPED: <reason> [<test>]` and has CTest report the test as skipped, unless something in it fails.
// Catch2 v2 has no SKIP; this one is the same for both.
void skipped(std::string_view reason);

}  // namespace qio_test

// Leaves the test case: QIO_SKIP("needs root").
#define QIO_SKIP(reason)         \
  do {                           \
    ::qio_test::skipped(reason); \
    SUCCEED("skipped");          \
    return;                      \
  } while (false)
