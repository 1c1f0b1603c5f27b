// SPDX-License-Identifier: BSL-1.0
// What each mode decides about an open file. Mapped files have a header of their own.
#pragma once

#include <qio/buffer.hpp>
#include <qio/configuration.hpp>
#include <qio/engine/engine.hpp>
#include <qio/explanation.hpp>
#include <qio/file/system_file.hpp>
#include <qio/mode.hpp>
#include <qio/options.hpp>
#include <qio/request/request.hpp>
#include <qio/result.hpp>
#include <qio/system/operating_system.hpp>
#include <qio/system/platform.hpp>

#include <concepts>
#include <cstdint>
#include <string>
#include <utility>

QIO_BEGIN_NAMESPACE
namespace detail {

// --- What the policy of a mode has ---

/// What one mode adds to a system_file: its own data, and the members below. Each mode specializes it, below or in
/// file/mapped.hpp. Nothing here is virtual. What only one mode has is called by file_state, which asks for the mode:
/// the alignment of direct files, and the transfers, syncs and changes of size of mapped ones.
///
/// - `reads_inline`, `writes_inline`: whether the context's thread may attempt them, through the page cache.
/// - `has_own_sync`: whether sync() is more than the system's sync of the handle.
/// - `needed_access(wanted)`: the access that the handle needs.
/// - construction from the handle being opened, the granted access and the options.
/// - `prepare(file, opening, options)`: finds out whether the mode is available, before the open changes the disk. What
///   follows does not change afterwards.
/// - `alignment`, `end_block`, `flags`: what transfers must be multiples of; the block size, where a read that stops
///   between two blocks has reached the end of the file; and the flags of each system call.
/// - `untorn_limits`: basic_file::atomic_write_limits().
/// - `is_direct`, `is_uncached`: whether the mode is in force, rather than degraded.
/// - `explain(file, out)`: the facts after "durable writes".
template <class Mode, class System>
class mode_policy;

template <class Policy, class System>
concept complete_mode_policy = std::constructible_from<Policy, platform::native_handle, access, const open_options&> &&
                               requires(Policy& self, const Policy& seen, const system_file<System>& file,
                                        typename System::opening& opening, explanation& out) {
                                 { Policy::reads_inline } -> std::convertible_to<bool>;
                                 { Policy::writes_inline } -> std::convertible_to<bool>;
                                 { Policy::has_own_sync } -> std::convertible_to<bool>;
                                 { Policy::needed_access(access::read) } noexcept -> std::same_as<access>;
                                 { self.prepare(file, opening, open_options{}) } -> std::same_as<result<void>>;
                                 { seen.alignment } -> std::convertible_to<qio::alignment>;
                                 { seen.end_block } -> std::convertible_to<std::uint32_t>;
                                 { seen.flags } -> std::convertible_to<platform::transfer_flags>;
                                 { seen.untorn_limits } -> std::convertible_to<atomic_write_limits>;
                                 { seen.is_direct } -> std::convertible_to<bool>;
                                 { seen.is_uncached } -> std::convertible_to<bool>;
                                 { seen.explain(file, out) } -> std::same_as<void>;
                               };

/// For modes whose transfers may have any offset, length and address.
struct any_alignment {
  static constexpr qio::alignment alignment{};
  static constexpr std::uint32_t end_block = 1;
  static constexpr atomic_write_limits untorn_limits{};
  static constexpr bool is_direct = false;
};

/// Which transfers of a file in the page cache are attempted inline, and why not.
template <class System>
void explain_inline(const system_file<System>& file, explanation& out) {
  const inline_activity& activity = file.activity;
  const auto add = [&out](const char* transfers, bool are_attempted, const char* reason) {
    out.add(transfers, are_attempted ? "on" : "off", reason == nullptr ? "" : reason);
  };
  add("inline reads", activity.attempt_of_reads != nullptr, activity.why_no_reads);
  const bool writes = activity.attempt_of_writes != nullptr, is_limited = writes && platform::has_file_size_limit();
  add("inline writes", writes && !is_limited,
      is_limited ? "the process has a limit on the size of files" : activity.why_no_writes);
}

// --- Cached files: plain system calls ---

template <class System>
class mode_policy<cached, System> : public any_alignment {
 public:
  static constexpr bool reads_inline = System::has_page_cache;
  static constexpr bool writes_inline = System::has_page_cache;
  static constexpr bool has_own_sync = false;

  static constexpr access needed_access(access wanted) noexcept { return wanted; }

  mode_policy(platform::native_handle, access, const open_options&) noexcept {}

  static result<void> prepare(const system_file<System>&, const typename System::opening&, const open_options&) {
    return success();
  }

  static constexpr platform::transfer_flags flags = 0;
  static constexpr bool is_uncached = false;

  static void explain(const system_file<System>& file, explanation& out) { explain_inline(file, out); }
};

static_assert(complete_mode_policy<mode_policy<cached, operating_system>, operating_system>);

// --- Uncached files: system calls that ask the kernel to drop the pages after each transfer ---

template <class System>
class mode_policy<uncached, System> : public any_alignment {
 public:
  static constexpr bool reads_inline = false;  // what was read before is no longer cached
  static constexpr bool writes_inline = System::has_page_cache;
  static constexpr bool has_own_sync = false;

  /// prepare() probes the flag with a read.
  static constexpr access needed_access(access wanted) noexcept {
    return wanted == access::write ? access::read_write : wanted;
  }

