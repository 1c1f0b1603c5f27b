// For one source of a test program: if QIO_TEST_SCHEDULED is set, the contexts of the program are in the foreground or
// in one of two background classes, by turns. After the first operation in the foreground, each background transfer is
// split into parts of a page.
#pragma once

#include "engines.hpp"
#include <qio/io_scheduler.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdlib>

namespace qio_test {

inline qio::io_class class_by_turns() {
  static qio::io_scheduler scheduler(
      {.latency_goal = std::chrono::hours(1), .largest_part = 4096, .foreground_lasts = std::chrono::hours(24)});
  static const std::array classes{scheduler.foreground(), scheduler.make_class(), scheduler.make_class()};
  static std::size_t contexts = 0;
  return classes[contexts++ % classes.size()];
}

inline const bool is_scheduled =
    std::getenv("QIO_TEST_SCHEDULED") != nullptr && (class_of_next_context = &class_by_turns) != nullptr;

}  // namespace qio_test
