// Where a VFS has its files: in the system, or on a simulated disk. Both have the same functions.
#pragma once

#include <qio/engine/simulated.hpp>
#include <qio/names.hpp>
#include <qio/qio.hpp>
#include <qio/status.hpp>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace sqlite_vfs {

/// The system's files, by blocking calls: SQLite has nothing else to do meanwhile.
struct of_the_system {
  template <class Mode>
  using file = qio::basic_file<Mode>;
  static constexpr bool has_mapped_files = true;

  template <class Mode>
  qio::result<file<Mode>> open(qio::path_view path, qio::access wanted, qio::creation how,
                               const qio::open_options& options) const {
    return file<Mode>::open(path, wanted, how, options);
  }
  /// A file for what SQLite sorts or spills. It has no name, and is gone when it is closed.
  qio::result<file<qio::cached>> open_temporary() const {
    return file<qio::cached>::open_unnamed(std::filesystem::temp_directory_path());
  }
  qio::result<bool> remove(qio::path_view path, bool durable) const { return qio::remove(path, {.durable = durable}); }
  qio::result<qio::file_status> status(qio::path_view path) const { return qio::status(path); }
  qio::result<void> sync_directory(const std::string& path) const { return qio::sync_directory(path); }
  /// Journals have their names beside the file itself, whatever links lead to it.
  std::string full_path(const char* path) const {
    return std::filesystem::weakly_canonical(std::filesystem::absolute(path)).string();
  }
};

/// The files of a simulated disk, on a context that works on it.
class on_a_simulated_disk {
 public:
  using context_type = qio::basic_context<qio::simulated>;
  template <class Mode>
  using file = qio::basic_file<Mode, qio::simulated>;
  static constexpr bool has_mapped_files = false;

  explicit on_a_simulated_disk(context_type& context) : context_(&context) {}

  template <class Mode>
  qio::result<file<Mode>> open(const std::string& path, qio::access wanted, qio::creation how,
                               const qio::open_options& options) const {
    return qio::basic_file<Mode>::open(*context_, path, wanted, how, options);
  }
  qio::result<file<qio::cached>> open_temporary() const {
    return qio::error(std::make_error_code(std::errc::operation_not_supported));
  }
  qio::result<bool> remove(const std::string& path, bool durable) const {
    return context_->run(qio::async_remove(*context_, path, {.durable = durable}));
  }
  qio::result<qio::file_status> status(const std::string& path) const {
    return context_->run(qio::async_status(*context_, path));
  }
  qio::result<void> sync_directory(const std::string& path) const {
    return context_->run(qio::async_sync_directory(*context_, path));
  }
  std::string full_path(const char* path) const { return path; }

 private:
  context_type* context_;
};

}  // namespace sqlite_vfs
