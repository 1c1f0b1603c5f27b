// What every case of the contract uses: a directory, an engine, a mode, and ways to transfer that do not depend on
// these.
#pragma once

#include "catch.hpp"
#include "directory.hpp"
#include "engines.hpp"
#include "os.hpp"
#include <qio/qio.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace contract {

using qio::access;
using qio::creation;
using qio::errc;

// --- engines and modes ---

using qio_test::joined;

// Which engine a file's context has, by type, and the mode. qio_test::current distinguishes engines of one type, so
// that they need not be compiled again.
template <class Engine, class Mode>
struct under {
  using engine = Engine;
  using mode = Mode;
  static constexpr bool is_async = !std::is_same_v<Engine, qio::no_engine>;
  static constexpr bool is_of_system = std::is_same_v<Engine, qio::default_engine>;

  static bool is_on([[maybe_unused]] const qio_test::tested_engine& engine) { return true; }
};

// Only on one of the system's engines.
template <class Mode>
struct on_ring : under<qio::default_engine, Mode> {
  static bool is_on(const qio_test::tested_engine& engine) { return engine.name == qio_test::ring.name; }
};
template <class Mode>
struct on_ring_and_workers : under<qio::default_engine, Mode> {
  static bool is_on(const qio_test::tested_engine& engine) { return engine.name != qio_test::by_default.name; }
};
template <class Mode>
struct by_default : under<qio::default_engine, Mode> {
  static bool is_on(const qio_test::tested_engine& engine) { return engine.name == qio_test::by_default.name; }
};

template <class Engine>
using modes_of = std::tuple<under<Engine, qio::cached>, under<Engine, qio::uncached>, under<Engine, qio::direct>,
                            under<Engine, qio::mapped>>;

using of_the_system = modes_of<qio::default_engine>;
// An engine whose files are not the system's, and cannot be mapped.
#if defined QIO_TEST_ENGINES
using simulated = std::tuple<>;
#else
using simulated = std::tuple<under<qio::simulated, qio::cached>, under<qio::simulated, qio::uncached>,
                             under<qio::simulated, qio::direct>>;
#endif
using asynchronous = joined<of_the_system, simulated>;

template <class... Where>
auto cached_ones(std::tuple<Where...>*) -> joined<
    std::conditional_t<std::is_same_v<typename Where::mode, qio::cached>, std::tuple<Where>, std::tuple<>>...>;
using each_engine = decltype(cached_ones(static_cast<asynchronous*>(nullptr)));
using each_engine_of_the_system = decltype(cached_ones(static_cast<of_the_system*>(nullptr)));

using each_mode = modes_of<qio::no_engine>;
using everywhere = joined<each_mode, asynchronous>;
using everywhere_in_the_system = joined<each_mode, of_the_system>;
using each_way = joined<std::tuple<under<qio::no_engine, qio::cached>>, each_engine>;
using each_way_of_the_system = joined<std::tuple<under<qio::no_engine, qio::cached>>, each_engine_of_the_system>;
using uncached_everywhere = std::tuple<under<qio::no_engine, qio::uncached>, under<qio::default_engine, qio::uncached>>;
using direct_only = std::tuple<under<qio::no_engine, qio::direct>>;
using mapped_only = std::tuple<under<qio::no_engine, qio::mapped>>;

// --- cases ---

inline std::string name_of_case(std::string_view engine, std::string_view mode, const char* promise) {
  return std::string(engine) + '/' + std::string(mode) + ": " + promise;
}

template <class Case>
void run_elsewhere() {
  qio_test::current = qio_test::by_default;
  Case::run();
}

/// The case on one of the system's engines.
template <class Case, std::size_t Engine>
void run_on() {
  qio_test::current = qio_test::each_engine[Engine];
  Case::run();
}

template <class Case, class Where, std::size_t... Engine>
void register_each(const char* promise, const char* tags, std::index_sequence<Engine...>) {
  const auto register_on = [&](const qio_test::tested_engine& engine, void (*run)()) {
    if (!Where::is_on(engine) || !qio_test::is_chosen(engine.name)) return;
    REGISTER_TEST_CASE(run, name_of_case(engine.name, Where::mode::name, promise), tags);
  };
  (register_on(qio_test::each_engine[Engine], &run_on<Case, Engine>), ...);
}

template <class Case, class Where>
void register_one(const char* promise, const char* tags) {
  if constexpr (Where::is_of_system) {
    register_each<Case, Where>(promise, tags, std::make_index_sequence<qio_test::each_engine.size()>());
  } else {
    const char* const engine = Where::is_async ? "simulated" : "blocking";
    REGISTER_TEST_CASE(&run_elsewhere<Case>, name_of_case(engine, Where::mode::name, promise), tags);
  }
}

