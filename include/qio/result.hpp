// SPDX-License-Identifier: BSL-1.0
// result<T>: a T or a qio::error. Every function of the library that can fail returns one.
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/base/process_mutex.hpp>
#include <qio/configuration.hpp>

#include <boost/outcome/basic_result.hpp>  // first: since Boost 1.83, policy/terminate.hpp lacks includes of its own
#include <boost/outcome/policy/terminate.hpp>
#include <boost/outcome/std_result.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>

QIO_BEGIN_NAMESPACE

/// Errors that the library itself reports. Errors of the operating system keep their own code, in
/// qio::platform::system_category(); on Linux, that is std::system_category().
enum class errc : int {
  misaligned_offset = 1,    ///< the offset of a direct transfer is not a multiple of the block
  misaligned_length,        ///< the length of a direct transfer is not a multiple of the block
  misaligned_buffer,        ///< the memory of a direct transfer is not aligned
  offset_too_large,         ///< offset + length exceeds the largest file offset, 2^63 - 1
  beyond_end,               ///< a view reaches past the end of the file
  direct_not_supported,     ///< the file system reports that it does not support direct I/O on this file
  direct_unknown,           ///< the file system accepts direct I/O, but does not report whether it bypasses its cache
  direct_in_memory,         ///< the file system keeps files in memory, and what it accepts as direct I/O is not direct
  uncached_not_supported,   ///< the kernel or the file system cannot drop pages after a transfer
  access_not_granted,       ///< the file was not opened for this kind of access
  context_closed,           ///< the context that this file was opened on has ended
  invalid_alignment,        ///< an alignment that is not a power of two
  cannot_be_bound,          ///< Windows cannot bind this file to the completion port of a context
  leaves_directory,         ///< the path leads out of the directory that it must stay beneath
  beneath_not_supported,    ///< the system cannot guarantee that a path stays beneath a directory
  beneath_forbidden,        ///< the system could, but a sandbox forbids the call
  too_many_workers,         ///< more worker threads were requested than a context may have
  no_offsets,               ///< the path leads to a pipe, a socket or a terminal
  no_wake_handle,           ///< another event loop cannot wait for this context
  handle_appends,           ///< the handle to be adopted appends, so its writes would ignore their offsets
  handle_is_nonblocking,    ///< the handle to be adopted is O_NONBLOCK, and a context's operations would fail
  handle_is_synchronous,    ///< Windows: the handle to be adopted has no FILE_FLAG_OVERLAPPED, which a context needs
  handle_is_direct,         ///< the handle to be adopted is direct, the mode is not
  handle_is_not_direct,     ///< the mode is direct, the handle to be adopted is not
  handle_is_not_durable,    ///< durable writes were requested, which the handle to be adopted does not make
  adopt_not_supported,      ///< a simulated file, or a Windows that does not report a handle's access and mode
  cannot_be_released,       ///< Windows: a handle stays bound to the completion port of its context
  handle_is_shared,         ///< other files use the handle, so it cannot be released
  cannot_be_shared,         ///< Windows: a handle can be bound to one completion port only
  overlapping_writes,       ///< two writes of a batch overlap
  record_too_large,         ///< the record is longer than a batch of the log can hold
  not_a_log,                ///< the file has contents that no log_writer has written
  log_damaged,              ///< acknowledged records of a log are missing or wrong
  writeback_not_supported,  ///< the system has no call that starts writeback
  untorn_not_supported,     ///< this file does not support untorn writes
  untorn_length,            ///< the length of an untorn write is not a power of two within atomic_write_limits()
  untorn_offset,            ///< the offset of an untorn write is not a multiple of its length
  untorn_buffers,           ///< an untorn write has several buffers
  log_is_open,              ///< the log is open for appending elsewhere, or other files use its handle
  log_version,              ///< the log has a format that this version of the library does not read
  log_batch_too_large,      ///< the log's batches are larger than log_options::batch_limit
  log_extent_too_large,     ///< log_options::extent is larger than an extent may be
  null_in_path,             ///< a path contains a null character, which would end the name too early
  direct_to_character_device,  ///< the path of a direct file leads to a character device, such as /dev/null
  lock_query_not_supported,    ///< Windows and FreeBSD do not report who has locked a range
  not_a_regular_file,          ///< open_options::regular_only, and the path leads to a device, a pipe or a socket
  range_not_locked,            ///< Windows: unlock() was given a range that is not exactly one that was locked
  no_name_in_path,          ///< a path to create, rename or remove has no name at its end: it is empty, or ends in ".."
  if_exists_not_supported,  ///< the file system cannot rename with if_exists::fail, or not with if_exists::exchange
  not_a_link,               ///< the path of read_link() does not lead to a symbolic link
  invalid_permissions,      ///< permission bits other than 07777
  tree_too_deep,            ///< a directory is deeper than walk_options::deepest
  is_mount_point,           ///< a directory is the root of another mount, which remove_tree() does not enter
  misaligned_clone,         ///< a range of clone_from() is not a multiple of the file system's block
  overlapping_copy,         ///< clone_from(), copy_from() or copy() within one file, and the ranges overlap
  directory_sync_not_supported,  ///< the file system cannot sync directories, so it alone decides when names are
                                 ///< durable
  directory_of_overlay,          ///< the directory is in a lower layer of an overlay, which cannot rename it
  advice_not_supported,          ///< Windows: the order of reads is given when a file is opened, and stays
  prefetch_not_supported,        ///< Windows reads ahead on request only for mapped files
  forget_not_supported,          ///< the system does not drop cached pages on request
  residency_not_supported,       ///< the system does not report what it has cached
  residency_hidden,              ///< the system does not report to this user what it has cached of this file
  prefault_not_supported,        ///< the system cannot make these pages present
  prefault_failed,               ///< a page could not be made present: it was cut off, or the device failed or is full
  huge_pages_not_supported,      ///< the system has no huge pages for files
  record_not_durable,            ///< trim() was to keep records from one on that is not durable yet
  direct_not_promised,           ///< macOS, FreeBSD: the system may avoid its cache, but does not promise to
  foreign_io_class,              ///< a class of another io_scheduler than that of the context
};

