// SPDX-License-Identifier: BSL-1.0
// Files: basic_file<Mode, Engine>, the whole public handle.
#pragma once

#include <qio/buffer.hpp>
#include <qio/context.hpp>
#include <qio/detail/buffers.hpp>
#include <qio/detail/exceptions.hpp>
#include <qio/detail/file_state.hpp>
#include <qio/directory.hpp>
#include <qio/explanation.hpp>
#include <qio/mode.hpp>
#include <qio/operation.hpp>
#include <qio/path.hpp>
#include <qio/result.hpp>
#include <qio/task.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

namespace qio {

/// The engine of a file that was opened without a context: it has blocking operations only.
struct no_engine {};

namespace detail {

/// How a file refers to its context: not at all if it has none.
template <class Engine>
struct file_loop {
  using pointer = std::shared_ptr<loop<Engine>>;
  using control_type = control<loop<Engine>>;
};
template <>
struct file_loop<no_engine> {
  using pointer = no_loop;
};

/// What a worker is to do, and the room for what comes of it: in the frame of the coroutine that awaits it, which
/// cannot end before the worker has.
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

/// One open file (or block device), in one mode.
///
/// Transfers. Every transfer says its `offset` in bytes; there is no file pointer. A read fills the whole buffer unless
/// the end of the file comes first: its answer is the number of bytes read, less than was asked for only at the end,
/// and 0 only at or past the end (or for an empty buffer). A write writes all of it, beyond the end too, which extends
/// the file, or fails; its answer is the length. What the system does in several parts (a signal, its limit of
/// 0x7ffff000 bytes or 1024 buffers a call) is continued inside. A transfer that fails on its way says how far it came:
/// error().transferred(). Two writes to the same bytes at the same time leave either's or a mixture.
///
/// Buffers are anything that converts to std::span<std::byte> (reads) or std::span<const std::byte> (writes), or, for a
/// vectored transfer, to std::span<const mutable_buffer> or std::span<const const_buffer>. They are borrowed until the
/// transfer is over; of a vectored transfer the array of buffers, too.
///
/// Direct files demand that offset, length and address be multiples of alignment(); of a vectored transfer, of every
/// buffer. What is not is refused here, with the numbers, before the system sees it; a buffer whose size is a constant
/// that no device could take (no multiple of 512) does not compile.
///
/// Errors are the operating system's own, or a qio::errc. A negative or overflowing range (offset + length > 2^63 - 1)
/// is errc::offset_too_large.
///
/// Threads. Blocking operations may be called by several threads at once, resize() and close() excepted. Asynchronous
/// ones belong to the context's thread. A mapped file that others extend (another handle, or an asynchronous write)
/// while one of its threads writes just below the new end may lose that write to the kernel's zeroing of the old last
/// page.
///
/// Opening allocates; nothing else does. A moved-from or closed file may only be assigned to and destroyed.
template <file_mode Mode, class Engine = no_engine>
class [[nodiscard]] basic_file {
 public:
  using mode_type = Mode;
  using engine_type = Engine;

  /// Opens a file for blocking operations. The handle is not inherited by child processes (O_CLOEXEC). If it fails, a
  /// file that existed is as it was, and one that did not does not. A direct file where direct I/O cannot be had is
  /// std::errc::operation_not_supported (see open_options::fallback), and so is an uncached one where the kernel or the
  /// file system lacks that. Mapped and uncached files need leave to read even to be written.
  static result<basic_file> open(path_view path, access wanted = access::read, creation how = creation::open_existing,
                                 const open_options& options = {})
    requires std::same_as<Engine, no_engine>
  {
    auto opened = state::open(path, wanted, how, options, detail::no_loop());
    if (!opened) return opened.error();
    return basic_file(std::move(opened).value(), {});
  }

  /// Opens a file on a context, for asynchronous operations as well: the answer is a basic_file<Mode, engine of the
  /// context>. Opening itself blocks, as long as the file system takes.
  template <class ContextEngine>
  static result<basic_file<Mode, ContextEngine>> open(const basic_context<ContextEngine>& on, path_view path,
                                                      access wanted = access::read,
                                                      creation how = creation::open_existing,
                                                      const open_options& options = {}) {
    auto opened = basic_file<Mode, ContextEngine>::state::open(path, wanted, how, options, on.loop_);
    if (!opened) return opened.error();
    opened.value()->allow_inline_writes(options);
    opened.value()->allow_polling(on.loop_->engine());
    return basic_file<Mode, ContextEngine>(std::move(opened).value(), on.loop_);
  }

