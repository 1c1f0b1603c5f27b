// Of a file that has been busy: closing it closes it, at once, whatever the ring of this kernel knows of it. On file
// systems whose reads from the page cache need no kernel thread, which would let go of it a moment later.
#include "catch.hpp"
#include <qio/qio.hpp>

#if QIO_HAS_URING
#include "directory.hpp"
#include "held.hpp"

#include <cerrno>
#include <fstream>
#include <string>

TEST_CASE("a busy file that is closed is open no more, while another one is busy", "[closing]") {
  const qio_test::directory here;
  for (const char* const name : {"closed", "busy"})
    std::ofstream(here / name, std::ios::binary) << std::string(4096, 'x');
  auto context = qio::basic_context<qio::uring>::create().value();
  auto busy = qio::cached_file::open(context, here / "busy", qio::access::read_write).value();
  auto closed = qio::cached_file::open(context, here / "closed", qio::access::read_write).value();
  REQUIRE(qio_test::read_at_once(context, busy, 200).whole);
  REQUIRE(qio_test::read_at_once(context, closed, 200).whole);
  REQUIRE(closed.statistics().served_by_ring >= 199);
  REQUIRE(qio_test::answer_to_lease(here / "closed") == EAGAIN);
  CHECK(closed.close());
  CHECK(qio_test::answer_to_lease(here / "closed") == 0);
  CHECK(qio_test::answer_to_lease(here / "busy") == EAGAIN);
}
#endif
