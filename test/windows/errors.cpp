// The codes of Windows: kept, and comparable with std::errc.
#include "catch.hpp"
#include <qio/qio.hpp>

TEST_CASE("a Windows error keeps its code, and equals its std::errc") {
  const std::pair<DWORD, std::errc> table[] = {
      {ERROR_FILE_NOT_FOUND, std::errc::no_such_file_or_directory},
      {ERROR_PATH_NOT_FOUND, std::errc::no_such_file_or_directory},
      {ERROR_FILE_EXISTS, std::errc::file_exists},
      {ERROR_ALREADY_EXISTS, std::errc::file_exists},
      {ERROR_ACCESS_DENIED, std::errc::permission_denied},
      {ERROR_SHARING_VIOLATION, std::errc::device_or_resource_busy},
      {ERROR_USER_MAPPED_FILE, std::errc::device_or_resource_busy},
      {ERROR_INVALID_HANDLE, std::errc::bad_file_descriptor},
      {ERROR_INVALID_PARAMETER, std::errc::invalid_argument},
      {ERROR_DISK_FULL, std::errc::no_space_on_device},
      {ERROR_BROKEN_PIPE, std::errc::broken_pipe},
      {ERROR_OPERATION_ABORTED, std::errc::io_error},
      {ERROR_HANDLE_EOF, std::errc::io_error},
      {ERROR_CRC, std::errc::io_error},
      {ERROR_FILE_CORRUPT, std::errc::io_error},     // 1392
      {ERROR_DISK_CORRUPT, std::errc::io_error},     // 1393
      {323, std::errc::io_error},                    // ERROR_DATA_CHECKSUM_ERROR
      {483, std::errc::io_error},                    // ERROR_DEVICE_HARDWARE_ERROR
      {ERROR_UNEXP_NET_ERR, std::errc::io_error},    // 59
      {ERROR_NETNAME_DELETED, std::errc::io_error},  // 64
      {ERROR_NO_SYSTEM_RESOURCES, std::errc::not_enough_memory},
      {ERROR_DIRECTORY, std::errc::not_a_directory},
      {qio::platform::error_is_a_directory, std::errc::is_a_directory},
      {qio::platform::error_quota_exceeded, std::errc::no_space_on_device},
  };
  for (const auto& [code, condition] : table) {
    CAPTURE(code);
    const qio::error failure = qio::platform::system_error(code);
    CHECK(failure == condition);
    CHECK(failure != std::errc::interrupted);
    CHECK(failure.code().value() == static_cast<int>(code));
    CHECK(failure.code().category() == qio::platform::system_category());
    CHECK(!failure.message().empty());
  }
}

TEST_CASE("a Windows error without a std::errc does not equal the errno of the same number") {
  const qio::error failure = qio::platform::system_error(ERROR_BAD_LENGTH);  // 24, which is EMFILE
  CHECK(failure != std::errc::too_many_files_open);
  CHECK(failure == std::error_code(ERROR_BAD_LENGTH, qio::platform::system_category()));
  CHECK(failure.code().default_error_condition().category() == qio::platform::system_category());
}
