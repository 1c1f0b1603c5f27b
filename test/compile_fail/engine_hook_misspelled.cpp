// A type that misspells a hook is not an engine.
// expect: no_hook::end.* is inaccessible|'end' is a private member
#include <qio/qio.hpp>

class silent : qio::detail::no_hook {
 public:
  using system = qio::detail::operating_system;

  silent() = default;
  silent(const silent&) = delete;

  static qio::result<std::unique_ptr<silent>> create(const qio::context_options&) { return std::make_unique<silent>(); }
  system files() const noexcept { return {}; }
  qio::detail::clock::time_point now() const noexcept { return qio::detail::clock::now(); }
  using no_hook::attach;
  using no_hook::begin;
  using no_hook::find_polling;
  using no_hook::gathers;
  using no_hook::observe;
  using no_hook::prepare_to_wait;
  using no_hook::register_memory;
  using no_hook::release;
  using no_hook::serve_at_once;
  using no_hook::waits;
  using no_hook::wake_handle;
  void submit(qio::request&) noexcept {}
  void submit_all(qio::request*) noexcept {}
  void cancel(qio::request&) noexcept {}
  void wait(qio::completed_requests&, qio::wait_limit) noexcept {}
  std::size_t in_flight() const noexcept { return 0; }
  void wake() noexcept {}
  void explain(qio::explanation&) const {}
#ifdef QIO_CONTROL
  void end() noexcept {}
#else
  void ends() noexcept {}
#endif
};

static_assert(qio::engine<silent>);
