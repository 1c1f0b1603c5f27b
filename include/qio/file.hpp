// SPDX-License-Identifier: BSL-1.0
// Files: basic_file<Mode, Engine>, the public handle of an open file.
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/batch.hpp>
#include <qio/buffer.hpp>
#include <qio/configuration.hpp>
#include <qio/context.hpp>
#include <qio/directory.hpp>
#include <qio/explanation.hpp>
#include <qio/file/access.hpp>
#include <qio/file/attributes.hpp>
#include <qio/file/batch.hpp>
#include <qio/file/cache.hpp>
#include <qio/file/locks.hpp>
#include <qio/file/modes.hpp>
#include <qio/file/space.hpp>
#include <qio/file/state.hpp>
#include <qio/file/views.hpp>
#include <qio/if_exists.hpp>
#include <qio/loop/call.hpp>
#include <qio/mode.hpp>
#include <qio/operation.hpp>
#include <qio/operation_options.hpp>
#include <qio/options.hpp>
#include <qio/path.hpp>
#include <qio/result.hpp>
#include <qio/system/operating_system.hpp>
#include <qio/task.hpp>
#include <qio/write_and_sync.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>

QIO_BEGIN_NAMESPACE

/// The engine of files opened without a context. They have blocking operations only.
struct no_engine {
  using system = detail::operating_system;  ///< what opens and reads its files
};

namespace detail {

struct file_access;

/// What the asynchronous members of a file without a context return. They are deleted, and a compiler's message has
/// this name.
struct needs_a_file_opened_on_a_context;

template <class Engine>
concept without_context = std::same_as<Engine, no_engine>;

/// How a file refers to its context, if it has one.
struct naming_of_file {
  const std::string* path;
  if_exists how;
  const directory* beneath;

  template <class State>
  result<void> operator()(State& of) const {
    return of.give_name(*path, how, beneath);
  }
};

template <class Engine>
struct file_loop {
  using pointer = std::shared_ptr<loop<Engine>>;
  using control_type = control<loop<Engine>>;
};
template <>
struct file_loop<no_engine> {
  using pointer = no_loop;
};

/// Runs `job` on a worker thread. The job and its result live in the frame of the coroutine that awaits the operation,
/// which outlives the worker's call.
template <class Engine, class Job>
operation<Engine, void> call_by_worker(loop<Engine>& on, file_activity& activity, Job& job) {
  return {on, [&](request& r) {
            r.op = opcode::call;
            r.activity = &activity;
            r.argument = &job;
            r.call = [](request& self) noexcept { return (*static_cast<Job*>(self.argument))(); };
          }};
}

}  // namespace detail

