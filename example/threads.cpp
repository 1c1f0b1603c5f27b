// One file, several threads: each has a context of its own. The main thread hands them work and stops them.
#include <qio/qio.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <list>
#include <mutex>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

constexpr std::size_t block_bytes = 4096;

/// A thread that reads blocks.
class reader {
 public:
  explicit reader(qio::cached_file& file)
      : context_(qio::context::create().value()), file_(file.share_with(context_).value()) {}
  ~reader() {
    stop_.request_stop();
    if (thread_.joinable()) thread_.join();
  }
  reader(const reader&) = delete;
  reader& operator=(const reader&) = delete;

  void start() {
    thread_ = std::thread([this] { serve(); });
  }

  /// From any thread.
  void add(std::uint64_t block) {
    {
      const std::lock_guard lock(mutex_);
      wanted_.push_back(block);
    }
    context_.post(take_);  // does nothing if it is pending: take() will see this block, too
  }

  std::uint64_t right_blocks() const { return right_.load(); }

 private:
  // The context, the file and the scope belong to this thread from here on.
  void serve() {
    qio::task_scope reads(context_);
    reads_ = &reads;
    context_.run_until(stop_.get_token());
    take();  // what was added before the stop
    context_.run([](qio::task_scope& all) -> qio::task<> { co_await all.join(); }(reads));
    static_cast<void>(file_.close());
  }

  void take() {
    std::vector<std::uint64_t> blocks;
    {
      const std::lock_guard lock(mutex_);
      blocks.swap(wanted_);
    }
    for (const std::uint64_t each : blocks) reads_->spawn(read(each));
  }

  qio::task<> read(std::uint64_t block) {
    std::array<std::byte, block_bytes> buffer{};
    const auto bytes = co_await file_.async_read_at(block * block_bytes, buffer);
    if (bytes && bytes.value() == block_bytes && buffer[0] == std::byte(block)) ++right_;
  }

  qio::context context_;
  qio::async_cached_file file_;
  qio::task_scope* reads_ = nullptr;
  qio::posted_call take_{[this] { take(); }};
  std::mutex mutex_;
  std::vector<std::uint64_t> wanted_;
  std::atomic<std::uint64_t> right_ = 0;
  std::stop_source stop_;
  std::thread thread_;
};

int main() {
  constexpr std::uint64_t blocks = 100;
  auto file = qio::cached_file::open("threads.tmp", qio::access::read_write, qio::creation::always_new).value();
  for (std::uint64_t block = 0; block < blocks; ++block)
    file.write_at(block * block_bytes, std::vector<std::byte>(block_bytes, std::byte(block))).value();

  std::uint64_t right = 0;
  {
    std::list<reader> readers;
    for (int i = 0; i < 2; ++i) readers.emplace_back(file).start();
    for (std::uint64_t block = 0; block < blocks; ++block)
      (block % 2 == 0 ? readers.front() : readers.back()).add(block);
    while (right < blocks) {
      right = 0;
      for (const reader& each : readers) right += each.right_blocks();
      std::this_thread::yield();
    }
  }
  std::printf("%llu blocks read by two threads\n", static_cast<unsigned long long>(right));
  std::remove("threads.tmp");
}
