// SPDX-License-Identifier: BSL-1.0
// Files and directories under names that nobody can guess, which are removed when their objects end.
#pragma once

#include <qio/configuration.hpp>
#include <qio/context.hpp>
#include <qio/file.hpp>
#include <qio/file/access.hpp>
#include <qio/file/state.hpp>
#include <qio/mode.hpp>
#include <qio/name_options.hpp>
#include <qio/options.hpp>
#include <qio/path.hpp>
#include <qio/result.hpp>
#include <qio/system/operating_system.hpp>
#include <qio/task.hpp>
#include <qio/tree/removal.hpp>

#include <concepts>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

QIO_BEGIN_NAMESPACE
namespace detail {

/// A name of which nobody else knows, in the directory that the options name, and where that is.
template <class System>
struct temporary_entry {
  std::string path;
  typename System::temporary_place place;

  static result<temporary_entry> find(const System& files, const char* within, const directory* beneath) {
    std::string path = within == nullptr ? "" : within;
    if (within == nullptr && beneath == nullptr) {
      auto chosen = files.temporary_directory();
      if (!chosen) return chosen.error();
      path = std::move(chosen).value();
    }
    if (!path.empty() && !path.ends_with('/')) path += '/';
    path += files.temporary_name();
    auto place = files.find_place(handle_of(beneath), path);
    if (!place) return place.error().naming("create", path.c_str());
    return temporary_entry{std::move(path), std::move(place).value()};
  }
};

/// Calls `attempt()` until it does not fail because the name exists.
template <class Attempt>
auto with_free_name(Attempt&& attempt) {
  auto answer = attempt();
  for (int attempts = 1; attempts < 8 && !answer && answer.error() == std::errc::file_exists; ++attempts)
    answer = attempt();
  return answer;
}

/// Removes what has been created at a place, unless it is kept. Allocates before that is created.
template <class System>
class removed_at_end {
 public:
  removed_at_end() noexcept = default;
  explicit removed_at_end(typename System::temporary_place place)
      : place_(std::make_unique<typename System::temporary_place>(std::move(place))) {}

  typename System::temporary_place& place() noexcept { return *place_; }
  void keep() noexcept { place_.reset(); }
  void remove() noexcept {
    const auto removed = std::move(place_);
    if (!removed) return;
    if constexpr (requires { removed->open_contents(); })  // a directory of the operating system
      if (const auto contents = removed->open_contents()) {
        const open_place opened(contents.value());
        static_cast<void>(succeeds([&] { tree_removal({}).empty(opened.get()); }));
      }
    removed->remove();
  }

 private:
  std::unique_ptr<typename System::temporary_place> place_;
};

}  // namespace detail

/// A new file, open for reading and writing, which the destructor closes and removes unless keep() was called. Its name
/// is .qio- and a number of 64 random bits; only its owner may open it (permission bits 0600). If the process is
/// killed, the file stays.
///
///     auto scratch = qio::temporary_file<>::create().value();
///     scratch.file().write_at(0, bytes).value();
///
/// It is removed only if it is still at its name, in the directory in which it was created, wherever that is by then
/// (Linux). Removing blocks, and its errors are discarded. Moving from the object leaves nothing to remove. Everything
/// else is as for files: threads, contexts, and closed files.
template <file_mode Mode = cached, class Engine = no_engine>
class [[nodiscard]] temporary_file {
  using system = typename Engine::system;

 public:
  using file_type = basic_file<Mode, Engine>;  ///< what file() returns

  /// Creates a file for blocking operations. `more.permissions` and `more.beneath` have no effect.
  static result<temporary_file> create(const temporary_options& options = {}, const open_options& more = {})
    requires std::same_as<Engine, no_engine>
  {
    return detail::with_free_name([&] {
      return create_at(detail::operating_system(), options, more, [](const std::string& path, const open_options& how) {
        return file_type::open(path, access::read_write, creation::only_if_missing, how);
      });
    });
  }
  /// Creates a file on a context, for asynchronous operations as well. Blocks.
  template <class ContextEngine>
  static result<temporary_file<Mode, ContextEngine>> create(const basic_context<ContextEngine>& on,
                                                            const temporary_options& options = {},
                                                            const open_options& more = {}) {
    const auto loop = detail::file_access::loop_of(on);
    if (loop == nullptr) return error(std::make_error_code(std::errc::bad_file_descriptor));  // moved from
    return detail::with_free_name([&] {
      return temporary_file<Mode, ContextEngine>::create_at(
          loop->engine().files(), options, more, [&](const std::string& path, const open_options& how) {
            return basic_file<Mode>::open(on, path, access::read_write, creation::only_if_missing, how);
          });
    });
  }
  /// The same without blocking the context's thread. The context must outlive the task.
  template <class ContextEngine>
  static task<result<temporary_file<Mode, ContextEngine>>> async_create(const basic_context<ContextEngine>& on,
                                                                        const temporary_options& options = {},
                                                                        const open_options& more = {}) {
    return temporary_file<Mode, ContextEngine>::create_asynchronously(
        detail::file_access::loop_of(on), options.within == nullptr ? std::string() : options.within, options.beneath,
        more);
  }

  /// Takes over the file; `other` may then only be assigned to or destroyed.
  temporary_file(temporary_file&& other) noexcept = default;
  /// Closes and removes the file of this object, and takes over the other one.
  temporary_file& operator=(temporary_file&& other) noexcept {
    temporary_file taken(std::move(other));
    std::swap(path_, taken.path_);
    std::swap(file_, taken.file_);
    std::swap(end_, taken.end_);
    return *this;
  }
  ~temporary_file() { end_.remove(); }