/// One open file or block device, in one mode.
///
/// Transfers. Each transfer names its `offset` in bytes; there is no file position. A read fills the whole buffer
/// unless it reaches the end of the file first. It returns the number of bytes read: fewer than asked for only at the
/// end, and 0 only at or past the end or for an empty buffer. A write writes the whole buffer and returns its length,
/// or fails. A write past the end extends the file. If a system call transfers less than it was asked to (a signal, or
/// the limits of 0x7ffff000 bytes and 1024 buffers per call), the library continues. error().transferred() is the
/// number of bytes that a failed transfer had moved. Concurrent writes to the same bytes leave the data of either, or a
/// mixture.
///
/// Buffers are anything that converts to std::span<std::byte> (reads) or std::span<const std::byte> (writes), or, for a
/// vectored transfer, to std::span<const mutable_buffer> or std::span<const const_buffer>. Pass other memory as
/// std::as_bytes(std::span(x)) or std::as_writable_bytes(std::span(x)). The library borrows the memory, and the array
/// of a vectored transfer, until the transfer ends; so an asynchronous transfer does not accept a temporary that owns
/// its memory. Blocking transfers of a mapped file may use views of the same file, overlapping ones too: the buffers
/// are copied one after the other, each as by memmove. (This does not apply where system calls are used: past the end,
/// with durable_writes, without guards_copies, or through another handle.)
///
/// Direct files require an offset, a length and an address that are multiples of alignment(); in a vectored transfer
/// this applies to each buffer. Misaligned transfers fail before any system call, and the error contains the numbers. A
/// buffer whose constant size no device accepts (not a multiple of 512) does not compile.
///
/// Errors are the operating system's own, or a qio::errc. A range that ends past 2^63 - 1 fails with
/// errc::offset_too_large, and a transfer that the file was not opened for with errc::access_not_granted. A write past
/// RLIMIT_FSIZE fails with std::errc::file_too_large, and writes the part up to the limit; nothing, if it is direct and
/// the limit is not a multiple of the device's block, except on btrfs. Where the kernel carries it out on the calling
/// thread it also raises SIGXFSZ there, as pwrite(2) does, which ends a program that does not ignore the signal. This
/// applies to blocking writes, and through io_uring to writes on XFS and btrfs, and to those of direct files on ext4.
/// (While such a limit is set, no asynchronous write is served inline. A limit that is set while files are open is
/// noticed within a millisecond.)
///
/// Closed files. After close(), and after a move from the file, every function that returns a result fails with
/// std::errc::bad_file_descriptor; the others must not be called (checked where QIO_CHECKS is 1). Such a file may be
/// assigned to or destroyed, and keeps its context's resources until then.
///
/// Pipes, sockets and terminals have no offsets and cannot be opened (errc::no_offsets; Windows opens named pipes).
///
/// Threads. Several threads may call blocking operations at once, except resize() and close(). Asynchronous operations
/// belong to the context's thread. So does closing a file that has had any, unless none is in flight and that thread no
/// longer runs the context. If something else extends a mapped file (another handle, or an asynchronous write) while
/// one of its threads writes just below the new end, the kernel may zero what was written: it clears the rest of the
/// old last page.
///
/// Allocation. Opening, adopting and sharing a file, async_close(), explain() and error messages allocate, as do errors
/// that name the file (of reads, writes, syncs and resize(), except those that were canceled or timed out), and as may
/// the growth of a mapped file and an operation that starts a worker thread; nothing else does. If memory is exhausted,
/// they throw std::bad_alloc, but an error then only names no file, and async_open(), once it runs, fails with
/// std::errc::not_enough_memory.
template <file_mode Mode, class Engine = no_engine>
class [[nodiscard]] basic_file : public file_space<basic_file<Mode, Engine>, Mode, Engine>,
                                 public file_locks<basic_file<Mode, Engine>, Mode, Engine>,
                                 public file_attributes<basic_file<Mode, Engine>, Engine>,
                                 public file_cache<basic_file<Mode, Engine>, Mode, Engine>,
                                 public file_views<basic_file<Mode, Engine>, Mode, Engine> {
 public:
  using mode_type = Mode;      ///< cached, uncached, direct or mapped
  using engine_type = Engine;  ///< the engine of its context, or no_engine

  /// Opens a file for blocking operations. Child processes do not inherit the handle (O_CLOEXEC). A failed open leaves
  /// the disk as it was, and the message of its error names the path. Where direct or uncached I/O is unavailable, the
  /// open fails with std::errc::operation_not_supported, unless open_options::fallback allows the cache. Mapped and
  /// uncached files need permission to read even if they are only written. The first open of a mapped file installs a
  /// process-wide handler: see open_options::guards_copies.
  static result<basic_file> open(path_view path, access wanted = access::read, creation how = creation::open_existing,
                                 const open_options& options = {})
    requires std::same_as<Engine, no_engine>
  {
    auto opened = state::open(path, wanted, how, options, detail::no_loop());
    if (!opened) return opened.error().of_opening(path.c_str());
    return basic_file(std::move(opened).value(), {});
  }

  /// Opens a file on a context, for asynchronous operations as well; returns a basic_file<Mode, engine of the context>.
  /// Opening blocks until the file system has opened the file.
  template <class ContextEngine>
  static result<basic_file<Mode, ContextEngine>> open(const basic_context<ContextEngine>& on, path_view path,
                                                      access wanted = access::read,
                                                      creation how = creation::open_existing,
                                                      const open_options& options = {}) {
    if (on.loop_ == nullptr) return error(std::make_error_code(std::errc::bad_file_descriptor));  // moved from
    auto opened = basic_file<Mode, ContextEngine>::state::open(path, wanted, how, options, on.loop_);
    if (!opened) return opened.error().of_opening(path.c_str());
    return basic_file<Mode, ContextEngine>(std::move(opened).value(), on.loop_);
  }

  /// The same without blocking the context's thread: on a worker thread, unless an existing file can be opened
  /// immediately (see open_options::inline_opening). Allocates the frame of the task. Destroying the task before it has
  /// finished closes the file.
  template <class ContextEngine>
  static task<result<basic_file<Mode, ContextEngine>>> async_open(const basic_context<ContextEngine>& on,
                                                                  owned_path path, access wanted = access::read,
                                                                  creation how = creation::open_existing,
                                                                  open_options options = {}) {
    return basic_file<Mode, ContextEngine>::open_asynchronously(on.loop_, std::move(path), wanted, how, options);
  }

  // --- files without a name ---

  /// Opens a new, empty file in `directory` that has no name, so nobody else can open it. It is gone when it is closed,
  /// or when its process ends, unless give_name() has given it a name: for temporary files, and for files that appear
  /// only when they are complete. Needs access to write. open_options::beneath applies to `directory`.
  ///
  /// Linux: open(2) with O_TMPFILE. Fails with std::errc::operation_not_supported on file systems that have no such
  /// files (NFS, FUSE, FAT), and on Windows.
  static result<basic_file> open_unnamed(path_view directory, access wanted = access::read_write,
                                         const open_options& options = {})
    requires std::same_as<Engine, no_engine>
  {
    auto opened = state::open_unnamed(directory, wanted, options, detail::no_loop());
    if (!opened) return opened.error().naming("create a file in", directory.c_str());
    return basic_file(std::move(opened).value(), {});
  }
  /// The same for a file on a context.
  template <class ContextEngine>
  static result<basic_file<Mode, ContextEngine>> open_unnamed(const basic_context<ContextEngine>& on,
                                                              path_view directory, access wanted = access::read_write,
                                                              const open_options& options = {}) {
    if (on.loop_ == nullptr) return error(std::make_error_code(std::errc::bad_file_descriptor));  // moved from
    auto opened = basic_file<Mode, ContextEngine>::state::open_unnamed(directory, wanted, options, on.loop_);
    if (!opened) return opened.error().naming("create a file in", directory.c_str());
    return basic_file<Mode, ContextEngine>(std::move(opened).value(), on.loop_);
  }
  /// The same on a worker thread. Allocates the frame of the task.
  template <class ContextEngine>
  static task<result<basic_file<Mode, ContextEngine>>> async_open_unnamed(const basic_context<ContextEngine>& on,
                                                                          owned_path directory,
                                                                          access wanted = access::read_write,
                                                                          open_options options = {}) {
    return basic_file<Mode, ContextEngine>::open_unnamed_by_worker(on.loop_, std::move(directory), wanted, options);
  }

  /// Gives the file a name, in the file system where it is: the first one after open_unnamed(), or a further one (a
  /// hard link). With if_exists::fail, fails with std::errc::file_exists if anything has that name. With
  /// if_exists::replace, a file or a symbolic link of that name is replaced, in one step. With if_exists::exchange,
  /// fails with std::errc::invalid_argument. The path must stay beneath `beneath` unless that is null: see directory.
  ///
  /// Blocks as long as the file system takes to change a directory. For a file that after a crash is either missing or
  /// complete, sync() it, give it the name, and sync_directory() its directory. Messages still call the file what it
  /// was called. If the program ends while it replaces a file, the new one may stay under a name that begins with
  /// ".qio-".
  ///
  /// Linux: linkat(2). Fails with std::errc::cross_device_link in another file system, and with
  /// std::errc::no_such_file_or_directory if the file once had names and all were removed, or without /proc. On
  /// Windows: std::errc::operation_not_supported.
  result<void> give_name(path_view path, if_exists how = if_exists::fail, const directory* beneath = nullptr) {
    if (!is_open()) return not_open();
    return state_->give_name(path, how, beneath);
  }
  /// The same on a worker thread. This object must neither be moved nor destroyed until the task has ended, and
  /// `beneath` must exist; the file may be closed, which waits for the worker. Allocates the frame of the task.
  task<result<void>> async_give_name(owned_path path, if_exists how = if_exists::fail,
                                     const directory* beneath = nullptr)
    requires engine<Engine>
  {
    co_return co_await act_on_worker(detail::naming_of_file{&path, how, beneath}, {});
  }

  // --- handles that the program opened itself ---

  /// Takes over an open handle, for blocking operations. On failure, the caller keeps it. Access and durable writes
  /// follow from the handle (O_ACCMODE, O_DSYNC; on Windows its rights and FILE_FLAG_WRITE_THROUGH); of the options,
  /// `permissions` and `beneath` have no meaning.
  ///
  /// Nothing about the handle is changed, because its flags belong to the open file description, which other processes
  /// may share. So these fail: a direct mode with a handle without O_DIRECT (unless open_options::fallback allows the
  /// cache), another mode with O_DIRECT, a writable handle with O_APPEND, durable_writes without O_DSYNC, and, on a
  /// context, O_NONBLOCK. So do O_PATH, a mode that must read with a handle that cannot, directories, and files without
  /// offsets. On Windows, the corresponding flags apply (FILE_FLAG_NO_BUFFERING, FILE_APPEND_DATA without
  /// FILE_WRITE_DATA, FILE_FLAG_WRITE_THROUGH); on a context, the handle needs FILE_FLAG_OVERLAPPED and must not be
  /// bound to a completion port. Simulated files adopt nothing: errc::adopt_not_supported.
  static result<basic_file> adopt(platform::native_handle handle, const open_options& options = {})
    requires std::same_as<Engine, no_engine>
  {
    auto adopted = state::adopt(handle, options, detail::no_loop());
    if (!adopted) return adopted.error();
    return basic_file(std::move(adopted).value(), {});
  }

  /// The same for a file on a context.
  template <class ContextEngine>
  static result<basic_file<Mode, ContextEngine>> adopt(const basic_context<ContextEngine>& on,
                                                       platform::native_handle handle,
                                                       const open_options& options = {}) {
    if (on.loop_ == nullptr) return error(std::make_error_code(std::errc::bad_file_descriptor));  // moved from
    auto adopted = basic_file<Mode, ContextEngine>::state::adopt(handle, options, on.loop_);
    if (!adopted) return adopted.error();
    return basic_file<Mode, ContextEngine>(std::move(adopted).value(), on.loop_);
  }

  /// Closes this object like close(), but leaves the handle open and returns it to the caller. Operations in flight end
  /// first, and neither the context nor a mapping refers to the file afterwards. Fails with errc::handle_is_shared
  /// while other files use the handle (share_with), and on Windows, for a file on a context, with
  /// errc::cannot_be_released; then the file stays open.
  result<platform::native_handle> release()
    requires std::same_as<typename Engine::system, detail::operating_system>
  {
    if (!is_open()) return not_open();
    if (engine<Engine> && platform::binds_handles) return error(errc::cannot_be_released);
    if (state_->has_ended()) return not_open();
    if (state_->is_shared()) return error(errc::handle_is_shared);
    end_operations();
    const std::unique_ptr<state> released = std::move(state_);
    return released->release();
  }

  /// Returns a second file of this mode, on another context, that uses the same handle. The two share the open file
  /// description with its locks (F_OFD_SETLK, flock), and failed syncs; each has its own transfers, statistics and
  /// mapping. The last of the files closes the handle. For the new file, `options` determines inline transfers,
  /// registration, reservation and guarded copies. A hint (open_options::pattern) belongs to the handle: give it to the
  /// first file. Call it while no other thread uses this file; afterwards, each file belongs to its own context's
  /// thread. Fails with errc::handle_is_not_durable if `options` requests durable writes that this file does not make,
  /// and on Windows, where a handle belongs to one completion port, with errc::cannot_be_shared.
  template <class OtherEngine>
  result<basic_file<Mode, OtherEngine>> share_with(const basic_context<OtherEngine>& other,
                                                   const open_options& options = {})
    requires(std::same_as<typename Engine::system, detail::operating_system> &&
             std::same_as<typename OtherEngine::system, detail::operating_system>)
  {
    if (!is_open() || state_->has_ended()) return not_open();
    if (other.loop_ == nullptr) return error(std::make_error_code(std::errc::bad_file_descriptor));  // moved from
    if constexpr (platform::binds_handles) {
      return error(errc::cannot_be_shared);
    } else {
      auto shared = state_->share(options, other.loop_);
      if (!shared) return shared.error();
      return basic_file<Mode, OtherEngine>(std::move(shared).value(), other.loop_);
    }
  }

  /// The file that was moved from is closed. It keeps its context, so that its operations can report that.
  basic_file(basic_file&& other) noexcept
      : loop_(other.loop_), state_(std::move(other.state_)) {  // NOLINT(performance-move-constructor-init): see above
    require_staying();
  }
  /// Closes this file, as the destructor does, and takes over the other one.
  basic_file& operator=(basic_file&& other) noexcept {
    basic_file taken(std::move(other));
    std::swap(state_, taken.state_);
    std::swap(loop_, taken.loop_);
    return *this;
  }
  /// Closes the file. Cancels its operations in flight and waits until the system no longer uses their memory; the
  /// context completes them afterwards. A power failure may lose what was not synced. Errors from closing are
  /// discarded.
  ~basic_file() {
    require_staying();
    if (state_) end_operations();
  }

  /// Closes the file and returns the error, if any (on network file systems a write may fail only now). The file is
  /// closed in any case.
  result<void> close() {
    if (!is_open()) return not_open();
    end_operations();
    const std::unique_ptr<state> closed = std::move(state_);
    return closed->close();
  }

  /// The same without blocking the context's thread: closing may write data back (network file systems) or free many
  /// blocks (the last link to a large file). A worker thread closes the file unless neither is likely (see
  /// open_options::inline_opening). This object is closed immediately. Allocates the frame of the task.
  task<result<void>> async_close()
    requires engine<Engine>
  {
    if (is_open()) end_operations();
    return close_asynchronously(loop_, std::move(state_));
  }

  // --- reading and writing, blocking ---

  /// Reads into `buffer` from byte `offset` of the file on, until the buffer is full or the file ends. Returns the
  /// number of bytes read.
  template <class Buffer>
    requires(detail::readable_into<Buffer> || detail::holds_no_bytes<Buffer>)
  result<std::size_t> read_at(std::uint64_t offset, Buffer&& buffer) const {
    static_assert(has_whole_blocks<Buffer>());
    if (state_ == nullptr) [[unlikely]]
      return not_open();
    return state_->read(offset, detail::buffers_to_fill(buffer));
  }

  /// Writes all of `buffer` from byte `offset` of the file on. Returns the number of bytes, which is the buffer's size.
  template <class Buffer>
    requires(detail::writable_from<Buffer> || detail::holds_no_bytes<Buffer>)
  result<std::size_t> write_at(std::uint64_t offset, Buffer&& buffer) {
    static_assert(has_whole_blocks<Buffer>());
    if (state_ == nullptr) [[unlikely]]
      return not_open();
    return state_->write(offset, detail::buffers_to_send(buffer));
  }

  /// The same with options: `file.write_at(0, record, {.durable = true})` returns when the bytes are durable.
  template <class Buffer>
    requires(detail::writable_from<Buffer> || detail::holds_no_bytes<Buffer>)
  result<std::size_t> write_at(std::uint64_t offset, Buffer&& buffer, const blocking_write_options& options) {
    static_assert(has_whole_blocks<Buffer>());
    if (!is_open()) return not_open();
    return state_->write_with(offset, detail::buffers_to_send(buffer), state_->flags_of(options));
  }

  // --- reading and writing, asynchronous: see operation ---

  /// Like read_at(), asynchronously: see operation. Borrows the buffer until the operation ends.
  template <class Buffer>
    requires((detail::readable_into<Buffer> || detail::holds_no_bytes<Buffer>) && engine<Engine>)
  operation<Engine, std::size_t> async_read_at(std::uint64_t offset, Buffer&& buffer) {
    static_assert(outlives_call<Buffer>());
    return operation_of<std::size_t>([&](request& r) { describe_read(r, offset, detail::buffers_to_fill(buffer)); });
  }

  /// The same, with a deadline or a stop token.
  template <class Buffer>
    requires((detail::readable_into<Buffer> || detail::holds_no_bytes<Buffer>) && engine<Engine>)
  auto async_read_at(std::uint64_t offset, Buffer&& buffer, const operation_options& options) {
    static_assert(outlives_call<Buffer>());
    return controlled<std::size_t>([&](request& r) { describe_read(r, offset, detail::buffers_to_fill(buffer)); },
                                   options);
  }

  /// Like write_at(), asynchronously: see operation. Borrows the buffer until the operation ends.
  template <class Buffer>
    requires((detail::writable_from<Buffer> || detail::holds_no_bytes<Buffer>) && engine<Engine>)
  operation<Engine, std::size_t> async_write_at(std::uint64_t offset, Buffer&& buffer) {
    static_assert(outlives_call<Buffer>());
    return operation_of<std::size_t>([&](request& r) { describe_write(r, offset, detail::buffers_to_send(buffer)); });
  }

  /// The same with write_options: a durable or untorn write, a deadline or a stop token.
  template <class Buffer>
    requires((detail::writable_from<Buffer> || detail::holds_no_bytes<Buffer>) && engine<Engine>)
  auto async_write_at(std::uint64_t offset, Buffer&& buffer, const write_options& options) {
    static_assert(outlives_call<Buffer>());
    return controlled<std::size_t>(
        [&](request& r) { describe_write(r, offset, detail::buffers_to_send(buffer), state_->flags_of(options)); },
        {options.deadline, options.stop, options.io_class});
  }
  /// The same with operation_options. (A template, so that `{.deadline = ...}` means write_options.)
  template <class Buffer, std::same_as<operation_options> Options>
    requires((detail::writable_from<Buffer> || detail::holds_no_bytes<Buffer>) && engine<Engine>)
  auto async_write_at(std::uint64_t offset, Buffer&& buffer, const Options& options) {
    return async_write_at(
        offset, std::forward<Buffer>(buffer),
        write_options{.deadline = options.deadline, .stop = options.stop, .io_class = options.io_class});
  }

  // --- batches: see docs/batches.md ---

  /// Carries out all reads of the span, and stores the answer of each: what read_at() would return. Returns the number
  /// of reads that failed. The reads may overlap and take place in any order. Each fails by itself: if one is
  /// misaligned for a direct file, the others still take place. If the file is closed, the batch fails, and all answers
  /// are that error. Reads of a cached file wait for the device together, up to 64, if the first of them misses the
  /// page cache (not on tmpfs and overlay); reads of other modes wait one after another. An asynchronous batch has as
  /// many reads in flight as the engine can.
  result<std::size_t> read_many(std::span<read_request> requests) const {
    if (!is_open()) return detail::refuse_each(requests, not_open());
    return detail::read_each(*state_, requests);
  }

  /// The same for writes, one after another. If two of them overlap, nothing is written: the batch fails, and all
  /// answers are errc::overlapping_writes with the indices of two such writes.
  result<std::size_t> write_many(std::span<write_request> requests, const blocking_write_options& options = {}) {
    if (!is_open()) return detail::refuse_each(requests, not_open());
    return detail::write_each(*state_, requests, state_->flags_of(options));
  }

  /// Like read_many(), asynchronously, as one operation: see operation. It borrows the requests and their buffers,
  /// which must not change or move from this call until the operation ends; a request belongs to one operation at a
  /// time. The requests contain all memory that the library needs, so nothing is allocated, however many there are.
  ///
  /// If the operation is canceled or destroyed, or times out, reads that completed anyway keep their answers. The
  /// others fail with std::errc::operation_canceled or std::errc::timed_out, and count as failures; the operation
  /// itself succeeds. It fails only if no read was started, because the file or the context is closed, or because the
  /// stop was requested or the deadline passed beforehand; then all answers are that error.
  batch_operation<Engine> async_read_many(std::span<read_request> requests)
    requires engine<Engine>
  {
    return {*loop_, [&](detail::batch& all) { describe_reads(all, requests); }};
  }
  /// The same, with a deadline or a stop token.
  auto async_read_many(std::span<read_request> requests, const operation_options& options)
    requires engine<Engine>
  {
    return controlled_batch([&](detail::batch& all) { describe_reads(all, requests); }, options);
  }

  /// The same for writes, in any order: see write_many().
  batch_operation<Engine> async_write_many(std::span<write_request> requests)
    requires engine<Engine>
  {
    return {*loop_, [&](detail::batch& all) { describe_writes(all, requests, {}); }};
  }
  /// The same with write_options: durable or untorn writes, a deadline or a stop token for the batch.
  auto async_write_many(std::span<write_request> requests, const write_options& options)
    requires engine<Engine>
  {
    return controlled_batch([&](detail::batch& all) { describe_writes(all, requests, options); },
                            {options.deadline, options.stop, options.io_class});
  }
  /// The same with operation_options. (A template, so that `{.deadline = ...}` means write_options.)
  template <std::same_as<operation_options> Options>
    requires engine<Engine>
  auto async_write_many(std::span<write_request> requests, const Options& options) {
    return async_write_many(
        requests, write_options{.deadline = options.deadline, .stop = options.stop, .io_class = options.io_class});
  }

  // --- mistakes: a file opened without a context has blocking operations only ---

  template <class Buffer>
  detail::needs_a_file_opened_on_a_context async_read_at(std::uint64_t, Buffer&&, const operation_options& = {})
    requires detail::without_context<Engine>
  = delete;
  template <class Buffer>
  detail::needs_a_file_opened_on_a_context async_write_at(std::uint64_t, Buffer&&, const write_options& = {})
    requires detail::without_context<Engine>
  = delete;
  detail::needs_a_file_opened_on_a_context async_read_many(std::span<read_request>, const operation_options& = {})
    requires detail::without_context<Engine>
  = delete;
  detail::needs_a_file_opened_on_a_context async_write_many(std::span<write_request>, const write_options& = {})
    requires detail::without_context<Engine>
  = delete;
  detail::needs_a_file_opened_on_a_context async_sync(sync_kind = sync_kind::everything, const operation_options& = {})
    requires detail::without_context<Engine>
  = delete;
  template <class Buffer>
  detail::needs_a_file_opened_on_a_context async_write_and_sync(std::uint64_t, Buffer&&,
                                                                sync_kind = sync_kind::data_and_size,
                                                                const operation_options& = {})
    requires detail::without_context<Engine>
  = delete;
  detail::needs_a_file_opened_on_a_context async_start_writeback(std::uint64_t, std::uint64_t,
                                                                 const operation_options& = {})
    requires detail::without_context<Engine>
  = delete;
  detail::needs_a_file_opened_on_a_context async_resize(std::uint64_t)
    requires detail::without_context<Engine>
  = delete;
  detail::needs_a_file_opened_on_a_context async_close()
    requires detail::without_context<Engine>
  = delete;

  // --- durability ---

  /// Waits until everything written before is durable to the extent that `kind` specifies, provided that the device
  /// honors flushes. The name of a new file is durable only after sync_directory() of its directory.
  ///
  /// A failed sync stays failed: what was written since the last successful sync may be lost, whatever the system
  /// reports later, so every later sync returns the same error until the file is closed. (The error of a canceled call
  /// is not kept.) If several syncs of a file overlap, Linux reports a failure to only one of them; here all fail, if
  /// all are blocking or all asynchronous on one context. See docs/durability.md for what to do then.
  result<void> sync(sync_kind kind = sync_kind::everything) {
    if (!is_open()) return not_open();
    return state_->sync(kind);
  }

  /// The same, asynchronously. Covers the writes that were complete when it started, not those in flight.
  operation<Engine, void> async_sync(sync_kind kind = sync_kind::everything)
    requires engine<Engine>
  {
    return operation_of<void>([&](request& r) { describe_sync(r, kind); });
  }
  /// The same, with a deadline or a stop token.
  auto async_sync(sync_kind kind, const operation_options& options)
    requires engine<Engine>
  {
    return controlled<void>([&](request& r) { describe_sync(r, kind); }, options);
  }

  /// Writes like async_write_at(), then syncs like async_sync(), and reports both: see synced_write. The sync starts
  /// when the write is complete, so it covers all of it. For one durable write, write_options::durable
  /// costs less; this is for a sync that covers earlier writes as well. Until both steps are complete, the buffer is
  /// borrowed, and this object must neither be moved nor destroyed; it may be closed.
  template <class Buffer>
    requires((detail::writable_from<Buffer> || detail::holds_no_bytes<Buffer>) && engine<Engine>)
  auto async_write_and_sync(std::uint64_t offset, Buffer&& buffer, sync_kind kind = sync_kind::data_and_size) {
    using write = operation<Engine, std::size_t>;
    return write_and_sync<basic_file, write, operation<Engine, void>>(
        *this, kind, {}, [&]() -> write { return async_write_at(offset, std::forward<Buffer>(buffer)); });
  }

  /// The same, with a deadline or a stop token for both steps. If the write completes in time and the sync does not,
  /// `written` has succeeded and `synced` has failed.
  template <class Buffer>
    requires((detail::writable_from<Buffer> || detail::holds_no_bytes<Buffer>) && engine<Engine>)
  auto async_write_and_sync(std::uint64_t offset, Buffer&& buffer, sync_kind kind, const operation_options& options) {
    using control = typename detail::file_loop<Engine>::control_type;
    using write = operation<Engine, std::size_t, control>;
    return write_and_sync<basic_file, write, operation<Engine, void, control>>(
        *this, kind, options, [&]() -> write { return async_write_at(offset, std::forward<Buffer>(buffer), options); });
  }

  /// Asks the system to start writing back the dirty pages of `bytes` bytes from `offset` on. **Promises nothing about
  /// durability**: it neither waits for the device nor flushes its cache. It is for programs that write much between
  /// two syncs: pages that are written back early do not accumulate, and the next sync waits only for the rest.
  /// Includes pages that the range covers in part and, for a mapped file, stores to views. Direct writes leave nothing
  /// to write back. May wait if the device's queue is full. Errors of the writeback itself are reported by the next
  /// sync. The range may end past the end of the file.
  ///
  /// Linux: sync_file_range(2), which does nothing on file systems that keep no pages for the device (tmpfs, overlay).
  /// Windows has no such call: errc::writeback_not_supported.
  result<void> start_writeback(std::uint64_t offset, std::uint64_t bytes) {
    if (!is_open()) return not_open();
    return state_->start_writeback(offset, bytes);
  }

  /// The same, asynchronously: on a kernel thread if io_uring has the operation, otherwise on a worker thread.
  operation<Engine, void> async_start_writeback(std::uint64_t offset, std::uint64_t bytes)
    requires engine<Engine>
  {
    return operation_of<void>([&](request& r) { describe_writeback(r, offset, bytes); });
  }
  /// The same, with a deadline or a stop token.
  auto async_start_writeback(std::uint64_t offset, std::uint64_t bytes, const operation_options& options)
    requires engine<Engine>
  {
    return controlled<void>([&](request& r) { describe_writeback(r, offset, bytes); }, options);
  }

  // --- size ---

  /// The size in bytes; the capacity of a block device.
  result<std::uint64_t> size() const {
    if (!is_open()) return not_open();
    return state_->size();
  }

  /// Truncates the file to `bytes` bytes, or extends it with zeros. On Linux these are a hole. On Windows they take
  /// space unless the file is sparse, and the first write there zeroes the part in front of it (docs/windows.md). Views
  /// of a mapped file must no longer be accessed past the new end.
  result<void> resize(std::uint64_t bytes) {
    if (!is_open()) return not_open();
    return state_->resize(bytes);
  }

  /// The same on a worker thread, because it may wait for the file system's journal.
  operation<Engine, void> async_resize(std::uint64_t bytes)
    requires(engine<Engine> && !Mode::is_mapped)
  {
    return operation_of<void>([&](request& r) { describe_resize(r, bytes); });
  }

  // --- properties ---

  /// What the offsets, lengths and addresses of transfers must be multiples of. All 1 unless the mode is direct; all
  /// 4096 for a direct file that uses the cache (if_unavailable::use_cache).
  qio::alignment alignment(detail::caller from = detail::caller::here()) const noexcept {
    require_open("alignment() was called on a file that is closed or was moved from", from);
    return state_->mode.alignment;
  }

  /// Which writes may be untorn: see write_options::untorn. All 0 if none may: in modes other than direct, and where
  /// the system, the file system or the device does not support them.
  qio::atomic_write_limits atomic_write_limits(detail::caller from = detail::caller::here()) const noexcept {
    require_open("atomic_write_limits() was called on a file that is closed or was moved from", from);
    return state_->mode.untorn_limits;
  }

  /// Whether transfers bypass the page cache. False after a fallback (if_unavailable::use_cache), and in other modes.
  bool is_direct(detail::caller from = detail::caller::here()) const noexcept {
    require_open("is_direct() was called on a file that is closed or was moved from", from);
    return state_->mode.is_direct;
  }
  /// Whether the cache drops the pages after a transfer. False after a fallback, and in other modes.
  bool is_uncached(detail::caller from = detail::caller::here()) const noexcept {
    require_open("is_uncached() was called on a file that is closed or was moved from", from);
    return state_->mode.is_uncached;
  }

  /// False after close(), and after a move from the file.
  bool is_open() const noexcept { return state_ != nullptr; }
  /// The system's handle, which the file still owns. Do not replace it with another file (dup2): a ring may still hold
  /// the original.
  platform::native_handle native_handle(detail::caller from = detail::caller::here()) const noexcept {
    require_open("native_handle() was called on a file that is closed or was moved from", from);
    return state_->file.handle;
  }

  /// How many of this file's asynchronous operations were served on which path so far. Call it on the context's thread.
  const file_statistics& statistics(detail::caller from = detail::caller::here()) const noexcept
    requires engine<Engine>
  {
    require_open("statistics() was called on a file that is closed or was moved from", from);
    return state_->file.activity.statistics;
  }

  /// The mode, the alignment and its source, and what is degraded and why. Allocates.
  explanation explain(detail::caller from = detail::caller::here()) const {
    require_open("explain() was called on a file that is closed or was moved from", from);
    explanation out;
    state_->explain(out);
    return out;
  }

 private:
  template <file_mode, class>
  friend class basic_file;
  friend detail::file_access;
  friend file_space<basic_file, Mode, Engine>;
  friend file_locks<basic_file, Mode, Engine>;
  friend file_attributes<basic_file, Engine>;
  friend file_cache<basic_file, Mode, Engine>;
  friend file_views<basic_file, Mode, Engine>;

  using state = detail::file_state<Mode, typename Engine::system>;
  using loop_pointer = typename detail::file_loop<Engine>::pointer;

  basic_file(std::unique_ptr<state> opened, loop_pointer loop) noexcept
      : loop_(std::move(loop)), state_(std::move(opened)) {}

  // What the type of a buffer shows to be wrong with a transfer.
  template <class Buffer>
  struct has_whole_blocks : std::true_type {
    static_assert(
        !Mode::is_direct || detail::static_extent<std::remove_cvref_t<Buffer>> % 512 == 0,
        "qio: a direct transfer must be a multiple of the device's block, which is never less than 512 bytes");
  };

  // The same for an operation, which uses the buffer after the call.
  template <class Buffer>
  struct outlives_call : has_whole_blocks<Buffer> {
    static_assert(
        detail::is_borrowed<Buffer>,
        "qio: this buffer is a temporary that is destroyed before the operation ends: give it a name, or pass "
        "a std::span of memory that outlives the operation");
  };

  // An operation of a closed file is made by another function, out of line, to keep this one short.
  template <class Answer, class Describe>
  QIO_ALWAYS_INLINE operation<Engine, Answer> operation_of(Describe&& describe) {
    if (state_ == nullptr) [[unlikely]]
      return refused_operation<Answer>();
    return {*loop_, describe};
  }
  template <class Answer>
  QIO_COLD operation<Engine, Answer> refused_operation() {
    return {*loop_, [](request& r) { refuse(r, not_open()); }};
  }

  template <class Answer, class Describe>
  auto controlled(Describe&& describe, const operation_options& options) {
    const auto describe_any = [&](request& r) {
      is_open() ? describe(r) : refuse(r, not_open());
      if (options.io_class.exists()) put_into_class(r, options.io_class);
    };
    return operation<Engine, Answer, typename detail::file_loop<Engine>::control_type>(*loop_, describe_any, options);
  }

  // For the members in headers of their own: `action(state)`, now ...
  template <class Action>
  auto act(const Action& action) const -> std::invoke_result_t<const Action&, state&> {
    if (!is_open()) return not_open();
    return action(*state_);
  }
  // ... or on a worker thread, by `action(state, cancel_flag)` if it works in pieces. The file may be moved meanwhile;
  // closing it waits for the worker.
  template <class Action>
  auto act_on_worker(const Action& action, const operation_options& options) {
    const auto call = [ action, opened = state_.get() ]<class... Flag>(Flag... flag)
      requires std::invocable<const Action&, state&, Flag...>
    {
      return action(*opened, flag...);
    };
    using work = detail::call_request<std::remove_const_t<decltype(call)>>;
    const auto describe = [&](work& r) {
      if (state_ == nullptr) return refuse(r, not_open());
      r.describe(call, state_->file.handle, state_->file.activity);
    };
    return detail::call_operation<Engine, work>(*loop_, describe, options);
  }

  // ... or again and again, by the loop, until it returns true or an error. Closing the file ends that.
  template <class Action>
  auto act_repeatedly(const Action& action, const operation_options& options) {
    const auto call = [action, opened = state_.get()] { return action(*opened); };
    using work = detail::retried_call<std::remove_const_t<decltype(call)>>;
    const auto describe = [&](work& r) {
      if (state_ == nullptr) return refuse(r, not_open());
      r.describe(call, state_->file.activity);
    };
    return operation<Engine, void, detail::control<detail::loop<Engine>, work>, work>(*loop_, describe, options);
  }

  void require_open([[maybe_unused]] const char* mistake, [[maybe_unused]] detail::caller from) const noexcept {
    QIO_CHECK_AT(is_open(), mistake, from);
  }

  // The operations of bounced() refer to the file itself, others to what it owns.
  void require_staying() const noexcept {
    QIO_CHECK_AT(state_ == nullptr || state_->file.activity.bounced_users.is_zero(),
                 "a file was moved or destroyed while an operation of bounced() used it", detail::caller());
  }

  QIO_COLD static error not_open() noexcept { return std::make_error_code(std::errc::bad_file_descriptor); }

  // The operation fails before it begins.
  static void refuse(request& r, const error& why) noexcept {
    r.failure = why;
    r.needs_no_engine = true;
  }

  QIO_COLD void put_into_class(request& r, const io_class& chosen) noexcept {
    if (!is_open() || r.op > opcode::write) return;
    if (!loop_->class_of_file(chosen)) return refuse(r, errc::foreign_io_class);
    r.class_number = chosen.number();
    if (r.op == opcode::write && !chosen.is_foreground()) r.attempt = nullptr;
  }
  QIO_COLD void put_into_class(detail::batch& all, const io_class& chosen) noexcept {
    if (all.needs_no_engine) return;
    if (!loop_->class_of_file(chosen)) return refuse(all, errc::foreign_io_class);
    all.for_each_unfinished([&](detail::batch_part& part) { put_into_class(static_cast<request&>(part), chosen); });
  }

  void describe(request& r, opcode op) noexcept {
    r.op = op;
    r.handle = state_->file.handle;
    r.activity = &state_->file.activity;
  }
  // Whether the error of a transfer that is refused names the file: bounced() carries it out in another way.
  enum class error_text : std::uint8_t { with_path, without_path };

  template <error_text Text, class Buffers>
  void describe_transfer(request& r, opcode op, std::uint64_t offset, Buffers buffers, std::uint32_t block) noexcept {
    r.op = op;
    r.handle = state_->file.handle;
    r.activity = &state_->file.activity;
    r.flags = state_->mode.flags;
    r.io = detail::transfer(offset, buffers);
    if (state_->fits(r.io, buffers, block)) [[likely]]
      return;
    if constexpr (Text == error_text::with_path)
      refuse(r, state_->refusal(op, r.io, buffers, block));
    else
      refuse(r, state_->misfit(r.io, buffers, block));
  }
  template <error_text Text = error_text::with_path, class Buffers>
  void describe_read(request& r, std::uint64_t offset, Buffers buffers) noexcept {
    r.block = state_->mode.end_block;
    describe_transfer<Text>(r, opcode::read, offset, buffers, state_->mode.alignment.read);
    if constexpr (state::policy::reads_inline) r.attempt = state_->file.activity.attempt_of_reads;
  }
  template <error_text Text = error_text::with_path, class Buffers>
  void describe_write(request& r, std::uint64_t offset, Buffers buffers, platform::transfer_flags more = 0) noexcept {
    describe_transfer<Text>(r, opcode::write, offset, buffers, state_->mode.alignment.write);
    r.flags |= more | state_->file.activity.system.each_write;
    // A write that waits for the device is not attempted inline.
    if constexpr (state::policy::writes_inline)
      if (more == 0) r.attempt = state_->file.activity.attempt_of_writes;
    if ((more & platform::untorn) != 0)
      if (const error misfit = state_->untorn_misfit(offset, buffers, more); misfit.exists()) refuse(r, misfit);
  }
  void describe_writeback(request& r, std::uint64_t offset, std::uint64_t bytes) noexcept {
    describe(r, opcode::writeback);
    r.io = state::range_of(offset, bytes);
    if (const error misfit = state::writeback_misfit(r.io); misfit.exists()) return refuse(r, misfit);
    r.needs_no_engine = r.io.total() == 0;
  }
  template <class Describe>
  auto controlled_batch(Describe&& describe, const operation_options& options) {
    using control = detail::control<detail::loop<Engine>, detail::batch>;
    const auto describe_in_class = [&](detail::batch& all) {
      describe(all);
      if (options.io_class.exists()) put_into_class(all, options.io_class);
    };
    return operation<Engine, std::size_t, control, detail::batch>(*loop_, describe_in_class, options);
  }
  void describe_reads(detail::batch& all, std::span<read_request> requests) noexcept {
    all.take(requests, [this](request& r, const read_request& each) {
      if (state_ != nullptr) describe_read(r, each.offset, mutable_buffer(each.buffer));
    });
    describe_batch(all, &detail::attempt_reads, {});
  }
  void describe_writes(detail::batch& all, std::span<write_request> requests, const write_options& options) noexcept {
    const platform::transfer_flags more = is_open() ? state_->flags_of(options) : 0;
    all.take(requests, [&](request& r, const write_request& each) {
      if (state_ != nullptr) describe_write(r, each.offset, detail::buffers_to_send(each.buffer), more);
    });
    describe_batch(all, &detail::attempt_writes,
                   is_open() ? detail::overlap_of(state_->file.activity, all, requests) : error());
  }
  void describe_batch(detail::batch& all, detail::inline_attempt attempt, const error& refusal) noexcept {
    if (state_ == nullptr) return refuse(all, not_open());
    if (refusal.exists()) return refuse(all, refusal);
    all.activity = &state_->file.activity;
    all.attempt = attempt;
    all.needs_no_engine = all.unfinished() == 0;
  }
  void describe_sync(request& r, sync_kind kind) noexcept {
    describe(r, opcode::sync);
    r.sync = kind;
    r.attempt = &detail::attempt_sync;
    if constexpr (state::policy::has_own_sync) {
      r.op = opcode::call;
      r.argument = state_.get();
      r.call = [](request& self) noexcept { return static_cast<state*>(self.argument)->sync(self.sync); };
    }
  }
  void describe_resize(request& r, std::uint64_t bytes) noexcept {
    describe(r, opcode::call);
    r.io = detail::transfer(bytes, mutable_buffer());
    r.argument = state_.get();
    r.call = [](request& self) noexcept { return static_cast<state*>(self.argument)->resize(self.io.offset()); };
  }

  void describe_drop(request& r) noexcept {
    describe(r, opcode::call);
    r.argument = state_.get();
    r.call = [](request& self) noexcept { return static_cast<state*>(self.argument)->drop_pages(); };
  }

  static task<result<basic_file>> open_asynchronously(loop_pointer loop, std::string path, access wanted, creation how,
                                                      open_options options) {
    if (loop == nullptr) co_return error(std::make_error_code(std::errc::bad_file_descriptor));  // moved from
    opened_state opened = error(std::make_error_code(std::errc::not_enough_memory));
    if (may_open_at_once(*loop, how, options))
      while (!loop->work_inline().has_time()) static_cast<void>(co_await turn_of_others(*loop));
    if (!opens_at_once(loop, path, wanted, how, options, opened)) {
      file_activity activity;
      // For an observer, or for the recording that a simulated disk repeats.
      if (!Engine::system::has_page_cache || loop->is_observed()) detail::succeeds([&] { activity.path = path; });
      auto job = [&]() noexcept -> result<void> {
        detail::succeeds([&] { opened = state::open(path, wanted, how, options, loop); });
        if (!opened) return opened.error();
        return success();
      };
      if (auto done = co_await detail::call_by_worker(*loop, activity, job); !done)
        co_return done.error().of_opening(path.c_str());
      if (may_open_at_once(*loop, creation::open_existing, options))
        if constexpr (Engine::system::has_page_cache) opened.value()->tell_storage(loop);
    } else {
      static_cast<void>(co_await turn_of_others(*loop));
    }
    if (!opened) co_return opened.error().of_opening(path.c_str());
    co_return basic_file(std::move(opened).value(), std::move(loop));
  }

  static task<result<basic_file>> open_unnamed_by_worker(loop_pointer loop, std::string directory, access wanted,
                                                         open_options options) {
    if (loop == nullptr) co_return error(std::make_error_code(std::errc::bad_file_descriptor));  // moved from
    opened_state opened = error(std::make_error_code(std::errc::not_enough_memory));
    file_activity activity;
    auto job = [&]() noexcept -> result<void> {
      detail::succeeds([&] { opened = state::open_unnamed(directory, wanted, options, loop); });
      if (!opened) return opened.error();
      return success();
    };
    if (auto done = co_await detail::call_by_worker(*loop, activity, job); !done)
      co_return done.error().naming("create a file in", directory.c_str());
    co_return basic_file(std::move(opened).value(), std::move(loop));
  }

  using opened_state = result<std::unique_ptr<state>>;

  template <class Loop>
  static bool may_open_at_once(const Loop& loop, creation how, const open_options& options) noexcept {
    return Engine::system::has_page_cache && how == creation::open_existing &&
           loop.allowed(options).inline_opening != inline_transfers::never && !loop.closed();
  }

  // True if `opened` is the result; otherwise a worker must open the file.
  static bool opens_at_once(loop_pointer& loop, const std::string& path, access wanted, creation how,
                            const open_options& options, opened_state& opened) noexcept {
    bool is_opened = false;
    if constexpr (Engine::system::has_page_cache)
      if (may_open_at_once(*loop, how, options))
        detail::succeeds([&] {
          auto found = state::open_at_once(path, wanted, options, loop);
          is_opened = found.has_value();
          if (is_opened) opened = std::move(*found);
        });
    return is_opened;
  }

  // Awaited before and after something is done inline: completes at once, or in a later turn if this one has used up
  // its time.
  template <class Loop>
  static operation<Engine, void> turn_of_others(Loop& loop) noexcept {
    return {loop, [](request& r) { r.needs_no_engine = true; }};
  }

  static task<result<void>> close_asynchronously(loop_pointer loop, std::unique_ptr<state> closed) {
    if (closed == nullptr) co_return not_open();
    while (closed->file.activity.closes_at_once && !loop->work_inline().has_time())
      static_cast<void>(co_await turn_of_others(*loop));
    if constexpr (Engine::system::has_page_cache)
      if (auto done = closed->close_at_once(loop)) {
        static_cast<void>(co_await turn_of_others(*loop));
        co_return *done;
      }
    file_activity activity;
    activity.path.swap(closed->file.activity.path);
    auto job = [&]() noexcept { return closed->close(); };
    co_return co_await detail::call_by_worker(*loop, activity, job);
  }

  void end_operations() noexcept {
    // An open file has a loop. GCC 12 does not see that, and warns about a null pointer.
    if constexpr (engine<Engine>)
      if (loop_ != nullptr) loop_->end(state_->file.activity);
  }

  QIO_NO_UNIQUE_ADDRESS loop_pointer loop_;  // first, so destroyed last: the file's storage may belong to the engine
  std::unique_ptr<state> state_;
};

