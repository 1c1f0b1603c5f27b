// The engines that tests go through. A new one is a name and a place in the list. A build may define QIO_TEST_ENGINES,
// to test some of them only: see QIO_CONTRACT_ENGINES.
#pragma once

#include <qio/engine/simulated.hpp>
#include <qio/qio.hpp>

#include <string_view>
#include <tuple>

namespace qio_test {

template <class Engine>
inline constexpr std::string_view engine_name = "?";
template <>
inline constexpr std::string_view engine_name<qio::no_engine> = "blocking";
template <>
inline constexpr std::string_view engine_name<qio::automatic> = "automatic";
template <>
inline constexpr std::string_view engine_name<qio::pool> = "pool";
/// In none of the lists below: its files are not the system's.
template <>
inline constexpr std::string_view engine_name<qio::simulated> = "simulated";

#if QIO_HAS_URING
template <>
inline constexpr std::string_view engine_name<qio::uring> = "uring";
using all_of_the_system = std::tuple<qio::uring, qio::pool, qio::automatic>;
#elif QIO_HAS_IOCP
template <>
inline constexpr std::string_view engine_name<qio::iocp> = "iocp";
using all_of_the_system = std::tuple<qio::iocp, qio::pool, qio::automatic>;
#else
using all_of_the_system = std::tuple<qio::pool, qio::automatic>;
#endif

#if defined QIO_TEST_ENGINES
using engines = std::tuple<QIO_TEST_ENGINES>;
#else
using engines = all_of_the_system;
#endif

template <class... Lists>
struct join;
template <class... All>
struct join<std::tuple<All...>> {
  using type = std::tuple<All...>;
};
template <class... First, class... Second, class... Rest>
struct join<std::tuple<First...>, std::tuple<Second...>, Rest...> : join<std::tuple<First..., Second...>, Rest...> {};
// The types of all lists as one. Types are only named: nobody makes a tuple of engines.
template <class... Lists>
using joined = typename join<Lists...>::type;

/// And none.
using all_engines = joined<std::tuple<qio::no_engine>, engines>;

}  // namespace qio_test
