// The open files of a RocksDB database: read in sequence, read by many threads, written.
#pragma once

#include <qio/qio.hpp>
#include <qio/shared_file.hpp>

#include <rocksdb/file_system.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace rocksdb_file_system {

using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
using rocksdb::Slice;

inline IOStatus status_of(const qio::error& why) {
  if (why == std::errc::no_space_on_device) return IOStatus::NoSpace(why.message());
  if (why == std::errc::no_such_file_or_directory) return IOStatus::PathNotFound(why.message());
  return IOStatus::IOError(why.message());
}
template <class T>
IOStatus status_of(const qio::result<T>& answer) {
  return answer ? IOStatus::OK() : status_of(answer.error());
}

/// What was read: nothing if that failed.
inline IOStatus read_into(char* memory, const qio::result<std::size_t>& bytes, Slice& found) {
  found = Slice(memory, bytes ? bytes.value() : 0);
  return status_of(bytes);
}

inline std::span<std::byte> buffer_at(char* memory, std::size_t bytes) {
  return std::as_writable_bytes(std::span(memory, bytes));
}

/// RocksDB calls a range that reaches to the end of the file one of 0 bytes.
template <class File>
IOStatus forget(File& file, std::uint64_t offset, std::uint64_t bytes) {
  return status_of(file.forget({offset, bytes == 0 ? qio::whole_file.bytes - offset : bytes}));
}

// --- Reading ---

/// A log or a manifest, read by one thread.
template <class Mode>
class sequential_file final : public rocksdb::FSSequentialFile {
 public:
  explicit sequential_file(qio::basic_file<Mode>&& file) : file_(std::move(file)) {}

  IOStatus Read(std::size_t bytes, const IOOptions&, Slice* found, char* memory, IODebugContext*) override {
    const IOStatus answer = read_into(memory, file_.read_at(offset_, buffer_at(memory, bytes)), *found);
    offset_ += found->size();
    return answer;
  }
  IOStatus PositionedRead(std::uint64_t offset, std::size_t bytes, const IOOptions&, Slice* found, char* memory,
                          IODebugContext*) override {
    return read_into(memory, file_.read_at(offset, buffer_at(memory, bytes)), *found);
  }
  IOStatus Skip(std::uint64_t bytes) override {
    offset_ += bytes;
    return IOStatus::OK();
  }
  IOStatus InvalidateCache(std::size_t offset, std::size_t bytes) override { return forget(file_, offset, bytes); }
  bool use_direct_io() const override { return Mode::is_direct; }
  std::size_t GetRequiredBufferAlignment() const override { return file_.alignment().memory; }

 private:
  qio::basic_file<Mode> file_;
  std::uint64_t offset_ = 0;
};

/// Each thread that reads several blocks at a time has a context. None if the system refuses one.
inline qio::context* context_of_thread() {
  thread_local qio::result<qio::context> mine = qio::context::create();
  return mine ? &mine.value() : nullptr;
}

/// A table, read by any number of threads. Those that read one block do it by a call that waits. Those that read
/// several at a time (MultiGet) have all of them in flight, on their own contexts. When RocksDB deletes the table, it
/// is closed for all threads; none keeps it open.
template <class Mode>
class table_file final : public rocksdb::FSRandomAccessFile {
 public:
  explicit table_file(qio::shared_file<Mode>&& table)
      : table_(std::move(table)), blocking_(table_.open_blocking().value()) {}

  IOStatus Read(std::uint64_t offset, std::size_t bytes, const IOOptions&, Slice* found, char* memory,
                IODebugContext*) const override {
    return read_into(memory, blocking_.read_at(offset, buffer_at(memory, bytes)), *found);
  }

  IOStatus MultiRead(rocksdb::FSReadRequest* requests, std::size_t count, const IOOptions&, IODebugContext*) override {
    std::vector<qio::read_request> batch(count);
    for (std::size_t i = 0; i < count; ++i)
      batch[i] = {.offset = requests[i].offset, .buffer = buffer_at(requests[i].scratch, requests[i].len)};
    if (const IOStatus failed = read_all(batch); !failed.ok()) return failed;
    for (std::size_t i = 0; i < count; ++i)
      requests[i].status = read_into(requests[i].scratch, batch[i].answer, requests[i].result);
    return IOStatus::OK();
  }

  IOStatus Prefetch(std::uint64_t offset, std::size_t bytes, const IOOptions&, IODebugContext*) override {
    if (Mode::is_direct) return IOStatus::NotSupported("a direct file has no cache");  // then RocksDB reads by itself
    return status_of(blocking_.prefetch({offset, bytes}));
  }
  IOStatus InvalidateCache(std::size_t offset, std::size_t bytes) override { return forget(blocking_, offset, bytes); }
  void Hint(AccessPattern pattern) override {
    const auto order = pattern == kRandom       ? qio::access_pattern::random
                       : pattern == kSequential ? qio::access_pattern::sequential
                                                : qio::access_pattern::normal;
    static_cast<void>(blocking_.advise(order));  // a hint
  }
  bool use_direct_io() const override { return Mode::is_direct; }
  std::size_t GetRequiredBufferAlignment() const override { return blocking_.alignment().memory; }

