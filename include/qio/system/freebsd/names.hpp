// SPDX-License-Identifier: BSL-1.0
// Renaming on FreeBSD.
#pragma once

#include <qio/configuration.hpp>
#include <qio/if_exists.hpp>
#include <qio/result.hpp>
#include <qio/system/bsd/directory.hpp>
#include <qio/system/posix/entry.hpp>

#include <stdio.h>

#include <cstdint>

QIO_BEGIN_NAMESPACE
namespace platform {

/// renameat(2). No call of FreeBSD 14 renames without replacing, or exchanges.
inline error rename_at(const directory_entry& from, const directory_entry& to, if_exists how) noexcept {
  if (how != if_exists::replace) return {errc::if_exists_not_supported, static_cast<std::uint64_t>(how), 0};
  if (::renameat(from.directory, from.name.c_str(), to.directory, to.name.c_str()) == 0) return {};
  return last_error();
}

}  // namespace platform
QIO_END_NAMESPACE
