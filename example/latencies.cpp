// Counts how long operations take, and prints percentiles, the slow ones, and the text that Prometheus reads.
#include <qio/latencies.hpp>
#include <qio/qio.hpp>

#include <chrono>
#include <cstdio>
#include <string>

using namespace std::chrono_literals;

qio::task<qio::result<void>> work(qio::async_cached_file& file, std::span<const std::byte> block) {
  for (unsigned i = 0; i < 100; ++i) {
    if (auto written = co_await file.async_write_at(i * block.size(), block); !written) co_return written.error();
    if (i % 10 == 9)
      if (auto synced = co_await file.async_sync(); !synced) co_return synced.error();
  }
  co_return qio::success();
}

int main() {
  qio::latency_recorder latencies({.slow = 50ms});
  {
    auto context = qio::context::create({.observer = &latencies}).value();
    auto file = qio::cached_file::open(context, "latencies.tmp", qio::access::write, qio::creation::always_new).value();
    const auto block = qio::aligned_buffer::allocate(4096).value();
    context.run(work(file, block)).value();
  }
  const qio::latency_statistics counted = latencies.statistics();
  for (const auto kind : {qio::operation_kind::write, qio::operation_kind::sync}) {
    const qio::latency_histogram all = counted.of(kind);
    std::printf("%s: %llu, median %.1f us, p99 %.1f us\n", std::string(qio::name_of(kind)).c_str(),
                static_cast<unsigned long long>(all.count()),
                static_cast<double>(all.percentile(50).high.count()) / 1e3,
                static_cast<double>(all.percentile(99).high.count()) / 1e3);
  }
  for (const qio::slow_operation& each : latencies.slow_operations()) std::puts(each.message().c_str());
  std::fputs(counted.prometheus().c_str(), stdout);
  std::remove("latencies.tmp");
}
