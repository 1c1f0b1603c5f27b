// SPDX-License-Identifier: BSL-1.0
// Cached files: plain system calls.
#pragma once

#include <qio/configuration.hpp>
#include <qio/file/mode_policy.hpp>
#include <qio/mode.hpp>
#include <qio/system/operating_system.hpp>

#include <cstddef>
#include <cstdint>

namespace qio::inline QIO_CONFIGURATION::detail {

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
  static result<platform::native_handle> commit(typename System::opening& opening) { return opening.commit(); }

  static constexpr platform::transfer_flags flags() noexcept { return 0; }
  static constexpr bool is_direct() noexcept { return false; }
  static constexpr bool is_uncached() noexcept { return false; }

  template <class Buffers>
  static result<std::size_t> read(const system_file<System>& file, transfer& io, Buffers buffers) {
    return file.read(io, buffers, 0, 1);
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
  static void allow_polling(const Engine&, system_file<System>&, platform::native_handle) noexcept {}

  static void explain(const system_file<System>& file, explanation& out) { explain_inline(file, out); }
};

static_assert(complete_mode_policy<mode_policy<cached, operating_system>, operating_system>);

}  // namespace qio::inline QIO_CONFIGURATION::detail
