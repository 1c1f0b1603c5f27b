// SPDX-License-Identifier: BSL-1.0
// micro_waiting [BYTES] [DEPTH]: direct random reads of a file of 64 MiB in the current directory, by pread and by a
// context under each waiting policy, in turn; prints latencies in µs and the CPU time of a read.
#include "fixture.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <memory>
#include <vector>

namespace {

using microseconds = std::chrono::duration<double, std::micro>;

microseconds clock_of(clockid_t which) {
  timespec now{};
  ::clock_gettime(which, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

struct workload {
  std::size_t bytes;
  std::size_t depth;
};

class contender {
 public:
  contender(const char* name, const workload& what) : name_(name), what_(what) {}
  virtual ~contender() = default;

  void round() {
    const microseconds wall = clock_of(CLOCK_MONOTONIC), cpu = clock_of(CLOCK_THREAD_CPUTIME_ID);
    run(reads_a_round);
    wall_ += clock_of(CLOCK_MONOTONIC) - wall;
    cpu_ += clock_of(CLOCK_THREAD_CPUTIME_ID) - cpu;
  }

  void print() {
    std::sort(latencies_.begin(), latencies_.end());
    const auto percentile = [&](double share) {
      return latencies_[static_cast<std::size_t>(share * static_cast<double>(latencies_.size() - 1))].count();
    };
    const auto reads = static_cast<double>(latencies_.size());
    std::printf("%-9s p50 %7.1f  p95 %7.1f  p99 %7.1f  p99.9 %8.1f  cpu %5.1f  %7.0f reads a second\n", name_,
                percentile(0.5), percentile(0.95), percentile(0.99), percentile(0.999), cpu_.count() / reads,
                reads / std::chrono::duration<double>(wall_).count());
  }

 protected:
  static constexpr std::size_t reads_a_round = 1024;

  virtual void run(std::size_t reads) = 0;

  std::uint64_t next_offset() { return offsets_.next() / what_.bytes * what_.bytes; }
  void took(microseconds time) { latencies_.push_back(time); }
  const workload& what() const { return what_; }

 private:
  const char* name_;
  workload what_;
  micro::hot_file::offsets offsets_;
  std::vector<microseconds> latencies_;
  microseconds wall_{}, cpu_{};
};

class blocking final : public contender {
 public:
  blocking(const workload& what, const std::string& path)
      : contender("pread", what),
        file_(qio::direct_file::open(path).value()),
        buffer_(qio::aligned_buffer::allocate(what.bytes).value()) {}

 private:
  void run(std::size_t reads) override {
    for (std::size_t i = 0; i < reads; ++i) {
      const microseconds start = clock_of(CLOCK_MONOTONIC);
      micro::require(file_.read_at(next_offset(), buffer_).has_value(), "read");
      took(clock_of(CLOCK_MONOTONIC) - start);
    }
  }

  qio::direct_file file_;
  qio::aligned_buffer buffer_;
};

class waiting final : public contender {
 public:
  waiting(const workload& what, const std::string& path, qio::wait_policy policy)
      : contender(qio::name_of(policy).data(), what),
        context_(qio::context::create({.waiting = policy}).value()),
        file_(qio::direct_file::open(context_, path).value()) {}

 private:
  qio::task<> read(std::size_t times) {
    auto buffer = qio::aligned_buffer::allocate(what().bytes).value();
    for (std::size_t i = 0; i < times; ++i) {
      const microseconds start = clock_of(CLOCK_MONOTONIC);
      const auto bytes = co_await file_.async_read_at(next_offset(), buffer);
      took(clock_of(CLOCK_MONOTONIC) - start);
      micro::require(bytes.has_value(), "read");
    }
  }

  void run(std::size_t reads) override {
    std::vector<qio::task<>> readers;
    for (std::size_t i = 0; i < what().depth; ++i) readers.push_back(read(reads / what().depth));
    context_.run(qio::when_all(std::move(readers)));
  }

  qio::context context_;
  qio::async_direct_file file_;
};

void compare(const workload& what) {
  const micro::hot_file file;
  std::vector<std::unique_ptr<contender>> contenders;
  if (what.depth == 1) contenders.push_back(std::make_unique<blocking>(what, file.path()));
  for (const auto policy : {qio::wait_policy::sleep, qio::wait_policy::spin, qio::wait_policy::adaptive})
    contenders.push_back(std::make_unique<waiting>(what, file.path(), policy));
  constexpr int rounds = 16;
  for (int round = 0; round < rounds; ++round)
    for (const auto& each : contenders) each->round();
  for (const auto& each : contenders) each->print();
}

}  // namespace

int main(int argc, char** argv) {
  const auto argument = [&](int index, std::size_t otherwise) {
    return argc > index ? static_cast<std::size_t>(std::atoll(argv[index])) : otherwise;
  };
  try {
    compare({argument(1, micro::block), argument(2, 1)});
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "micro_waiting: %s\n", failure.what());
    return 1;
  }
  return 0;
}
