// Reads that are really pending and really canceled: on named pipes, without the shim.
#include "catch.hpp"
#include "pipe.hpp"

#include <stop_token>
#include <thread>

using namespace std::chrono_literals;
using windows::pending_read;
using windows::piped;

TEST_CASE("a read waits for data, and continues until its buffer is full") {
  piped p;
  pending_read read(*p.file, 5);
  CHECK(!p.context->poll());
  CHECK(read.calls == 0);
  p.other.send("abc");
  while (p.context->poll()) {}
  CHECK(read.calls == 0);
  p.other.send("de");
  p.context->run();
  CHECK(read.calls == 1);
  CHECK(read.text() == "abcde");
  CHECK(p.file->statistics().served_by_ring == 1);
}

TEST_CASE("data that is already there is read without passing through the port") {
  piped p;
  p.other.send("abcde");
  pending_read read(*p.file, 5);
  CHECK(p.context->poll());
  CHECK(read.text() == "abcde");
  CHECK(p.file->statistics().served_inline == 1);
  CHECK(p.file->statistics().served_by_ring == 0);
  CHECK(!p.context->poll());
}

TEST_CASE("a write arrives at the other end") {
  piped p;
  const auto written = p.context->run([](windows::file& to) -> qio::task<qio::result<std::size_t>> {
    std::array<std::byte, 3> text{std::byte{'a'}, std::byte{'b'}, std::byte{'c'}};
    co_return co_await to.async_write_at(0, text);
  }(*p.file));
  CHECK(written.value() == 3);
  CHECK(p.other.receive(10) == "abc");
  CHECK(p.file->statistics().served_by_worker == 0);
}

TEST_CASE("a read that is canceled ends, reports what it has read, and takes nothing more") {
  piped p;
  {
    pending_read read(*p.file, 5);
    p.other.send("ab");
    while (p.context->poll()) {}
    read.read.cancel();
    read.read.cancel();
    p.context->run();
    CHECK(read.calls == 1);
    CHECK(read.answer.error() == std::errc::operation_canceled);
    CHECK(read.answer.error().transferred() == 2);
  }
  pending_read next(*p.file, 3);
  p.other.send("cde");
  p.context->run();
  CHECK(next.text() == "cde");
}

TEST_CASE("canceling a read that is complete but not yet reported changes nothing") {
  piped p;
  pending_read read(*p.file, 3);
  CHECK(!p.context->poll());
  p.other.send("abc");
  read.read.cancel();  // CancelIoEx finds nothing
  p.context->run();
  CHECK(read.calls == 1);
  CHECK(read.text() == "abc");
}

TEST_CASE("canceling one of several reads does not affect the others") {
  piped p;
  pending_read first(*p.file, 2), second(*p.file, 2), third(*p.file, 2);
  second.read.cancel();
  p.other.send("abcd");
  p.context->run();
  CHECK(first.text() == "ab");
  CHECK(second.answer.error() == std::errc::operation_canceled);
  CHECK(third.text() == "cd");
}

TEST_CASE("a deadline, or a stop from another thread, ends a read that waits") {
  piped p;
  pending_read late(*p.file, 1, {.deadline = 20ms});
  p.context->run();
  CHECK(late.answer.error() == std::errc::timed_out);

  std::stop_source stop;
  const std::stop_token token = stop.get_token();
  pending_read stopped(*p.file, 1, {.stop = token});
  std::thread other([&] { stop.request_stop(); });
  p.context->run();
  other.join();
  CHECK(stopped.answer.error() == std::errc::operation_canceled);
}

TEST_CASE("a read fails if the peer has closed its end, and does not report the end of the file") {
  piped p;
  pending_read read(*p.file, 3);
  CHECK(!p.context->poll());
  p.other.close();
  p.context->run();
  REQUIRE(!read.answer);
  CHECK(read.answer.error() == std::errc::broken_pipe);
  CHECK(read.answer.error().code().value() == ERROR_BROKEN_PIPE);
}

TEST_CASE("destroying a read that waits ends it, and its memory is not touched afterwards") {
  piped p;
  std::vector<std::byte> memory(3);
  bool called = false;
  {
    auto read = p.file->async_read_at(0, std::span(memory));
    read.start([&called](qio::result<std::size_t>) { called = true; });
    CHECK(!p.context->poll());
  }
  p.other.send("abc");
  CHECK(memory == std::vector<std::byte>(3));
  pending_read next(*p.file, 3);
  p.context->run();
  CHECK(next.text() == "abc");
  CHECK(!called);
}

TEST_CASE("destroying a file or a context ends the reads that wait") {
  {
    piped p;
    pending_read read(*p.file, 3);
    p.file.reset();
    CHECK(read.calls == 0);
    p.context->run();
    CHECK(read.answer.error() == std::errc::operation_canceled);
  }
  piped p;
  pending_read read(*p.file, 3);
  p.context.reset();
  CHECK(read.calls == 1);
  CHECK(read.answer.error() == std::errc::operation_canceled);
  p.other.send("abc");
  std::array<std::byte, 3> three;
  CHECK(p.file->read_at(0, three).value() == 3);  // as a file without a context
}

TEST_CASE("a blocking read of a file on a port leaves nothing in the port") {
  piped p;
  std::thread sender([&] {
    std::this_thread::sleep_for(20ms);
    p.other.send("abc");
  });
  std::array<std::byte, 3> three;
  CHECK(p.file->read_at(0, three).value() == 3);
  sender.join();
  CHECK(!p.context->poll());
}
