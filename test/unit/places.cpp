// Space in the completion queue: what is counted, and that a miscount ends the program if checks are enabled.
#include "catch.hpp"
#include <qio/qio.hpp>

#if QIO_HAS_URING
#include "child_process.hpp"
#include <qio/engine/uring/places.hpp>

#include <cstddef>
#include <string>

namespace {

using qio::detail::places;

places of(std::size_t completions) {
  places made;
  made.set_up(completions);
  return made;
}

/// Whether `mistake` ends the program with this sentence.
template <class Mistake>
bool is_caught(const std::string& sentence, Mistake mistake) {
  return qio_test::last_words(mistake).find(sentence) != std::string::npos;
}

}  // namespace

TEST_CASE("requests, their cancellations, a nap and the wake event fill the completion queue, and no more") {
  for (const std::size_t completions : {4u, 8u, 1024u, 131072u}) {
    CAPTURE(completions);
    places room = of(completions);
    std::size_t requests = 0, cancels = 0;
    for (; room.has_free(); ++requests) room.take();
    for (; room.has_free_for_cancel(); ++cancels) room.take_for_cancel();
    CHECK(requests != 0);
    CHECK(requests == cancels);
    CHECK(requests + cancels + 2 == completions);
  }
}

TEST_CASE("a request is counted once, in the ring or elsewhere") {
  places room = of(8);
  CHECK(room.in_flight() == 0);
  room.take();
  room.take();
  room.enter_elsewhere();
  CHECK(room.taken() == 2);
  CHECK(room.elsewhere() == 1);
  CHECK(room.in_flight() == 3);
  room.give_back();
  room.enter_elsewhere();
  CHECK(room.in_flight() == 3);
  room.leave_elsewhere();
  room.leave_elsewhere();
  room.give_back();
  CHECK(room.in_flight() == 0);
  CHECK(room.free() == 3);
}

#if QIO_CHECKS && !defined(__SANITIZE_THREAD__)
TEST_CASE("a miscount of outstanding completions ends the program") {
  CHECK(is_caught("no room for the completion", [] { of(2); }));
  CHECK(is_caught("request that was not in the ring", [] { of(8).give_back(); }));
  CHECK(is_caught("cancellation that was not in the ring", [] { of(8).give_back_cancel(); }));
  CHECK(is_caught("but was in none", [] { of(8).leave_elsewhere(); }));
  CHECK(is_caught("more requests than", [] {
    places room = of(4);
    room.take();
    room.take();
  }));
  CHECK(is_caught("more cancellations than", [] {
    places room = of(4);
    room.take_for_cancel();
    room.take_for_cancel();
  }));
}
#endif
#endif
