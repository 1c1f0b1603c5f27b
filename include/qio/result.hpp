// SPDX-License-Identifier: BSL-1.0
// What every function of the library answers with: result<T>, which is a T or a qio::error.
#pragma once

#include <boost/outcome/policy/terminate.hpp>
#include <boost/outcome/std_result.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <system_error>
#include <type_traits>

namespace qio {

/// Conditions that the library itself reports. Everything the operating system reports keeps the
/// operating system's own code, in std::system_category().
enum class errc : int {
  misaligned_offset = 1,   ///< a direct transfer starts between two blocks
  misaligned_length,       ///< a direct transfer is not a whole number of blocks
  misaligned_buffer,       ///< the memory of a direct transfer is not aligned
  offset_too_large,        ///< offset + length passes the largest offset a file can have, 2^63 - 1
  beyond_end,              ///< a view reaches past the end of the file
  direct_not_supported,    ///< the file system says that it cannot do direct I/O on this file
  direct_unknown,          ///< the file system does not say whether what it accepts as direct is
  direct_in_memory,        ///< the file system keeps files in memory; what it accepts as direct is not
  uncached_not_supported,  ///< the kernel or the file system cannot let go of pages when a transfer is done
  access_not_granted,      ///< the file was not opened for this kind of access
  context_closed,          ///< the context that this file was opened on no longer runs
  invalid_alignment,       ///< an alignment that is not a power of two
  cannot_be_bound,         ///< Windows cannot bind this file to the completion port of a context
  leaves_directory,        ///< the path leads out of the directory that it must stay beneath
  beneath_not_supported,   ///< the system cannot see to it that a path stays beneath a directory
  beneath_forbidden,       ///< it could, but a sandbox forbids the call
};

}  // namespace qio

template <>
struct std::is_error_code_enum<qio::errc> : std::true_type {};

namespace qio {
namespace detail {

class qio_category final : public std::error_category {
 public:
  const char* name() const noexcept override { return "qio"; }

  std::string message(int value) const override {
    switch (static_cast<errc>(value)) {
      case errc::misaligned_offset: return "the offset is not a multiple of the file's direct alignment";
      case errc::misaligned_length: return "the length is not a multiple of the file's direct alignment";
      case errc::misaligned_buffer: return "the address of the buffer is not aligned for direct I/O on this file";
      case errc::offset_too_large: return "offset + length passes the largest file offset";
      case errc::beyond_end: return "the range reaches past the end of the file";
      case errc::direct_not_supported: return "the file system does not support direct I/O on this file";
      case errc::direct_unknown: return "the file system does not say whether direct I/O bypasses its cache";
      case errc::direct_in_memory:
        return "direct I/O cannot be had: the file system keeps its files in memory (tmpfs, ramfs, hugetlbfs)";
      case errc::uncached_not_supported:
        return "uncached I/O (RWF_DONTCACHE) cannot be had: it needs Linux 6.14 and a file system that has it";
      case errc::access_not_granted: return "the file was not opened for this kind of access";
      case errc::context_closed: return "the context of this file is closed";
      case errc::invalid_alignment: return "the alignment is not a power of two";
      case errc::cannot_be_bound:
        return "this file cannot be bound to a completion port: open it without a context, or on one of the pool";
      case errc::leaves_directory: return "the path leads out of the directory that it must stay beneath";
      case errc::beneath_not_supported:
        return "a path cannot be kept beneath a directory here: that needs Linux 5.6 (openat2), and files of the "
               "system";
      case errc::beneath_forbidden:
        return "a path cannot be kept beneath a directory here: a sandbox (seccomp) forbids the system call openat2";
    }
    return "unknown qio error " + std::to_string(value);
  }

  // So that portable code can compare with std::errc without knowing this library's conditions.
  std::error_condition default_error_condition(int value) const noexcept override {
    switch (static_cast<errc>(value)) {
      case errc::misaligned_offset:
      case errc::misaligned_length:
      case errc::misaligned_buffer:
      case errc::invalid_alignment:
      case errc::beyond_end: return std::errc::invalid_argument;
      case errc::offset_too_large: return std::errc::file_too_large;
      case errc::direct_not_supported:
      case errc::direct_unknown:
      case errc::direct_in_memory:
      case errc::uncached_not_supported:
      case errc::cannot_be_bound:
      case errc::beneath_not_supported:
      case errc::beneath_forbidden: return std::errc::operation_not_supported;
      case errc::leaves_directory: return std::errc::cross_device_link;  // what Linux calls it
      case errc::access_not_granted: return std::errc::bad_file_descriptor;
      case errc::context_closed: return std::errc::operation_canceled;
    }
    return {value, *this};
  }
};

}  // namespace detail

/// The category of qio::errc. One object in a program, whatever the number of translation units.
inline const std::error_category& qio_category() noexcept {
  static const detail::qio_category category;
  return category;
}

inline std::error_code make_error_code(errc condition) noexcept {
  return {static_cast<int>(condition), qio_category()};
}

/// A std::error_code, and the numbers that explain it.
///
/// It converts to std::error_code and compares with error codes and conditions, so that code which knows only
/// <system_error> need not know this class. Trivially copyable; no allocation except in message().
class error {
 public:
  /// No error. (Outcome wants a cheap default state; user code never sees an error without a code.)
  constexpr error() noexcept = default;

