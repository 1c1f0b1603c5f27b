// SPDX-License-Identifier: BSL-1.0
// In which order the offsets of a series come.
#include "measure/offset_order.hpp"
#include "measure/zipf.hpp"
#include "program.hpp"

#include <boost/math/distributions/chi_squared.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace {

using qio_test::Contains;
using namespace qd1_test;

std::vector<double> law(double theta, std::uint64_t count) {
  std::vector<double> parts;
  double sum = 0;
  for (std::uint64_t rank = 1; rank <= count; ++rank) {
    parts.push_back(std::pow(static_cast<double>(rank), -theta));
    sum += parts.back();
  }
  for (double& each : parts) each /= sum;
  return parts;
}

// How likely counts as far from the law as these are; ranks that are expected seldom are taken together.
double likelihood(const std::vector<std::uint64_t>& counts, const std::vector<double>& parts) {
  constexpr double least_expected = 20;
  double draws = 0, chi_squared = 0, expected = 0, seen = 0;
  for (const std::uint64_t each : counts) draws += static_cast<double>(each);
  int cells = 0;
  for (std::size_t rank = 0; rank < parts.size(); ++rank) {
    expected += parts[rank] * draws;
    seen += static_cast<double>(counts[rank]);
    if (expected < least_expected && rank + 1 < parts.size()) continue;
    if (expected > 0) chi_squared += (seen - expected) * (seen - expected) / expected;
    expected = seen = 0;
    ++cells;
  }
  return boost::math::cdf(complement(boost::math::chi_squared(cells - 1), chi_squared));
}

std::vector<std::uint64_t> drawn(double theta, std::uint64_t count, int draws) {
  std::vector<std::uint64_t> counts(count);
  const qd1::zipf_ranks ranks(theta, count);
  qd1::splitmix64 random(1);
  for (int each = 0; each < draws; ++each) ++counts.at(ranks(random));
  return counts;
}

