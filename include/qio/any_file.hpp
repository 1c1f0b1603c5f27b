// SPDX-License-Identifier: BSL-1.0
// any_file: a file whose mode is chosen at run time.
#pragma once

#include <qio/batch.hpp>
#include <qio/buffer.hpp>
#include <qio/configuration.hpp>
#include <qio/context.hpp>
#include <qio/explanation.hpp>
#include <qio/extent.hpp>
#include <qio/file.hpp>
#include <qio/file_status.hpp>
#include <qio/if_exists.hpp>
#include <qio/mode.hpp>
#include <qio/name_options.hpp>
#include <qio/operation.hpp>
#include <qio/options.hpp>
#include <qio/path.hpp>
#include <qio/result.hpp>
#include <qio/statistics.hpp>
#include <qio/task.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <variant>

QIO_BEGIN_NAMESPACE

/// The modes, as values.
enum class any_mode : std::uint8_t { cached, uncached, direct, mapped };

/// "cached", "uncached", "direct" or "mapped".
constexpr std::string_view name_of(any_mode mode) noexcept {
  switch (mode) {
    case any_mode::cached: return cached::name;
    case any_mode::uncached: return uncached::name;
    case any_mode::direct: return direct::name;
    case any_mode::mapped: return mapped::name;
  }
  return {};
}

/// A basic_file of any mode, for programs that read the mode from their configuration. It has the members of basic_file
/// that every mode has, except adopt(), release(), share_with(), async_write_and_sync(), views, a few overloads, files
/// without a name (open_unnamed(), async_give_name()), and the asynchronous forms of status(), set_...(), forget(),
/// resident(), clone_from() and copy_from(): use visit() for those. Each call costs one switch more than a call of the
/// basic_file.
///
/// Transfers and syncs on a context have one type of operation in every mode. The other asynchronous members are tasks
/// here, because their operations have a type for each mode: a task allocates its frame, begins when it is awaited, and
/// the file must stay, unmoved, until it has ended. Readers, writers and copy() take a basic_file: visit() with a
/// coroutine.
///
/// A direct file needs alignment, and the others do not: use alignment() for every mode. It is all 1 where nothing
/// needs to be aligned. Buffers of a constant size always compile; a direct transfer may fail with
/// errc::misaligned_length.
template <class Engine = no_engine>
class [[nodiscard]] any_file {
  static constexpr bool may_be_mapped = Engine::system::has_mappings;
  using modes = std::conditional_t<
      may_be_mapped,
      std::variant<basic_file<cached, Engine>, basic_file<uncached, Engine>, basic_file<direct, Engine>,
                   basic_file<std::conditional_t<may_be_mapped, mapped, cached>, Engine>>,
      std::variant<basic_file<cached, Engine>, basic_file<uncached, Engine>, basic_file<direct, Engine>>>;

 public:
  using engine_type = Engine;  ///< the engine of its context, or no_engine

  /// Takes over a file of a known mode.
  template <file_mode Mode>
  any_file(basic_file<Mode, Engine>&& file) noexcept
      : file_(std::in_place_type<basic_file<Mode, Engine>>, std::move(file)) {}

  /// Opens a file for blocking operations: see basic_file::open().
  static result<any_file> open(any_mode mode, path_view path, access wanted = access::read,
                               creation how = creation::open_existing, const open_options& options = {})
    requires std::same_as<Engine, no_engine>
  {
    return by_mode(mode, [&]<class Mode>(Mode) -> result<any_file> {
      auto opened = basic_file<Mode>::open(path, wanted, how, options);
      if (!opened) return opened.error();
      return any_file(std::move(opened).value());
    });
  }

  /// Opens a file on a context; returns an any_file<engine of the context>. The simulated engine has no mapped files:
  /// std::errc::operation_not_supported.
  template <class ContextEngine>
  static result<any_file<ContextEngine>> open(const basic_context<ContextEngine>& on, any_mode mode, path_view path,
                                              access wanted = access::read, creation how = creation::open_existing,
                                              const open_options& options = {}) {
    using file = any_file<ContextEngine>;
    return file::by_mode(mode, [&]<class Mode>(Mode) -> result<file> {
      auto opened = basic_file<Mode>::open(on, path, wanted, how, options);
      if (!opened) return opened.error();
      return file(std::move(opened).value());
    });
  }