  error(std::error_code code) noexcept : category_(&code.category()), value_(code.value()) {}
  error(errc condition) noexcept : error(make_error_code(condition)) {}

  /// `given` was wrong and `needed` is what it should have been a multiple of, or have stayed below (bytes).
  error(errc condition, std::uint64_t given, std::uint64_t needed) noexcept : error(condition) {
    given_ = given;
    needed_ = needed;
  }

  /// A transfer that failed after `transferred` bytes had been moved.
  static error of_transfer(std::error_code code, std::uint64_t transferred) noexcept {
    error result(code);
    result.given_ = transferred;
    return result;
  }

  std::error_code code() const noexcept { return category_ ? std::error_code(value_, *category_) : std::error_code(); }
  operator std::error_code() const noexcept { return code(); }

  /// False only for error().
  bool exists() const noexcept { return category_ != nullptr; }
  bool is_qio() const noexcept { return category_ == &qio_category(); }

  /// The number that was wrong, in bytes: an offset, a length, an address. 0 where the condition has none.
  std::uint64_t given() const noexcept { return is_qio() ? given_ : 0; }
  /// The number that `given` must be a multiple of, or must not pass, in bytes. 0 where the condition has none.
  std::uint64_t needed() const noexcept { return is_qio() ? needed_ : 0; }
  /// Bytes that a failed, cancelled or timed-out transfer had moved before it stopped: the first so many bytes
  /// of the buffer have been read, or of the file written.
  std::uint64_t transferred() const noexcept { return is_qio() ? 0 : given_; }

  /// What happened in words, with the numbers: "offset 1000 is not a multiple of 512 …". Allocates.
  std::string message() const {
    if (!is_qio()) {
      const std::string text = code().message();
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
        return "offset + length = " + std::to_string(given_) + " passes the largest file offset, " +
               std::to_string(needed_);
      case errc::beyond_end:
        return "the range ends at " + std::to_string(given_) + ", but the file ends at " + std::to_string(needed_);
      case errc::invalid_alignment: return "alignment " + std::to_string(given_) + " is not a power of two";
      default: return code().message();
    }
  }

  friend bool operator==(const error& a, const std::error_code& b) noexcept { return a.code() == b; }
  friend bool operator==(const error& a, const error& b) noexcept { return a.code() == b.code(); }
  template <class Enum>
    requires(std::is_error_code_enum<Enum>::value || std::is_error_condition_enum<Enum>::value)
  friend bool operator==(const error& a, Enum b) noexcept {
    return a.code() == b;
  }

 private:
  const std::error_category* category_ = nullptr;
  int value_ = 0;
  std::uint64_t given_ = 0;  // in a transfer's error: the bytes transferred
  std::uint64_t needed_ = 0;
};

inline std::error_code make_error_code(const error& failure) noexcept { return failure.code(); }

#if defined(__cpp_exceptions)
/// Called by Outcome when value() is asked of a result that has none.
[[noreturn]] inline void outcome_throw_as_system_error_with_payload(const error& failure) {
  if (failure.given() == 0 && failure.transferred() == 0) throw std::system_error(failure.code());
  throw std::system_error(failure.code(), failure.message());
}
#endif

/// A T or a qio::error. Test it (`if (r)`, r.has_value()), then r.value() or r.error(); value() of a failed result
/// throws std::system_error, or ends the program where exceptions are switched off.
#if defined(__cpp_exceptions)
template <class T>
using result = BOOST_OUTCOME_V2_NAMESPACE::std_result<T, error>;
#else
template <class T>
using result = BOOST_OUTCOME_V2_NAMESPACE::std_result<T, error, BOOST_OUTCOME_V2_NAMESPACE::policy::terminate>;
#endif

}  // namespace qio
