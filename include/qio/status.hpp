// SPDX-License-Identifier: BSL-1.0
// status(): what the system reports about the file that a path leads to.
#pragma once

#include <qio/configuration.hpp>
#include <qio/context.hpp>
#include <qio/directory.hpp>
#include <qio/file/access.hpp>
#include <qio/file/state.hpp>
#include <qio/file/worker_task.hpp>
#include <qio/file_status.hpp>
#include <qio/path.hpp>
#include <qio/result.hpp>
#include <qio/system/operating_system.hpp>
#include <qio/system/platform.hpp>
#include <qio/task.hpp>

#include <string>
#include <utility>

QIO_BEGIN_NAMESPACE

/// How status() finds the file.
struct status_options {
  /// If set, the path must stay beneath this directory, as with open_options::beneath. It must exist until the call, or
  /// the task, has ended.
  const directory* beneath = nullptr;
  /// Whether a symbolic link at the end of the path is followed. If not, the status is that of the link.
  bool follow_links = true;
};

namespace detail {

template <class System>
result<file_status> status_on(const System& system, path_view path, const status_options& options) {
  const error misfit = path.misfit();
  const auto within = options.beneath == nullptr ? platform::anywhere : options.beneath->native_handle();
  auto found =
      misfit.exists() ? result<file_status>(misfit) : system.status_of_path(path, within, options.follow_links);
  if (!found) return found.error().naming("read the status of", path.c_str());
  return found;
}

}  // namespace detail

/// What the system reports about the file, directory or device that `path` leads to, without opening it: needs no
/// permission but to search the directories of the path. Blocks. Fails with the system's error, such as
/// std::errc::no_such_file_or_directory, whose message names the path; on failure only, allocates.
///
/// If the file will be opened afterwards, open it and ask file.status() instead: in between, the path may come to lead
/// to another file.
inline result<file_status> status(path_view path, const status_options& options = {}) {
  return detail::status_on(detail::operating_system(), path, options);
}

/// Like status(), on a worker thread. Allocates the frame of the task. On a context of the simulated engine, asks the
/// simulated disk.
template <class Engine>
task<result<file_status>> async_status(const basic_context<Engine>& on, owned_path path, status_options options = {}) {
  auto loop = detail::file_access::loop_of(on);
  return detail::job_on_worker(loop, [loop, path = std::move(path), options] {
    return detail::status_on(detail::system_on<typename Engine::system>(loop), path, options);
  });
}

QIO_END_NAMESPACE
