// SPDX-License-Identifier: BSL-1.0
// What is left of a file that qd1 did not fill to the end.
#include "failure.hpp"
#include "measure/data_file.hpp"
#include "measure/interruption.hpp"
#include "program.hpp"

#include <string>

namespace {

using qio_test::Contains;
using namespace qd1_test;

// As Ctrl-C does.
struct interrupted_here {
  interrupted_here() { qd1::detail::interrupt_requested = true; }
  interrupted_here(const interrupted_here&) = delete;
  interrupted_here& operator=(const interrupted_here&) = delete;
  ~interrupted_here() { qd1::detail::interrupt_requested = false; }
};

qd1::data_file_request request_for(const fs::path& path, std::uint64_t bytes = 1 << 20) {
  return {.path = path.string(), .bytes = bytes};
}

TEST_CASE("an interrupted filling leaves no part of a file") {
  const directory here;
  const fs::path data = here.path / "data";
  {
    const interrupted_here now;
    CHECK_THROWS_AS(qd1::data_file(request_for(data)), qd1::interruption);
    CHECK_THROWS_AS(qd1::data_file(request_for(here.path)), qd1::interruption);
  }
  CHECK(fs::is_empty(here.path));
  { const qd1::data_file made(request_for(data)); }
  CHECK(fs::file_size(data) == 1 << 20);
  if (!qd1::platform::is_made_by_qd1(data.string())) QIO_SKIP("the file system keeps no marks");
  {
    const interrupted_here now;
    CHECK_THROWS_WITH(qd1::data_file(request_for(data, 2 << 20)), Contains("interrupted") && Contains("was removed"));
  }
  CHECK(fs::is_empty(here.path));
}

TEST_CASE("an interrupted filling removes no file of somebody else") {
  const directory here;
  const fs::path data = here.path / "data";
  std::ofstream(data) << std::string(1 << 20, 's');
  auto request = request_for(data);
  request.overwrite = true;
  const interrupted_here now;
  CHECK_THROWS_WITH(qd1::data_file(request), Contains("interrupted") && !Contains("removed"));
  CHECK(fs::file_size(data) == 1 << 20);
}

TEST_CASE("a file that was complete before the measurement is known to be qd1's during it") {
  const directory here;
  const std::string data = (here.path / "data").string();
  { const qd1::data_file made(request_for(data)); }
  if (!qd1::platform::is_made_by_qd1(data)) QIO_SKIP("the file system keeps no marks");
  fs::remove(data);
  const qd1::data_file made(request_for(data));
  CHECK(qd1::platform::is_made_by_qd1(data));
}

TEST_CASE("a file whose filling was killed is refused until it is filled anew") {
  const directory here;
  const fs::path data = here.path / "data";
  std::ofstream(data) << std::string(1 << 19, 'p');
  qd1::platform::mark_as_unfinished(data.string());
  if (!qd1::platform::is_unfinished(data.string())) QIO_SKIP("the file system keeps no marks");
  CHECK_FALSE(qd1::platform::is_made_by_qd1(data.string()));
  const outcome refused = run_qd1(here, "run data" + brief);
  CHECK(refused.status == 2);
  CHECK_THAT(refused.err, Contains("data: qd1 was killed while it filled this file") && Contains("--overwrite"));
  CHECK(run_qd1(here, "run data --modes cached --ops read --overwrite" + small).status == 0);
  CHECK(fs::file_size(data) == 1 << 20);
  CHECK(qd1::platform::is_made_by_qd1(data.string()));
}

}  // namespace
