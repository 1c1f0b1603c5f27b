// A server with an epoll loop of its own: a client asks for a range of a file, and qio reads it. All on one thread.
#include <qio/qio.hpp>

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <thread>
#include <vector>

struct range {
  std::uint64_t offset, bytes;  // a server checks them
};

qio::task<> answer(qio::async_cached_file& file, int client, range wanted) {
  std::vector<std::byte> data(wanted.bytes);
  const auto bytes = co_await file.async_read_at(wanted.offset, data);  // fewer at the end of the file
  if (!bytes || ::send(client, data.data(), bytes.value(), MSG_NOSIGNAL) < 0) ::shutdown(client, SHUT_RDWR);
}

void serve(qio::context& context, qio::async_cached_file& file, int client) {
  const int wake = context.wake_handle().value(), epoll = ::epoll_create1(EPOLL_CLOEXEC);
  for (epoll_event each : {epoll_event{EPOLLIN, {.fd = wake}}, epoll_event{EPOLLIN, {.fd = client}}})
    ::epoll_ctl(epoll, EPOLL_CTL_ADD, each.data.fd, &each);
  qio::task_scope answers(context);
  for (bool is_connected = true; is_connected;) {
    epoll_event ready{};
    // False: the context has work now. A program with deadlines or sleeps: timeout_of() in docs/event-loops.md.
    const int count = ::epoll_wait(epoll, &ready, 1, context.prepare_to_wait() ? -1 : 0);
    if (range wanted{}; count == 1 && ready.data.fd == client) {
      is_connected = ::recv(client, &wanted, sizeof wanted, MSG_WAITALL) == sizeof wanted;
      if (is_connected) answers.spawn(answer(file, client, wanted));
    }
    context.poll();
  }
  ::close(epoll);
}

int main() {
  auto context = qio::context::create().value();
  auto file = qio::cached_file::open(context, "epoll.tmp", qio::access::read_write, qio::creation::always_new).value();
  file.write_at(0, std::vector<std::byte>(100'000, std::byte{7})).value();
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) return 1;
  std::vector<std::byte> received(50'000);
  std::jthread client([&, socket = ends[1]] {
    const range wanted{1234, received.size()};
    if (::send(socket, &wanted, sizeof wanted, MSG_NOSIGNAL) > 0)
      static_cast<void>(::recv(socket, received.data(), received.size(), MSG_WAITALL));
    ::close(socket);
  });
  serve(context, file, ends[0]);
  client.join();
  std::remove("epoll.tmp");
  return received.front() == std::byte{7} && received.back() == std::byte{7} ? 0 : 1;
}