  /// The same on a worker thread, so that a slow file system does not hold up the context's thread. Allocates the frame
  /// of the task. If the task is destroyed before it is over, the file is closed.
  template <class ContextEngine>
  static task<result<basic_file<Mode, ContextEngine>>> async_open(const basic_context<ContextEngine>& on,
                                                                  std::string path, access wanted = access::read,
                                                                  creation how = creation::open_existing,
                                                                  open_options options = {}) {
    return basic_file<Mode, ContextEngine>::open_by_worker(on.loop_, std::move(path), wanted, how, options);
  }

  basic_file(basic_file&&) noexcept = default;
  basic_file& operator=(basic_file&& other) noexcept {
    basic_file taken(std::move(other));
    std::swap(state_, taken.state_);
    std::swap(loop_, taken.loop_);
    return *this;
  }
  /// Closes the file. Cancels its operations in flight and waits until the system has let go of them; the context
  /// completes them afterwards. What is not synced may be lost by a power failure, and an error of closing is not heard
  /// of.
  ~basic_file() {
    if (state_) end_operations();
  }

  /// Closes the file, and says what went wrong (on network file systems a write may fail only now). It is closed in
  /// any case. A file that is not open: std::errc::bad_file_descriptor.
  result<void> close() {
    if (!is_open()) return error(std::make_error_code(std::errc::bad_file_descriptor));
    end_operations();
    const std::unique_ptr<state> closed = std::move(state_);
    return closed->close();
  }

  /// The same on a worker thread, since closing may write back (network file systems) or free many blocks (the last
  /// name of a large file). Takes the file over at once; allocates the frame of the task.
  task<result<void>> async_close()
    requires engine<Engine>
  {
    end_operations();
    return close_by_worker(std::move(loop_), std::move(state_));
  }

  // --- reading and writing, blocking ---

  template <class Buffer>
    requires detail::readable_into<Buffer>
  result<std::size_t> read_at(std::uint64_t offset, Buffer&& buffer) const {
    return state_->read(offset, extent_checked<Buffer>(detail::buffers_to_fill(buffer)));
  }

  template <class Buffer>
    requires detail::writable_from<Buffer>
  result<std::size_t> write_at(std::uint64_t offset, Buffer&& buffer) {
    return state_->write(offset, extent_checked<Buffer>(detail::buffers_to_send(buffer)));
  }

  // --- reading and writing, asynchronous: see operation ---

  template <class Buffer>
    requires detail::readable_into<Buffer> && engine<Engine>
  operation<Engine, std::size_t> async_read_at(std::uint64_t offset, Buffer&& buffer) {
    return {*loop_,
            [&](request& r) { describe_read(r, offset, extent_checked<Buffer>(detail::buffers_to_fill(buffer))); }};
  }

  template <class Buffer>
    requires detail::readable_into<Buffer> && engine<Engine>
  auto async_read_at(std::uint64_t offset, Buffer&& buffer, const operation_options& options) {
    return controlled<std::size_t>(
        [&](request& r) { describe_read(r, offset, extent_checked<Buffer>(detail::buffers_to_fill(buffer))); },
        options);
  }

  template <class Buffer>
    requires detail::writable_from<Buffer> && engine<Engine>
  operation<Engine, std::size_t> async_write_at(std::uint64_t offset, Buffer&& buffer) {
    return {*loop_,
            [&](request& r) { describe_write(r, offset, extent_checked<Buffer>(detail::buffers_to_send(buffer))); }};
  }

  template <class Buffer>
    requires detail::writable_from<Buffer> && engine<Engine>
  auto async_write_at(std::uint64_t offset, Buffer&& buffer, const operation_options& options) {
    return controlled<std::size_t>(
        [&](request& r) { describe_write(r, offset, extent_checked<Buffer>(detail::buffers_to_send(buffer))); },
        options);
  }

  // --- durability ---

  /// Waits until what has been written is durable, to the extent of `kind`, on media that keep their promises. A new
  /// file's name is durable only after sync_directory() of its directory.
  ///
  /// A failure is for good: what had been written since the last sync that succeeded may be lost, whatever the system
  /// says afterwards, so every later sync answers the same error until the file is closed (all but what says that the
  /// call was wrong, or was ended). Of several syncs of a file that are in flight at the same time Linux tells a
  /// failure to one: it is that of all of them. What to do then: see docs/durability.md.
  result<void> sync(sync_kind kind = sync_kind::everything) { return state_->sync(kind); }

  /// The same, asynchronously. It covers the writes that were complete when it was started, not those in flight.
  operation<Engine, void> async_sync(sync_kind kind = sync_kind::everything)
    requires engine<Engine>
  {
    return {*loop_, [&](request& r) { describe_sync(r, kind); }};
  }
  auto async_sync(sync_kind kind, const operation_options& options)
    requires engine<Engine>
  {
    return controlled<void>([&](request& r) { describe_sync(r, kind); }, options);
  }