QIO_END_NAMESPACE

template <>
struct std::is_error_code_enum<qio::errc> : std::true_type {};

QIO_BEGIN_NAMESPACE
namespace detail {

// --- paths in messages: other users may have chosen them ---

/// A character of UTF-8 text.
struct utf8_character {
  std::uint32_t code = 0;
  std::size_t bytes = 0;  ///< 0: not UTF-8
};

/// The first character of `text`, which is not empty.
inline utf8_character first_character(std::string_view text) noexcept {
  const auto byte = [&](std::size_t at) { return static_cast<std::uint32_t>(static_cast<unsigned char>(text[at])); };
  const std::uint32_t first = byte(0);
  if (first < 0x80) return {first, 1};
  const std::size_t bytes = first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
  if (bytes == 0 || bytes > text.size()) return {};
  std::uint32_t code = first & (0xffu >> (bytes + 1));
  for (std::size_t at = 1; at < bytes; ++at) {
    if ((byte(at) & 0xc0) != 0x80) return {};
    code = code << 6 | (byte(at) & 0x3f);
  }
  const bool is_longer_than_needed = (bytes == 3 && code < 0x800) || (bytes == 4 && code < 0x10000);
  const bool is_surrogate = code >= 0xd800 && code <= 0xdfff;
  if (is_longer_than_needed || is_surrogate || code > 0x10ffff) return {};
  return {code, bytes};
}

/// Whether a character controls a terminal or changes how other characters are shown, or is invisible: control
/// characters (C0, C1), separators of lines, what has the property Default_Ignorable_Code_Point (Unicode 15.1), and
/// symbols without ink that are no white space (U+2800, the blank Braille pattern, and U+1D159, the null notehead).
inline bool is_command(std::uint32_t code) noexcept {
  constexpr struct {
    std::uint32_t first, last;
  } commands[] = {{0x0, 0x1f},       {0x7f, 0x9f},     {0xad, 0xad},       {0x34f, 0x34f},     {0x61c, 0x61c},
                  {0x115f, 0x1160},  {0x17b4, 0x17b5}, {0x180b, 0x180f},   {0x200b, 0x200f},   {0x2028, 0x202e},
                  {0x2060, 0x206f},  {0x2800, 0x2800}, {0x3164, 0x3164},   {0xfe00, 0xfe0f},   {0xfeff, 0xfeff},
                  {0xffa0, 0xffa0},  {0xfff0, 0xfffb}, {0x1bca0, 0x1bca3}, {0x1d159, 0x1d159}, {0x1d173, 0x1d17a},
                  {0xe0000, 0xe0fff}};
  for (const auto& each : commands)
    if (code >= each.first && code <= each.last) return true;
  return false;
}

/// `text` for a one-line message: the bytes of commands, and those that are not UTF-8, become "\x1b".
inline std::string printable(std::string_view text) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string shown;
  shown.reserve(text.size());
  while (!text.empty()) {
    const utf8_character next = first_character(text);
    const std::size_t bytes = next.bytes == 0 ? 1 : next.bytes;
    const bool is_hidden = next.bytes == 0 || is_command(next.code);
    if (!is_hidden) shown += text.substr(0, bytes);
    for (std::size_t at = 0; is_hidden && at < bytes; ++at) {
      const auto byte = static_cast<unsigned char>(text[at]);
      (shown += "\\x").append({digits[byte >> 4], digits[byte & 15]});
    }
    text.remove_prefix(bytes);
  }
  return shown;
}

/// `path`, or the beginning and the end of one that is too long for a message.
inline std::string shortened(std::string_view path) {
  constexpr std::size_t longest = 1024, each_end = 500;
  if (path.size() <= longest) return std::string(path);
  return std::string(path.substr(0, each_end)).append("...").append(path.substr(path.size() - each_end));
}

// --- categories of errors ---