  /// The same without blocking the context's thread: see basic_file::async_open(). Allocates the frames of two tasks.
  template <class ContextEngine>
  static task<result<any_file<ContextEngine>>> async_open(const basic_context<ContextEngine>& on, any_mode mode,
                                                          owned_path path, access wanted = access::read,
                                                          creation how = creation::open_existing,
                                                          open_options options = {}) {
    using file = any_file<ContextEngine>;
    return file::by_mode(mode, [&]<class Mode>(Mode) {
      return file::taken(basic_file<Mode>::async_open(on, std::move(path), wanted, how, options));
    });
  }

  /// The mode that the file was opened in.
  any_mode mode() const noexcept { return static_cast<any_mode>(file_.index()); }

  /// Returns `visitor(file)`, with the basic_file of the mode. The visitor must accept every mode (`auto& file`).
  template <class Visitor>
  decltype(auto) visit(Visitor&& visitor) {
    return dispatch(file_, visitor);
  }
  /// The same for a const file.
  template <class Visitor>
  decltype(auto) visit(Visitor&& visitor) const {
    return dispatch(file_, visitor);
  }

  // --- what all modes have in common: see basic_file ---

  /// See basic_file::read_at().
  template <detail::readable_into Buffer>
  result<std::size_t> read_at(std::uint64_t offset, Buffer&& buffer) const {
    return visit([&](auto& file) { return file.read_at(offset, to_fill(buffer)); });
  }
  /// See basic_file::write_at().
  template <detail::writable_from Buffer>
  result<std::size_t> write_at(std::uint64_t offset, Buffer&& buffer) {
    return visit([&](auto& file) { return file.write_at(offset, to_send(buffer)); });
  }
  /// The same with options.
  template <detail::writable_from Buffer>
  result<std::size_t> write_at(std::uint64_t offset, Buffer&& buffer, const blocking_write_options& options) {
    return visit([&](auto& file) { return file.write_at(offset, to_send(buffer), options); });
  }

  /// See basic_file::async_read_at().
  template <detail::readable_into Buffer>
    requires engine<Engine>
  auto async_read_at(std::uint64_t offset, Buffer&& buffer) {
    check_borrowed<Buffer>();
    return visit([&](auto& file) { return file.async_read_at(offset, to_fill(buffer)); });
  }
  /// The same, with a deadline or a stop token.
  template <detail::readable_into Buffer>
    requires engine<Engine>
  auto async_read_at(std::uint64_t offset, Buffer&& buffer, const operation_options& options) {
    check_borrowed<Buffer>();
    return visit([&](auto& file) { return file.async_read_at(offset, to_fill(buffer), options); });
  }
  /// See basic_file::async_write_at().
  template <detail::writable_from Buffer>
    requires engine<Engine>
  auto async_write_at(std::uint64_t offset, Buffer&& buffer) {
    check_borrowed<Buffer>();
    return visit([&](auto& file) { return file.async_write_at(offset, to_send(buffer)); });
  }
  /// The same with write_options.
  template <detail::writable_from Buffer>
    requires engine<Engine>
  auto async_write_at(std::uint64_t offset, Buffer&& buffer, const write_options& options) {
    check_borrowed<Buffer>();
    return visit([&](auto& file) { return file.async_write_at(offset, to_send(buffer), options); });
  }
  /// The same with operation_options.
  template <detail::writable_from Buffer, std::same_as<operation_options> Options>
    requires engine<Engine>
  auto async_write_at(std::uint64_t offset, Buffer&& buffer, const Options& options) {
    check_borrowed<Buffer>();
    return visit([&](auto& file) { return file.async_write_at(offset, to_send(buffer), options); });
  }

