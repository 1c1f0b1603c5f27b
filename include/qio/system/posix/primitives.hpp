// SPDX-License-Identifier: BSL-1.0
// What each system defines for itself, and the headers of posix and bsd call.
#pragma once

#include <qio/configuration.hpp>
#include <qio/file_status.hpp>
#include <qio/mode.hpp>
#include <qio/result.hpp>
#include <qio/system/posix/handle.hpp>

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <time.h>

#include <cstdint>
#include <span>

QIO_BEGIN_NAMESPACE
namespace platform {

// --- Opening: directory.hpp and open.hpp of each system ---

/// Flags for a directory handle that permits only searching. (A macOS that does not know O_SEARCH opens it for
/// reading.)
#if defined(O_SEARCH)
inline constexpr int search_only = O_SEARCH | O_DIRECTORY | O_CLOEXEC;
#else
inline constexpr int search_only = O_PATH | O_DIRECTORY | O_CLOEXEC;
#endif

/// Opens `path`, which must stay beneath `directory`, unless that is `anywhere`. The caller owns the handle.
inline result<native_handle> open_at(native_handle directory, const char* path, int flags,
                                     mode_t permissions = 0) noexcept;

/// Like open_at() for a path that may lead anywhere, except that a relative path begins at `from`.
inline result<native_handle> open_from(native_handle from, const char* path, int flags,
                                       mode_t permissions = 0) noexcept;

/// A number that nobody else can predict, for names that nobody else can have taken.
inline std::uint64_t unguessable_number() noexcept;

/// Whether a file can be read and written at offsets.
inline bool has_offsets(native_handle handle, const struct stat& status) noexcept;

// --- Files and directories: status.hpp, and transfer.hpp or sync.hpp ---

inline result<file_status> status_at(native_handle directory, const char* name, int flags) noexcept;

/// Makes what was written durable.
inline result<void> sync(native_handle handle, sync_kind kind) noexcept;

// --- Faults in a mapping: mapping.hpp ---

/// The signals that a fault may raise: one, or two.
inline std::span<const int> fault_signals() noexcept;

/// Whether a signal reports a fault of the running thread, which would recur if the handler returned.
inline bool is_fault(const siginfo_t& information) noexcept;

/// A clock that costs no system call, with ticks of 1 to 10 ms.
inline clockid_t coarse_clock() noexcept;

}  // namespace platform
QIO_END_NAMESPACE
