// SPDX-License-Identifier: BSL-1.0
// Names of files and directories: renaming, linking, removing, and creating directories; replacing a file (see
// names/replace.hpp) and temporary files (names/temporary.hpp); blocking, or on a context.
#pragma once

#include <qio/configuration.hpp>
#include <qio/context.hpp>
#include <qio/directory.hpp>
#include <qio/file.hpp>
#include <qio/file/access.hpp>
#include <qio/name_options.hpp>
#include <qio/names/replace.hpp>
#include <qio/names/temporary.hpp>
#include <qio/path.hpp>
#include <qio/result.hpp>
#include <qio/system/operating_system.hpp>
#include <qio/task.hpp>

#include <string>
#include <utility>

QIO_BEGIN_NAMESPACE

// What all of these functions have in common.
//
// Paths end in the name that the call is about. A path that is empty, or ends in "." or "..", fails with
// errc::no_name_in_path; so does one that ends in a slash, except for a directory. A symbolic link at the end of a path
// is not followed: the call is about the link. Links on the way are followed. While a call runs, it keeps the directory
// of each name open (Linux), so all of its steps, the sync included, are about that directory, whatever others rename.
//
// Errors are those of the operating system, or a qio::errc; the message names the paths.
//
// The asynchronous forms run on a worker thread of the context, and own copies of the paths. io_uring has operations
// for some of them, but the kernel carries these out on threads of its own, which takes longer: see docs/decisions.md.
// They allocate the frame of the task. A call that has begun is not interrupted; destroying the task waits for it. On a
// simulated context they change the names of its disk.

namespace detail {

// --- What the functions do, with paths that are path_views, or std::strings that an asynchronous call owns ---

/// `call()`, unless a path misfits. Its error names the path.
template <class Call>
auto about(const char* verb, path_view path, Call&& call) -> decltype(call()) {
  const error misfit = path.misfit();
  auto answer = misfit.exists() ? decltype(call())(misfit) : call();
  if (answer) return answer;
  return answer.error().naming(verb, path.c_str());
}
template <class Call>
auto about(const char* verb, path_view path, const char* joined_by, path_view other, Call&& call) -> decltype(call()) {
  const error misfit = path.misfit().exists() ? path.misfit() : other.misfit();
  auto answer = misfit.exists() ? decltype(call())(misfit) : call();
  if (answer) return answer;
  return answer.error().naming(verb, path.c_str(), joined_by, other.c_str());
}

template <class Path>
struct renaming {
  Path from, to;
  if_exists how;
  name_options options;

  template <class System>
  result<void> operator()(const System& files) const {
    const bool swaps = how == if_exists::exchange;
    return about(swaps ? "exchange" : "rename", from, swaps ? " and " : " to ", to,
                 [&] { return files.rename(handle_of(options.beneath), from, to, how, options.durable); });
  }
};

template <class Path>
struct linking {
  Path existing, name;
  name_options options;

  template <class System>
  result<void> operator()(const System& files) const {
    return about("give", existing, " the name ", name,
                 [&] { return files.link(handle_of(options.beneath), existing, name, options.durable); });
  }
};

template <class Path>
struct symbolic_linking {
  Path target, name;
  name_options options;

  template <class System>
  result<void> operator()(const System& files) const {
    return about("create the symbolic link", name, " to ", target,
                 [&] { return files.symlink(handle_of(options.beneath), target, name, options.durable); });
  }
};

template <class Path>
struct link_reading {
  Path path;
  name_options options;

  template <class System>
  result<std::string> operator()(const System& files) const {
    return about("read the link", path, [&] { return files.read_link(handle_of(options.beneath), path); });
  }
};

template <class Path>
struct removal {
  Path path;
  name_options options;

  template <class System>
  result<bool> operator()(const System& files) const {
    return about("remove", path, [&] { return files.remove(handle_of(options.beneath), path, options.durable); });
  }
};

template <class Path>
struct directory_creation {
  Path path;
  directory_options options;

  template <class System>
  result<bool> operator()(const System& files) const {
    return about("create directory", path,
                 [&] { return files.create_directory(handle_of(options.beneath), path, options); });
  }
};

template <class Path>
struct directory_removal {
  Path path;
  name_options options;

  template <class System>
  result<bool> operator()(const System& files) const {
    return about("remove directory", path,
                 [&] { return files.remove_directory(handle_of(options.beneath), path, options.durable); });
  }
};

}  // namespace detail

// --- Renaming ---

