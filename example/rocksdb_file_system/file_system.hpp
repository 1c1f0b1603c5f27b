// A file system for RocksDB on the files of this library.
#pragma once

#include "files.hpp"
#include <qio/directory_reader.hpp>
#include <qio/names.hpp>
#include <qio/qio.hpp>
#include <qio/status.hpp>

#include <rocksdb/env.h>
#include <rocksdb/file_system.h>

#include <array>
#include <chrono>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace rocksdb_file_system {

/// The names in a directory, which the system makes durable.
class directory_of_files final : public rocksdb::FSDirectory {
 public:
  explicit directory_of_files(const std::string& path) : path_(path) {}
  IOStatus Fsync(const IOOptions&, IODebugContext*) override { return status_of(qio::sync_directory(path_)); }

 private:
  std::string path_;
};

/// Held as long as the database is open, against other processes, too.
struct file_lock : rocksdb::FileLock {
  explicit file_lock(qio::cached_file&& locked) : file(std::move(locked)) {}
  qio::cached_file file;
};

/// RocksDB's log for people: a line for each call.
class text_log final : public rocksdb::Logger {
 public:
  explicit text_log(qio::cached_file&& file) : file_(std::move(file)) {}
  ~text_log() override { static_cast<void>(Close()); }

  using Logger::Logv;
  void Logv(const char* format, va_list arguments) override {
    std::array<char, 4096> line{};
    const int length = std::vsnprintf(line.data(), line.size() - 1, format, arguments);
    if (length < 0) return;
    std::size_t bytes = std::min(static_cast<std::size_t>(length), line.size() - 2);
    line[bytes++] = '\n';
    const std::lock_guard one_line_at_a_time(mutex_);
    if (file_.write_at(bytes_, std::as_bytes(std::span(line.data(), bytes)))) bytes_ += bytes;
  }
  std::size_t GetLogFileSize() const override { return static_cast<std::size_t>(bytes_); }

 private:
  rocksdb::Status CloseImpl() override { return rocksdb::Status::OK(); }

  std::mutex mutex_;
  qio::cached_file file_;
  std::uint64_t bytes_ = 0;
};

/// use_direct_reads, use_direct_io_for_flush_and_compaction and allow_mmap_reads of a database choose the modes of its
/// files; the others are cached.
class file_system final : public rocksdb::FileSystem {
 public:
  const char* Name() const override { return "qio"; }

  // --- Opening ---

  IOStatus NewSequentialFile(const std::string& path, const rocksdb::FileOptions& options,
                             std::unique_ptr<rocksdb::FSSequentialFile>* made, IODebugContext*) override {
    const qio::open_options in_sequence{.pattern = qio::access_pattern::sequential};
    return options.use_direct_reads ? open_as<qio::direct, sequential_file<qio::direct>>(path, in_sequence, *made)
                                    : open_as<qio::cached, sequential_file<qio::cached>>(path, in_sequence, *made);
  }

  IOStatus NewRandomAccessFile(const std::string& path, const rocksdb::FileOptions& options,
                               std::unique_ptr<rocksdb::FSRandomAccessFile>* made, IODebugContext*) override {
    if (options.use_mmap_reads) return open_as<qio::mapped, mapped_table>(path, {}, *made);
    return options.use_direct_reads ? open_table<qio::direct>(path, *made) : open_table<qio::cached>(path, *made);
  }

