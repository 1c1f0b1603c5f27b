// Serves reads of 4 KiB while it compacts (writes of 1 MiB, or reads of 128 KiB), without classes and with them, by
// turns, and prints what either does to the other.
//
//     serve_and_compact [DIRECTORY [SECONDS [ROUNDS [reads|writes|durable [writes|reads]]]]]
//
// The third is what is served; the last, what compacts. Needs 256 MiB of space, and direct
// I/O: without it, the page cache decides.
#include <qio/io_scheduler.hpp>
#include <qio/qio.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <string_view>
#include <vector>

using std::chrono::steady_clock;

constexpr std::uint64_t file_size = 128 << 20;

struct settings {
  std::string directory = ".";
  double seconds = 1;
  int rounds = 1;
  std::string_view serves = "reads", compacts = "writes";
};

// One way to run both, and what was measured in each round.
struct variant {
  const char* name;
  bool serves, compacts;
  double latency_factor;  // 0: without classes
  std::vector<double> median{}, p99{}, throughput{};
};

template <class File>
qio::task<void> serve(File& file, std::string_view what, steady_clock::time_point end, std::vector<double>& took) {
  auto block = qio::aligned_buffer::allocate(4096).value();
  std::minstd_rand random(1);
  for (auto now = steady_clock::now(); now < end;) {
    const std::uint64_t offset = random() % (file_size / 4096) * 4096;
    const auto done = what == "reads" ? co_await file.async_read_at(offset, block)
                                      : co_await file.async_write_at(offset, block, {.durable = what == "durable"});
    done.value();  // ends the program if it failed
    const auto before = std::exchange(now, steady_clock::now());
    took.push_back(std::chrono::duration<double, std::micro>(now - before).count());
  }
}

qio::task<void> compact(qio::async_direct_file& file, std::string_view what, unsigned number,
                        steady_clock::time_point end, std::uint64_t& bytes) {
  const std::size_t size = what == "writes" ? 1 << 20 : 128 << 10;
  auto block = qio::aligned_buffer::allocate(size).value();
  std::memset(block.data(), 1, size);
  std::minstd_rand random(number);
  while (steady_clock::now() < end) {
    const std::uint64_t offset = random() % (file_size / size) * size;
    const auto done =
        what == "writes" ? co_await file.async_write_at(offset, block) : co_await file.async_read_at(offset, block);
    bytes += done.value();
  }
}

qio::async_direct_file open_full(qio::context& context, const std::string& path, const qio::io_class& in) {
  const qio::open_options options{.fallback = qio::if_unavailable::use_cache, .io_class = in};
  auto file = qio::direct_file::open(context, path, qio::access::read_write, qio::creation::if_needed, options).value();
  auto block = qio::aligned_buffer::allocate(1 << 20).value();
  std::memset(block.data(), 2, block.size());
  for (std::uint64_t at = file.size().value(); at < file_size; at += block.size()) file.write_at(at, block).value();
  return file;
}

double quantile(std::vector<double>& sorted, double which) {
  return sorted.empty() ? 0 : sorted[static_cast<std::size_t>(static_cast<double>(sorted.size() - 1) * which)];
}

void run(const settings& chosen, variant& how) {
  qio::io_scheduler scheduler({.latency_factor = how.latency_factor});
  const qio::io_class background = scheduler.make_class({.name = "compaction"});
  const bool has_classes = how.latency_factor != 0;
  auto context = qio::context::create({.io_class = has_classes ? scheduler.foreground() : qio::io_class()}).value();
  auto served = open_full(context, chosen.directory + "/served.tmp", {});
  auto compacted = open_full(context, chosen.directory + "/compacted.tmp", has_classes ? background : qio::io_class());
  if (!served.is_direct()) std::puts("(through the page cache: no direct I/O here)");
  served.sync().value();
  compacted.sync().value();

  std::vector<double> took;
  std::uint64_t bytes = 0;
  const auto end = steady_clock::now() +
                   std::chrono::duration_cast<steady_clock::duration>(std::chrono::duration<double>(chosen.seconds));
  const auto both = [&]() -> qio::task<void> {
    qio::task_scope scope(context);
    if (how.serves) scope.spawn(serve(served, chosen.serves, end, took));
    const unsigned several = chosen.compacts == "writes" ? 4 : 32;
    for (unsigned i = 0; how.compacts && i < several; ++i)
      scope.spawn(compact(compacted, chosen.compacts, i + 2, end, bytes));
    co_await scope.join();
  };
  context.run(both());
  std::sort(took.begin(), took.end());
  how.median.push_back(quantile(took, 0.5));
  how.p99.push_back(quantile(took, 0.99));
  how.throughput.push_back(static_cast<double>(bytes) / chosen.seconds / 1e6);
}

int main(int count, char** arguments) {
  settings chosen;
  if (count > 1) chosen.directory = arguments[1];
  if (count > 2) chosen.seconds = std::atof(arguments[2]);
  if (count > 3) chosen.rounds = std::atoi(arguments[3]);
  if (count > 4) chosen.serves = arguments[4];
  if (count > 5) chosen.compacts = arguments[5];
  const auto is_one_of = [](std::string_view what, std::initializer_list<std::string_view> known) {
    return std::find(known.begin(), known.end(), what) != known.end();
  };
  if (count > 6 || !(chosen.seconds > 0) || chosen.rounds < 1 ||
      !is_one_of(chosen.serves, {"reads", "writes", "durable"}) || !is_one_of(chosen.compacts, {"reads", "writes"})) {
    std::fputs("usage: serve_and_compact [DIRECTORY [SECONDS [ROUNDS [reads|writes|durable [writes|reads]]]]]\n",
               stderr);
    return 2;
  }

  std::vector<variant> variants{{"served alone", true, false, 0},         {"compacted alone", false, true, 0},
                                {"both, without classes", true, true, 0}, {"both, factor 8", true, true, 8},
                                {"both, factor 4", true, true, 4},        {"both, factor 2", true, true, 2},
                                {"both, factor 1.3", true, true, 1.3}};
  for (int round = 0; round < chosen.rounds; ++round)
    for (variant& each : variants) run(chosen, each);

  const auto middle = [](std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return quantile(values, 0.5);
  };
  const double p99 = middle(variants[0].p99), throughput = middle(variants[1].throughput);
  std::printf("%-22s  %12s  %12s  %8s  %11s  %8s\n", "medians of the rounds", "median", "p99", "", "compaction", "");
  for (const variant& each : variants) {
    std::printf("%-22s", each.name);
    if (each.serves)
      std::printf("  %9.0f us  %9.0f us  %7.2fx", middle(each.median), middle(each.p99), middle(each.p99) / p99);
    else
      std::printf("  %12s  %12s  %8s", "", "", "");
    if (each.compacts)
      std::printf("  %6.0f MB/s  %7.2fx", middle(each.throughput), middle(each.throughput) / throughput);
    std::puts("");
  }
  for (const char* name : {"/served.tmp", "/compacted.tmp"}) std::remove((chosen.directory + name).c_str());
}
