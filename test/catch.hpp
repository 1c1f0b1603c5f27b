// Catch2, whichever version the system has, and how a test says that it could not run.
#pragma once

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#else
#include <catch2/catch.hpp>
#endif

#include <string_view>

namespace qio_test {

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
