// SPDX-License-Identifier: BSL-1.0
// Replacing a file by a new one, so that its name always leads to the old or the new contents, whole.
#pragma once

#include <qio/buffer.hpp>
#include <qio/configuration.hpp>
#include <qio/context.hpp>
#include <qio/file.hpp>
#include <qio/file/access.hpp>
#include <qio/file/state.hpp>
#include <qio/mode.hpp>
#include <qio/name_options.hpp>
#include <qio/path.hpp>
#include <qio/result.hpp>
#include <qio/system/operating_system.hpp>
#include <qio/task.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

QIO_BEGIN_NAMESPACE
namespace detail {

/// The engine of files without a context on another system than the operating system's.
template <class System>
struct blocking_on {
  using system = System;
};
template <class System>
struct file_loop<blocking_on<System>> {
  using pointer = no_loop;
};

/// What a writer gets: a cached file without a context, with blocking operations.
template <class System>
using new_file =
    basic_file<cached, std::conditional_t<std::is_same_v<System, operating_system>, no_engine, blocking_on<System>>>;

/// Whether a function writes the new contents: it is called with the open file, and returns a result.
template <class Writer, class System>
concept writer_of = std::invocable<Writer&, new_file<System>&> && requires(Writer& writer, new_file<System>& file) {
  { writer(file).error() } -> std::convertible_to<error>;
};

/// Writes what is in memory.
struct writes_bytes {
  std::span<const std::byte> bytes;

  template <class File>
  result<std::size_t> operator()(File& file) const {
    return file.write_at(0, bytes);
  }
};

/// The path is a path_view, or a std::string that an asynchronous call owns.
template <class Path, class Writer>
struct replacement {
  Path path;
  Writer writer;
  replace_options options;

  template <class System>
  result<void> operator()(const System& files) {
    const path_view name = path;
    if (const error misfit = name.misfit(); misfit.exists()) return named(misfit);
    const platform::native_handle beneath = handle_of(options.beneath);
    std::uint32_t at_first = options.permissions;
    const auto kept = options.keep_permissions ? files.permissions_of(beneath, name)
                                               : result<std::uint32_t>(error(errc::no_name_in_path));
    if (kept)
      at_first = kept.value() & 0600u;  // meanwhile, nobody opens it who could not open the old one
    else if (options.keep_permissions && kept.error() != std::errc::no_such_file_or_directory)
      return named(kept.error());
    auto opening = files.begin(name, beneath, access::read_write, creation::always_new, at_first, handle_kind());
    if (!opening) return named(opening.error());
    if (kept)
      if (const auto set = files.keep_permissions(opening.value().handle(), kept.value()); !set)
        return named(set.error());
    if (auto written = write(files, opening.value(), name); !written) return written;
    const auto committed = options.durable ? opening.value().commit_durably() : opening.value().commit();
    if (!committed) return named(committed.error());
    const auto closed = files.close(committed.value());
    return closed ? closed : named(closed.error());
  }

 private:
  template <class System>
  result<void> write(const System& files, const typename System::opening& opening, path_view name) {
    auto state = file_state<cached, System>::before_commit(files, opening, access::read_write, name);
    if (!state) return named(state.error());
    auto file = file_access::make<new_file<System>>(std::move(state).value(), no_loop());
    if (auto written = writer(file); !written) {
      if constexpr (std::is_same_v<Writer, writes_bytes>)
        return named(written.error());
      else
        return written.error();  // it may be about something else, which it names
    }
    if (!options.durable) return success();
    const sync_kind kind = options.keep_permissions ? sync_kind::everything : sync_kind::data_and_size;
    auto synced = file.sync(kind);
    if (!synced && synced.error() == std::errc::bad_file_descriptor)  // the writer has closed its file
      synced = files.sync(opening.handle(), kind);
    return synced ? synced : named(synced.error());
  }

 private:
  result<void> named(const error& failure) const { return failure.naming("replace", path_view(path).c_str()); }
};

template <class Contents>
concept bytes_in_memory = std::convertible_to<Contents, std::span<const std::byte>>;

}  // namespace detail

/// Replaces the contents of a file, or creates it: writes them to a new file in the same directory, syncs that, gives
/// it the name, and syncs the directory. So the name leads to the old or the new contents at any moment, whole, for
/// other processes and after a crash; once the call has succeeded, to the new (unless `options.durable` is false).
///
/// If the call fails, the old file is unchanged and nothing is left behind, with one exception: if only the sync of the
/// directory failed, the name leads to the new file, and a crash may bring the old one back. A process that is killed
/// leaves at most the new file, under the name .qio-<number>.
///
/// The file is replaced as by creation::always_new: permissions are those of a new file, hard links and programs that
/// have the old file open keep the old contents, a symbolic link at the end of the path stays and its target is
/// replaced, and devices and directories are refused (see docs/open.md). Needs space for both files, and permission to
/// write to the directory, and to read it unless `durable` is false.
///
///     qio::replace_file("settings", std::as_bytes(std::span(text))).value();
template <class Contents>
  requires detail::bytes_in_memory<const Contents&>
result<void> replace_file(path_view path, const Contents& contents, const replace_options& options = {}) {
  return detail::replacement<path_view, detail::writes_bytes>{path, {contents}, options}(detail::operating_system());
}
/// The same with contents that `writer(file)` writes. `file` is a cached_file& that is open for reading and writing,
/// and empty. The writer returns a result; if that is an error, the call fails with it and changes nothing.
template <detail::writer_of<detail::operating_system> Writer>
result<void> replace_file(path_view path, Writer&& writer, const replace_options& options = {}) {
  return detail::replacement<path_view, Writer&>{path, writer, options}(detail::operating_system());
}

/// Like replace_file(), on a worker thread, or on the disk of a simulated context. Borrows the contents until the task
/// has finished. Destroying the task waits for it.
template <class Engine, class Contents>
  requires detail::bytes_in_memory<const std::remove_reference_t<Contents>&>
task<result<void>> async_replace_file(const basic_context<Engine>& on, owned_path path, Contents&& contents,
                                      replace_options options = {}) {
  static_assert(detail::is_borrowed<Contents>,
                "qio: these contents are a temporary that is destroyed before the task runs: give them a name");
  using work = detail::replacement<std::string, detail::writes_bytes>;
  return detail::call_with_files(detail::file_access::loop_of(on), work{std::move(path), {contents}, options});
}
/// The same with a writer, which the worker calls. It must not use the context, nor files and operations of it, and
/// must not throw, except std::bad_alloc. On a simulated context, its argument is a file of the disk, with the same
/// functions: write `auto& file`.
template <class Engine, detail::writer_of<typename Engine::system> Writer>
task<result<void>> async_replace_file(const basic_context<Engine>& on, owned_path path, Writer writer,
                                      replace_options options = {}) {
  using work = detail::replacement<std::string, Writer>;
  return detail::call_with_files(detail::file_access::loop_of(on), work{std::move(path), std::move(writer), options});
}

QIO_END_NAMESPACE
