// A thread that reads blocks for other threads: they put numbers into a list, and post a call that takes them.
#include <qio/qio.hpp>

#include <array>
#include <atomic>
#include <cstdio>
#include <mutex>
#include <thread>
#include <vector>

constexpr std::size_t block = 4096, blocks = 64;

class reader {
 public:
  reader(qio::async_cached_file& file, qio::context& context) : file_(file), context_(context) {}

  void add(std::size_t number) {  // from any thread
    {
      const std::lock_guard lock(mutex_);
      wanted_.push_back(number);
    }
    context_.post(take_);  // does nothing if it is pending: take() will see this number, too
  }

  std::size_t done() const { return done_; }

 private:
  void take() {  // on the context's thread
    std::vector<std::size_t> numbers;
    {
      const std::lock_guard lock(mutex_);
      numbers.swap(wanted_);
    }
    for (const std::size_t number : numbers) reads_.spawn(read(number));
  }
  qio::task<> read(std::size_t number) {
    std::array<std::byte, block> buffer{};
    if (const auto bytes = co_await file_.async_read_at(number * block, buffer); bytes) ++done_;
  }

  qio::async_cached_file& file_;
  qio::context& context_;
  qio::task_scope reads_{context_};
  qio::posted_call take_{[this] { take(); }};
  std::mutex mutex_;
  std::vector<std::size_t> wanted_;
  std::atomic<std::size_t> done_ = 0;
};

int main() {
  auto context = qio::context::create().value();
  auto file = qio::cached_file::open(context, "post.tmp", qio::access::read_write, qio::creation::always_new).value();
  reader one(file, context);
  const std::jthread other([&] {
    for (std::size_t i = 0; i < blocks; ++i) one.add(i);
  });
  while (one.done() < blocks) context.run_one();
  std::remove("post.tmp");
}
