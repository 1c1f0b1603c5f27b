// SPDX-License-Identifier: BSL-1.0
// What qd1 writes into its files, and what is left of one that it did not fill to the end.
#include "failure.hpp"
#include "measure/data_file.hpp"
#include "measure/interruption.hpp"
#include "measure/stamps.hpp"
#include "program.hpp"

#include <set>
#include <string>
#include <string_view>
#include <vector>

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

TEST_CASE("a file whose filling was killed is refused until it is filled again") {
  const directory here;
  const fs::path data = here.path / "data";
  std::ofstream(data) << std::string(1 << 19, 'p');
  qd1::platform::mark_as_unfinished(data.string(), 1 << 20);
  if (!qd1::platform::is_unfinished(data.string())) QIO_SKIP("the file system keeps no marks");
  CHECK_FALSE(qd1::platform::is_made_by_qd1(data.string()));
  const outcome refused = run_qd1(here, "run data" + brief);
  CHECK(refused.status == 2);
  CHECK_THAT(refused.err, Contains("data: qd1 was killed while it filled this file") && Contains("--overwrite"));
  CHECK(run_qd1(here, "run data --modes cached --ops read --overwrite" + small).status == 0);
  CHECK(fs::file_size(data) == 1 << 20);
  CHECK(qd1::platform::is_made_by_qd1(data.string()));
}

// How many parts of 512 bytes a file has, less those that are equal to another one.
std::size_t different_parts(const fs::path& file) {
  const std::string all = contents(file);
  std::set<std::string_view> seen;
  for (std::size_t at = 0; at < all.size(); at += 512) seen.insert(std::string_view(all).substr(at, 512));
  return seen.size();
}

TEST_CASE("trap 5: each 512 bytes differ from all that were written before, by whatever writes") {
  std::set<std::string> seen;
  std::vector<std::byte> block(64 << 10);
  constexpr int rounds = 3, writes = 50;
  for (int round = 0; round < rounds; ++round) {
    qd1::stamps stamps(1);  // the seed is the same, the time is not
    for (int write = 0; write < writes; ++write) {
      stamps.put_on(block);
      for (std::size_t at = 0; at < block.size(); at += 512)
        seen.insert(std::to_string(at) + std::string(reinterpret_cast<const char*>(&block[at]), 8));
    }
  }
  CHECK(seen.size() == rounds * writes * block.size() / 512);

  const std::string once = " --modes cached --block 64k --file-size 1M ";
  for (const std::string& each : {"run ./data --ops write --time 60s --samples 500 --rounds 2" + once,
                                  "depth ./data --mix 0 --depths 4 --workers 2 --time 200ms --rounds 2" + once,
                                  "watch ./data --ops write --count 40 --interval 1ms" + once}) {
    INFO(each);
    const directory here;
    CHECK(run_qd1(here, each).status == 0);
    CHECK(fs::file_size(here.path / "data") == 1 << 20);
    CHECK(different_parts(here.path / "data") == (1 << 20) / 512);
  }
}

}  // namespace