/// A category that recognizes its copies in other modules (shared libraries, DLLs) by a 64-bit id. Each module may have
/// a copy, and std::error_category, which compares addresses, treats copies as different categories. Categories with
/// the same id give each number the same meaning.
///
/// The id is read through default_error_condition(), the only member of every category that returns a number: two
/// values that are not error codes return one half each.
class identified_category : public std::error_category {
 public:
  /// `condition_of(value)` for an error code of the category.
  std::error_condition default_error_condition(int value) const noexcept final {
    if (value == asks_for_upper_half) return {static_cast<int>(id() >> 32), *this};
    if (value == asks_for_lower_half) return {static_cast<int>(id() & 0xffffffff), *this};
    return condition_of(value);
  }
  bool equivalent(int value, const std::error_condition& condition) const noexcept final {
    const std::error_condition own = condition_of(value);
    return own.value() == condition.value() && is_same(own.category(), condition.category());
  }
  bool equivalent(const std::error_code& code, int value) const noexcept final {
    return code.value() == value && is_same(code.category(), *this);
  }

  /// Whether two categories are the same or copies of each other. The standard categories, of which modules with their
  /// own C++ library have copies as well, are recognized by name.
  static bool is_same(const std::error_category& one, const std::error_category& other) noexcept {
    return &one == &other || are_copies(one, other);
  }

 protected:
  identified_category() noexcept = default;
  ~identified_category() = default;

 private:
  static constexpr int asks_for_upper_half = -0x51494f01, asks_for_lower_half = -0x51494f02;

  virtual std::uint64_t id() const noexcept = 0;
  virtual std::error_condition condition_of(int value) const noexcept = 0;

  QIO_COLD static bool are_copies(const std::error_category& one, const std::error_category& other) noexcept {
    const std::string_view name = one.name();
    if (name != other.name()) return false;
    if (name == std::generic_category().name() || name == std::system_category().name()) return true;
    const std::uint64_t id = id_of(one);
    return id != 0 && id == id_of(other);
  }

  // 0 for a category without an id: it returns the values that it was given.
  static std::uint64_t id_of(const std::error_category& of) noexcept {
    const int upper = of.default_error_condition(asks_for_upper_half).value();
    const int lower = of.default_error_condition(asks_for_lower_half).value();
    if (upper == asks_for_upper_half || lower == asks_for_lower_half) return 0;
    return std::uint64_t{static_cast<std::uint32_t>(upper)} << 32 | static_cast<std::uint32_t>(lower);
  }
};

inline bool is_same_code(const std::error_code& one, const std::error_code& other) noexcept {
  return one.value() == other.value() && identified_category::is_same(one.category(), other.category());
}

/// code == condition, even if they come from modules that each have their own C++ library.
inline bool is_equivalent(const std::error_code& code, const std::error_condition& condition) noexcept {
  if (code == condition) return true;
  const std::error_condition own = code.default_error_condition();
  return own.value() == condition.value() && identified_category::is_same(own.category(), condition.category());
}

class qio_category final : public identified_category {
 public:
  const char* name() const noexcept override { return "qio"; }

