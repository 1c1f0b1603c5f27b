// The engines that tests go through: the system's, chosen in each of its ways when a context is created, and the
// simulated one. A build may define QIO_TEST_ENGINES, a string like "ring|workers", to test some of them only: see
// QIO_CONTRACT_ENGINES.
#pragma once

#include <qio/engine/simulated.hpp>
#include <qio/qio.hpp>

#include <array>
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

/// `options` for a context of the current engine.
inline qio::context_options of_current(qio::context_options options = {}) {
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
