// SPDX-License-Identifier: BSL-1.0
// Renaming on macOS.
#pragma once

#include <qio/configuration.hpp>
#include <qio/if_exists.hpp>
#include <qio/result.hpp>
#include <qio/system/bsd/directory.hpp>
#include <qio/system/darwin/sync.hpp>
#include <qio/system/posix/entry.hpp>

#include <stdio.h>

#include <cerrno>
#include <cstdint>

QIO_BEGIN_NAMESPACE
namespace platform {

/// renameatx_np(2). ENOTSUP: the file system lacks the flag.
inline error rename_at(const directory_entry& from, const directory_entry& to, if_exists how) noexcept {
  const unsigned flags = how == if_exists::fail ? RENAME_EXCL : how == if_exists::exchange ? RENAME_SWAP : 0u;
  if (::renameatx_np(from.directory, from.name.c_str(), to.directory, to.name.c_str(), flags) == 0) return {};
  if (flags == 0 || code_of_unsupported(errno) != EOPNOTSUPP) return last_error();
  return {errc::if_exists_not_supported, static_cast<std::uint64_t>(how), 0};
}

}  // namespace platform
QIO_END_NAMESPACE