TEST_CASE("ranks come as often as Zipf's law says, whatever the theta") {
  for (const double theta : {0.01, 0.5, 0.99, 1., 1.1, 1.2, 3., 10.})
    for (const std::uint64_t count : {2u, 3u, 100u, 10'000u}) {
      INFO("theta " << theta << ", " << count << " blocks");
      CHECK(likelihood(drawn(theta, count, 300'000), law(theta, count)) > 1e-3);
    }
}

TEST_CASE("as many draws tell one theta from the next") {
  CHECK(likelihood(drawn(1.1, 1'000, 300'000), law(1.12, 1'000)) < 1e-6);
  CHECK(likelihood(drawn(1.1, 1'000, 300'000), law(1.08, 1'000)) < 1e-6);
}

TEST_CASE("the first rank of very many blocks comes as often as the law says") {
  constexpr std::uint64_t count = std::uint64_t(1) << 40;
  constexpr int draws = 1'000'000;
  const qd1::zipf_ranks ranks(2, count);
  qd1::splitmix64 random(1);
  int first = 0;
  for (int each = 0; each < draws; ++each) {
    const std::uint64_t rank = ranks(random);
    REQUIRE(rank < count);
    first += rank == 0;
  }
  const double part = 6 / std::pow(std::acos(-1.), 2);  // 1 / zeta(2)
  CHECK(std::abs(first - part * draws) < 4 * std::sqrt(part * (1 - part) * draws));
}

TEST_CASE("of a single block each rank is the first") {
  const qd1::zipf_ranks ranks(1.1, 1);
  qd1::splitmix64 random(1);
  for (int each = 0; each < 1'000; ++each) CHECK(ranks(random) == 0);
}

TEST_CASE("scattered numbers are all numbers, each once") {
  for (const std::uint64_t count : {1u, 2u, 3u, 5u, 64u, 100u, 4'097u}) {
    const qd1::scattered place(7, count);
    std::set<std::uint64_t> seen;
    for (std::uint64_t each = 0; each < count; ++each) seen.insert(place(each));
    CHECK(seen.size() == count);
    CHECK(*seen.rbegin() == count - 1);
  }
}

constexpr std::uint64_t blocks = 250;

qd1::work work_in(qd1::order order, std::optional<double> theta = {}) {
  qd1::work made;
  made.working_set = blocks * made.block;
  made.load.order = order;
  made.load.theta = theta;
  return made;
}

std::vector<std::uint64_t> offsets(const qd1::work& of, const qd1::offset_share& share, std::size_t count) {
  auto next = qd1::offsets_of(of, share);
  std::vector<std::uint64_t> found(count);
  for (std::uint64_t& each : found) each = next() / of.block;
  return found;
}

TEST_CASE("popular blocks are scattered over the working set, and come as often as the law says") {
  const auto zipf = work_in(qd1::order::zipf, 0.9);
  const qd1::scattered place(5, blocks);
  std::vector<std::uint64_t> counts(blocks), rank_of(blocks);
  for (std::uint64_t rank = 0; rank < blocks; ++rank) rank_of[place(rank)] = rank;
  for (const std::uint64_t each : offsets(zipf, {5, 1}, 300'000)) ++counts.at(rank_of.at(each));
  CHECK(likelihood(counts, law(0.9, blocks)) > 1e-3);
  CHECK(place(0) + 1 != place(1));
}

std::uint64_t most_popular(const qd1::offset_share& share) {
  std::map<std::uint64_t, int> counts;
  for (const std::uint64_t each : offsets(work_in(qd1::order::zipf, 1.2), share, 10'000)) ++counts[each];
  return std::ranges::max_element(counts, {}, [](const auto& each) { return each.second; })->first;
}

TEST_CASE("threads and rounds of a series have the same popular blocks, and other series others") {
  CHECK(most_popular({1, 1}) == most_popular({1, 2}));
  CHECK(most_popular({1, 1}) != most_popular({2, 1}));
  CHECK(offsets(work_in(qd1::order::zipf, 1.2), {1, 1}, 100) != offsets(work_in(qd1::order::zipf, 1.2), {1, 2}, 100));
}

TEST_CASE("the same seed gives the same offsets in every order") {
  for (const qd1::order each : qd1::all_values<qd1::order>()) {
    const auto work = work_in(each, each == qd1::order::zipf ? std::optional(1.1) : std::nullopt);
    CHECK(offsets(work, {3, 3}, 1'000) == offsets(work, {3, 3}, 1'000));
    CHECK(offsets(work, {3, 3}, 1'000) != offsets(work, {4, 4}, 1'000));
  }
}

TEST_CASE("sequential offsets wrap at the end of the working set") {
  const auto found = offsets(work_in(qd1::order::sequential), {1, 1}, 2 * blocks);
  for (std::size_t each = 1; each < found.size(); ++each) CHECK(found[each] == (found[each - 1] + 1) % blocks);
  CHECK(std::ranges::max(found) == blocks - 1);
}

TEST_CASE("sequential threads begin at equal distances, and go on from round to round") {
  const auto work = work_in(qd1::order::sequential);
  const std::uint64_t first = offsets(work, {1, 1, 0, 2}, 1).front();
  CHECK(offsets(work, {1, 9, 1, 2}, 1).front() == (first + blocks / 2) % blocks);
  CHECK(offsets(work, {1, 9, 0, 2, 7}, 1).front() == (first + 7) % blocks);
}

nlohmann::json only_series(const directory& here) {
  return nlohmann::json::parse(contents(here.path / "report.json")).at("qio").at("series").at(0);
}

const std::string reads = "run --modes cached --ops read --json report.json" + small;

TEST_CASE("a run reports the order of its offsets") {
  const directory here;
  const outcome sequential = run_qd1(here, reads + "--order sequential");
  CHECK(sequential.status == 0);
  CHECK_THAT(sequential.out, Contains("Sequential 4 KiB read, warm, blocking, queue depth 1"));
  CHECK(only_series(here).at("work").at("load").at("order") == "sequential");
  CHECK(only_series(here).at("work").at("load").at("zipf_theta").is_null());
  const outcome zipf = run_qd1(here, reads + "--order zipf --zipf-theta 0.8 --html report.html");
  CHECK(zipf.status == 0);
  CHECK_THAT(zipf.out, Contains("Zipf (theta 0.8) 4 KiB read"));
  CHECK(only_series(here).at("work").at("load").at("order") == "zipf");
  CHECK(only_series(here).at("work").at("load").at("zipf_theta") == 0.8);
  CHECK_THAT(contents(here.path / "report.html"), Contains("a probability proportional to 1 / k^0.8"));
}

TEST_CASE("reads in a sequence touch each block in turn, and a cold run none twice") {
  const directory here;
  const outcome found =
      run_qd1(here, "run --modes cached --ops read --reads cold --order sequential --json report.json" + counted);
  if (const std::string why = only_series(here).at("not_available"); !why.empty())
    QIO_SKIP("cold reads are unavailable here: " + why);
  CHECK(found.status == 0);
  CHECK_THAT(found.out, Contains("samples        128"));
}

TEST_CASE("the theta is fio's unless another is given, in run and in depth") {
  const directory here;
  CHECK(run_qd1(here, reads + "--order zipf").status == 0);
  CHECK(only_series(here).at("work").at("load").at("zipf_theta") == 1.1);
  const outcome depth = run_qd1(here,
                                "depth --modes cached --depths 4 --workers 2 --order zipf --json report.json "
                                "--file-size 1M --time 100ms --rounds 2");
  CHECK(depth.status == 0);
  CHECK_THAT(depth.out, Contains("Zipf (theta 1.1) 4 KiB reads"));
  CHECK(only_series(here).at("work").at("load").at("zipf_theta") == 1.1);
}

TEST_CASE("fio's names say the order", "[nightly]") {
  const directory here;
  const auto options = [&](const std::string& order) {
    run_qd1(here, reads + "--order " + order);
    return nlohmann::json::parse(contents(here.path / "report.json")).at("jobs").at(0).at("job options");
  };
  CHECK(options("sequential").at("rw") == "read");
  CHECK(options("random").at("rw") == "randread");
  CHECK(options("zipf").at("rw") == "randread");
  CHECK(options("zipf").at("random_distribution") == "zipf:1.1");
}

TEST_CASE("orders that cannot be are refused with what is needed") {
  const directory here;
  const auto refused = [&](const std::string& arguments, const std::string& with) {
    for (const std::string command : {"run ", "depth "}) {
      const outcome found = run_qd1(here, command + "--modes cached --time 1h --file-size 1M " + arguments);
      INFO(command << arguments << '\n' << found.err);
      CHECK(found.status == 2);
      CHECK_THAT(found.err, Contains(with));
      CHECK(found.out.empty());
    }
  };
  refused("--order backward", "--order: 'backward' is not one of random, sequential, zipf");
  refused("--zipf-theta 1.1", "--order");
  refused("--order random --zipf-theta 1.1", "--zipf-theta: 1.1 has no effect with --order random");
  refused("--order zipf --zipf-theta 0", "--zipf-theta: '0' is not a number from 0.01 to 10");
  refused("--order zipf --reads cold", "use --reads warm, or another order");
}

TEST_CASE("runs whose offsets come in different orders are not compared", "[nightly]") {
  const directory here;
  const auto report = [&](const std::string& name, const std::string& order) {
    REQUIRE(run_qd1(here, "run --modes cached --ops read" + small + "--json " + name + " " + order).status == 0);
  };
  report("random.json", "");
  report("sequential.json", "--order sequential");
  report("zipf.json", "--order zipf");
  report("steeper.json", "--order zipf --zipf-theta 1.5");
  const auto compared = [&](const std::string& base, const std::string& now, const std::string& because) {
    const outcome found = run_qd1(here, "compare " + base + ".json " + now + ".json");
    CHECK(found.status == 4);
    CHECK_THAT(unbroken(found.out), Contains(because) && Contains("not comparable"));
  };
  compared("random", "sequential", "the order of the offsets differs: random against sequential");
  compared("sequential", "zipf", "sequential against zipf 1.1");
  compared("zipf", "steeper", "zipf 1.1 against zipf 1.5");
  CHECK(run_qd1(here, "compare zipf.json zipf.json").status == 0);
}

TEST_CASE("a report whose order and theta disagree is no report") {
  const directory here;
  auto report = nlohmann::json::parse(contents(fs::path(QD1_REPORTS) / "linux.json"));
  const auto status_with = [&](const char* order, const nlohmann::json& theta) {
    for (auto& each : report.at("qio").at("series"))
      each.at("work")["load"] = {{"workers", 1},   {"depth", 1},          {"targets", 1}, {"only", nullptr},
                                 {"order", order}, {"zipf_theta", theta}, {"share", 1.}};
    std::ofstream(here.path / "edited.json") << report;
    return run_qd1(here, "compare edited.json edited.json").status;
  };
  CHECK(status_with("zipf", 1.1) == 0);
  CHECK(status_with("zipf", nullptr) == 2);
  CHECK(status_with("random", 1.1) == 2);
  CHECK(status_with("zipf", -1.) == 2);
}

}  // namespace
