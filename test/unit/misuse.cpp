// Incorrect uses of an engine, which end the program if checks are enabled.
#include "catch.hpp"
#include <qio/qio.hpp>

#if QIO_CHECKS && QIO_HAS_URING && !defined(__SANITIZE_THREAD__)
#include "child_process.hpp"

#include <array>
#include <cstddef>
#include <memory>
#include <string>

namespace {

/// A read of a file that is in no list yet.
struct single {
  explicit single(std::size_t bytes = 512) {
    r.op = qio::opcode::read;
    r.handle = file.native_handle();
    r.io = qio::detail::transfer(0, qio::mutable_buffer(memory.data(), bytes));
    r.activity = &activity;
  }

  qio::cached_file file = qio::cached_file::open("/proc/self/exe").value();
  std::array<std::byte, 512> memory{};
  qio::detail::list<qio::request> held;
  qio::file_activity activity;
  qio::request r;
};

/// Whether `mistake` ends the program with this sentence.
template <class Mistake>
bool is_caught(const std::string& sentence, Mistake mistake) {
  return qio_test::last_words(mistake).find(sentence) != std::string::npos;
}

/// An engine as a loop has it.
auto created(const qio::context_options& options) {
  static qio::detail::list<qio::file_activity> activities;
  static qio::detail::turn_watch watch;
  auto engine = qio::default_engine::create(options).value();
  engine->observe(activities, watch);
  return engine;
}

void run_to_end(qio::default_engine& engine) {
  qio::completed_requests completed;
  engine.begin();
  while (engine.in_flight() != 0) engine.wait(completed, qio::wait_limit::unlimited());
}

}  // namespace

TEST_CASE("a request that is in no list of its file cannot be submitted") {
  const qio::context_options on{.engine = GENERATE(qio::engine_kind::ring, qio::engine_kind::workers)};
  const auto engine = qio::default_engine::create(on);
  if (!engine) QIO_SKIP("not available here: " + engine.error().message());
  CHECK(is_caught("in the list of its file", [&] {
    single one;
    engine.value()->submit(one.r);
  }));
}

TEST_CASE("a request cannot be submitted twice") {
  const qio::context_options on{.engine = GENERATE(qio::engine_kind::ring, qio::engine_kind::workers)};
  if (!qio::default_engine::create(on)) QIO_SKIP("not available here");
  CHECK(is_caught("submitted twice", [&] {
    const auto engine = created(on);
    single one;
    one.held.insert(one.r);
    engine->submit(one.r);
    engine->submit(one.r);
  }));
}

TEST_CASE("a request that is complete cannot be canceled") {
  const qio::context_options on{.engine = GENERATE(qio::engine_kind::ring, qio::engine_kind::workers)};
  if (!qio::default_engine::create(on)) QIO_SKIP("not available here");
  CHECK(is_caught("canceled that is not in flight", [&] {
    const auto engine = created(on);
    single one;
    one.held.insert(one.r);
    engine->submit(one.r);
    run_to_end(*engine);
    engine->cancel(one.r);
  }));
}

TEST_CASE("a transfer that has nothing to move cannot be submitted") {
  const qio::context_options on{.engine = GENERATE(qio::engine_kind::ring, qio::engine_kind::workers)};
  if (!qio::default_engine::create(on)) QIO_SKIP("not available here");
  CHECK(is_caught("nothing left to move", [&] {
    const auto engine = created(on);
    single empty(0);
    empty.held.insert(empty.r);
    engine->submit(empty.r);
  }));
}

TEST_CASE("an engine cannot be destroyed with requests in flight") {
  const qio::context_options on{.engine = GENERATE(qio::engine_kind::ring, qio::engine_kind::workers)};
  if (!qio::default_engine::create(on)) QIO_SKIP("not available here");
  CHECK(is_caught("destroyed while requests were in flight", [&] {
    auto engine = created(on);
    single one;
    one.held.insert(one.r);
    engine->submit(one.r);
    engine.reset();
  }));
}

TEST_CASE("correct use of an engine passes all checks") {
  CHECK(qio_test::in_child([] {
          const auto engine = created({.engine = qio::engine_kind::workers});
          single one;
          one.held.insert(one.r);
          engine->submit(one.r);
          run_to_end(*engine);
          return one.r.failed() || one.r.io.transferred() != 512 ? 1 : 0;
        }) == 0);
}
#endif