  IOStatus NewWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                           std::unique_ptr<rocksdb::FSWritableFile>* made, IODebugContext*) override {
    return create(path, qio::creation::always_new, options, *made);
  }
  IOStatus ReopenWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                              std::unique_ptr<rocksdb::FSWritableFile>* made, IODebugContext*) override {
    return create(path, qio::creation::if_needed, options, *made);
  }
  IOStatus ReuseWritableFile(const std::string& path, const std::string& old_path, const rocksdb::FileOptions& options,
                             std::unique_ptr<rocksdb::FSWritableFile>* made, IODebugContext*) override {
    if (const auto renamed = qio::rename(old_path, path); !renamed) return status_of(renamed);
    return create(path, qio::creation::open_existing, options, *made, 0);  // written over from the beginning
  }

  IOStatus NewRandomRWFile(const std::string& path, const rocksdb::FileOptions&,
                           std::unique_ptr<rocksdb::FSRandomRWFile>* made, IODebugContext*) override {
    auto opened = qio::cached_file::open(path, qio::access::read_write);
    if (opened) *made = std::make_unique<random_file>(std::move(opened).value());
    return status_of(opened);
  }
  IOStatus NewDirectory(const std::string& path, const IOOptions&, std::unique_ptr<rocksdb::FSDirectory>* made,
                        IODebugContext*) override {
    const auto found = qio::status(path);
    if (found) *made = std::make_unique<directory_of_files>(path);
    return status_of(found);
  }
  IOStatus NewLogger(const std::string& path, const IOOptions&, std::shared_ptr<rocksdb::Logger>* made,
                     IODebugContext*) override {
    auto opened = qio::cached_file::open(path, qio::access::write, qio::creation::always_new);
    if (opened) *made = std::make_shared<text_log>(std::move(opened).value());
    return status_of(opened);
  }

  // --- Names ---

  IOStatus FileExists(const std::string& path, const IOOptions&, IODebugContext*) override {
    const auto found = qio::status(path);
    if (!found && found.error() == std::errc::no_such_file_or_directory) return IOStatus::NotFound(path);
    return status_of(found);
  }
  IOStatus DeleteFile(const std::string& path, const IOOptions&, IODebugContext*) override {
    const auto removed = qio::remove(path);
    return removed && !removed.value() ? IOStatus::PathNotFound(path) : status_of(removed);
  }
  IOStatus RenameFile(const std::string& from, const std::string& to, const IOOptions&, IODebugContext*) override {
    return status_of(qio::rename(from, to));
  }
  IOStatus LinkFile(const std::string& existing, const std::string& name, const IOOptions&, IODebugContext*) override {
    return status_of(qio::link(existing, name));
  }
  IOStatus Truncate(const std::string& path, std::size_t bytes, const IOOptions&, IODebugContext*) override {
    auto opened = qio::cached_file::open(path, qio::access::write);
    return opened ? status_of(opened.value().resize(bytes)) : status_of(opened);
  }

  IOStatus CreateDir(const std::string& path, const IOOptions&, IODebugContext*) override {
    const auto created = qio::create_directory(path);
    return created && !created.value() ? IOStatus::IOError(path, "exists") : status_of(created);
  }
  IOStatus CreateDirIfMissing(const std::string& path, const IOOptions&, IODebugContext*) override {
    return status_of(qio::create_directory(path));
  }
  IOStatus DeleteDir(const std::string& path, const IOOptions&, IODebugContext*) override {
    const auto removed = qio::remove_directory(path);
    return removed && !removed.value() ? IOStatus::PathNotFound(path) : status_of(removed);
  }
  IOStatus GetChildren(const std::string& path, const IOOptions&, std::vector<std::string>* names,
                       IODebugContext*) override {
    names->clear();
    auto reader = qio::directory_reader::open(path);
    if (!reader) return status_of(reader);
    for (;;) {
      const auto batch = reader.value().next_batch();
      if (!batch || batch.value().empty()) return status_of(batch);
      for (const qio::directory_entry& each : batch.value()) names->emplace_back(each.name);
    }
  }

  // --- What the system reports ---

  IOStatus GetFileSize(const std::string& path, const IOOptions&, std::uint64_t* bytes, IODebugContext*) override {
    return ask(path, *bytes, [](const qio::file_status& found) { return found.bytes; });
  }
  IOStatus GetFileModificationTime(const std::string& path, const IOOptions&, std::uint64_t* seconds,
                                   IODebugContext*) override {
    return ask(path, *seconds, [](const qio::file_status& found) {
      return static_cast<std::uint64_t>(
          std::chrono::floor<std::chrono::seconds>(found.modified).time_since_epoch().count());
    });
  }
  IOStatus NumFileLinks(const std::string& path, const IOOptions&, std::uint64_t* count, IODebugContext*) override {
    return ask(path, *count, [](const qio::file_status& found) { return found.links; });
  }
  IOStatus IsDirectory(const std::string& path, const IOOptions&, bool* is_one, IODebugContext*) override {
    return ask(path, *is_one, [](const qio::file_status& found) { return found.type == qio::file_type::directory; });
  }
  IOStatus AreFilesSame(const std::string& one, const std::string& other, const IOOptions&, bool* are_same,
                        IODebugContext*) override {
    const auto first = qio::status(one), second = qio::status(other);
    if (!first || !second) return status_of(first ? second : first);
    *are_same = first.value().id == second.value().id;
    return IOStatus::OK();
  }
  IOStatus GetFreeSpace(const std::string& path, const IOOptions&, std::uint64_t* bytes, IODebugContext*) override {
    std::error_code failed;
    *bytes = std::filesystem::space(path, failed).available;
    return failed ? IOStatus::IOError(failed.message()) : IOStatus::OK();
  }
  IOStatus GetTestDirectory(const IOOptions&, std::string* path, IODebugContext*) override {
    *path = (std::filesystem::temp_directory_path() / "rocksdb-test").string();
    return status_of(qio::create_directory(*path));
  }
  IOStatus GetAbsolutePath(const std::string& path, const IOOptions&, std::string* absolute, IODebugContext*) override {
    *absolute = std::filesystem::absolute(path).string();
    return IOStatus::OK();
  }

  // --- One process a database ---

  /// The lock belongs to the open file. So it also keeps a second database of this process out, for which RocksDB's own
  /// file system needs a list.
  IOStatus LockFile(const std::string& path, const IOOptions&, rocksdb::FileLock** lock, IODebugContext*) override {
    auto opened = qio::cached_file::open(path, qio::access::read_write, qio::creation::if_needed);
    if (!opened) return status_of(opened);
    const auto locked = opened.value().try_lock(qio::lock_kind::exclusive);
    if (!locked) return status_of(locked);
    if (!locked.value()) return IOStatus::IOError(path, "another database has locked it");
    *lock = new file_lock(std::move(opened).value());
    return IOStatus::OK();
  }
  IOStatus UnlockFile(rocksdb::FileLock* lock, const IOOptions&, IODebugContext*) override {
    const std::unique_ptr<file_lock> held(static_cast<file_lock*>(lock));
    return status_of(held->file.unlock());
  }

 private:
  template <class Mode, class Made, class Pointer>
  static IOStatus open_as(const std::string& path, const qio::open_options& options, Pointer& made) {
    auto opened = qio::basic_file<Mode>::open(path, qio::access::read, qio::creation::open_existing, options);
    if (opened) made = std::make_unique<Made>(std::move(opened).value());
    return status_of(opened);
  }

  template <class Mode>
  static IOStatus open_table(const std::string& path, std::unique_ptr<rocksdb::FSRandomAccessFile>& made) {
    auto opened = qio::shared_file<Mode>::open(path);
    if (opened) made = std::make_unique<table_file<Mode>>(std::move(opened).value());
    return status_of(opened);
  }

  /// `bytes`: where to write on; at the end, unless it is given.
  template <class Mode>
  static IOStatus create_as(const std::string& path, qio::creation how, const rocksdb::FileOptions& options,
                            std::unique_ptr<rocksdb::FSWritableFile>& made, std::optional<std::uint64_t> bytes) {
    auto opened = qio::basic_file<Mode>::open(path, qio::access::write, how);
    if (!opened) return status_of(opened);
    const auto size = opened.value().size();
    if (!size) return status_of(size);
    made = std::make_unique<writable_file<Mode>>(std::move(opened).value(), options, bytes.value_or(size.value()));
    return IOStatus::OK();
  }
  static IOStatus create(const std::string& path, qio::creation how, const rocksdb::FileOptions& options,
                         std::unique_ptr<rocksdb::FSWritableFile>& made, std::optional<std::uint64_t> bytes = {}) {
    return options.use_direct_writes ? create_as<qio::direct>(path, how, options, made, bytes)
                                     : create_as<qio::cached>(path, how, options, made, bytes);
  }

  template <class Answer, class Choose>
  static IOStatus ask(const std::string& path, Answer& answer, Choose choose) {
    const auto found = qio::status(path);
    if (found) answer = choose(found.value());
    return status_of(found);
  }
};

}  // namespace rocksdb_file_system