  std::string message(int value) const override {
    switch (static_cast<errc>(value)) {
      case errc::misaligned_offset: return "the offset is not a multiple of the file's direct alignment";
      case errc::misaligned_length: return "the length is not a multiple of the file's direct alignment";
      case errc::misaligned_buffer: return "the address of the buffer is not aligned for direct I/O on this file";
      case errc::offset_too_large: return "offset + length exceeds the largest file offset";
      case errc::beyond_end: return "the range reaches past the end of the file";
      case errc::direct_not_supported: return "the file system does not support direct I/O on this file";
      case errc::direct_unknown: return "the file system does not report whether direct I/O bypasses its cache";
      case errc::direct_in_memory:
        return "direct I/O is unavailable: the file system keeps its files in memory (tmpfs, ramfs, hugetlbfs)";
      case errc::direct_to_character_device:
        return "direct I/O is unavailable: the path leads to a character device, not to a file or a block device";
      case errc::direct_not_promised:
        return "direct I/O is unavailable: on this system, F_NOCACHE and O_DIRECT do not promise it";
      case errc::lock_query_not_supported:
        return "the system does not report locks: call try_lock(), and unlock() on success";
      case errc::not_a_regular_file:
        return "the path leads to a device, a pipe or a socket, which open_options::regular_only excludes";
      case errc::range_not_locked:
        return "the range is not one that this file has locked: Windows unlocks only exactly the ranges of try_lock()";
      case errc::uncached_not_supported:
        return "uncached I/O (RWF_DONTCACHE) is unavailable: it needs Linux 6.14 and a file system that supports it";
      case errc::access_not_granted: return "the file was not opened for this kind of access";
      case errc::context_closed: return "the context of this file is closed";
      case errc::invalid_alignment: return "the alignment is not a power of two";
      case errc::cannot_be_bound:
        return "this file cannot be bound to a completion port: open it without a context, or on a context with "
               "engine_kind::workers";
      case errc::leaves_directory: return "the path leads out of the directory that it must stay beneath";
      case errc::beneath_not_supported:
        return "open_options::beneath is unavailable: it needs Linux 5.6 (openat2), FreeBSD or a recent macOS, "
               "and a file of the operating system";
      case errc::beneath_forbidden:
        return "open_options::beneath is unavailable: a sandbox (seccomp) forbids the system call openat2";
      case errc::too_many_workers: return "context_options::workers exceeds the most that a context may have";
      case errc::no_offsets:
        return "the path leads to a pipe, a socket or a terminal, which cannot be read or written at an offset";
      case errc::no_wake_handle:
        return "another event loop cannot wait for this context: it polls (context_options::polling), or its engine "
               "has "
               "no handle for that (completion ports, simulation)";
      case errc::handle_appends:
        return "the handle cannot be adopted: it appends (as by O_APPEND), so its writes would ignore their offsets";
      case errc::handle_is_nonblocking:
        return "the handle cannot be adopted by a file on a context: it does not wait (O_NONBLOCK)";
      case errc::handle_is_synchronous:
        return "the handle cannot be adopted by a file on a context: it was opened without FILE_FLAG_OVERLAPPED";
      case errc::handle_is_direct:
        return "the handle is direct (O_DIRECT, FILE_FLAG_NO_BUFFERING): only a direct file can adopt it";
      case errc::handle_is_not_direct:
        return "the handle is not direct: open it with O_DIRECT (FILE_FLAG_NO_BUFFERING), which adopting cannot add";
      case errc::handle_is_not_durable:
        return "durable writes need a handle opened with O_DSYNC (FILE_FLAG_WRITE_THROUGH), which adopting cannot add";
      case errc::adopt_not_supported:
        return "handles cannot be adopted by simulated files, or where Windows does not report their access and mode";
      case errc::cannot_be_released:
        return "on Windows, a handle stays bound to its context: only a file without a context can release it";
      case errc::handle_is_shared: return "the handle cannot be released: other files use it (share_with)";
      case errc::cannot_be_shared:
        return "on Windows, a handle can be bound to one context only: open the file once for each context";
      case errc::overlapping_writes: return "two writes of the batch overlap, so their order would matter";
      case errc::foreign_io_class:
        return "the class belongs to another io_scheduler than the context's, or there is none: create the context "
               "with a class of that scheduler (context_options::io_class)";
      case errc::record_too_large: return "the record is longer than the log allows (log_options::largest_batch)";
      case errc::not_a_log: return "the file is not empty, and is not a log: it has another header";
      case errc::writeback_not_supported:
        return "start_writeback() is unavailable: it needs Linux (sync_file_range); use sync()";
      case errc::untorn_not_supported:
        return "untorn writes are unavailable: they need a direct file on Linux, on XFS or ext4 (6.13) or a block "
               "device (6.11), and a device that has them, or XFS with reflink (6.16)";
      case errc::untorn_length:
        return "the length of an untorn write must be a power of two within atomic_write_limits()";
      case errc::untorn_offset: return "the offset of an untorn write must be a multiple of its length";
      case errc::untorn_buffers: return "an untorn write must have a single buffer";
      case errc::null_in_path: return "the path contains a null character";
      case errc::invalid_permissions: return "permissions have bits other than 07777";
      case errc::tree_too_deep: return "the directory is deeper than walk_options::deepest";
      case errc::is_mount_point:
        return "the directory is the root of another mount: unmount it, or set remove_options::enters_mounts";
      case errc::misaligned_clone: return "a clone must consist of whole blocks of the file system";
      case errc::overlapping_copy: return "the source and the destination of the copy overlap";
      case errc::advice_not_supported:
        return "advise() is unavailable: Windows needs open_options::pattern, when the file is opened";
      case errc::prefetch_not_supported:
        return "prefetch() is unavailable: Windows has it for mapped files only (PrefetchVirtualMemory)";
      case errc::forget_not_supported: return "forget() is unavailable: it needs posix_fadvise()";
      case errc::residency_not_supported:
        return "resident() is unavailable: it needs a file of Linux (cachestat or mincore)";
      case errc::residency_hidden:
        return "the kernel does not report what it has cached of this file: only its owner may ask, and users who may "
               "write to it";
      case errc::prefault_not_supported:
        return "prefault() is unavailable: it needs Linux 5.14 (MADV_POPULATE_READ, MADV_POPULATE_WRITE), or, for "
               "reading, open_options::guards_copies";
      case errc::prefault_failed:
        return "a page could not be made present: the file has become shorter, or its device failed or is full";
      case errc::huge_pages_not_supported:
        return "huge pages are unavailable: they need Linux with transparent huge pages (MADV_HUGEPAGE)";
      case errc::directory_sync_not_supported:
        return "the file system cannot sync directories (fsync(2) fails with EINVAL), so it alone decides when names "
               "are durable";
      case errc::directory_of_overlay:
        return "the directory is in a lower layer of an overlay, which cannot rename it unless it is mounted with "
               "redirect_dir=on: copy what is in it";
      case errc::log_damaged:
        return "the log is damaged: acknowledged records are missing or wrong; read_log() reads those before";
      case errc::log_is_open:
        return "the log is open for appending elsewhere, in this process or another, or other files use its handle";
      case errc::log_version: return "the log has a format that this version of qio does not read";
      case errc::log_batch_too_large: return "the batches of the log are larger than log_options::batch_limit";
      case errc::log_extent_too_large: return "log_options::extent is larger than an extent may be";
      case errc::record_not_durable: return "a log can be trimmed only in front of records that are durable";
      case errc::no_name_in_path:
        return "the path does not end in a name that can be created, renamed or removed: it is empty, or ends in "
               "\".\", "
               "\"..\" or a slash";
      case errc::if_exists_not_supported:
        return "this file system cannot rename in that way (if_exists::fail and if_exists::exchange need "
               "RENAME_NOREPLACE and RENAME_EXCHANGE)";
      case errc::not_a_link: return "it is not a symbolic link";
    }
    return "unknown qio error " + std::to_string(value);
  }

