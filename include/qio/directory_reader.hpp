// SPDX-License-Identifier: BSL-1.0
// Listing a directory: directory_reader.
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/call.hpp>
#include <qio/configuration.hpp>
#include <qio/context.hpp>
#include <qio/directory.hpp>
#include <qio/file/access.hpp>
#include <qio/file/worker_task.hpp>
#include <qio/file_status.hpp>
#include <qio/operation_options.hpp>
#include <qio/path.hpp>
#include <qio/result.hpp>
#include <qio/system/operating_system.hpp>
#include <qio/system/platform.hpp>
#include <qio/task.hpp>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>

QIO_BEGIN_NAMESPACE

/// How directory_reader opens a directory.
struct listing_options {
  /// If set, the path must stay beneath this directory, as with open_options::beneath. It must exist until the
  /// directory is open.
  const directory* beneath = nullptr;
};

namespace detail {

/// A directory of the system that is open for listing: the handle, and the memory of a batch.
class system_listing {
 public:
  static result<system_listing> open(path_view path, platform::native_handle beneath) {
    system_listing self;  // with its memory before the handle, which nothing would close if there is none
    const auto opened = platform::open_listing(path, beneath);
    if (!opened) return opened.error();
    self.handle_ = opened.value();
    return self;
  }
  static result<system_listing> open(platform::native_handle directory) {
    system_listing self;
    const auto opened = platform::open_listing_of(directory);
    if (!opened) return opened.error();
    self.handle_ = opened.value();
    return self;
  }

  system_listing(system_listing&& other) noexcept
      : handle_(std::exchange(other.handle_, platform::invalid_handle)), list_(std::move(other.list_)) {}
  system_listing& operator=(system_listing&& other) noexcept {
    system_listing taken(std::move(other));
    std::swap(handle_, taken.handle_);
    std::swap(list_, taken.list_);
    return *this;
  }
  ~system_listing() {
    if (is_open()) static_cast<void>(platform::close(handle_));
  }

  bool is_open() const noexcept { return handle_ != platform::invalid_handle; }
  platform::native_handle handle() const noexcept { return handle_; }
  result<std::span<const directory_entry>> next() { return list_.next(handle_); }
  result<void> rewind() { return list_.rewind(handle_); }
  result<file_status> status(const directory_entry& of) const {
    return platform::status_of_entry(handle_, of.name.data());
  }

 private:
  system_listing() = default;

  platform::native_handle handle_ = platform::invalid_handle;
  platform::entry_list list_;
};

template <class System>
struct listing_on {
  using type = typename System::listing;
};
template <>
struct listing_on<operating_system> {
  using type = system_listing;
};

}  // namespace detail

/// Lists a directory in batches. Use it as directory_reader:
///
///     auto reader = qio::directory_reader::open("data").value();
///     for (auto batch = reader.next_batch().value(); !batch.empty(); batch = reader.next_batch().value())
///       for (const qio::directory_entry& each : batch) use(each.name, each.type);
///
/// The order is the file system's, in general neither that of the names nor that of creation. "." and ".." are left
/// out. An entry that is created or removed by others while the directory is read may be listed or not; one that exists
/// all the time is listed once on the file systems of Linux that are in use for data (ext4, XFS, btrfs, tmpfs), also if
/// others are removed meanwhile.
///
/// Names are what the file system has, any bytes but '/' and null. They need not be UTF-8, and may contain newlines and
/// escape sequences: do not print them unchanged. On Windows they are converted from UTF-16 to UTF-8. An unpaired
/// surrogate, which NTFS allows, becomes three bytes as if it were a character (WTF-8). So different names stay
/// different, and status() and remove_tree() work; functions that take a path refuse such a name, because it is not
/// UTF-8 (std::errc::illegal_byte_sequence).
///
/// The reader owns the handle and the memory of a batch, about 75 KiB (250 KiB on Windows), which is the only
/// allocation. Batches have up to 1365 entries; fewer do not mean that the end is near.
///
/// After a move from it, a reader fails with std::errc::bad_file_descriptor, and may be assigned to or destroyed. A
/// reader is for one thread at a time. Linux: getdents64(2). Windows: GetFileInformationByHandleEx
/// (FileIdBothDirectoryInfo).
///
/// On a simulated context, async_open() and next_batch() list the names of its disk, in batches of up to 16 and in an
/// order that follows from the seed; each is a system call, before which the power may be cut. The disk must outlive
/// the reader. What is in a directory is what has a name beneath it: "a" and "b" are in "logs" if there are "logs/a"
/// and "logs/b/c".
template <class System>
class [[nodiscard]] basic_directory_reader {
  using listing = typename detail::listing_on<System>::type;
  static constexpr bool is_of_system = std::is_same_v<System, detail::operating_system>;

