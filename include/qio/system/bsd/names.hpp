// SPDX-License-Identifier: BSL-1.0
// Names: what macOS and FreeBSD have of their own.
#pragma once

#include <qio/configuration.hpp>
#include <qio/path.hpp>
#include <qio/result.hpp>
#include <qio/system/bsd/directory.hpp>
#include <qio/system/posix/entry.hpp>
#include <qio/system/posix/handle.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>

QIO_BEGIN_NAMESPACE
namespace platform {

// --- Symbolic links ---

/// Whether a link may be followed: in a sticky directory that everybody may write to (/tmp), only the user's own links
/// and those of the directory's owner are followed, as Linux can be told to (fs.protected_symlinks). Not if the link
/// has several names: anybody can give another user's link a name there.
inline bool may_follow(const struct stat& link, const struct stat& directory) noexcept {
  constexpr mode_t shared = S_ISVTX | S_IWOTH;
  if ((directory.st_mode & shared) != shared) return true;
  return link.st_nlink == 1 && (link.st_uid == directory.st_uid || link.st_uid == ::geteuid());
}

inline bool leads_elsewhere(const directory_entry&, const directory_entry&) noexcept { return false; }

/// Whether both describe one entry, to which nothing has happened in between.
inline bool is_unchanged(const struct stat& before, const struct stat& after) noexcept {
  return before.st_dev == after.st_dev && before.st_ino == after.st_ino &&
         before.st_ctimespec.tv_sec == after.st_ctimespec.tv_sec &&
         before.st_ctimespec.tv_nsec == after.st_ctimespec.tv_nsec;
}

/// A link is read between two looks at it, since no handle keeps it: a rename of it changes its time.
inline result<entry_kind> kind_of(const directory_entry& entry, bool follows_links) {
  constexpr int most_attempts = 100;
  const char* const name = entry.name.c_str();
  struct stat directory, status, later;
  if (::fstat(entry.directory, &directory) != 0) return last_error();
  for (int attempt = 0; attempt < most_attempts; ++attempt) {
    if (::fstatat(entry.directory, name, &status, AT_SYMLINK_NOFOLLOW) != 0)
      return errno == ENOENT ? result<entry_kind>(entry_kind{}) : last_error();
    if (S_ISREG(status.st_mode)) return entry_kind{};
    if (!S_ISLNK(status.st_mode)) return system_error(S_ISDIR(status.st_mode) ? EISDIR : EEXIST);
    if (!follows_links) return system_error(ELOOP);
    if (!may_follow(status, directory)) return system_error(EACCES);
    auto target = target_of_link(entry.directory, name);
    if (!target || ::fstatat(entry.directory, name, &later, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (is_unchanged(status, later)) return entry_kind{true, std::move(target).value()};
  }
  return system_error(ELOOP);
}

// --- Names ---

/// The permission bits of the file that a path leads to.
inline result<std::uint32_t> permissions_of(native_handle beneath, path_view path) noexcept {
  struct stat status;
  if (const error failure = status_beneath(beneath, path.c_str(), 0, status); failure.exists()) return failure;
  return std::uint32_t(status.st_mode & 0777u);
}

/// Where the system's temporary files are. Not from the environment in a program that has more rights than its caller.
inline result<std::string> temporary_directory() {
  const char* const chosen = ::issetugid() != 0 ? nullptr : std::getenv("TMPDIR");
  return std::string(chosen == nullptr || *chosen == '\0' ? "/tmp" : chosen);
}

}  // namespace platform
QIO_END_NAMESPACE