 private:
  std::uint64_t id() const noexcept override { return 0x7c1e5a9043d8f26b; }

  // Lets portable code compare with std::errc, without knowing qio::errc.
  std::error_condition condition_of(int value) const noexcept override {
    switch (static_cast<errc>(value)) {
      case errc::misaligned_offset:
      case errc::misaligned_length:
      case errc::misaligned_buffer:
      case errc::invalid_alignment:
      case errc::too_many_workers:
      case errc::handle_appends:
      case errc::handle_is_nonblocking:
      case errc::handle_is_synchronous:
      case errc::handle_is_direct:
      case errc::handle_is_not_direct:
      case errc::handle_is_not_durable:
      case errc::overlapping_writes:
      case errc::untorn_length:
      case errc::untorn_offset:
      case errc::untorn_buffers:
      case errc::log_batch_too_large:
      case errc::log_extent_too_large:
      case errc::record_not_durable:
      case errc::null_in_path:
      case errc::range_not_locked:
      case errc::no_name_in_path:
      case errc::not_a_link:
      case errc::invalid_permissions:
      case errc::tree_too_deep:
      case errc::not_a_regular_file:
      case errc::misaligned_clone:
      case errc::overlapping_copy:
      case errc::foreign_io_class:
      case errc::beyond_end: return std::errc::invalid_argument;
      case errc::offset_too_large: return std::errc::file_too_large;
      case errc::direct_not_supported:
      case errc::direct_unknown:
      case errc::direct_in_memory:
      case errc::direct_not_promised:
      case errc::direct_to_character_device:
      case errc::uncached_not_supported:
      case errc::cannot_be_bound:
      case errc::beneath_not_supported:
      case errc::beneath_forbidden:
      case errc::no_wake_handle:
      case errc::adopt_not_supported:
      case errc::cannot_be_released:
      case errc::writeback_not_supported:
      case errc::untorn_not_supported:
      case errc::lock_query_not_supported:
      case errc::log_version:
      case errc::if_exists_not_supported:
      case errc::advice_not_supported:
      case errc::prefetch_not_supported:
      case errc::forget_not_supported:
      case errc::residency_not_supported:
      case errc::prefault_not_supported:
      case errc::huge_pages_not_supported:
      case errc::directory_sync_not_supported:
      case errc::cannot_be_shared: return std::errc::operation_not_supported;
      case errc::log_is_open:
      case errc::is_mount_point:
      case errc::handle_is_shared: return std::errc::device_or_resource_busy;
      case errc::directory_of_overlay:
      case errc::leaves_directory: return std::errc::cross_device_link;  // as Linux reports them
      case errc::access_not_granted: return std::errc::bad_file_descriptor;
      case errc::record_too_large: return std::errc::message_size;
      case errc::not_a_log: return std::errc::invalid_argument;
      case errc::log_damaged: return std::errc::bad_message;
      case errc::context_closed: return std::errc::operation_canceled;
      case errc::no_offsets: return std::errc::invalid_seek;
      case errc::residency_hidden: return std::errc::operation_not_permitted;
      case errc::prefault_failed: return std::errc::io_error;
    }
    return {value, *this};
  }
};

}  // namespace detail

/// The category of qio::errc. Each module (DLL, shared library) may have its own copy, at another address. qio::error,
/// and comparisons of a std::error_code with a qio::errc, treat all copies as the same category; comparisons of two
/// std::error_code do not. An error must not outlive the module that it comes from.
inline const std::error_category& qio_category() noexcept {
  static const detail::qio_category category;
  return category;
}

inline std::error_code make_error_code(errc condition) noexcept {
  return {static_cast<int>(condition), qio_category()};
}

/// Compares correctly even if the code comes from another module: see qio_category().
inline bool operator==(const std::error_code& code, errc condition) noexcept {
  return detail::is_same_code(code, make_error_code(condition));
}

namespace detail {

/// What failed most recently, such as "cannot open data.bin", for the messages of the errors. An error holds only a
/// number, so it stays small and trivially copyable. Thread-safe.
class recent_failures {
 public:
  static constexpr std::uint32_t kept = 64;

