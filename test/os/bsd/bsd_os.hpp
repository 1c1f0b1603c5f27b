// What tests need from the operating system: on macOS and FreeBSD.
#pragma once

#include "../posix/posix_os.hpp"
#include <qio/qio.hpp>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/param.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <string_view>

namespace os {

/// Whether it is in an overlay of Linux.
inline bool is_in_overlay(const std::filesystem::path&) { return false; }

/// Whether the files of a directory are in memory alone, so that there is nothing to write back.
inline bool is_in_memory(const std::filesystem::path& directory) {
  struct statfs system;
  return ::statfs(directory.c_str(), &system) == 0 && std::string_view(system.f_fstypename) == "tmpfs";
}

/// Takes the lock of an open file description on the whole file, without waiting.
inline bool lock_whole(qio::platform::native_handle handle) { return ::flock(handle, LOCK_EX | LOCK_NB) == 0; }

/// Whether there is a call that starts writeback.
inline constexpr bool has_writeback = false;

/// A new handle of an existing file. invalid_handle if it was to be direct: no file is.
inline qio::platform::native_handle open_raw(const std::string& path, const raw_open& how) {
  if (how.direct) return qio::platform::invalid_handle;
  return ::open(path.c_str(),
                flags_of(how.access) | (how.durable ? O_DSYNC : 0) | (how.appends ? O_APPEND : 0) | O_CLOEXEC);
}

/// From now on, system calls on this file's handle fail because it is not that of an ordinary file.
inline void take_away(qio::platform::native_handle handle) {
  const int nothing = ::open("/", O_SEARCH | O_DIRECTORY | O_CLOEXEC);
  ::dup2(nothing, handle);
  ::close(nothing);
}

/// Whether this process has it open.
inline bool has_open(const std::string& path) {
  struct stat wanted, found;
  if (::stat(path.c_str(), &wanted) != 0) return false;
  for (int each = 0; each < ::getdtablesize(); ++each)
    if (::fstat(each, &found) == 0 && found.st_dev == wanted.st_dev && found.st_ino == wanted.st_ino) return true;
  return false;
}

}  // namespace os