  // --- size ---

  /// Bytes; of a block device, its capacity.
  result<std::uint64_t> size() const { return state_->size(); }

  /// Cuts the file off at `bytes`, or extends it so far with a hole that reads as zeros. Of a mapped file, views of
  /// what is cut off must not be touched any more.
  result<void> resize(std::uint64_t bytes) { return state_->resize(bytes); }

  /// The same on a worker thread, since it may wait for the file system's journal.
  operation<Engine, void> async_resize(std::uint64_t bytes)
    requires(engine<Engine> && !Mode::is_mapped)
  {
    return {*loop_, [&](request& r) { describe_resize(r, bytes); }};
  }

  // --- views: mapped files only ---

  /// The file's own pages, `bytes` of them from `offset` on; no copy, and no system call unless the file has grown.
  /// Valid until the file is closed, also when it grows meanwhile. Past the end of the file: errc::beyond_end; where
  /// somebody else has cut the file off since this one has last looked, that is not noticed.
  ///
  /// If the file is made shorter while a view is in use, touching what was cut off ends the process with SIGBUS, as
  /// does a device that cannot read the page. Use read_at(), which answers instead, where that can happen.
  result<std::span<const std::byte>> view(std::uint64_t offset, std::size_t bytes) const
    requires(Mode::is_mapped)
  {
    auto found = state_->view(offset, bytes);
    if (!found) return found.error();
    return std::span<const std::byte>(found.value());
  }

  /// The same, to be written to. What is written there reaches the device by sync(), or when the kernel sees fit. On a
  /// full disk, touching a hole ends the process with SIGBUS; write_at() answers instead.
  result<std::span<std::byte>> writable_view(std::uint64_t offset, std::size_t bytes)
    requires(Mode::is_mapped)
  {
    if (!state_->map.writable()) return error(errc::access_not_granted);
    return state_->view(offset, bytes);
  }

  // --- what it is ---

  /// What transfers must be multiples of; all 1 unless the mode is direct.
  qio::alignment alignment() const noexcept { return state_->needed; }

  /// False for a direct file that was let degrade (if_unavailable::use_cache), and for other modes.
  bool is_direct() const noexcept { return state_->direct_active; }
  /// The same of an uncached file.
  bool is_uncached() const noexcept { return state_->uncached_active; }

  bool is_open() const noexcept { return state_ != nullptr; }
  /// The system's own; it stays the file's. Not to put another file in its place (dup2): a ring may hold the one that
  /// was opened.
  platform::native_handle native_handle() const noexcept { return state_->handle; }

  /// The paths that served this file's asynchronous operations so far. On the context's thread.
  const file_statistics& statistics() const noexcept
    requires engine<Engine>
  {
    return state_->activity.statistics;
  }

  /// Mode, directness, alignment and where it is known from, and what is degraded and why. Allocates.
  explanation explain() const {
    explanation out;
    state_->explain(out);
    return out;
  }

 private:
  template <file_mode, class>
  friend class basic_file;

  using state = detail::file_state<Mode, typename detail::system_of<Engine>::type>;
  using loop_pointer = typename detail::file_loop<Engine>::pointer;

  basic_file(std::unique_ptr<state> opened, loop_pointer loop) noexcept
      : loop_(std::move(loop)), state_(std::move(opened)) {}

  // Passes `buffers` on, having checked what the type of the buffer tells.
  template <class Buffer, class Buffers>
  static Buffers extent_checked(Buffers buffers) noexcept {
    static_assert(
        !Mode::is_direct || detail::static_extent<std::remove_cvref_t<Buffer>> % 512 == 0,
        "qio: a direct transfer must be a multiple of the device's block, which is never less than 512 bytes");
    return buffers;
  }

  template <class Answer, class Describe>
  auto controlled(Describe&& describe, const operation_options& options) {
    return operation<Engine, Answer, typename detail::file_loop<Engine>::control_type>(*loop_, describe, options);
  }

