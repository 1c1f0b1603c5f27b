// SPDX-License-Identifier: BSL-1.0
// How far the valid data of a file reaches, and transfers through the system's cache on the caller's thread.
#pragma once

#include <qio/configuration.hpp>
#include <qio/system/windows/handle.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>

QIO_BEGIN_NAMESPACE
namespace platform {

// --- How far the valid data of a file reaches, and whether its file system transfers it synchronously ---

/// The structures of FSCTL_QUERY_FILE_REGIONS (ntifs.h, [MS-FSCC] 2.3.55 and 2.3.56).
struct file_region_question {
  std::int64_t offset;
  std::int64_t length;
  std::uint32_t usage;
  std::uint32_t reserved;
};
struct file_region {
  std::int64_t offset;
  std::int64_t length;
  std::uint32_t usage;  ///< 0: not valid
  std::uint32_t reserved;
};
struct file_regions {
  std::uint32_t flags, total, count, reserved;
  file_region each[16];
};

/// Where the valid data that begins at the start of the file ends, in bytes.
constexpr std::uint64_t end_of_valid_data(const file_regions& found) noexcept {
  std::int64_t end = 0;
  for (std::uint32_t i = 0; i < found.count && i < 16; ++i) {
    const file_region& region = found.each[i];
    if (region.usage == 0 || region.offset > end) break;
    if (region.offset + region.length > end) end = region.offset + region.length;
  }
  return static_cast<std::uint64_t>(end);
}

/// The valid data length of a file in bytes: what has been written, or zeroed, from its beginning on. It is at most the
/// size; SetEndOfFile moves the size only. Windows carries out a write that ends beyond it synchronously, and zeroes
/// what is between. Nothing if the file system does not report it. May wait for other writes of the file.
inline std::optional<std::uint64_t> valid_data_length(native_handle handle) noexcept {
  constexpr std::uint32_t in_cache = 1, on_disk = 2;  // NTFS reports the one, ReFS the other
  const auto bytes = size(handle);
  if (!bytes) return std::nullopt;
  for (const std::uint32_t usage : {in_cache, on_disk}) {
    file_region_question question{0, static_cast<std::int64_t>(bytes.assume_value()), usage, 0};
    file_regions regions{};
    DWORD length = 0;
    const DWORD failure =
        control(handle, control_query_file_regions, &question, sizeof question, &regions, sizeof regions, length);
    if (failure != 0 && failure != ERROR_MORE_DATA) continue;
    if (length >= offsetof(file_regions, each)) return end_of_valid_data(regions);
  }
  return std::nullopt;
}

/// Attributes of an open file (FILE_ATTRIBUTE_...); 0 if unknown.
inline DWORD attributes_of(native_handle handle) noexcept {
  FILE_BASIC_INFO basic{};
  return calls::GetFileInformationByHandleEx(handle, FileBasicInfo, &basic, sizeof basic) == 0 ? 0
                                                                                               : basic.FileAttributes;
}

/// Whether NTFS transfers the file synchronously, whatever the handle (KB156932).
inline bool is_transformed(native_handle handle) noexcept {
  return (attributes_of(handle) & (FILE_ATTRIBUTE_COMPRESSED | FILE_ATTRIBUTE_ENCRYPTED)) != 0;
}

// --- Page cache ---
//
// Transfers through the system's cache on the caller's thread. Not attempted on Windows: a completion port does this by
// itself.

/// Which file system a file is on.
struct file_place {
  std::uint64_t device = 0;
};

/// Where the data of an open file is, and so whether a thread that must not wait may transfer it.
class file_storage {
 public:
  explicit file_storage(native_handle handle) noexcept : is_transformed_(platform::is_transformed(handle)) {}

  static const char* why_reads_wait(bool) noexcept {
    return "when the engine starts a read, Windows completes it at once if it can";
  }
  static const char* why_writes_wait(bool) noexcept {
    return "when the engine starts a write, Windows completes it at once if it can";
  }
  static bool opens_at_once(bool) noexcept { return false; }  // Windows does not tell
  static file_place place() noexcept { return {}; }
  static bool is_memory() noexcept { return false; }
  static bool is_open_to_others() noexcept { return true; }  // matters only where writes are attempted
  static bool copies_on_open() noexcept { return false; }
  /// NTFS transfers compressed and encrypted files synchronously, so the engine leaves that to its workers.
  bool waits_in_submission() const noexcept { return is_transformed_; }
  static bool waits_after_miss() noexcept { return false; }

 private:
  bool is_transformed_;
};

/// Windows drops no pages on request.
inline void drop_cached_pages(native_handle) noexcept {}

/// Whether closing the file may free its blocks: it has no name any more.
inline bool is_removed(native_handle) noexcept { return true; }

/// Always false: Windows has no per-process limit on the size of files.
inline bool has_file_size_limit() noexcept { return false; }
inline bool passes_size_limit(native_handle, std::uint64_t) noexcept { return false; }

/// Whether a page can be modified without being read first, which Windows does not report.
enum class page_state : std::uint8_t { at_hand, elsewhere, unknown };
inline page_state state_of_page(native_handle, std::uint64_t) noexcept { return page_state::unknown; }

/// The number of context switches of a thread, which Windows does not report.
struct thread_switches {
  long voluntary = 0;
  long involuntary = 0;
};
inline thread_switches switches_of_this_thread() noexcept { return {}; }

// --- Known file systems ---
//
// File systems that a context has opened files on: on Windows none is remembered, because no open or close is attempted
// inline.

class known_file_systems {
 public:
  static void remember(const file_storage&) noexcept {}
  static const file_storage* find(const file_place&) noexcept { return nullptr; }
};

}  // namespace platform
QIO_END_NAMESPACE
