#include "catch.hpp"
#include <qio/engine/events.hpp>

#include <thread>

namespace {

using qio::wait_limit;
using qio::detail::auto_reset_event;

TEST_CASE("an event that is set before a wait ends one wait") {
  auto_reset_event event;
  CHECK_FALSE(event.take());
  event.set();
  event.set();
  CHECK(event.take());
  CHECK_FALSE(event.take());

  event.set();
  event.wait(wait_limit::unlimited());
  CHECK_FALSE(event.take());
}

TEST_CASE("a wait for an event that is not set ends at its limit") {
  auto_reset_event event;
  event.wait(wait_limit::until(wait_limit::time_point::clock::now()));
  CHECK_FALSE(event.take());
}

TEST_CASE("an event that another thread sets ends a wait") {
  auto_reset_event there, back;
  std::jthread other([&] {
    there.wait(wait_limit::unlimited());
    back.set();
  });
  there.set();
  back.wait(wait_limit::unlimited());
  CHECK_FALSE(back.take());
}

}  // namespace