 private:
  IOStatus read_all(std::vector<qio::read_request>& batch) const {
    qio::context* const context = context_of_thread();
    if (context == nullptr) return status_of(blocking_.read_many(batch));
    auto mine = table_.open_on(*context);  // no system call: it shares the handle
    if (!mine) return status_of(mine.error());
    const auto all = [&]() -> qio::task<qio::result<std::size_t>> {
      co_return co_await mine.value().async_read_many(batch);
    };
    return status_of(context->run(all()));
  }

  qio::shared_file<Mode> table_;
  qio::basic_file<Mode> blocking_;
};

/// A table whose blocks are where the page cache has them: without a copy.
class mapped_table final : public rocksdb::FSRandomAccessFile {
 public:
  explicit mapped_table(qio::mapped_file&& file) : file_(std::move(file)) {}

  IOStatus Read(std::uint64_t offset, std::size_t bytes, const IOOptions&, Slice* found, char*,
                IODebugContext*) const override {
    const auto view = file_.view_up_to(offset, bytes);
    if (!view) return status_of(view.error());
    *found = Slice(reinterpret_cast<const char*>(view.value().data()), view.value().size());
    return IOStatus::OK();
  }

 private:
  qio::mapped_file file_;
};

// --- Writing ---

/// A log, a manifest or a new table, written by one thread from beginning to end. (A direct one is written in whole
/// blocks, the last of which is written again as it fills, and cut off in the end.)
template <class Mode>
class writable_file final : public rocksdb::FSWritableFile {
 public:
  writable_file(qio::basic_file<Mode>&& file, const rocksdb::FileOptions& options, std::uint64_t bytes)
      : FSWritableFile(options), file_(std::move(file)), bytes_(bytes) {}

  using FSWritableFile::Append;
  using FSWritableFile::PositionedAppend;
  IOStatus Append(const Slice& data, const IOOptions& options, IODebugContext* debug) override {
    return PositionedAppend(data, bytes_, options, debug);
  }
  IOStatus PositionedAppend(const Slice& data, std::uint64_t offset, const IOOptions&, IODebugContext*) override {
    const auto written = file_.write_at(offset, std::as_bytes(std::span(data.data(), data.size())));
    if (written) bytes_ = offset + data.size();
    return status_of(written);
  }
  IOStatus Truncate(std::uint64_t bytes, const IOOptions&, IODebugContext*) override {
    const auto resized = file_.resize(bytes);
    if (resized) bytes_ = bytes;
    return status_of(resized);
  }

  IOStatus Flush(const IOOptions&, IODebugContext*) override { return IOStatus::OK(); }  // nothing is held back
  IOStatus Sync(const IOOptions&, IODebugContext*) override {
    return status_of(file_.sync(qio::sync_kind::data_and_size));
  }
  IOStatus Fsync(const IOOptions&, IODebugContext*) override { return status_of(file_.sync()); }
  bool IsSyncThreadSafe() const override { return true; }
  IOStatus RangeSync(std::uint64_t offset, std::uint64_t bytes, const IOOptions&, IODebugContext*) override {
    return status_of(file_.start_writeback(offset, bytes));
  }

  /// What is reserved behind the end is given back when the file is closed.
  IOStatus Allocate(std::uint64_t offset, std::uint64_t bytes, const IOOptions&, IODebugContext*) override {
    const auto reserved = file_.allocate(offset, bytes, qio::allocation::keep_size);
    has_reserved_ = has_reserved_ || reserved;
    const bool is_unavailable = !reserved && reserved.error() == std::errc::operation_not_supported;
    return is_unavailable ? IOStatus::OK() : status_of(reserved);
  }
  IOStatus Close(const IOOptions&, IODebugContext*) override {
    if (has_reserved_)
      if (const auto cut = file_.resize(bytes_); !cut) return status_of(cut);
    return status_of(file_.close());
  }

  std::uint64_t GetFileSize(const IOOptions&, IODebugContext*) override { return bytes_; }
  IOStatus InvalidateCache(std::size_t offset, std::size_t bytes) override { return forget(file_, offset, bytes); }
  bool use_direct_io() const override { return Mode::is_direct; }
  std::size_t GetRequiredBufferAlignment() const override { return file_.alignment().memory; }

 private:
  qio::basic_file<Mode> file_;
  std::uint64_t bytes_;
  bool has_reserved_ = false;
};

/// A file that is written and read anywhere: RocksDB repairs some of its files in place.
class random_file final : public rocksdb::FSRandomRWFile {
 public:
  explicit random_file(qio::cached_file&& file) : file_(std::move(file)) {}

  IOStatus Write(std::uint64_t offset, const Slice& data, const IOOptions&, IODebugContext*) override {
    return status_of(file_.write_at(offset, std::as_bytes(std::span(data.data(), data.size()))));
  }
  IOStatus Read(std::uint64_t offset, std::size_t bytes, const IOOptions&, Slice* found, char* memory,
                IODebugContext*) const override {
    return read_into(memory, file_.read_at(offset, buffer_at(memory, bytes)), *found);
  }
  IOStatus Flush(const IOOptions&, IODebugContext*) override { return IOStatus::OK(); }
  IOStatus Sync(const IOOptions&, IODebugContext*) override {
    return status_of(file_.sync(qio::sync_kind::data_and_size));
  }
  IOStatus Fsync(const IOOptions&, IODebugContext*) override { return status_of(file_.sync()); }
  IOStatus Close(const IOOptions&, IODebugContext*) override { return status_of(file_.close()); }

 private:
  qio::cached_file file_;
};

}  // namespace rocksdb_file_system