  /// See basic_file::read_many().
  result<std::size_t> read_many(std::span<read_request> requests) const {
    return visit([&](auto& file) { return file.read_many(requests); });
  }
  /// See basic_file::write_many().
  result<std::size_t> write_many(std::span<write_request> requests, const blocking_write_options& options = {}) {
    return visit([&](auto& file) { return file.write_many(requests, options); });
  }
  /// See basic_file::async_read_many().
  auto async_read_many(std::span<read_request> requests)
    requires engine<Engine>
  {
    return visit([&](auto& file) { return file.async_read_many(requests); });
  }
  /// See basic_file::async_read_many().
  auto async_read_many(std::span<read_request> requests, const operation_options& options)
    requires engine<Engine>
  {
    return visit([&](auto& file) { return file.async_read_many(requests, options); });
  }
  /// See basic_file::async_write_many().
  auto async_write_many(std::span<write_request> requests)
    requires engine<Engine>
  {
    return visit([&](auto& file) { return file.async_write_many(requests); });
  }
  /// See basic_file::async_write_many().
  auto async_write_many(std::span<write_request> requests, const write_options& options)
    requires engine<Engine>
  {
    return visit([&](auto& file) { return file.async_write_many(requests, options); });
  }

  /// See basic_file::sync().
  result<void> sync(sync_kind kind = sync_kind::everything) {
    return visit([&](auto& file) { return file.sync(kind); });
  }
  /// See basic_file::async_sync().
  auto async_sync(sync_kind kind = sync_kind::everything)
    requires engine<Engine>
  {
    return visit([&](auto& file) { return file.async_sync(kind); });
  }
  /// The same, with a deadline or a stop token.
  auto async_sync(sync_kind kind, const operation_options& options)
    requires engine<Engine>
  {
    return visit([&](auto& file) { return file.async_sync(kind, options); });
  }

  /// See basic_file::start_writeback().
  result<void> start_writeback(std::uint64_t offset, std::uint64_t bytes) {
    return visit([&](auto& file) { return file.start_writeback(offset, bytes); });
  }
  /// See basic_file::async_start_writeback().
  auto async_start_writeback(std::uint64_t offset, std::uint64_t bytes)
    requires engine<Engine>
  {
    return visit([&](auto& file) { return file.async_start_writeback(offset, bytes); });
  }

  /// The size in bytes; the capacity of a block device.
  result<std::uint64_t> size() const {
    return visit([](auto& file) { return file.size(); });
  }
  /// See basic_file::resize().
  result<void> resize(std::uint64_t bytes) {
    return visit([&](auto& file) { return file.resize(bytes); });
  }

  /// See basic_file::close().
  result<void> close() {
    return visit([](auto& file) { return file.close(); });
  }
  /// See basic_file::async_close().
  task<result<void>> async_close()
    requires engine<Engine>
  {
    return visit([](auto& file) { return file.async_close(); });
  }

  /// What offsets, lengths and addresses must be multiples of. All are 1 unless the mode is direct.
  qio::alignment alignment() const noexcept {
    return visit([](auto& file) { return file.alignment(); });
  }
  /// See basic_file::atomic_write_limits().
  qio::atomic_write_limits atomic_write_limits() const noexcept {
    return visit([](auto& file) { return file.atomic_write_limits(); });
  }
  /// Whether transfers bypass the page cache.
  bool is_direct() const noexcept {
    return visit([](auto& file) { return file.is_direct(); });
  }
  /// See basic_file::is_uncached().
  bool is_uncached() const noexcept {
    return visit([](auto& file) { return file.is_uncached(); });
  }
  /// False after close(), and after a move from the file.
  bool is_open() const noexcept {
    return visit([](auto& file) { return file.is_open(); });
  }
  /// The system's handle, which the file still owns.
  platform::native_handle native_handle() const noexcept {
    return visit([](auto& file) { return file.native_handle(); });
  }
  /// See basic_file::statistics().
  const file_statistics& statistics() const noexcept
    requires engine<Engine>
  {
    return visit([](auto& file) -> const file_statistics& { return file.statistics(); });
  }
  /// See basic_file::explain(). Allocates.
  explanation explain() const {
    return visit([](auto& file) { return file.explain(); });
  }

  // --- attributes, names, space, locks and the page cache: see basic_file ---

  /// See basic_file::status().
  result<file_status> status() const {
    return visit([](auto& file) { return file.status(); });
  }
  /// See basic_file::set_permissions().
  result<void> set_permissions(std::uint32_t permissions) {
    return visit([&](auto& file) { return file.set_permissions(permissions); });
  }
  /// See basic_file::set_owner().
  result<void> set_owner(std::optional<std::uint32_t> owner, std::optional<std::uint32_t> group = {}) {
    return visit([&](auto& file) { return file.set_owner(owner, group); });
  }
  /// See basic_file::set_times().
  result<void> set_times(const file_times& times) {
    return visit([&](auto& file) { return file.set_times(times); });
  }
  /// See basic_file::give_name().
  result<void> give_name(path_view path, if_exists how = if_exists::fail, const directory* beneath = nullptr) {
    return visit([&](auto& file) { return file.give_name(path, how, beneath); });
  }