 public:
  /// Opens the directory at `path`; symbolic links are followed. Blocks. Needs permission to read it. The message of an
  /// error names the path. Throws std::bad_alloc if there is no memory for a batch.
  static result<basic_directory_reader> open(path_view path, const listing_options& options = {})
    requires is_of_system
  {
    return open_by(path, options, [](auto&&... all) { return listing::open(all...); });
  }

  /// Opens the directory that `of` refers to, wherever it has been moved.
  static result<basic_directory_reader> open(const directory& of)
    requires is_of_system
  {
    if (of.native_handle() == platform::invalid_handle) return not_open();
    auto opened = listing::open(of.native_handle());
    if (!opened) return opened.error();
    return basic_directory_reader(std::move(opened).value());
  }

  /// open() on a worker thread. Allocates the frame of the task as well.
  template <class Engine>
  static task<result<basic_directory_reader<typename Engine::system>>> async_open(const basic_context<Engine>& on,
                                                                                  owned_path path,
                                                                                  listing_options options = {}) {
    auto loop = detail::file_access::loop_of(on);
    using reader = basic_directory_reader<typename Engine::system>;
    return detail::job_on_worker(
        loop, [loop, path = std::move(path), options] { return reader::open_on(loop, path, options); });
  }

  /// Takes over the handle and the memory; batches of `other` stay valid, as batches of this object.
  basic_directory_reader(basic_directory_reader&&) noexcept = default;
  /// The same; closes the handle that this object owned.
  basic_directory_reader& operator=(basic_directory_reader&&) noexcept = default;

  /// The next entries; none at the end. They and their names are valid until the next call of this function, or of
  /// rewind(), and until the reader is destroyed. A directory that has been removed has no entries. Blocks while the
  /// file system reads from its device.
  result<std::span<const directory_entry>> next_batch() {
    if (!is_open()) return not_open();
    if (undelivered_) return *std::exchange(undelivered_, std::nullopt);
    return list_.next();
  }

  /// The same on a worker thread, as an operation: see async_call() for what a deadline or a stop can end. The reader
  /// must neither be moved nor destroyed until the operation ends. If the operation is destroyed in flight, the next
  /// call returns the entries that it has read.
  template <class Engine>
  auto async_next_batch(const basic_context<Engine>& on, const operation_options& options = {}) {
    struct next {
      basic_directory_reader* of;
      result<std::span<const directory_entry>> operator()() const {
        auto batch = of->next_batch();
        if (batch) of->undelivered_ = batch.value();
        return batch;
      }
      void delivered() const noexcept { of->undelivered_.reset(); }
    };
    return async_call(on, next{this}, options);
  }

  /// Begins again: the next batch is the first of the directory as it is by then.
  result<void> rewind() {
    if (!is_open()) return not_open();
    undelivered_.reset();
    return list_.rewind();
  }

  /// What status() reports about an entry of the current batch, without following a link: the type, where the batch
  /// does not have it, the size, and so on. Fails with std::errc::no_such_file_or_directory if the entry is gone.
  /// Blocks.
  result<file_status> status(const directory_entry& of) const {
    if (!is_open()) return not_open();
    return list_.status(of);
  }

  /// False after a move from it.
  bool is_open() const noexcept { return list_.is_open(); }
  /// Owned by this object, open for reading the directory; platform::invalid_handle after a move from it.
  platform::native_handle native_handle() const noexcept
    requires is_of_system
  {
    return list_.handle();
  }

 private:
  template <class>
  friend class basic_directory_reader;

  template <class Open>
  static result<basic_directory_reader> open_by(path_view path, const listing_options& options, Open&& open) {
    const error misfit = path.misfit();
    auto opened = misfit.exists() ? result<listing>(misfit) : open(path, detail::handle_of(options.beneath));
    if (!opened) return opened.error().of_opening(path.c_str());
    return basic_directory_reader(std::move(opened).value());
  }

  template <class Loop>
  static result<basic_directory_reader> open_on(const Loop& loop, const std::string& path,
                                                const listing_options& options) {
    if constexpr (is_of_system)
      return open(path, options);
    else
      return open_by(path, options,
                     [&](auto&&... all) { return detail::system_on<System>(loop).open_listing(all...); });
  }

  static error not_open() noexcept { return std::make_error_code(std::errc::bad_file_descriptor); }

  explicit basic_directory_reader(listing opened) noexcept : list_(std::move(opened)) {}

  listing list_;
  std::optional<std::span<const directory_entry>> undelivered_;  // of an operation that was destroyed
};

/// Lists directories of the operating system.
using directory_reader = basic_directory_reader<detail::operating_system>;

QIO_END_NAMESPACE
