// A server with an epoll loop of its own: clients ask for blocks of a file over a socket, and qio reads them. One
// thread waits for both, and sleeps while neither has anything to do.
#include <qio/qio.hpp>

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <thread>
#include <vector>

constexpr std::size_t block_bytes = 4096;
using file = qio::async_cached_file;

/// One client: reads the number of a block from the socket, and answers with the block.
class session {
 public:
  session(file& from, int socket) : file_(from), socket_(socket) {}

  /// The socket is readable. False if the client has gone.
  bool serve() {
    std::uint64_t number = 0;
    if (::recv(socket_, &number, sizeof number, MSG_WAITALL) != sizeof number) return false;
    read_.emplace([&] { return file_.async_read_at(number * block_bytes, block_); })
        .start([this](qio::result<std::size_t> bytes) { answer(bytes); });
    return true;
  }

 private:
  void answer(const qio::result<std::size_t>& bytes) {
    if (!bytes) std::fprintf(stderr, "%s\n", bytes.error().message().c_str());
    if (::send(socket_, block_.data(), bytes ? bytes.value() : 0, MSG_NOSIGNAL) < 0) std::perror("send");
  }

  file& file_;
  int socket_;
  std::array<std::byte, block_bytes> block_{};
  using read = decltype(std::declval<file&>().async_read_at(0, std::declval<std::array<std::byte, block_bytes>&>()));
  qio::operation_slot<read> read_;
};

void serve(qio::context& context, session& only, int socket) {
  const int wake = context.wake_handle().value();
  const int epoll = ::epoll_create1(EPOLL_CLOEXEC);
  for (const int each : {wake, socket}) {
    epoll_event interest{};
    interest.events = EPOLLIN;
    interest.data.fd = each;
    ::epoll_ctl(epoll, EPOLL_CTL_ADD, each, &interest);
  }
  for (bool has_client = true; has_client;) {
    std::array<epoll_event, 8> ready{};
    // prepare_to_wait() is false if the context has work now: then epoll only looks. Without operations that have
    // deadlines, there is no other time to wait for: see next_deadline().
    const int count = ::epoll_wait(epoll, ready.data(), ready.size(), context.prepare_to_wait() ? -1 : 0);
    for (int i = 0; i < count; ++i)
      if (ready[static_cast<std::size_t>(i)].data.fd == socket) has_client = only.serve();
    context.poll();
  }
  ::close(epoll);
}

int main() {
  constexpr std::uint64_t blocks = 64;
  auto context = qio::context::create().value();
  const std::string path = "epoll-example.tmp";
  file data = qio::cached_file::open(context, path, qio::access::read_write, qio::creation::always_new).value();
  std::vector<std::byte> contents(blocks * block_bytes);
  for (std::size_t i = 0; i < contents.size(); ++i) contents[i] = std::byte(i / block_bytes);
  if (!data.write_at(0, contents)) return 1;

  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) return 1;
  bool is_right = true;
  std::thread client([&is_right, socket = ends[1]] {
    for (std::uint64_t number = 0; number < blocks; ++number) {
      std::array<std::byte, block_bytes> block{};
      ::send(socket, &number, sizeof number, MSG_NOSIGNAL);
      is_right &= ::recv(socket, block.data(), block.size(), MSG_WAITALL) == static_cast<ssize_t>(block.size());
      is_right &= std::ranges::all_of(block, [&](std::byte each) { return each == std::byte(number); });
    }
    ::close(socket);
  });
  session only(data, ends[0]);
  serve(context, only, ends[0]);
  client.join();
  ::close(ends[0]);
  ::unlink(path.c_str());
  std::printf("%llu blocks, %s\n", static_cast<unsigned long long>(blocks), is_right ? "all right" : "WRONG");
  return is_right ? 0 : 1;
}