  /// Stores `text` and returns its number, which is never 0. What fails again and again, such as the writes to a full
  /// disk, has one number, and displaces no other text.
  std::uint32_t keep(std::string&& text) {
    auto stored = std::make_unique<const std::string>(std::move(text));
    const std::lock_guard lock(mutex_);
    if (const std::string* const newest = texts_[last_ % kept]; newest != nullptr && *newest == *stored)
      return last_ ^ own_bits();
    if (++last_ == 0) last_ = kept;  // all numbers have been used: start over
    if ((last_ ^ own_bits()) == 0) ++last_;
    stored.reset(std::exchange(texts_[last_ % kept], stored.release()));
    return last_ ^ own_bits();
  }
  /// The text with this number; empty if `kept` others were stored later, or if another module's table has it.
  std::string find(std::uint32_t number) {
    const std::lock_guard lock(mutex_);
    const std::uint32_t own = number ^ own_bits();
    if (number == 0 || last_ - own >= kept || texts_[own % kept] == nullptr) return {};
    return *texts_[own % kept];
  }

  void free_texts() {
    const std::lock_guard lock(mutex_);
    for (const std::string*& text : texts_) delete std::exchange(text, nullptr);
  }

 private:
  // An error may come from a shared library with a table of its own, whose numbers must differ.
  std::uint32_t own_bits() const noexcept {
    return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(this) >> 4) * 0x9e3779b9u;
  }

  process_mutex mutex_;
  std::uint32_t last_ = 0;
  const std::string* texts_[kept]{};  // owned
};

struct probed;

/// Usable while the program exits.
inline constinit recent_failures all_recent_failures;
/// Frees the texts when the module that owns them ends, so a plugin that is unloaded leaves nothing behind.
inline const struct recent_failures_at_exit {
  recent_failures_at_exit() noexcept {}
  ~recent_failures_at_exit() { all_recent_failures.free_texts(); }
} freed_recent_failures;

}  // namespace detail

/// A std::error_code, and the numbers that explain it.
///
/// Converts to std::error_code and compares with error codes and conditions, so code that knows only `<system_error>`
/// need not know this class. Comparisons hold across DLLs and shared libraries. Trivially copyable. Only message(),
/// of_opening() and naming() allocate.
class error {
 public:
  /// No error. (Outcome requires a cheap default state; user code never sees an error without a code.)
  constexpr error() noexcept = default;

  /// An error of the system or of any other category.
  error(std::error_code code) noexcept : category_(&code.category()), value_(code.value()) {}
  /// An error of the library.
  error(errc condition) noexcept : error(make_error_code(condition)) {}

  /// `given` is the wrong number; `needed` is what it must be a multiple of, or must not exceed.
  error(errc condition, std::uint64_t given, std::uint64_t needed) noexcept : error(condition) {
    given_ = given;
    needed_ = needed;
  }

  /// The error of a transfer that failed after `transferred` bytes.
  static error of_transfer(std::error_code code, std::uint64_t transferred) noexcept {
    error result(code);
    result.given_ = transferred;
    return result;
  }

  /// A copy of this error, if the system reported it, for a transfer that failed after `transferred` bytes. An error of
  /// the library keeps its numbers.
  error after(std::uint64_t transferred) const noexcept {
    error result = *this;
    if (!is_qio()) result.given_ = transferred;
    return result;
  }

  /// A copy of this error for a failed open of `path`: see naming().
  error of_opening(const char* path) const noexcept { return naming("open", path); }

  /// A copy of this error whose message() begins with "cannot <verb> <path>: ", until 64 later errors have named a
  /// path. Of a long path, the message has the beginning and the end. Control characters, those that change the
  /// direction of text, invisible ones, and bytes that are not UTF-8 are written as hexadecimal numbers, as in \x1b. An
  /// empty path is not named.
  error naming(const char* verb, const char* path) const noexcept {
    return *path == '\0' ? *this : naming(verb, path, "", nullptr);
  }
  /// The same for two paths: "cannot <verb> <path><joined by><other>: ".
  error naming(const char* verb, const char* path, const char* joined_by, const char* other) const noexcept {
    error result = *this;
    detail::succeeds([&] {
      std::string failure = std::string("cannot ") + verb + ' ' + detail::printable(detail::shortened(path));
      if (other != nullptr) failure.append(joined_by).append(detail::printable(detail::shortened(other)));
      result.failure_ = detail::all_recent_failures.keep(std::move(failure));
    });
    return result;
  }

  /// The code. An error of the operating system has its own, in qio::platform::system_category().
  std::error_code code() const noexcept { return category_ ? std::error_code(value_, *category_) : std::error_code(); }
  /// The same, as an implicit conversion.
  operator std::error_code() const noexcept { return code(); }

  /// False only for error().
  bool exists() const noexcept { return category_ != nullptr; }
  /// Whether the library itself reports it: then it is one of errc.
  bool is_qio() const noexcept {
    return category_ != nullptr && detail::identified_category::is_same(*category_, qio_category());
  }