template <template <class> class Case, class... Where>
bool register_case(std::tuple<Where...>*, [[maybe_unused]] const char* promise, [[maybe_unused]] const char* tags) {
  (register_one<Case<Where>, Where>(promise, tags), ...);
  return true;
}

// PROMISE(identifier, where, "what is promised"): a test case for each engine and mode in the list `where`, in which
// `w` is the world.
#define PROMISE(identifier, where, ...) PROMISE_(identifier, where, __VA_ARGS__, "", "")
#define PROMISE_(identifier, where, promise, tags, ...)                                 \
  namespace {                                                                           \
  template <class Where>                                                                \
  struct identifier {                                                                   \
    static void run() {                                                                 \
      contract::world<Where> w;                                                         \
      if (!w.missing.empty()) QIO_SKIP(w.missing);                                      \
      check(w);                                                                         \
    }                                                                                   \
    static void check(contract::world<Where>& w);                                       \
  };                                                                                    \
  const bool identifier##_registered =                                                  \
      contract::register_case<identifier>(static_cast<where*>(nullptr), promise, tags); \
  }                                                                                     \
  template <class Where>                                                                \
  void identifier<Where>::check([[maybe_unused]] contract::world<Where>& w)

// --- values ---

inline constexpr std::size_t block_size = 4096;
inline constexpr std::uint64_t last_offset = ~std::uint64_t(0) >> 1;  // of a file: 2^63 - 1
inline constexpr std::uint64_t too_far = ~std::uint64_t(0) - 10;
inline constexpr access all_access[] = {access::read, access::write, access::read_write};
inline constexpr creation all_creations[] = {creation::open_existing,   creation::if_needed,
                                             creation::only_if_missing, creation::truncate_existing,
                                             creation::always_new,      creation::emptied};
inline constexpr auto long_ago = std::chrono::hours(-24 * 40000);  // on any clock, a simulated one included

// --- memory and contents ---

/// The file's contents at `offset` in all cases. No two blocks are the same.
inline std::byte pattern(std::uint64_t offset) { return std::byte((offset * 0x9e3779b97f4a7c15u >> 40) | 1u); }

/// Page-aligned memory, zeroed.
class memory {
 public:
  explicit memory(std::size_t bytes) : buffer_(qio::aligned_buffer::allocate(bytes).value()), size_(bytes) {
    std::fill(buffer_.begin(), buffer_.end(), std::byte{0});
  }
  static memory with_pattern(std::uint64_t offset, std::size_t bytes) {
    memory filled(bytes);
    for (std::size_t i = 0; i < bytes; ++i) filled.all()[i] = pattern(offset + i);
    return filled;
  }

  std::span<std::byte> all() { return {buffer_.data(), size_}; }
  std::span<std::byte> part(std::size_t offset, std::size_t bytes) { return all().subspan(offset, bytes); }
  std::byte* data() { return buffer_.data(); }

 private:
  qio::aligned_buffer buffer_;
  std::size_t size_;
};

inline bool holds_pattern(std::span<const std::byte> bytes, std::uint64_t offset) {
  for (std::size_t i = 0; i < bytes.size(); ++i)
    if (bytes[i] != pattern(offset + i)) return false;
  return true;
}

inline bool holds_only(std::span<const std::byte> bytes, std::byte value) {
  return bytes.empty() || (bytes[0] == value && std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0);
}

// --- the world ---

using qio_test::directory;

inline void put(const std::string& path, std::string_view text) { std::ofstream(path, std::ios::binary) << text; }
inline std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// QIO_TEST_WAITING is spin or, by default, sleep.
inline qio::wait_policy waiting() {
  const char* const chosen = std::getenv("QIO_TEST_WAITING");
  const std::string_view name = chosen == nullptr ? "sleep" : chosen;
  for (const auto policy : {qio::wait_policy::sleep, qio::wait_policy::spin})
    if (name == qio::name_of(policy)) return policy;
  throw std::invalid_argument("QIO_TEST_WAITING");
}

struct no_context {};

template <class Where>
class world {
 public:
  using engine = typename Where::engine;
  using mode = typename Where::mode;
  using file = qio::basic_file<mode, engine>;
  static constexpr bool is_async = Where::is_async;
  using context_type = typename std::conditional_t<
      is_async, std::type_identity<qio::basic_context<std::conditional_t<is_async, engine, qio::default_engine>>>,
      std::type_identity<no_context>>::type;

  explicit world(qio::context_options options = {}) {
    if (std::getenv("QIO_TEST_POLLING") != nullptr) options.polling = qio::polling::busy;
    if constexpr (is_async) {
      options.waiting = waiting();
      auto created = new_context(options);
      if (!created) {
        missing = std::string(qio_test::current.name) + ": " + created.error().message();
        return;
      }
      context.emplace(std::move(created).value());
    }
    auto probe = open("probe", access::read_write, creation::always_new);
    if (!probe)
      missing = "no " + std::string(mode::name) + " file here: " + probe.error().code().message();
    else
      unit =
          std::max({probe.value().alignment().memory, probe.value().alignment().read, probe.value().alignment().write});
    std::filesystem::remove(where / "probe");
  }

