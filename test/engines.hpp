// The engines that tests go through: the system's, chosen in each of its ways when a context is created, and the
// simulated one. A build may define QIO_TEST_ENGINES, a string like "ring|workers", to test some of them only: see
// QIO_CONTRACT_ENGINES.
#pragma once

#include <qio/engine/simulated.hpp>
#include <qio/observer.hpp>
#include <qio/qio.hpp>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <tuple>

namespace qio_test {

/// A name of a test's own, and what a context is asked for.
struct tested_engine {
  std::string_view name;
  qio::engine_kind kind;
};

inline constexpr tested_engine ring{"ring", qio::engine_kind::ring};
inline constexpr tested_engine aio{"aio", qio::engine_kind::aio};
inline constexpr tested_engine workers{"workers", qio::engine_kind::workers};
/// As a program gets it that asks for nothing. Only with this one, transfers are attempted inline.
inline constexpr tested_engine by_default{"default", qio::engine_kind::any};

#if QIO_HAS_URING
inline constexpr std::array each_engine{ring, aio, workers, by_default};
#elif QIO_HAS_IOCP
inline constexpr std::array each_engine{ring, workers, by_default};
#else
inline constexpr std::array each_engine{workers, by_default};
#endif

/// Whether this build goes through that engine.
inline bool is_chosen([[maybe_unused]] std::string_view name) {
#if defined QIO_TEST_ENGINES
  std::string_view rest = QIO_TEST_ENGINES;
  while (!rest.empty()) {
    const auto end = rest.find('|');
    if (rest.substr(0, end) == name) return true;
    rest = end == rest.npos ? std::string_view() : rest.substr(end + 1);
  }
  return false;
#else
  return true;
#endif
}

/// The one that the running test is about; the tests of a process run one after another.
inline tested_engine current = by_default;

/// Ends the program if it hears of an operation that cannot have been.
class suspicious_observer final : public qio::operation_observer {
 public:
  void ended(const qio::ended_operation& what) noexcept override {
    using std::chrono::nanoseconds;
    require(what.took() >= nanoseconds(0), "an operation ended before it began");
    require(what.queued() <= what.took(), "an operation waited longer in queues than it took");
    require(what.transferred() <= what.bytes(), "an operation moved more than it was to move");
    const bool is_whole = what.transferred() == what.bytes() || what.kind() == qio::operation_kind::read;
    require(is_whole || what.failure().exists(), "an operation other than a read moved less, and did not fail");
    require(what.path() <= qio::operation_path::worker, "an operation was served by nothing");
    require(what.file().find('\0') == std::string_view::npos, "the path of an operation's file is no path");
  }

 private:
  static void require(bool is_so, const char* otherwise) {
    if (is_so) return;
    std::fprintf(stderr, "%s\n", otherwise);
    std::abort();
  }
};

/// Chooses the class of a context: see scheduled.hpp. Null: none.
inline qio::io_class (*class_of_next_context)() = nullptr;

/// `options` for a context of the current engine. If QIO_TEST_OBSERVED is set, it is observed.
inline qio::context_options of_current(qio::context_options options = {}) {
  static suspicious_observer observer;
  if (options.observer == nullptr && std::getenv("QIO_TEST_OBSERVED") != nullptr) options.observer = &observer;
  if (!options.io_class.exists() && class_of_next_context != nullptr) options.io_class = class_of_next_context();
  options.engine = current.kind;
  return options;
}

template <class... Lists>
struct join;
template <>
struct join<> {
  using type = std::tuple<>;
};
template <class... All>
struct join<std::tuple<All...>> {
  using type = std::tuple<All...>;
};
template <class... First, class... Second, class... Rest>
struct join<std::tuple<First...>, std::tuple<Second...>, Rest...> : join<std::tuple<First..., Second...>, Rest...> {};
// The types of all lists as one. Types are only named: nobody makes a tuple of engines.
template <class... Lists>
using joined = typename join<Lists...>::type;

}  // namespace qio_test
