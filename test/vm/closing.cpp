// Closing a busy file really closes it at once, even if this kernel's ring has it registered.
#include "catch.hpp"
#include <qio/qio.hpp>

#if QIO_HAS_URING
#include "directory.hpp"
#include "held.hpp"

#include <cerrno>
#include <fstream>
#include <string>

namespace {

template <class File>
void release_while_another_is_busy() {
  const qio_test::directory here;
  for (const char* const name : {"closed", "busy"})
    std::ofstream(here / name, std::ios::binary) << std::string(4096, 'x');
  auto context = qio::context::create({.engine = qio::engine_kind::ring}).value();
  auto busy = File::open(context, here / "busy", qio::access::read_write).value();
  auto closed = File::open(context, here / "closed", qio::access::read_write).value();
  REQUIRE(qio_test::read_at_once(context, busy, 200).whole);
  REQUIRE(qio_test::read_at_once(context, closed, 200).whole);
  REQUIRE(closed.statistics().served_by_ring >= 199);
  REQUIRE(qio_test::answer_to_lease(here / "closed") == EAGAIN);
  CHECK(closed.close());
  CHECK(qio_test::answer_to_lease(here / "closed") == 0);
  CHECK(qio_test::answer_to_lease(here / "busy") == EAGAIN);
}

}  // namespace

TEST_CASE("a busy direct file that is closed is released while another one is busy", "[closing]") {
  release_while_another_is_busy<qio::direct_file>();
}
// Not on XFS: threads of the kernel carry out its cached reads, and release a file a moment later.
TEST_CASE("a busy cached file that is closed is released while another one is busy", "[closing][cached]") {
  release_while_another_is_busy<qio::cached_file>();
}
#endif