  /// The wrong number: an offset, a length or an address in bytes, or a count. For errc::overlapping_writes, the index
  /// of the first write in the span; for errc::null_in_path, the index of the null character; for
  /// errc::access_not_granted, the `access` that the file was opened with; for errc::if_exists_not_supported, the
  /// `if_exists`; for errc::overlapping_copy, the offset of the source; for errc::log_damaged, see open_log(). 0 if
  /// there is none.
  std::uint64_t given() const noexcept { return is_qio() ? given_ : 0; }
  /// What given() must be a multiple of, or must not exceed. For errc::untorn_length, a valid length; for
  /// errc::overlapping_writes, the index of the second write; for errc::overlapping_copy, the offset of the
  /// destination; for errc::access_not_granted, the `access` that is needed; for errc::log_damaged, see open_log().
  /// Else 0.
  std::uint64_t needed() const noexcept { return is_qio() ? needed_ : 0; }
  /// The number of bytes that a failed, canceled or timed-out transfer had moved before it stopped. They are the first
  /// bytes of the buffer that was read into, or of the range of the file that was written.
  std::uint64_t transferred() const noexcept { return is_qio() ? 0 : given_; }

  /// Describes the error in one line, with the numbers: "offset 1000 is not a multiple of 512 ...". If an open, a
  /// transfer or a sync failed, it names the path: "cannot open data.bin: No such file or directory". Allocates.
  std::string message() const {
    const std::string failure = detail::all_recent_failures.find(failure_);
    return failure.empty() ? reason() : failure + ": " + reason();
  }

  /// Whether the codes are equal.
  friend bool operator==(const error& a, const std::error_code& b) noexcept {
    return detail::is_same_code(a.code(), b);
  }
  /// Whether the codes are equal; the numbers may differ.
  friend bool operator==(const error& a, const error& b) noexcept { return detail::is_same_code(a.code(), b.code()); }
  /// Compares with an errc, or with a condition: `error == std::errc::no_space_on_device`.
  template <class Enum>
    requires(std::is_error_code_enum<Enum>::value || std::is_error_condition_enum<Enum>::value)
  friend bool operator==(const error& a, Enum b) noexcept {
    if constexpr (std::is_error_code_enum<Enum>::value)
      return detail::is_same_code(a.code(), std::error_code(b));
    else
      return detail::is_equivalent(a.code(), std::error_condition(b));
  }

 private:
  friend struct detail::probed;  // of request/probes.hpp

  std::string reason() const {
    if (!exists()) return "success";
    if (!is_qio()) {
      const std::string text = reason_of_system();
      return given_ == 0 ? text : text + " (after " + std::to_string(given_) + " bytes had been transferred)";
    }
    const auto multiple = [this](const char* what) {
      return std::string(what) + ' ' + std::to_string(given_) + " is not a multiple of " + std::to_string(needed_) +
             ", which direct I/O on this file needs";
    };
    switch (static_cast<errc>(value_)) {
      case errc::misaligned_offset: return multiple("offset");
      case errc::misaligned_length: return multiple("length");
      case errc::misaligned_buffer: return multiple("buffer address");
      case errc::offset_too_large:
        return "offset + length = " + std::to_string(given_) + " exceeds the largest file offset, " +
               std::to_string(needed_);
      case errc::beyond_end:
        return "the range ends at " + std::to_string(given_) + ", but the file ends at " + std::to_string(needed_);
      case errc::access_not_granted: return reason_of_access();
      case errc::invalid_alignment: return "alignment " + std::to_string(given_) + " is not a power of two";
      case errc::too_many_workers:
        return std::to_string(given_) + " workers were requested, but a context may have at most " +
               std::to_string(needed_);
      case errc::overlapping_writes:
        return "writes " + std::to_string(given_) + " and " + std::to_string(needed_) +
               " of the batch overlap (counted from 0), so their order would matter: put them into separate batches";
      case errc::untorn_length:
        return "an untorn write of " + std::to_string(given_) +
               " bytes: the length must be a power of two within atomic_write_limits(), such as " +
               std::to_string(needed_);
      case errc::untorn_offset:
        return "offset " + std::to_string(given_) + " of an untorn write is not a multiple of its length, " +
               std::to_string(needed_);
      case errc::misaligned_clone:
        return "an offset or the length of the clone, " + std::to_string(given_) +
               ", is not a multiple of the file system's block, " + std::to_string(needed_) + ": use copy_from()";
      case errc::overlapping_copy:
        return "the ranges at " + std::to_string(given_) + " and " + std::to_string(needed_) +
               " of the file overlap: copy to another place first";
      case errc::if_exists_not_supported: return reason_of_rename();
      case errc::null_in_path: return "the path has a null character after " + std::to_string(given_) + " bytes";
      case errc::invalid_permissions:
        return "permissions " + std::to_string(given_) + " (decimal) have bits other than 07777";
      case errc::tree_too_deep:
        return "the directory is " + std::to_string(given_) + " levels deep, but walk_options::deepest is " +
               std::to_string(needed_);
      case errc::record_too_large:
        return "the record has " + std::to_string(given_) + " bytes, but the log allows at most " +
               std::to_string(needed_) + " (log_options::largest_batch, when it was created)";
      case errc::log_damaged:
        return "the log is damaged at offset " + std::to_string(given_) + ", behind " + std::to_string(needed_) +
               " records, which read_log() reads: acknowledged records are missing or wrong";
      case errc::log_version:
        if (given_ == needed_) return code().message();  // it uses something that was added to that version
        return "the log has format version " + std::to_string(given_) +
               ", but this version of qio reads only version " + std::to_string(needed_);
      case errc::log_batch_too_large:
        return "the log has batches of up to " + std::to_string(given_) + " bytes, but log_options::batch_limit is " +
               std::to_string(needed_) + ": raise it if you trust the file";
      case errc::log_extent_too_large:
        return "log_options::extent is " + std::to_string(given_) + " bytes, but may be at most " +
               std::to_string(needed_);
      case errc::record_not_durable:
        return "the log cannot be trimmed up to record " + std::to_string(given_) + ": those from record " +
               std::to_string(needed_) + " on are not durable yet";
      default: return code().message();
    }
  }