  /// See basic_file::allocate().
  result<void> allocate(std::uint64_t offset, std::uint64_t bytes, allocation how = allocation::extend) {
    return visit([&](auto& file) { return file.allocate(offset, bytes, how); });
  }
  /// See basic_file::async_allocate(). Not for mapped files: std::errc::operation_not_supported.
  task<result<void>> async_allocate(std::uint64_t offset, std::uint64_t bytes, allocation how = allocation::extend,
                                    const operation_options& options = {})
    requires engine<Engine>
  {
    const kept_options kept(options);
    return awaited<void>([=]<file_mode Mode>(basic_file<Mode, Engine> & file) requires(!Mode::is_mapped) {
      return file.async_allocate(offset, bytes, how, kept.options());
    });
  }
  /// See basic_file::discard().
  result<void> discard(std::uint64_t offset, std::uint64_t bytes) {
    return visit([&](auto& file) { return file.discard(offset, bytes); });
  }
  /// See basic_file::async_discard().
  task<result<void>> async_discard(std::uint64_t offset, std::uint64_t bytes, const operation_options& options = {})
    requires engine<Engine>
  {
    const kept_options kept(options);
    return awaited<void>([=](auto& file) { return file.async_discard(offset, bytes, kept.options()); });
  }
  /// See basic_file::zero().
  result<void> zero(std::uint64_t offset, std::uint64_t bytes) {
    return visit([&](auto& file) { return file.zero(offset, bytes); });
  }
  /// See basic_file::async_zero().
  task<result<void>> async_zero(std::uint64_t offset, std::uint64_t bytes, const operation_options& options = {})
    requires engine<Engine>
  {
    const kept_options kept(options);
    return awaited<void>([=](auto& file) { return file.async_zero(offset, bytes, kept.options()); });
  }
  /// See basic_file::next_data().
  result<std::optional<extent>> next_data(std::uint64_t from) const {
    return visit([&](auto& file) { return file.next_data(from); });
  }
  /// See basic_file::clone_from(). The source is a basic_file, or an any_file.
  template <class Source>
  result<std::uint64_t> clone_from(Source& source, const extent& what, std::uint64_t to_offset) {
    return of_source(
        source, [&](auto& from) { return visit([&](auto& file) { return file.clone_from(from, what, to_offset); }); });
  }
  /// See basic_file::copy_from(). The source is a basic_file, or an any_file.
  template <class Source>
  result<std::uint64_t> copy_from(Source& source, const extent& what, std::uint64_t to_offset) {
    return of_source(
        source, [&](auto& from) { return visit([&](auto& file) { return file.copy_from(from, what, to_offset); }); });
  }

  /// See basic_file::try_lock().
  result<bool> try_lock(lock_kind kind, const extent& range = {}) {
    return visit([&](auto& file) { return file.try_lock(kind, range); });
  }
  /// See basic_file::lock().
  result<void> lock(lock_kind kind, const extent& range = {}, deadline until = {})
    requires std::same_as<typename Engine::system, detail::operating_system>
  {
    return visit([&](auto& file) { return file.lock(kind, range, until); });
  }
  /// See basic_file::async_lock().
  task<result<void>> async_lock(lock_kind kind, const extent& range = {}, const operation_options& options = {})
    requires engine<Engine>
  {
    const kept_options kept(options);
    return awaited<void>([=](auto& file) { return file.async_lock(kind, range, kept.options()); });
  }
  /// See basic_file::unlock().
  result<void> unlock(const extent& range = {}) {
    return visit([&](auto& file) { return file.unlock(range); });
  }
  /// See basic_file::is_locked().
  result<bool> is_locked(lock_kind kind, const extent& range = {}) const {
    return visit([&](auto& file) { return file.is_locked(kind, range); });
  }

