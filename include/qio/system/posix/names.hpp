// SPDX-License-Identifier: BSL-1.0
// Names: created, renamed and removed in directories that are kept open meanwhile, so that each step is about the same
// directory, whatever others rename.
#pragma once

#include <qio/configuration.hpp>
#include <qio/if_exists.hpp>
#include <qio/name_options.hpp>
#include <qio/path.hpp>
#include <qio/result.hpp>
#include <qio/system/posix/entry.hpp>
#include <qio/system/posix/handle.hpp>
#include <qio/system/posix/status.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

QIO_BEGIN_NAMESPACE
namespace platform {

// --- Directories that are synced ---

/// Makes the names in a directory durable. For use after creating, renaming or removing a file in it.
inline result<void> sync_directory(native_handle beneath, path_view path) noexcept {
  const auto opened = open_at(beneath, path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (!opened) return opened.error();
  const result<void> synced = sync_readable(opened.value());
  const result<void> closed = close(opened.value());
  return synced ? closed : synced;
}

// --- The names that a call is about ---

/// What a slash at the end of a path does. Only the name of a directory may be followed by one.
enum class slash_at_end : std::uint8_t { is_refused, means_directory };

/// Finds the entry for a name that need not exist. Other than by find_entry(), a path must end in a name. If it ends in
/// a slash, so does the name of the entry: the kernel then takes it for a directory, and follows no link.
inline result<directory_entry> find_name(native_handle beneath, const char* path, slash_at_end slash) {
  const std::string_view given = path;
  const std::string_view whole = given.substr(0, given.find_last_not_of('/') + 1);
  const std::string_view name = whole.substr(whole.rfind('/') + 1);
  const bool has_slash = whole.size() != given.size();
  if (name.empty() || name == "." || name == ".." || (has_slash && slash == slash_at_end::is_refused))
    return error(errc::no_name_in_path);
  auto found = find_entry(beneath, std::string(whole));
  if (found && has_slash) found.value().name += '/';
  return found;
}

// --- Renaming and linking ---

/// renameat(2), or what the system has for `how`. errc::if_exists_not_supported if it has nothing.
error rename_at(const directory_entry& from, const directory_entry& to, if_exists how) noexcept;

inline result<void> rename(native_handle beneath, path_view from, path_view to, if_exists how, bool is_durable) {
  const auto source = find_name(beneath, from.c_str(), slash_at_end::means_directory);
  if (!source) return source.error();
  const auto target = find_name(beneath, to.c_str(), slash_at_end::means_directory);
  if (!target) return target.error();
  const bool has_two = is_durable && !is_same_file(source.value().directory, target.value().directory);
  const auto old_directory = directory_to_sync::of(source.value().directory, has_two);
  if (!old_directory) return old_directory.error();
  const auto new_directory = directory_to_sync::of(target.value().directory, is_durable);
  if (!new_directory) return new_directory.error();
  if (const error failure = rename_at(source.value(), target.value(), how); failure.exists()) return failure;
  if (auto synced = new_directory.value().sync(); !synced) return synced;
  return old_directory.value().sync();
}

/// Changes one name by `change(entry)`, which returns a result, and then syncs its directory.
template <class Change>
auto change_name(native_handle beneath, path_view path, slash_at_end slash, bool is_durable, Change&& change)
    -> decltype(change(std::declval<const directory_entry&>())) {
  const auto found = find_name(beneath, path.c_str(), slash);
  if (!found) return found.error();
  const auto directory = directory_to_sync::of(found.value().directory, is_durable);
  if (!directory) return directory.error();
  auto changed = change(found.value());
  if (changed)
    if (const auto synced = directory.value().sync(); !synced) return synced.error();
  return changed;
}

inline result<void> link(native_handle beneath, path_view existing, path_view path, bool is_durable) {
  const auto source = find_name(beneath, existing.c_str(), slash_at_end::is_refused);
  if (!source) return source.error();
  const directory_entry& from = source.value();
  return change_name(beneath, path, slash_at_end::is_refused, is_durable,
                     [&](const directory_entry& to) -> result<void> {
                       if (::linkat(from.directory, from.name.c_str(), to.directory, to.name.c_str(), 0) != 0)
                         return last_error();
                       return success();
                     });
}

inline result<void> symlink(native_handle beneath, path_view target, path_view path, bool is_durable) {
  return change_name(beneath, path, slash_at_end::is_refused, is_durable,
                     [&](const directory_entry& to) -> result<void> {
                       if (::symlinkat(target.c_str(), to.directory, to.name.c_str()) != 0) return last_error();
                       return success();
                     });
}

inline result<std::string> read_link(native_handle beneath, path_view path) {
  const auto found = find_name(beneath, path.c_str(), slash_at_end::is_refused);
  if (!found) return found.error();
  auto target = target_of_link(found.value().directory, found.value().name.c_str());
  if (!target && target.error() == std::errc::invalid_argument) return error(errc::not_a_link);
  return target;
}

// --- Permissions ---

/// Sets the permission bits of an open file, whatever the umask is.
inline result<void> keep_permissions(native_handle handle, std::uint32_t permissions) noexcept {
  return set_permissions(handle, permissions);
}

// --- Removing, and directories ---

inline result<bool> remove_at(const directory_entry& entry, int flags) noexcept {
  if (::unlinkat(entry.directory, entry.name.c_str(), flags) == 0) return true;
  if (errno == ENOENT) return false;
  return last_error();
}

/// `answer`, except that there is nothing to remove in a directory that does not exist.
inline result<bool> false_if_missing(const result<bool>& answer) noexcept {
  if (!answer && answer.error() == std::errc::no_such_file_or_directory) return false;
  return answer;
}

inline result<bool> remove(native_handle beneath, path_view path, bool is_durable) {
  return false_if_missing(change_name(beneath, path, slash_at_end::is_refused, is_durable,
                                      [](const directory_entry& entry) { return remove_at(entry, 0); }));
}

inline result<bool> remove_directory(native_handle beneath, path_view path, bool is_durable) {
  return false_if_missing(change_name(beneath, path, slash_at_end::means_directory, is_durable,
                                      [](const directory_entry& entry) { return remove_at(entry, AT_REMOVEDIR); }));
}

/// Creates one directory. False if there is one, or a link to one.
inline result<bool> create_one_directory(native_handle beneath, const char* path, std::uint32_t permissions,
                                         bool is_durable) {
  const auto is_there = [&]() -> result<bool> {
    const auto opened = open_at(beneath, path, search_only);
    if (!opened) return opened.error();
    ::close(opened.value());
    return false;
  };
  const auto create = [&](const directory_entry& entry) -> result<bool> {
    if (::mkdirat(entry.directory, entry.name.c_str(), static_cast<mode_t>(permissions)) == 0) return true;
    if (errno != EEXIST) return last_error();
    const auto found = is_there();
    const bool is_other = !found && (found.error() == std::errc::not_a_directory ||
                                     found.error() == std::errc::no_such_file_or_directory);  // a dangling link
    return is_other ? result<bool>(system_error(EEXIST)) : found;
  };
  auto created = change_name(beneath, path, slash_at_end::means_directory, is_durable, create);
  // ".", ".." and "/" are directories, if they are anything.
  if (!created && created.error() == errc::no_name_in_path && *path != '\0') return is_there();
  return created;
}

inline result<bool> create_directory(native_handle beneath, path_view path, const directory_options& options) {
  const auto create = [&](const char* which) {
    return create_one_directory(beneath, which, options.permissions, options.durable);
  };
  // An earlier call may have made the parents, and not synced them.
  if (!options.parents || !options.durable) {
    auto created = create(path.c_str());
    if (created || !options.parents || created.error() != std::errc::no_such_file_or_directory) return created;
  }
  const std::string whole = path.c_str();
  for (std::size_t end = whole.find('/', 1); end != whole.npos; end = whole.find('/', end + 1)) {
    if (whole[end - 1] == '/') continue;
    const auto parent = create(whole.substr(0, end).c_str());
    if (!parent) return parent;
  }
  return create(path.c_str());
}

// --- Temporary files and directories ---

/// A file or a directory that is removed later, if it is still at its name. Its directory is kept open, so it is found
/// whatever others rename above it.
class temporary_place {
 public:
  temporary_place() noexcept = default;

  static result<temporary_place> find(native_handle beneath, path_view path) {
    auto entry = find_name(beneath, path.c_str(), slash_at_end::is_refused);
    if (!entry) return entry.error();
    temporary_place self;
    self.entry_ = std::move(entry).value();
    return self;
  }

  /// The file is what has been created there.
  void take_file(native_handle created) noexcept { is_taken_ = ::fstat(created, &identity_) == 0; }

  /// Creates a directory there, and keeps it open.
  error create_directory() noexcept {
    if (::mkdirat(entry_.directory, entry_.name.c_str(), 0700) != 0) return last_error();
    const auto opened = open_from(entry_.directory, entry_.name.c_str(), search_only | O_NOFOLLOW);
    if (!opened) {  // too many open files
      ::unlinkat(entry_.directory, entry_.name.c_str(), AT_REMOVEDIR);
      return opened.error();
    }
    within_.directory = opened.value();
    is_taken_ = ::fstat(opened.value(), &identity_) == 0;
    return {};
  }

  /// The directory that was created, to empty it. The caller owns the handle.
  result<native_handle> open_contents() const noexcept {
    return open_from(within_.directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  }

  /// A directory must be empty.
  void remove() noexcept {
    if (!is_taken_) return;
    const bool is_directory = S_ISDIR(identity_.st_mode);
    struct stat there;
    if (::fstatat(entry_.directory, entry_.name.c_str(), &there, AT_SYMLINK_NOFOLLOW) != 0) return;
    if (there.st_dev == identity_.st_dev && there.st_ino == identity_.st_ino)
      ::unlinkat(entry_.directory, entry_.name.c_str(), is_directory ? AT_REMOVEDIR : 0);
  }

 private:
  directory_entry entry_;
  directory_entry within_;  // without a name: the temporary directory itself
  struct stat identity_ {};
  bool is_taken_ = false;
};

}  // namespace platform
QIO_END_NAMESPACE