  std::string reason_of_rename() const {
    // The values of `if_exists` that not every file system has: fail and exchange.
    if (given_ == 0)
      return "the file system cannot rename without replacing (RENAME_NOREPLACE), which if_exists::fail needs: if "
             "nobody "
             "else changes the old name meanwhile, link() the new name to the file, and remove() the old one";
    if (given_ == 2)
      return "the file system cannot exchange two names (RENAME_EXCHANGE), which if_exists::exchange needs";
    return code().message();
  }

  std::string reason_of_access() const {
    // The values of `access`: reads, writes, both.
    if (given_ == 0 && needed_ == 1)
      return "the file was opened with access::read, which does not permit writing: open it with access::read_write";
    if (given_ == 1 && needed_ == 0)
      return "the file was opened with access::write, which does not permit reading: open it with access::read_write";
    if (given_ == 0 && needed_ == 2)
      return "creation::truncate_existing, creation::emptied and open_unnamed() need access::write or "
             "access::read_write, not access::read";
    return code().message();
  }

  // The library's own failures that have a std::errc are in the generic category; those of the system are in the system
  // category. The generic texts would mislead: an expired deadline is not a "Connection timed out".
  std::string reason_of_system() const {
    if (*this == std::errc::bad_file_descriptor) return "the file is not open";  // the system's: see shared_file
    if (detail::identified_category::is_same(*category_, std::generic_category()))
      switch (static_cast<std::errc>(value_)) {
        case std::errc::timed_out: return "the deadline passed before the operation completed";
        case std::errc::operation_canceled: return "the operation was canceled";
        case std::errc::not_enough_memory: return "out of memory";
        case std::errc::no_buffer_space: return "no slot of the bounce_pool is free, or none holds a block of the file";
        case std::errc::io_error: return "the system wrote nothing and reported no error";
        default: break;
      }
    return code().message();
  }

  const std::error_category* category_ = nullptr;
  int value_ = 0;
  std::uint32_t failure_ = 0;  // its number among recent_failures
  std::uint64_t given_ = 0;    // in a transfer's error: the bytes transferred
  std::uint64_t needed_ = 0;
};

inline std::error_code make_error_code(const error& failure) noexcept { return failure.code(); }

#if defined(__cpp_exceptions)
namespace detail {

/// The exception that value() throws. what() returns the message of the qio::error.
class thrown_error final : public std::system_error {
 public:
  explicit thrown_error(const error& failure) : std::system_error(failure.code()), message_(failure.message()) {}
  const char* what() const noexcept override { return message_.what(); }

 private:
  std::runtime_error message_;  // a string whose copies do not throw
};

}  // namespace detail

/// Called by Outcome when value() is called on a result that has none.
[[noreturn]] inline void outcome_throw_as_system_error_with_payload(const error& failure) {
  throw detail::thrown_error(failure);
}
#endif

/// A T or a qio::error. Test it (`if (r)`, r.has_value()), then r.value() or r.error(); value() of a failed result
/// throws std::system_error, whose what() is the message of the error, or ends the program if exceptions are disabled.
#if defined(__cpp_exceptions)
template <class T>
using result = BOOST_OUTCOME_V2_NAMESPACE::std_result<T, error>;
#else
template <class T>
using result = BOOST_OUTCOME_V2_NAMESPACE::std_result<T, error, BOOST_OUTCOME_V2_NAMESPACE::policy::terminate>;
#endif

/// Return values for functions that return a result: `return qio::success();` for result<void>, `return
/// qio::success(value);` or simply `return value;` for others, and `return qio::failure(error);` or simply `return
/// error;` for errors. They convert to every result<T> with a matching T and error.
using BOOST_OUTCOME_V2_NAMESPACE::failure;
using BOOST_OUTCOME_V2_NAMESPACE::success;

QIO_END_NAMESPACE