using cached_file = basic_file<cached>;      ///< a file without a context, through the page cache
using uncached_file = basic_file<uncached>;  ///< a file without a context, through the page cache, which keeps no pages
using direct_file = basic_file<direct>;      ///< a file without a context, bypassing the page cache
using mapped_file = basic_file<mapped>;      ///< a file without a context, mapped into memory

/// Files on a context. (cached_file::open(context, ...) returns one; use these names for members and parameters.)
template <file_mode Mode, class Engine = default_engine>
using async_file = basic_file<Mode, Engine>;
using async_cached_file = async_file<cached>;      ///< a cached_file on a qio::context
using async_uncached_file = async_file<uncached>;  ///< an uncached_file on a qio::context
using async_direct_file = async_file<direct>;      ///< a direct_file on a qio::context
using async_mapped_file = async_file<mapped>;      ///< a mapped_file on a qio::context

namespace detail {

/// Has a worker thread of the context call `work(files)`, where `files` is the system of the context's files. What
/// `work` returns is a result.
template <class Engine, class Work>
task<std::invoke_result_t<Work&, const typename Engine::system&>> call_with_files(std::shared_ptr<loop<Engine>> on,
                                                                                  Work work) {
  using answer = std::invoke_result_t<Work&, const typename Engine::system&>;
  if (on == nullptr) co_return error(std::make_error_code(std::errc::bad_file_descriptor));  // moved from
  file_activity activity;
  std::optional<answer> returned;
  auto job = [&]() noexcept -> result<void> {
    const typename Engine::system files = system_on<typename Engine::system>(on);
    if (!succeeds([&] { returned.emplace(work(files)); }))
      return error(std::make_error_code(std::errc::not_enough_memory));
    if (!*returned) return returned->error();
    return success();
  };
  if (const auto done = co_await call_by_worker(*on, activity, job); !done) co_return done.error();
  co_return *std::move(returned);
}

/// A directory to sync. Its path is a path_view, or a std::string that an asynchronous call owns.
template <class Path>
struct directory_sync {
  Path path;
  const qio::directory* beneath = nullptr;

