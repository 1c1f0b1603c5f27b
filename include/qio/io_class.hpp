// SPDX-License-Identifier: BSL-1.0
// Whose turn an operation is at the device.
#pragma once

#include <qio/configuration.hpp>

#include <cstdint>

QIO_BEGIN_NAMESPACE

class io_scheduler;
namespace detail {
class request_scheduler;
}

/// A class of reads and writes. Those of the foreground go to the system at once; those of other classes wait until
/// their io_scheduler (qio/io_scheduler.hpp) lets them. Given to a context, a file or an operation: an operation
/// without a class of its own has that of its file, and a file that of its context. A small value; it must not be used
/// after its scheduler was destroyed.
class io_class {
 public:
  /// None.
  constexpr io_class() noexcept = default;

  /// False if it is none.
  constexpr bool exists() const noexcept { return number_ != 0; }
  /// Whether its operations go to the system at once.
  constexpr bool is_foreground() const noexcept { return number_ <= foreground; }

  // --- for the library ---

  static constexpr std::uint8_t none = 0;        ///< the number of no class
  static constexpr std::uint8_t foreground = 1;  ///< that of the foreground; background classes have the next ones
  static constexpr std::uint8_t part = 255;      ///< of a part of a background request, which its scheduler makes

  /// For schedulers.
  constexpr io_class(detail::request_scheduler& of, std::uint8_t number) noexcept : scheduler_(&of), number_(number) {}
  /// Null if it is none.
  constexpr detail::request_scheduler* scheduler() const noexcept { return scheduler_; }
  /// From 0 on, within its scheduler.
  constexpr std::uint8_t number() const noexcept { return number_; }

 private:
  detail::request_scheduler* scheduler_ = nullptr;
  std::uint8_t number_ = none;
};

QIO_END_NAMESPACE