  mode_policy(platform::native_handle, access, const open_options&) noexcept {}

  result<void> prepare(const system_file<System>& file, const typename System::opening& opening,
                       const open_options& options) {
    is_uncached = file.files.takes_flags(opening.handle(), platform::drop_pages);
    if (!is_uncached && options.fallback == if_unavailable::fail) return error(errc::uncached_not_supported);
    flags = is_uncached ? platform::drop_pages : 0;
    return success();
  }

  void explain(const system_file<System>& file, explanation& out) const {
    explain_inline(file, out);
    out.add("uncached", is_uncached ? "on" : "off", is_uncached ? "" : error(errc::uncached_not_supported).message());
  }

  platform::transfer_flags flags = 0;
  bool is_uncached = false;
};

static_assert(complete_mode_policy<mode_policy<uncached, operating_system>, operating_system>);

// --- Direct files: aligned transfers, and devices that may be polled ---

template <class System>
class mode_policy<direct, System> {
 public:
  static constexpr bool reads_inline = false;
  static constexpr bool writes_inline = false;
  static constexpr bool has_own_sync = false;

  static constexpr access needed_access(access wanted) noexcept { return wanted; }

  mode_policy(platform::native_handle, access, const open_options&) {}

  result<void> prepare(const system_file<System>& file, const typename System::opening& opening,
                       const open_options& options) {
    platform::direct_support found = file.files.make_direct(opening);
    if (found.refusal.exists() && options.fallback == if_unavailable::fail) return found.refusal;
    is_direct = !found.refusal.exists();
    // Without a device to query: what every device in use accepts, so that code which works here works on them.
    alignment = is_direct ? found.needed : qio::alignment{4096, 4096, 4096};
    if (is_direct) end_block = alignment.read;
    if (is_direct) untorn_limits = found.untorn;
    source_ = is_direct ? std::move(found.source) : found.refusal.message();
    return success();
  }

  /// Whether the alignment of a transfer is right, whose range has been checked. `block` is alignment.read or .write.
  template <class Buffers>
  bool fits(const transfer& io, Buffers buffers, std::uint32_t block) const noexcept {
    std::uint64_t places = io.offset();
    std::uintptr_t addresses = 0;
    if constexpr (std::is_same_v<Buffers, mutable_buffer>) {
      places |= buffers.size;
      addresses = reinterpret_cast<std::uintptr_t>(buffers.data);
    } else {
      for (const mutable_buffer each : buffers) {
        places |= each.size;
        addresses |= reinterpret_cast<std::uintptr_t>(each.data);
      }
    }
    return (places & (block - 1)) == 0 && (addresses & (alignment.memory - 1)) == 0;
  }

  /// The error if it is not.
  template <class Buffers>
  error misfit(const transfer& io, Buffers buffers, std::uint32_t block) const noexcept {
    if ((io.offset() & (block - 1)) != 0) return error(errc::misaligned_offset, io.offset(), block);
    for (const mutable_buffer each : each_of(buffers)) {
      if ((each.size & (block - 1)) != 0) return error(errc::misaligned_length, each.size, block);
      const auto address = reinterpret_cast<std::uintptr_t>(each.data);
      if ((address & (alignment.memory - 1)) != 0) return error(errc::misaligned_buffer, address, alignment.memory);
    }
    return {};
  }

  /// Finds out which transfers the engine may poll. The file does not own the handle yet.
  template <class Engine>
  void allow_polling(const Engine& engine, system_file<System>& file, platform::native_handle handle) {
    polling_ =
        is_direct ? engine.find_polling(handle, alignment) : polling_support{false, false, "the file is not direct"};
    if (polling_.reads) file.activity.poll(opcode::read);
    if (polling_.writes && file.activity.writes_durably) {
      polling_.writes = false;
      polling_.reason = "a durable write takes more than one request to the device";
    }
    if (polling_.writes) file.activity.poll(opcode::write);
  }

  void explain(const system_file<System>& file, explanation& out) const {
    out.add("direct", is_direct ? "on" : "off", is_direct ? "" : source_);
    out.add("alignment",
            "memory " + std::to_string(alignment.memory) + ", read " + std::to_string(alignment.read) + ", write " +
                std::to_string(alignment.write),
            is_direct ? source_ : "assumed, because there is no device to query");
    explain_polling(file.activity, out);
  }

  static constexpr platform::transfer_flags flags = 0;
  static constexpr bool is_uncached = false;
  qio::alignment alignment;
  std::uint32_t end_block = 1;
  atomic_write_limits untorn_limits;
  bool is_direct = false;

 private:
  void explain_polling(const file_activity& activity, explanation& out) const {
    const bool begun = polling_.reads || polling_.writes;
    if (begun && activity.polled == 0)
      out.add("polling", "off", "the device has refused a polled transfer since the file was opened");
    else
      out.add("polling",
              !begun             ? "off"
              : !polling_.writes ? "reads"
              : !polling_.reads  ? "writes"
                                 : "reads and writes",
              polling_.reason);
  }

  polling_support polling_{false, false, "only a context over io_uring polls"};
  std::string source_;  // the source of the alignment, or why the file is not direct
};

static_assert(complete_mode_policy<mode_policy<direct, operating_system>, operating_system>);

}  // namespace detail
QIO_END_NAMESPACE