  /// The open file. It may be closed, and moved to another object, which then outlives the name.
  file_type& file() noexcept { return file_; }
  /// The open file.
  const file_type& file() const noexcept { return file_; }

  /// Its path: a relative one if the directory was given as one; with `beneath`, it starts there.
  const std::string& path() const noexcept { return path_; }

  /// The file stays when this object ends. To give it another name, rename() it.
  void keep() noexcept { end_.keep(); }

 private:
  template <file_mode, class>
  friend class temporary_file;

  temporary_file(std::string path, file_type file, detail::removed_at_end<system> end) noexcept
      : path_(std::move(path)), end_(std::move(end)), file_(std::move(file)) {}

  static temporary_file complete(std::string&& path, detail::removed_at_end<system>&& end, file_type&& file) noexcept {
    end.place().take_file(detail::file_access::handle_of(file));
    return temporary_file(std::move(path), std::move(file), std::move(end));
  }

  static open_options options_of(open_options more, const directory* beneath) noexcept {
    more.permissions = 0600;
    more.beneath = beneath;
    return more;
  }

  template <class Open>
  static result<temporary_file> create_at(const system& files, const temporary_options& options,
                                          const open_options& more, Open&& open) {
    auto entry = detail::temporary_entry<system>::find(files, options.within, options.beneath);
    if (!entry) return entry.error();
    auto& [path, place] = entry.value();
    detail::removed_at_end<system> end(std::move(place));
    auto opened = open(path, options_of(more, options.beneath));
    if (!opened) return opened.error();
    return complete(std::move(path), std::move(end), std::move(opened).value());
  }

  template <class Loop>
  static task<result<temporary_file>> create_asynchronously(Loop loop, std::string within, const directory* beneath,
                                                            open_options more) {
    // One job does all, so that a file is removed whose task is destroyed meanwhile.
    co_return co_await detail::call_with_files(loop, [&](const system& files) {
      return detail::with_free_name([&] {
        return create_at(files, {.within = within.empty() ? nullptr : within.c_str(), .beneath = beneath}, more,
                         [&](const std::string& path, const open_options& how) {
                           return detail::file_access::open_on<file_type>(loop, path, access::read_write,
                                                                          creation::only_if_missing, how);
                         });
      });
    });
  }

  std::string path_;
  detail::removed_at_end<system> end_;
  file_type file_;
};

/// A new, empty directory, which the destructor removes with all that is in it, unless keep() was called. Its name is
/// as that of a temporary_file; only its owner may use it (permission bits 0700). If the process is killed, it stays.
///
/// Links in it are removed, not followed. It is removed wherever it is by then (Linux); what cannot be removed stays.
/// Removing blocks, and its errors are discarded. Moving from the object leaves nothing to remove. (Engine: as for
/// files; only a simulated context makes a difference.)
template <class Engine = no_engine>
class [[nodiscard]] temporary_directory {
  using system = typename Engine::system;

 public:
  /// Creates a directory.
  static result<temporary_directory> create(const temporary_options& options = {})
    requires std::same_as<Engine, no_engine>
  {
    return create_in(detail::operating_system(), options.within, options.beneath);
  }
  /// Creates a directory on a worker thread; on a simulated context, on its disk.
  template <class ContextEngine>
  static task<result<temporary_directory<ContextEngine>>> async_create(const basic_context<ContextEngine>& on,
                                                                       const temporary_options& options = {}) {
    return detail::call_with_files(detail::file_access::loop_of(on),
                                   [within = options.within == nullptr ? std::string() : std::string(options.within),
                                    beneath = options.beneath](const typename ContextEngine::system& files) {
                                     return temporary_directory<ContextEngine>::create_in(
                                         files, within.empty() ? nullptr : within.c_str(), beneath);
                                   });
  }

  /// Takes over the directory; `other` may then only be assigned to or destroyed.
  temporary_directory(temporary_directory&& other) noexcept = default;
  /// Removes the directory of this object, and takes over the other one.
  temporary_directory& operator=(temporary_directory&& other) noexcept {
    temporary_directory taken(std::move(other));
    std::swap(path_, taken.path_);
    std::swap(end_, taken.end_);
    return *this;
  }
  ~temporary_directory() { end_.remove(); }

  /// Its path: see temporary_file::path().
  const std::string& path() const noexcept { return path_; }

  /// The directory stays when this object ends.
  void keep() noexcept { end_.keep(); }

 private:
  template <class>
  friend class temporary_directory;

  temporary_directory(std::string path, detail::removed_at_end<system> end) noexcept
      : path_(std::move(path)), end_(std::move(end)) {}

  static result<temporary_directory> create_in(const system& files, const char* within, const directory* beneath) {
    return detail::with_free_name([&]() -> result<temporary_directory> {
      auto entry = detail::temporary_entry<system>::find(files, within, beneath);
      if (!entry) return entry.error();
      auto& [path, place] = entry.value();
      detail::removed_at_end<system> end(std::move(place));
      if (const error failure = end.place().create_directory(); failure.exists())
        return failure.naming("create directory", path.c_str());
      return temporary_directory(std::move(path), std::move(end));
    });
  }

  std::string path_;
  detail::removed_at_end<system> end_;
};

QIO_END_NAMESPACE