  void describe(request& r, opcode op) {
    r.op = op;
    r.handle = state_->handle;
    r.activity = &state_->activity;
  }
  template <class Buffers>
  void describe_transfer(request& r, std::uint64_t offset, Buffers buffers, std::uint32_t block) {
    r.flags = state_->flags();
    r.io = detail::transfer(offset, buffers);
    r.settled = r.io.total() == 0;
    if (!state_->fits(r.io, buffers, block)) [[unlikely]] {
      r.failure = state_->misfit(r.io, buffers, block);
      r.settled = true;
    }
  }
  template <class Buffers>
  void describe_read(request& r, std::uint64_t offset, Buffers buffers) {
    describe(r, opcode::read);
    r.block = state_->end_block();
    describe_transfer(r, offset, buffers, state_->needed.read);
    if (state_->activity.reads) r.attempt = &detail::attempt_read;
  }
  template <class Buffers>
  void describe_write(request& r, std::uint64_t offset, Buffers buffers) {
    describe(r, opcode::write);
    describe_transfer(r, offset, buffers, state_->needed.write);
    if (state_->activity.writes.refusal == nullptr) r.attempt = &detail::attempt_write;
  }
  void describe_sync(request& r, sync_kind kind) {
    describe(r, opcode::sync);
    r.sync = kind;
    r.attempt = &detail::attempt_sync;
    if constexpr (Mode::is_mapped && platform::mapping::is_flushed_apart) {
      r.op = opcode::call;
      r.argument = state_.get();
      r.call = [](request& self) noexcept { return static_cast<state*>(self.argument)->sync(self.sync); };
    }
  }
  void describe_resize(request& r, std::uint64_t bytes) {
    describe(r, opcode::call);
    r.io = detail::transfer(bytes, mutable_buffer());
    r.argument = state_.get();
    r.call = [](request& self) noexcept { return static_cast<state*>(self.argument)->resize(self.io.offset()); };
  }

  static task<result<basic_file>> open_by_worker(loop_pointer loop, std::string path, access wanted, creation how,
                                                 open_options options) {
    file_activity activity;
    std::unique_ptr<state> made;
    auto job = [&]() noexcept -> result<void> {
      error failure = std::make_error_code(std::errc::not_enough_memory);
      detail::succeeds([&] {
        auto opened = state::open(path, wanted, how, options, loop);
        if (!opened) {
          failure = opened.error();
          return;
        }
        made = std::move(opened).value();
        made->allow_polling(loop->engine());
      });
      if (made == nullptr) return failure;
      made->allow_inline_writes(options);
      return BOOST_OUTCOME_V2_NAMESPACE::success();
    };
    if (auto done = co_await detail::call_by_worker(*loop, activity, job); !done) co_return done.error();
    co_return basic_file(std::move(made), std::move(loop));
  }

  static task<result<void>> close_by_worker(loop_pointer loop, std::unique_ptr<state> closed) {
    file_activity activity;
    auto job = [&]() noexcept { return closed->close(); };
    co_return co_await detail::call_by_worker(*loop, activity, job);
  }

  void end_operations() noexcept {
    // An open file has a loop; GCC 12 does not see it, and warns of what would come of none.
    if constexpr (engine<Engine>)
      if (loop_ != nullptr) loop_->end(state_->activity);
  }

  [[no_unique_address]] loop_pointer loop_;  // first: what the file lies on may belong to the engine
  std::unique_ptr<state> state_;
};

using cached_file = basic_file<cached>;
using uncached_file = basic_file<uncached>;
using direct_file = basic_file<direct>;
using mapped_file = basic_file<mapped>;

/// Files on a context. (cached_file::open(context, …) gives one; the name is for members and parameters.)
template <file_mode Mode, class Engine = automatic>
using async_file = basic_file<Mode, Engine>;
using async_cached_file = async_file<cached>;
using async_uncached_file = async_file<uncached>;
using async_direct_file = async_file<direct>;
using async_mapped_file = async_file<mapped>;

namespace detail {

template <class Engine>
task<result<void>> sync_directory_by_worker(std::shared_ptr<loop<Engine>> on, std::string directory) {
  file_activity activity;
  auto job = [&]() noexcept {
    result<void> synced = error(std::make_error_code(std::errc::not_enough_memory));
    succeeds([&] { synced = platform::sync_directory(directory); });
    return synced;
  };
  co_return co_await call_by_worker(*on, activity, job);
}

}  // namespace detail

/// Makes the names in a directory durable: what was created, renamed or removed in it before. Blocks. (On Windows by
/// flushing the directory's handle, which NTFS accepts, and of which nothing is documented.)
inline result<void> sync_directory(path_view directory) { return platform::sync_directory(directory); }

/// The same on a worker thread. Allocates the frame of the task. (A simulated disk has a sync_directory() of its own.)
template <class Engine>
task<result<void>> async_sync_directory(const basic_context<Engine>& on, std::string directory) {
  static_assert(std::is_same_v<typename detail::system_of<Engine>::type, detail::operating_system>,
                "qio: of a simulated disk, disk.sync_directory() is meant");
  return detail::sync_directory_by_worker(on.loop_, std::move(directory));
}

}  // namespace qio
