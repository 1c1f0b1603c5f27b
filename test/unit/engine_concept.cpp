// The engine concept refuses an engine that lacks a hook, or has one of another type.
#include "catch.hpp"
#include <qio/engine/simulated.hpp>
#include <qio/qio.hpp>

#include <concepts>
#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace {

namespace detail = qio::detail;

// Every hook but end().
template <class Self>
struct without_end {
  using system = detail::operating_system;

  without_end() = default;
  without_end(const without_end&) = delete;
  without_end& operator=(const without_end&) = delete;

  static qio::result<std::unique_ptr<Self>> create(const qio::context_options&) { return std::make_unique<Self>(); }
  system files() const noexcept { return {}; }
  detail::clock::time_point now() const noexcept { return {}; }
  qio::result<void> attach(qio::platform::native_handle) noexcept { return qio::error(); }
  qio::polling_support find_polling(qio::platform::native_handle, const qio::alignment&) const { return {}; }
  std::string register_memory(std::span<std::byte>) { return {}; }
  void begin() noexcept {}
  bool gathers() const noexcept { return false; }
  bool serve_at_once(qio::request&) noexcept { return false; }
  void submit(qio::request&) noexcept {}
  void submit_all(qio::request*) noexcept {}
  void cancel(qio::request&) noexcept {}
  void wait(qio::completed_requests&, qio::wait_limit) noexcept {}
  std::size_t in_flight() const noexcept { return 0; }
  void wake() noexcept {}
  void observe(detail::list<qio::file_activity>&, detail::turn_watch&) noexcept {}
  void release(qio::file_activity&) noexcept {}
  qio::wait_statistics waits() const noexcept { return {}; }
  qio::result<qio::platform::native_handle> wake_handle() noexcept { return qio::error(); }
  bool prepare_to_wait(qio::completed_requests&) noexcept { return false; }
  void explain(qio::explanation&) const {}
};

template <class Self>
struct complete : without_end<Self> {
  void end() noexcept {}
};

struct complete_engine : complete<complete_engine> {};
static_assert(qio::engine<complete_engine>);

struct lacks_end : without_end<lacks_end> {};
static_assert(!qio::engine<lacks_end>);

struct misspells_end : without_end<misspells_end> {
  void ends() noexcept {}
};
static_assert(!qio::engine<misspells_end>);

struct inherits_end_in_silence : without_end<inherits_end_in_silence>, private detail::no_hook {
  using without_end::attach;
  using without_end::begin;
  using without_end::find_polling;
  using without_end::gathers;
  using without_end::observe;
  using without_end::prepare_to_wait;
  using without_end::register_memory;
  using without_end::release;
  using without_end::serve_at_once;
  using without_end::waits;
  using without_end::wake_handle;
};
static_assert(!qio::engine<inherits_end_in_silence>);

struct names_end_of_no_hook : without_end<names_end_of_no_hook>, private detail::no_hook {
  using no_hook::end;
  using without_end::attach;
  using without_end::begin;
  using without_end::find_polling;
  using without_end::gathers;
  using without_end::observe;
  using without_end::prepare_to_wait;
  using without_end::register_memory;
  using without_end::release;
  using without_end::serve_at_once;
  using without_end::waits;
  using without_end::wake_handle;
};
static_assert(qio::engine<names_end_of_no_hook>);

struct end_may_throw : complete<end_may_throw> {
  void end() {}
};
static_assert(!qio::engine<end_may_throw>);

struct release_takes_a_request : complete<release_takes_a_request> {
  void release(qio::request&) noexcept {}
};
static_assert(!qio::engine<release_takes_a_request>);

// A type that the call's result would convert to.
struct release_takes_a_const_activity : complete<release_takes_a_const_activity> {
  void release(const qio::file_activity&) noexcept {}
};
static_assert(!qio::engine<release_takes_a_const_activity>);

struct release_takes_anything : complete<release_takes_anything> {
  template <class Anything>
  void release(Anything&) noexcept {}
};
static_assert(!qio::engine<release_takes_anything>);

struct in_flight_is_narrow : complete<in_flight_is_narrow> {
  unsigned in_flight() const noexcept { return 0; }
};
static_assert(!qio::engine<in_flight_is_narrow>);

struct now_is_not_const : complete<now_is_not_const> {
  detail::clock::time_point now() noexcept { return {}; }
};
static_assert(!qio::engine<now_is_not_const>);

struct submit_answers : complete<submit_answers> {
  bool submit(qio::request&) noexcept { return true; }
};
static_assert(!qio::engine<submit_answers>);

struct attach_is_void : complete<attach_is_void> {
  void attach(qio::platform::native_handle) noexcept {}
};
static_assert(!qio::engine<attach_is_void>);

struct registers_nothing : complete<registers_nothing> {
  bool register_memory(std::span<std::byte>) { return false; }
};
static_assert(!qio::engine<registers_nothing>);

struct polling_is_yes_or_no : complete<polling_is_yes_or_no> {
  bool find_polling(qio::platform::native_handle, const qio::alignment&) const { return false; }
};
static_assert(!qio::engine<polling_is_yes_or_no>);

struct waits_are_not_const : complete<waits_are_not_const> {
  qio::wait_statistics waits() noexcept { return {}; }
};
static_assert(!qio::engine<waits_are_not_const>);

struct files_of_another_system : complete<files_of_another_system> {
  qio::simulated_system files() const noexcept;
};
static_assert(!qio::engine<files_of_another_system>);

struct makes_another_engine : complete<makes_another_engine> {
  static qio::result<std::unique_ptr<complete_engine>> create(const qio::context_options&) { return qio::error(); }
};
static_assert(!qio::engine<makes_another_engine>);

struct wait_may_throw : complete<wait_may_throw> {
  void wait(qio::completed_requests&, qio::wait_limit) {}
};
static_assert(!qio::engine<wait_may_throw>);

}  // namespace

TEST_CASE("an engine that declares every hook can run a context") {
  auto context = qio::basic_context<names_end_of_no_hook>::create().value();
  CHECK_FALSE(context.poll());
}
