// SPDX-License-Identifier: BSL-1.0
// A mapping of a file into memory, and the signals that faults in it raise.
#pragma once

#include <qio/configuration.hpp>
#include <qio/result.hpp>
#include <qio/system/posix/mapping.hpp>
#include <qio/system/posix/primitives.hpp>
#include <qio/system/posix/views.hpp>

#include <signal.h>
#include <sys/mman.h>
#include <time.h>

#include <cerrno>
#include <cstddef>
#include <span>

QIO_BEGIN_NAMESPACE
namespace platform {

/// macOS does not promise that fsync(2) writes the changes made through mappings; msync(2) does. FreeBSD does the same,
/// so that both are alike.
using mapping = shared_mapping<true>;

/// Hands the changes made through a mapping to the file system. Its device may still hold them in its own cache.
inline result<void> flush(const mapping& of) noexcept {
  while (::msync(of.data(), of.size(), MS_SYNC) != 0)
    if (errno != EINTR) return last_error();
  return success();
}

/// Which of them a fault raises depends on what is missing: the file behind the page, or the page. (SIGSEGV: FreeBSD
/// where the access is not permitted, and perhaps macOS past the end of a file.)
inline std::span<const int> fault_signals() noexcept {
  static constexpr int all[] = {SIGBUS, SIGSEGV};
  return all;
}

/// Any other was sent: the codes of those are SI_USER and above.
inline bool is_fault(const siginfo_t& information) noexcept {
  return information.si_code > 0 && information.si_code < SI_USER;
}

#if defined(CLOCK_MONOTONIC_RAW_APPROX)
inline clockid_t coarse_clock() noexcept { return CLOCK_MONOTONIC_RAW_APPROX; }
#else
inline clockid_t coarse_clock() noexcept { return CLOCK_MONOTONIC_FAST; }
#endif

// --- Views: the rest is in posix/views.hpp ---

/// Neither system has a call that puts pages into a process's page tables and reports a fault instead of raising it.
inline result<bool> populate(std::span<std::byte>, bool) noexcept { return false; }
inline result<void> use_huge_pages(std::span<std::byte>) noexcept { return error(errc::huge_pages_not_supported); }

}  // namespace platform
QIO_END_NAMESPACE