/// Renames a file, a link or a directory. `how` is about something that has the new name: by default, it is replaced,
/// as by rename(2), which every file system can do.
///
/// - `replace`: atomic: `to` always is the old or the new file, whole. A directory replaces only an empty directory.
/// - `fail`: fails with std::errc::file_exists, without a moment in which another process could create the name.
/// - `exchange`: the two swap their names, atomically, whatever they are.
///
/// Fails with std::errc::cross_device_link if `to` is on another file system, with errc::directory_of_overlay (the
/// same) for a directory that an overlay cannot rename, and with errc::if_exists_not_supported where the file system
/// has no such rename; it is never done by a check and a rename. (Linux: renameat2(2); ext4, XFS, btrfs, tmpfs and
/// others have both flags, NFS has none.) If `from` and `to` are names of the same file, `replace` does nothing, as
/// POSIX requires.
///
/// Windows: a file that is open is renamed or replaced (NTFS, from Windows 10 1607; before that, there is a moment
/// without the name). A file that is mapped or read-only is not replaced, and a directory replaces nothing. There is no
/// `exchange`.
inline result<void> rename(path_view from, path_view to, if_exists how = if_exists::replace,
                           const name_options& options = {}) {
  return detail::renaming<path_view>{from, to, how, options}(detail::operating_system());
}
/// Like rename(), on a worker thread.
template <class Engine>
task<result<void>> async_rename(const basic_context<Engine>& on, owned_path from, owned_path to,
                                if_exists how = if_exists::replace, name_options options = {}) {
  return detail::call_with_files(detail::file_access::loop_of(on),
                                 detail::renaming<std::string>{std::move(from), std::move(to), how, options});
}

// --- Links ---

/// Gives the file `existing` a second name (a hard link), on the same file system. Fails with std::errc::file_exists if
/// there is something of that name, and with std::errc::operation_not_permitted for a directory, or on a file system
/// without hard links. Linux may forbid it for files of others (fs.protected_hardlinks). Windows: CreateHardLink.
inline result<void> link(path_view existing, path_view name, const name_options& options = {}) {
  return detail::linking<path_view>{existing, name, options}(detail::operating_system());
}
/// Like link(), on a worker thread.
template <class Engine>
task<result<void>> async_link(const basic_context<Engine>& on, owned_path existing, owned_path name,
                              name_options options = {}) {
  return detail::call_with_files(detail::file_access::loop_of(on),
                                 detail::linking<std::string>{std::move(existing), std::move(name), options});
}

/// Creates a symbolic link. `target` is its text, which need not lead anywhere; if it is relative, it is resolved from
/// the directory of the link, when it is followed. `beneath` confines the name, not the target. Fails with
/// std::errc::file_exists if there is something of that name. Windows: CreateSymbolicLink, which needs a privilege or
/// the developer mode (std::errc::operation_not_permitted); slashes become backslashes, and the link is for a directory
/// if the target is one now.
inline result<void> symlink(path_view target, path_view name, const name_options& options = {}) {
  return detail::symbolic_linking<path_view>{target, name, options}(detail::operating_system());
}
/// Like symlink(), on a worker thread.
template <class Engine>
task<result<void>> async_symlink(const basic_context<Engine>& on, owned_path target, owned_path name,
                                 name_options options = {}) {
  return detail::call_with_files(detail::file_access::loop_of(on),
                                 detail::symbolic_linking<std::string>{std::move(target), std::move(name), options});
}

/// Returns the text of a symbolic link. Fails with errc::not_a_link if something else is there. `options.durable` has
/// no meaning.
inline result<std::string> read_link(path_view path, const name_options& options = {}) {
  return detail::link_reading<path_view>{path, options}(detail::operating_system());
}
/// Like read_link(), on a worker thread.
template <class Engine>
task<result<std::string>> async_read_link(const basic_context<Engine>& on, owned_path path, name_options options = {}) {
  return detail::call_with_files(detail::file_access::loop_of(on),
                                 detail::link_reading<std::string>{std::move(path), options});
}

// --- Removing ---

/// Removes the name of a file or a link; the file itself when nobody has it open and it has no other name. Returns
/// false if there was none, or no such directory. Fails with std::errc::is_a_directory for a directory. Windows: the
/// name is free at once even if others have the file open (NTFS, from Windows 10 1709); before that, when they have
/// closed it. A read-only file is removed, too.
inline result<bool> remove(path_view path, const name_options& options = {}) {
  return detail::removal<path_view>{path, options}(detail::operating_system());
}
/// Like remove(), on a worker thread.
template <class Engine>
task<result<bool>> async_remove(const basic_context<Engine>& on, owned_path path, name_options options = {}) {
  return detail::call_with_files(detail::file_access::loop_of(on),
                                 detail::removal<std::string>{std::move(path), options});
}

// --- Directories ---

/// Creates a directory. Returns false if there was one, or a link to one; fails with std::errc::file_exists if
/// something else is there. Windows ignores the permissions.
inline result<bool> create_directory(path_view path, const directory_options& options = {}) {
  return detail::directory_creation<path_view>{path, options}(detail::operating_system());
}
/// Like create_directory(), on a worker thread.
template <class Engine>
task<result<bool>> async_create_directory(const basic_context<Engine>& on, owned_path path,
                                          directory_options options = {}) {
  return detail::call_with_files(detail::file_access::loop_of(on),
                                 detail::directory_creation<std::string>{std::move(path), options});
}

/// Removes an empty directory. Returns false if there was none. Fails with std::errc::directory_not_empty, and with
/// std::errc::not_a_directory if something else is there, a link to a directory included.
inline result<bool> remove_directory(path_view path, const name_options& options = {}) {
  return detail::directory_removal<path_view>{path, options}(detail::operating_system());
}
/// Like remove_directory(), on a worker thread.
template <class Engine>
task<result<bool>> async_remove_directory(const basic_context<Engine>& on, owned_path path, name_options options = {}) {
  return detail::call_with_files(detail::file_access::loop_of(on),
                                 detail::directory_removal<std::string>{std::move(path), options});
}

QIO_END_NAMESPACE
