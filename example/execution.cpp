// An operation as a sender: described here, connected to a receiver, and started by another thread than the context's.
// With std::execution, stdexec or beman::execution, sync_wait() and then() take the place of the receiver.
#include <qio/execution.hpp>
#include <qio/qio.hpp>

#include <array>
#include <cstdio>
#include <cstring>
#include <future>
#include <span>
#include <stop_token>
#include <thread>

// Reports what has happened to a thread that waits for it.
struct reporter {
  using receiver_concept = qio::execution::receiver_tag;

  void set_value(std::size_t bytes) && noexcept { answer->set_value(bytes); }
  void set_error(const qio::error& failure) && noexcept { answer->set_value(failure); }
  void set_stopped() && noexcept { answer->set_value(std::make_error_code(std::errc::operation_canceled)); }

  std::promise<qio::result<std::size_t>>* answer;
};

int main() {
  auto context = qio::context::create().value();
  auto file =
      qio::cached_file::open(context, "execution.tmp", qio::access::read_write, qio::creation::always_new).value();
  file.write_at(0, std::as_bytes(std::span("forty-two", 9))).value();
  std::stop_source end;
  std::thread thread([&] { context.run_until(end.get_token()); });

  std::array<char, 16> text{};
  const auto read = qio::senders::read_at(file, 0, std::as_writable_bytes(std::span(text)));
  std::promise<qio::result<std::size_t>> answer;
  auto state = read.connect(reporter{&answer});  // contains the operation
  state.start();
  const auto bytes = answer.get_future().get();

  end.request_stop();
  thread.join();
  std::printf("read %zu bytes: %s\n", bytes.value(), text.data());
  std::remove("execution.tmp");
  return std::strcmp(text.data(), "forty-two");
}
