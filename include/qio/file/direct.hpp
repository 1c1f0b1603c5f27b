// SPDX-License-Identifier: BSL-1.0
// Direct files: aligned transfers, and devices that may be polled.
#pragma once

#include <qio/configuration.hpp>
#include <qio/engine/polling.hpp>
#include <qio/file/buffers.hpp>
#include <qio/file/mode_policy.hpp>
#include <qio/mode.hpp>
#include <qio/system/operating_system.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace qio::inline QIO_CONFIGURATION::detail {

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
    is_active_ = !found.refusal.exists();
    // Without a device to query: what every device in use accepts, so that code which works here works on them.
    needed_ = is_active_ ? found.needed : qio::alignment{4096, 4096, 4096};
    if (is_active_) untorn_ = found.untorn;
    source_ = is_active_ ? std::move(found.source) : found.refusal.message();
    return success();
  }
  static result<platform::native_handle> commit(typename System::opening& opening) { return opening.commit(); }

  qio::alignment alignment() const noexcept { return needed_; }
  std::uint32_t end_block() const noexcept { return is_active_ ? needed_.read : 1; }
  atomic_write_limits untorn_limits() const noexcept { return untorn_; }
  static constexpr platform::transfer_flags flags() noexcept { return 0; }
  bool is_direct() const noexcept { return is_active_; }
  static constexpr bool is_uncached() noexcept { return false; }

  template <class Buffers>
  bool fits(const transfer& io, Buffers buffers, std::uint32_t block) const noexcept {
    std::uint64_t places = io.offset();
    std::uintptr_t addresses = 0;
    for (const mutable_buffer each : each_of(buffers)) {
      places |= each.size;
      addresses |= reinterpret_cast<std::uintptr_t>(each.data);
    }
    return (places & (block - 1)) == 0 && (addresses & (needed_.memory - 1)) == 0;
  }

  template <class Buffers>
  error misfit(const transfer& io, Buffers buffers, std::uint32_t block) const noexcept {
    if ((io.offset() & (block - 1)) != 0) return error(errc::misaligned_offset, io.offset(), block);
    for (const mutable_buffer each : each_of(buffers)) {
      if ((each.size & (block - 1)) != 0) return error(errc::misaligned_length, each.size, block);
      const auto address = reinterpret_cast<std::uintptr_t>(each.data);
      if ((address & (needed_.memory - 1)) != 0) return error(errc::misaligned_buffer, address, needed_.memory);
    }
    return {};
  }

  template <class Buffers>
  result<std::size_t> read(const system_file<System>& file, transfer& io, Buffers buffers) const {
    return file.read(io, buffers, 0, end_block());
  }
  template <class Buffers>
  static result<std::size_t> write(system_file<System>& file, transfer& io, Buffers buffers,
                                   platform::transfer_flags more) {
    return file.write(io, buffers, more);
  }
  static result<void> resize(system_file<System>& file, std::uint64_t bytes) {
    return file.files.resize(file.handle, bytes);
  }
  static result<void> sync(system_file<System>& file, sync_kind kind) { return file.files.sync(file.handle, kind); }

  template <class Engine>
  void allow_polling(const Engine& engine, system_file<System>& file, platform::native_handle handle) {
    polling_ =
        is_active_ ? engine.find_polling(handle, needed_) : polling_support{false, false, "the file is not direct"};
    if (polling_.reads) file.activity.poll(opcode::read);
    if (polling_.writes && file.activity.writes_durably) {
      polling_.writes = false;
      polling_.reason = "a durable write takes more than one request to the device";
    }
    if (polling_.writes) file.activity.poll(opcode::write);
  }

  void explain(const system_file<System>& file, explanation& out) const {
    out.add("direct", is_active_ ? "on" : "off", is_active_ ? "" : source_);
    out.add("alignment",
            "memory " + std::to_string(needed_.memory) + ", read " + std::to_string(needed_.read) + ", write " +
                std::to_string(needed_.write),
            is_active_ ? source_ : "assumed, because there is no device to query");
    explain_polling(file.activity, out);
  }

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

  qio::alignment needed_;
  atomic_write_limits untorn_;
  bool is_active_ = false;
  polling_support polling_{false, false, "only a context over io_uring polls"};
  std::string source_;  // the source of the alignment, or why the file is not direct
};

static_assert(complete_mode_policy<mode_policy<direct, operating_system>, operating_system>);

}  // namespace qio::inline QIO_CONFIGURATION::detail
