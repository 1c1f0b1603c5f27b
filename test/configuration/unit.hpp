// What each unit of a program does with its own copy of the library. This header contains no type of qio.
#pragma once

#include <string>
#include <system_error>

struct unit {
  const char* configuration;

  /// Writes a file and reads it back: blocking, and asynchronously on a context.
  bool (*transfers)(const std::string& path);
  /// Creates a file of four pages, maps it, and keeps it open.
  bool (*map)(const std::string& path);
  /// Reads the third page of the mapped file. The bytes that were read, or -1.
  int (*read_mapped)();
  /// A condition of qio's own, as code that knows only <system_error> sees it.
  std::error_code (*misaligned)();
};

extern const unit plain, without_liburing, without_exceptions, with_checks;