  template <class System>
  result<void> operator()(const System& files) const {
    const path_view directory = path;
    const error misfit = directory.misfit();
    const auto synced = misfit.exists() ? result<void>(misfit) : files.sync_directory(handle_of(beneath), directory);
    return synced ? synced : synced.error().naming("sync directory", directory.c_str());
  }
};

}  // namespace detail

/// Makes the entries of a directory durable: files that were created, renamed or removed in it before the call. Blocks.
/// (On Windows it flushes the directory's handle, which NTFS accepts, but which is undocumented.)
inline result<void> sync_directory(path_view directory) {
  return detail::directory_sync<path_view>{directory}(detail::operating_system());
}
/// The same of a directory whose path must stay beneath another one: see open_options::beneath.
inline result<void> sync_directory(path_view path, const directory& beneath) {
  return detail::directory_sync<path_view>{path, &beneath}(detail::operating_system());
}

/// Like sync_directory(), on a worker thread; on a simulated context, of its disk. Allocates the frame of the task.
template <class Engine>
task<result<void>> async_sync_directory(const basic_context<Engine>& on, owned_path directory) {
  return detail::call_with_files(detail::file_access::loop_of(on),
                                 detail::directory_sync<std::string>{std::move(directory)});
}
/// The same of a directory whose path must stay beneath another one, which must outlive the task.
template <class Engine>
task<result<void>> async_sync_directory(const basic_context<Engine>& on, owned_path path, const directory& beneath) {
  return detail::call_with_files(detail::file_access::loop_of(on),
                                 detail::directory_sync<std::string>{std::move(path), &beneath});
}

QIO_END_NAMESPACE
