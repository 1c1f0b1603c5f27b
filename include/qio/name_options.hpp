// SPDX-License-Identifier: BSL-1.0
// How names of files and directories are changed: see qio/names.hpp.
#pragma once

#include <qio/configuration.hpp>
#include <qio/if_exists.hpp>

#include <cstdint>

QIO_BEGIN_NAMESPACE

class directory;

/// Options of functions that change or read a name.
struct name_options {
  /// For paths from an untrusted source: each path is resolved from this directory and must stay beneath it; otherwise
  /// the call fails with errc::leaves_directory. See directory. It must outlive the call, or the task. Null allows any
  /// path.
  const qio::directory* beneath = nullptr;
  /// The directories that hold the names are synced before the call returns, after a change of two directories the
  /// new one first. Also if nothing was to be done, because an earlier call that did it may have been interrupted. If
  /// the sync fails, the call fails, but the change has been made: so it does on file systems that cannot sync
  /// directories (errc::directory_sync_not_supported). Syncing a directory takes permission to read it,
  /// which is checked before the change.
  bool durable = false;
};

/// Options of create_directory().
struct directory_options {
  std::uint32_t permissions = 0777;  ///< POSIX permission bits of what is created, before the process's umask
  /// Also creates the directories that are missing on the way. If the call fails, those that it has created stay.
  bool parents = false;
  const qio::directory* beneath = nullptr;  ///< as name_options::beneath
  bool durable = false;  ///< as name_options::durable, for the directory and each one that was created on the way
};

/// Options of replace_file().
struct replace_options {
  /// The contents are synced before the file gets its name, and the directory after that, before the call returns. A
  /// crash, even of the power, at any moment leaves the old or the new file, whole; after the call has succeeded, the
  /// new one. If false, a crash of the system may leave an empty or partial file.
  bool durable = true;
  std::uint32_t permissions = 0666;  ///< POSIX permission bits of the new file, before the process's umask
  /// If there is a file already, the new one gets its permission bits (read, write, execute) instead, as they were when
  /// the call began. Not its owner, its access control list and its other attributes. Off by default, because whoever
  /// may create files in the directory could otherwise decide who may read the new contents.
  bool keep_permissions = false;
  const qio::directory* beneath = nullptr;  ///< as open_options::beneath
};

/// Options of temporary files and directories.
struct temporary_options {
  /// The directory in which it is created: a path in UTF-8, with or without a slash at the end. Null is the system's
  /// directory for temporary files ($TMPDIR, else /tmp; on Windows GetTempPath), or, with `beneath`, that directory
  /// itself, or on a simulated disk ".". Give the directory of the final name if the file will get one by rename().
  const char* within = nullptr;
  const qio::directory* beneath = nullptr;  ///< as open_options::beneath; it must outlive the call to create()
};

QIO_END_NAMESPACE
