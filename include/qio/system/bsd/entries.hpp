// SPDX-License-Identifier: BSL-1.0
// Reading trees of directories: what macOS and FreeBSD have of their own.
#pragma once

#include <qio/configuration.hpp>
#include <qio/result.hpp>
#include <qio/system/bsd/directory.hpp>
#include <qio/system/bsd/status.hpp>
#include <qio/system/posix/entries.hpp>
#include <qio/system/posix/handle.hpp>

#include <sys/stat.h>

#include <cstdint>

QIO_BEGIN_NAMESPACE
namespace platform {

inline result<directory_identity> identify(native_handle directory, std::uint64_t parent_device) noexcept {
  struct stat found;
  if (::fstat(directory, &found) != 0) return last_error();
  const file_id id = id_of(found);
  return directory_identity{id, id.device != parent_device};
}

}  // namespace platform
QIO_END_NAMESPACE
