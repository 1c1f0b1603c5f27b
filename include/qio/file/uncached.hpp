// SPDX-License-Identifier: BSL-1.0
// Uncached files: system calls that ask the kernel to drop the pages after each transfer.
#pragma once

#include <qio/configuration.hpp>
#include <qio/file/mode_policy.hpp>
#include <qio/mode.hpp>
#include <qio/system/operating_system.hpp>

#include <cstddef>
#include <cstdint>

namespace qio::inline QIO_CONFIGURATION::detail {

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
    is_active_ = file.files.takes_flags(opening.handle(), platform::drop_pages);
    if (!is_active_ && options.fallback == if_unavailable::fail) return error(errc::uncached_not_supported);
    return success();
  }
  static result<platform::native_handle> commit(typename System::opening& opening) { return opening.commit(); }

  platform::transfer_flags flags() const noexcept { return is_active_ ? platform::drop_pages : 0; }
  static constexpr bool is_direct() noexcept { return false; }
  bool is_uncached() const noexcept { return is_active_; }

  template <class Buffers>
  result<std::size_t> read(const system_file<System>& file, transfer& io, Buffers buffers) const {
    return file.read(io, buffers, flags(), 1);
  }
  template <class Buffers>
  result<std::size_t> write(system_file<System>& file, transfer& io, Buffers buffers,
                            platform::transfer_flags more) const {
    return file.write(io, buffers, flags() | more);
  }
  static result<void> resize(system_file<System>& file, std::uint64_t bytes) {
    return file.files.resize(file.handle, bytes);
  }
  static result<void> sync(system_file<System>& file, sync_kind kind) { return file.files.sync(file.handle, kind); }

  template <class Engine>
  static void allow_polling(const Engine&, system_file<System>&, platform::native_handle) noexcept {}

  void explain(const system_file<System>& file, explanation& out) const {
    explain_inline(file, out);
    out.add("uncached", is_active_ ? "on" : "off", is_active_ ? "" : error(errc::uncached_not_supported).message());
  }

 private:
  bool is_active_ = false;
};

static_assert(complete_mode_policy<mode_policy<uncached, operating_system>, operating_system>);

}  // namespace qio::inline QIO_CONFIGURATION::detail
