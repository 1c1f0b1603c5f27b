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

#include <cstddef>
#include <span>

QIO_BEGIN_NAMESPACE
namespace platform {

using mapping = shared_mapping<false>;

/// Does nothing: syncing the file also writes the changes made through mappings.
inline result<void> flush(const mapping&) noexcept { return success(); }

inline std::span<const int> fault_signals() noexcept {
  static constexpr int all[] = {SIGBUS};
  return all;
}

/// Any other was sent (kill, sigqueue), or reports a damaged page that no thread has accessed yet.
inline bool is_fault(const siginfo_t& information) noexcept {
  return information.si_code > 0 && information.si_code != BUS_MCEERR_AO;
}

inline clockid_t coarse_clock() noexcept { return CLOCK_MONOTONIC_COARSE; }

// --- Views: the rest is in posix/views.hpp ---

/// Puts the pages into this process's page tables, for stores as well if `for_writing`. False if the system cannot.
inline result<bool> populate(std::span<std::byte> view, bool for_writing) noexcept {
  constexpr int populate_read = 22, populate_write = 23;  // MADV_POPULATE_...: Linux 5.14
  const auto populated = advise_pages(view, for_writing ? populate_write : populate_read);
  if (populated) return true;
  if (populated.error() == std::errc::invalid_argument) return false;
  if (populated.error() == std::errc::bad_address) return error(errc::prefault_failed);
  return populated.error();
}

inline result<void> use_huge_pages(std::span<std::byte> view) noexcept {
  const auto advised = advise_pages(view, MADV_HUGEPAGE);
  if (!advised && advised.error() == std::errc::invalid_argument) return error(errc::huge_pages_not_supported);
  return advised;
}

}  // namespace platform
QIO_END_NAMESPACE
