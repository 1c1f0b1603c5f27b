// SPDX-License-Identifier: BSL-1.0
// What is built on files of a context uses of them, besides their public members.
#pragma once

#include <qio/buffer.hpp>
#include <qio/configuration.hpp>
#include <qio/loop/loop.hpp>
#include <qio/mode.hpp>
#include <qio/operation.hpp>
#include <qio/operation_options.hpp>
#include <qio/options.hpp>
#include <qio/path.hpp>
#include <qio/request/request.hpp>
#include <qio/result.hpp>
#include <qio/system/platform.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>

QIO_BEGIN_NAMESPACE
namespace detail {

/// For what is built on files of a context, and completes operations of its own.
struct file_access {
  template <class File>
  static auto loop_of(const File& file) noexcept {
    return file.loop_;
  }
  /// The file must be open.
  template <class File>
  static auto& activity_of(File& file) noexcept {
    return file.state_->file.activity;
  }
  /// The same.
  template <class File>
  static platform::native_handle handle_of(const File& file) noexcept {
    return file.state_->file.handle;
  }
  /// The same.
  template <class File>
  static platform::transfer_flags flags_of(const File& file, const blocking_write_options& options) noexcept {
    return file.state_->flags_of(options);
  }
  /// Whether a write with these options is durable when it completes. The same.
  template <class File>
  static bool is_durable(const File& file, const blocking_write_options& options) noexcept {
    return options.durable || file.state_->file.activity.writes_durably;
  }
  template <class File, class... Part>
  static File make(Part&&... part) {
    return File(std::forward<Part>(part)...);
  }
  /// Opens a file on a context's loop, on any thread.
  template <class File, class Loop>
  static result<File> open_on(const Loop& loop, path_view path, access wanted, creation how,
                              const open_options& options) {
    auto opened = File::state::open(path, wanted, how, options, loop);
    if (!opened) return opened.error().of_opening(path.c_str());
    return File(std::move(opened).value(), loop);
  }
  /// Whether other files use its handle, or have used it. The file must be open.
  template <class File>
  static bool has_shared(const File& file) noexcept {
    return file.state_->file.sharing != nullptr;
  }
  /// From now on, a shared_file may use its handle. The same.
  template <class File>
  static void be_shared(File& file) {
    file.state_->be_shared();
  }
  /// What is open; null if the file is closed. It stays where it is when the file is moved.
  template <class File>
  static auto* opened(const File& file) noexcept {
    return file.state_.get();
  }
  /// Leaves `file` closed.
  template <class File>
  static auto state_of(File& file) noexcept {
    return std::move(file.state_);
  }
  /// Calls `action(state)` of an open file, now or on a worker thread: see basic_file::act().
  template <class File, class Action>
  static auto act(File& file, const Action& action) {
    return file.act(action);
  }
  template <class File, class Action>
  static auto act_on_worker(File& file, const Action& action, const operation_options& options) {
    return file.act_on_worker(action, options);
  }
  // They describe requests as the file's own operations do, but the error of a transfer that is refused does not name
  // the file. The file must be open.
  template <class File>
  static void describe_read(File& file, request& r, std::uint64_t offset, mutable_buffer buffer) noexcept {
    file.template describe_read<File::error_text::without_path>(r, offset, buffer);
  }
  template <class File>
  static void describe_write(File& file, request& r, std::uint64_t offset, mutable_buffer buffer,
                             platform::transfer_flags more) noexcept {
    file.template describe_write<File::error_text::without_path>(r, offset, buffer, more);
  }
  template <class File>
  static void describe_sync(File& file, request& r, sync_kind kind) noexcept {
    file.describe_sync(r, kind);
  }
  template <class File>
  static void describe_resize(File& file, request& r, std::uint64_t bytes) noexcept {
    file.describe_resize(r, bytes);
  }
  /// Drops what the page cache has of the file, as far as it is written back: what is read next comes from the device.
  template <class File>
  static auto drop_pages_of(File& file) {
    return file.template operation_of<void>([&](request& r) { file.describe_drop(r); });
  }
  /// Whether other files use its handle. The file must be open.
  template <class File>
  static bool is_shared(const File& file) noexcept {
    return file.state_->is_shared();
  }
  /// A ring keeps registered files open for a while after their process was killed, and with them their locks. The file
  /// is none of these from now on. None of its operations may be in flight.
  template <class File>
  static void keep_out_of_ring(File& file) noexcept {
    auto& activity = file.state_->file.activity;
    file.loop_->end(activity);
    activity.system.may_have_slot = false;
  }
  /// An operation with work of its own: `describe(work)` fills it in.
  template <class Work, class File, class Describe>
  static auto operation_of(File& file, Describe&& describe) noexcept {
    return operation<typename File::engine_type, std::size_t, no_control, Work>(*file.loop_, describe);
  }
  template <class Work, class File, class Describe>
  static auto operation_of(File& file, Describe&& describe, const operation_options& options) noexcept {
    using control_type = control<loop<typename File::engine_type>, Work>;
    return operation<typename File::engine_type, std::size_t, control_type, Work>(*file.loop_, describe, options);
  }
};

}  // namespace detail
QIO_END_NAMESPACE
