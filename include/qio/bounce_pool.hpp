// SPDX-License-Identifier: BSL-1.0
// Memory for transfers that a direct file would refuse, and for merged reads: see qio/bounced.hpp.
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/bounce/slots.hpp>
#include <qio/buffer.hpp>
#include <qio/configuration.hpp>
#include <qio/result.hpp>
#include <qio/statistics.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <system_error>
#include <utility>

QIO_BEGIN_NAMESPACE

/// The size of a bounce_pool.
struct bounce_pool_options {
  /// The number of transfers that may go through the pool at the same time. At least 1.
  std::size_t slots = 16;
  /// The largest transfer, and so the longest range of merged reads, in bytes. From 1 byte to 1 GiB; rounded up to a
  /// multiple of 4096.
  std::size_t slot_bytes = std::size_t(128) * 1024;
};

/// Memory of a fixed size, divided into slots, for bounced(): transfers go through a slot, and are copied from or to
/// the caller's memory. It is allocated once; no operation allocates.
///
/// When all slots are in use, asynchronous operations wait and get slots in turn, so a batch that needs many does not
/// keep a single read waiting for all of them. An operation that waits still gives back the slots that it holds as
/// their transfers complete, so there is no deadlock. Deadlines and stop tokens apply while an operation waits.
/// Blocking operations never wait for a slot, because only the thread that they block could free one: they fail with
/// std::errc::no_buffer_space if asynchronous operations hold all slots.
///
/// A pool serves any number of files of one context, on that context's thread, or files without a context, on one
/// thread at a time. It must outlive the operations that use it (checked where QIO_CHECKS is 1). It may be moved while
/// they are in flight.
class [[nodiscard]] bounce_pool {
 public:
  /// Allocates its memory. Fails with std::errc::invalid_argument if `slots` or `slot_bytes` is 0 or `slot_bytes`
  /// exceeds 1 GiB, and with std::errc::not_enough_memory.
  static result<bounce_pool> allocate(const bounce_pool_options& options = {}) noexcept {
    const std::size_t bytes = rounded(options.slot_bytes);
    if (!is_valid(bytes) || options.slots == 0) return error(std::make_error_code(std::errc::invalid_argument));
    if (options.slots > ~std::size_t(0) / bytes) return error(std::make_error_code(std::errc::not_enough_memory));
    auto memory = aligned_buffer::allocate(options.slots * bytes);
    if (!memory) return memory.error();
    std::optional<aligned_buffer> own = std::move(memory).value();
    const std::span<std::byte> all = *own;
    return make(std::move(own), all, bytes, options.slots);
  }

  /// Uses memory of the caller, which must outlive the pool: as many slots of `slot_bytes` (rounded up to a multiple of
  /// 4096) as fit into it. In context.registered_memory(), the transfers of the pool cost io_uring less. Fails with
  /// std::errc::invalid_argument if `slot_bytes` is 0 or exceeds 1 GiB, if no slot fits, or if the memory does not
  /// begin at a multiple of 4096.
  ///
  ///     auto context = qio::context::create({.registered_bytes = 4 << 20}).value();
  ///     auto pool = qio::bounce_pool::in(context.registered_memory(), 64 * 1024).value();
  static result<bounce_pool> in(std::span<std::byte> memory, std::size_t slot_bytes) noexcept {
    const std::size_t bytes = rounded(slot_bytes);
    const bool is_aligned = reinterpret_cast<std::uintptr_t>(memory.data()) % default_buffer_alignment == 0;
    if (!is_valid(bytes) || !is_aligned || memory.size() < bytes)
      return error(std::make_error_code(std::errc::invalid_argument));
    return make(std::nullopt, memory, bytes, memory.size() / bytes);
  }

  std::size_t slots() const noexcept { return state().count(); }            ///< how many there are
  std::size_t slots_in_use() const noexcept { return state().in_use(); }    ///< now
  std::size_t slot_bytes() const noexcept { return state().slot_bytes(); }  ///< the size of each, in bytes
  /// What went through the pool so far. (file.statistics().bounced counts the requests of one file.)
  const bounce_statistics& statistics() const noexcept { return state().statistics; }

 private:
  template <class File>
  friend class bounced_file;

  explicit bounce_pool(std::unique_ptr<detail::bounce_slots> state) noexcept : state_(std::move(state)) {}

  static constexpr std::size_t most_bytes = std::size_t(1) << 30;

  // 0 if it is too large.
  static std::size_t rounded(std::size_t bytes) noexcept {
    if (bytes > most_bytes) return 0;
    return (bytes + (default_buffer_alignment - 1)) & ~(default_buffer_alignment - 1);
  }
  static bool is_valid(std::size_t slot_bytes) noexcept { return slot_bytes != 0; }

  static result<bounce_pool> make(std::optional<aligned_buffer>&& own, std::span<std::byte> memory,
                                  std::size_t slot_bytes, std::size_t count) noexcept {
    std::unique_ptr<detail::bounce_slots> made;
    if (!detail::succeeds(
            [&] { made = std::make_unique<detail::bounce_slots>(std::move(own), memory, slot_bytes, count); }))
      return error(std::make_error_code(std::errc::not_enough_memory));
    return bounce_pool(std::move(made));
  }

  detail::bounce_slots& state() const noexcept {
    QIO_CHECK_AT(state_ != nullptr, "a moved-from bounce_pool was used", detail::caller());
    return *state_;
  }

  std::unique_ptr<detail::bounce_slots> state_;
};

QIO_END_NAMESPACE