  /// One more, on the same engine.
  static qio::result<context_type> new_context(const qio::context_options& options = {}) {
    return context_type::create(qio_test::of_current(options));
  }

  auto open(const char* name, access wanted, creation how, const qio::open_options& options = {}) {
    return open_path(where / name, wanted, how, options);
  }
  qio::result<file> open_path(const std::string& path, access wanted, creation how, qio::open_options options = {}) {
    // This tests the writes of each engine. By default, writes are attempted inline.
    if (!Where::is_of_system || qio_test::current.name != qio_test::by_default.name)
      options.inline_writes = qio::inline_transfers::never;
    if constexpr (is_async)
      return qio::basic_file<mode>::open(*context, path, wanted, how, options);
    else
      return file::open(path, wanted, how, options);
  }

  /// A new, open file "data" with `bytes` of the pattern.
  file with(std::size_t bytes) {
    file made = open("data", access::read_write, creation::always_new).value();
    if (bytes == 0) return made;
    const std::size_t rounded = (bytes + unit - 1) / unit * unit;
    auto source = memory::with_pattern(0, rounded);
    REQUIRE(made.write_at(0, source.all()).value() == rounded);
    REQUIRE(made.resize(bytes));
    return made;
  }

  /// A further handle of that file.
  file again(access wanted = access::read_write) { return open("data", wanted, creation::open_existing).value(); }

  // Awaited if there is an engine, otherwise blocking.
  template <class Buffer>
  qio::result<std::size_t> read(file& from, std::uint64_t offset, Buffer&& buffer) {
    if constexpr (is_async)
      return run<std::size_t>([&] { return from.async_read_at(offset, buffer); });
    else
      return from.read_at(offset, buffer);
  }
  template <class Buffer>
  qio::result<std::size_t> write(file& to, std::uint64_t offset, Buffer&& buffer) {
    if constexpr (is_async)
      return run<std::size_t>([&] { return to.async_write_at(offset, buffer); });
    else
      return to.write_at(offset, buffer);
  }
  qio::result<void> sync(file& synced, qio::sync_kind kind) {
    if constexpr (is_async)
      return run<void>([&] { return synced.async_sync(kind); });
    else
      return synced.sync(kind);
  }
  qio::result<void> resize(file& resized, std::uint64_t bytes) {
    if constexpr (is_async && !mode::is_mapped)
      return run<void>([&] { return resized.async_resize(bytes); });
    else
      return resized.resize(bytes);
  }

  /// Awaits the operation that `make` makes.
  template <class Answer, class Make>
  qio::result<Answer> run(Make&& make) {
    if (std::getenv("QIO_TEST_OTHER_LOOP") != nullptr)
      if (const auto handle = context->wake_handle()) return run_by_other_loop<Answer>(make, handle.value());
    return context->run(awaited<Answer>(make));
  }
  /// The same in a program that waits for the context by other means.
  template <class Answer, class Make>
  qio::result<Answer> run_by_other_loop(Make& make, qio::platform::native_handle handle) {
    std::optional<qio::result<Answer>> answer;
    qio::operation_slot<std::invoke_result_t<Make&>> slot;
    slot.emplace(make).start([&answer](qio::result<Answer> given) { answer.emplace(std::move(given)); });
    while (!answer) {
      if (context->prepare_to_wait()) wait_in_other_loop(handle);
      context->poll();
    }
    return *std::move(answer);
  }
  void wait_in_other_loop(qio::platform::native_handle handle) {
    const qio::deadline until = context->next_deadline();
    const auto left = until.exists() ? until.when() - std::chrono::steady_clock::now() : std::chrono::minutes(1);
    const auto limit = std::clamp(std::chrono::ceil<std::chrono::milliseconds>(left), std::chrono::milliseconds(0),
                                  std::chrono::milliseconds(60000));
    const bool is_ready = os::wait_until_ready(handle, limit);
    REQUIRE((is_ready || until.exists()));
  }
  template <class Answer, class Make>
  static qio::task<qio::result<Answer>> awaited(Make& make) {
    co_return co_await make();
  }

  directory where;
  std::optional<context_type> context;
  std::string missing;   ///< why the case cannot run here; otherwise empty
  std::size_t unit = 1;  ///< what offsets, lengths and addresses must be multiples of
};

/// How many of the file's asynchronous operations an engine, or the attempt without it, has served.
inline std::uint64_t served(const qio::file_statistics& by) {
  return by.served_inline + by.served_by_ring + by.served_by_worker;
}

}  // namespace contract