  /// See basic_file::advise().
  result<void> advise(access_pattern pattern) {
    return visit([&](auto& file) { return file.advise(pattern); });
  }
  /// See basic_file::prefetch().
  result<void> prefetch(const extent& range) {
    return visit([&](auto& file) { return file.prefetch(range); });
  }
  /// See basic_file::async_prefetch().
  task<result<void>> async_prefetch(const extent& range, const operation_options& options = {})
    requires engine<Engine>
  {
    const kept_options kept(options);
    return awaited<void>([=](auto& file) { return file.async_prefetch(range, kept.options()); });
  }
  /// See basic_file::forget().
  result<void> forget(const extent& range = whole_file) {
    return visit([&](auto& file) { return file.forget(range); });
  }
  /// See basic_file::resident().
  result<residency> resident(const extent& range = whole_file) const {
    return visit([&](auto& file) { return file.resident(range); });
  }

 private:
  template <class OtherEngine>
  friend class any_file;

  static error not_supported() noexcept { return std::make_error_code(std::errc::operation_not_supported); }

  // Either of them, from an error.
  static result<any_file> refused(std::type_identity<result<any_file>>) noexcept { return not_supported(); }
  static task<result<any_file>> refused(std::type_identity<task<result<any_file>>>) { co_return not_supported(); }

  template <class Call>
  static auto by_mode(any_mode mode, Call&& call) -> decltype(call(cached())) {
    switch (mode) {
      case any_mode::cached: return call(cached());
      case any_mode::uncached: return call(uncached());
      case any_mode::direct: return call(direct());
      case any_mode::mapped:
        if constexpr (may_be_mapped) return call(mapped());
    }
    return refused(std::type_identity<decltype(call(cached()))>());
  }

  template <class Mode>
  static task<result<any_file>> taken(task<result<basic_file<Mode, Engine>>> opening) {
    auto opened = co_await std::move(opening);
    if (!opened) co_return opened.error();
    co_return any_file(std::move(opened).value());
  }

  // The options of a task, which begins later: by then, the stop token that the caller named may be gone.
  class kept_options {
   public:
    explicit kept_options(const operation_options& given) noexcept
        : deadline_(given.deadline), stop_(given.stop.token()) {}
    operation_options options() const noexcept { return {deadline_, stop_}; }

   private:
    deadline deadline_;
    std::stop_token stop_;
  };

  // The operations of the modes have different types; a coroutine awaits the one of this file.
  template <class T, class Start>
  task<result<T>> awaited(Start start) {
    return visit([&](auto& file) { return awaited_of<T>(file, std::move(start)); });
  }
  template <class T, class File, class Start>
  static task<result<T>> awaited_of(File& file, Start start) {
    if constexpr (std::invocable<Start&, File&>)
      co_return co_await start(file);
    else
      co_return not_supported();
  }

  template <class Source, class Call>
  static auto of_source(Source& source, Call&& call) {
    if constexpr (requires { source.visit(call); })
      return source.visit(call);
    else
      return call(source);
  }

  // The variant always has a value. (GCC 12 warns about the null pointer that std::get_if() could return.)
  template <class Modes, class Visitor>
  static decltype(auto) dispatch(Modes& files, Visitor& visitor) {
    switch (files.index()) {
      case 0: return visitor(std::get<0>(files));
      case 1: return visitor(std::get<1>(files));
      case 2: return visitor(std::get<2>(files));
      default: break;
    }
    return visitor(std::get<std::variant_size_v<modes> - 1>(files));
  }

  template <class Buffer>
  static auto to_fill(Buffer& buffer) noexcept {
    if constexpr (std::convertible_to<Buffer&, std::span<std::byte>>)
      return std::span<std::byte>(buffer);
    else
      return std::span<const mutable_buffer>(buffer);
  }
  template <class Buffer>
  static auto to_send(Buffer& buffer) noexcept {
    if constexpr (std::convertible_to<Buffer&, std::span<const std::byte>>)
      return std::span<const std::byte>(buffer);
    else
      return std::span<const const_buffer>(buffer);
  }

  template <class Buffer>
  static constexpr void check_borrowed() noexcept {
    static_assert(
        detail::is_borrowed<Buffer>,
        "qio: this buffer is a temporary that is destroyed before the operation ends: give it a name, or pass "
        "a std::span of memory that outlives the operation");
  }

  modes file_;
};

/// A file of any mode on a context.
using async_any_file = any_file<default_engine>;

QIO_END_NAMESPACE
