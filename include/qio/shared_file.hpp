// SPDX-License-Identifier: BSL-1.0
// Files that many threads use, and one of them closes: shared_file<Mode>.
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/configuration.hpp>
#include <qio/context.hpp>
#include <qio/file.hpp>
#include <qio/file/access.hpp>
#include <qio/file/state.hpp>
#include <qio/mode.hpp>
#include <qio/options.hpp>
#include <qio/path.hpp>
#include <qio/result.hpp>
#include <qio/system/operating_system.hpp>
#include <qio/system/platform.hpp>

#include <concepts>
#include <memory>
#include <system_error>
#include <utility>

QIO_BEGIN_NAMESPACE

/// An open file on which any thread opens files of its own, and which any thread closes for all of them. For a table of
/// open files in a program with a context per thread:
///
///     auto table = qio::shared_file<qio::direct>::open("000123.sst").value();  // one, for all threads
///     auto mine = table.open_on(context).value();                              // on each thread, once
///     ...
///     table.close().value();                                                   // when the table has been deleted
///
/// The files that open_on() and open_blocking() return are ordinary ones, except that they use one handle: they share
/// its open file description with its locks, and failed syncs (see basic_file::share_with()). Each belongs to its own
/// thread or context, may be closed at any time, and may outlive this object.
///
/// close(). When it returns, the system has closed the file: nothing but transfers that it is carrying out at that
/// moment keeps the file open, even if other threads are idle and keep files of theirs. These transfers end with their
/// own results. Every later operation of those files fails with std::errc::bad_file_descriptor, and so does what was
/// started but has not reached the system. The number of the handle stays taken until the last of them is closed. Views
/// of mapped files end with close(): accessing one raises SIGBUS, as after a truncation.
///
/// No ring registers the handle (as with open_options::registered = false), because a ring would keep the file open.
///
/// Threads. All members but the destructor, the moves and the assignment may be called by several threads at once.
/// Allocation. Opening allocates; close() does not. On Windows, where a handle belongs to one completion port, opening
/// fails with errc::cannot_be_shared: open the file once for each context.
template <file_mode Mode>
class [[nodiscard]] shared_file {
 public:
  using mode_type = Mode;  ///< cached, uncached, direct or mapped

  /// Opens a file as basic_file::open() does, blocking. Of the options, `registered` has no effect.
  static result<shared_file> open(path_view path, access wanted = access::read, creation how = creation::open_existing,
                                  const open_options& options = {}) {
    if (platform::binds_handles) return error(errc::cannot_be_shared).of_opening(path.c_str());
    auto opened = basic_file<Mode>::open(path, wanted, how, options);
    if (!opened) return opened.error();
    return share(std::move(opened).value());
  }

  /// Takes over a file that was opened, or adopted, without a context. Fails with errc::handle_is_shared, and leaves it
  /// open, if other files use or have used its handle (share_with, open_blocking).
  static result<shared_file> share(basic_file<Mode>&& file) {
    if (platform::binds_handles) return error(errc::cannot_be_shared);
    if (!file.is_open()) return not_open();
    if (detail::file_access::has_shared(file)) return error(errc::handle_is_shared);
    detail::file_access::be_shared(file);  // which allocates, so before it leaves `file`
    return shared_file(detail::file_access::state_of(file));
  }

  /// Opens a file of this mode on a context, for the thread of that context. No system resource but, if it is mapped,
  /// its own mapping. For `options` see basic_file::share_with().
  template <class Engine>
    requires std::same_as<typename Engine::system, detail::operating_system>
  result<basic_file<Mode, Engine>> open_on(const basic_context<Engine>& on, const open_options& options = {}) const {
    const auto loop = detail::file_access::loop_of(on);
    if (loop == nullptr) return not_open();  // moved from
    return open_with<basic_file<Mode, Engine>>(loop, options);
  }

  /// The same without a context, for blocking operations.
  result<basic_file<Mode>> open_blocking(const open_options& options = {}) const {
    return open_with<basic_file<Mode>>(detail::no_loop(), options);
  }

  /// Closes the file for all threads; may block as long as basic_file::close(). Returns the error of closing it, if
  /// any. If several threads call it, one closes the file, and for the others it fails with
  /// std::errc::bad_file_descriptor. If the process has no descriptor left, or not two for a mapped file, it fails, and
  /// the file stays open.
  result<void> close() {
    if (state_ == nullptr) return not_open();
    return state_->file.sharing->end(state_->file.handle);
  }

  /// False after close() has succeeded, and after a move.
  bool is_open() const noexcept { return state_ != nullptr && !state_->has_ended(); }

  /// The file that was moved from is closed.
  shared_file(shared_file&&) noexcept = default;
  /// Closes this file, as the destructor does, and takes over the other one.
  shared_file& operator=(shared_file&& other) noexcept {
    shared_file taken(std::move(other));
    std::swap(state_, taken.state_);
    return *this;
  }
  /// Calls close(), and discards its error: without a free descriptor, the file stays open for the others.
  ~shared_file() { static_cast<void>(close()); }

 private:
  using state = detail::file_state<Mode, detail::operating_system>;

  explicit shared_file(std::unique_ptr<state> opened) noexcept : state_(std::move(opened)) {}

  static error not_open() noexcept { return std::make_error_code(std::errc::bad_file_descriptor); }

  template <class File, class Loop>
  result<File> open_with(const Loop& loop, const open_options& options) const {
    if (!is_open()) return not_open();
    if constexpr (platform::binds_handles) {
      return error(errc::cannot_be_shared);
    } else {
      auto shared = state_->share(options, loop);
      if (state_->file.sharing->has_surely_ended()) return not_open();  // which may be why it failed
      if (!shared) return shared.error();
      return detail::file_access::make<File>(std::move(shared).value(), loop);
    }
  }

  std::unique_ptr<state> state_;
};

QIO_END_NAMESPACE
