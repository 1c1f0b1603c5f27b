// A seccomp filter that forbids io_uring, installed after a context was created: worker threads then carry out its
// operations.
#include "catch.hpp"
#include "child_process.hpp"
#include "disk.hpp"
#include "forbid.hpp"
#include <qio/qio.hpp>

#if QIO_HAS_URING && !defined(__SANITIZE_THREAD__)
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace {

using qio::access;
using qio::creation;
using ring_context = qio::context;
using ring_file = qio::async_cached_file;

bool has_a_ring() { return ring_context::create({.engine = qio::engine_kind::ring}).has_value(); }

/// 0 if `context` can read and write; otherwise a number for the step that failed.
int read_and_write(ring_context& context, ring_file& file) {
  return context.run([](ring_file& on) -> qio::task<int> {
    std::vector<std::byte> block(4096, std::byte{7});
    const auto written = co_await on.async_write_at(0, block);
    if (!written) co_return 51;
    block.assign(4096, std::byte{0});
    const auto read = co_await on.async_read_at(0, block);
    if (!read || read.value() != 4096 || block[4095] != std::byte{7}) co_return 52;
    co_return co_await on.async_sync() ? 0 : 53;
  }(file));
}

/// Whether the explanation says that the ring is gone, and why.
bool says_why(const ring_context& context) {
  const auto facts = context.explain();
  const qio::fact* const ring = facts.find("ring");
  return ring != nullptr && ring->value == "off" && ring->reason.find("seccomp") != std::string::npos;
}

ring_file open(const ring_context& context, const std::string& path) {
  return qio::cached_file::open(context, path, access::read_write, creation::if_needed,
                                {.inline_writes = qio::inline_transfers::never})
      .value();
}

/// An empty named pipe: a read of it stays in the kernel.
std::string make_pipe(const fault::scratch& in) {
  std::string path = in.path + "/pipe";
  ::mkfifo(path.c_str(), 0600);
  return path;
}

/// An open file whose handle is that of a pipe, because open() refuses pipes.
ring_file open_pipe(const ring_context& context, const std::string& pipe, const qio::open_options& options = {}) {
  auto file = qio::cached_file::open(context, pipe + ".file", access::read_write, creation::if_needed, options).value();
  const int opened = ::open(pipe.c_str(), O_RDWR | O_CLOEXEC);
  ::dup3(opened, file.native_handle(), O_CLOEXEC);
  ::close(opened);
  return file;
}

using read_operation = qio::operation<qio::default_engine, std::size_t>;

/// A read that stores its result.
struct pending_read {
  pending_read(ring_file& file, std::size_t bytes)
      : buffer(bytes, std::byte{1}), operation(file.async_read_at(0, buffer)) {
    operation.start([this](qio::result<std::size_t> told) { answer.emplace(told); });
  }
  bool has_failed() const {
    return answer && !*answer && answer->error() == std::errc::operation_not_permitted &&
           answer->error().message().starts_with("cannot read ");
  }

  std::vector<std::byte> buffer;
  std::optional<qio::result<std::size_t>> answer;
  read_operation operation;
};

struct moment {
  const char* name;
  bool after_use;
  bool only_enter;
  int code;
};

}  // namespace

TEST_CASE("if a seccomp filter is installed after create(), workers carry out all operations") {
  if (!has_a_ring()) QIO_SKIP("no io_uring here");
  const fault::scratch directory;
  for (const moment each :
       {moment{"never run, io_uring_enter", false, true, EPERM},
        moment{"never run, all of io_uring", false, false, EPERM}, moment{"idle, io_uring_enter", true, true, EACCES},
        moment{"idle, all of io_uring", true, false, ENOSYS}}) {
    CAPTURE(each.name);
    CHECK(qio_test::in_child([&] {
            auto context = ring_context::create().value();
            auto file = open(context, directory.path + "/file");
            if (each.after_use)
              if (const int failed = read_and_write(context, file); failed != 0) return failed;
            if (!fault::forbid_io_uring(each.code, each.only_enter)) return 1;
            if (const int failed = read_and_write(context, file); failed != 0) return failed;
            if (!says_why(context)) return 2;
            if (file.statistics().served_by_worker == 0) return 3;
            auto other = open(context, directory.path + "/other");
            if (const int failed = read_and_write(context, other); failed != 0) return failed;
            return file.close() ? 0 : 4;
          }) == 0);
  }
}

TEST_CASE("workers carry out the operations that the kernel had not taken when the filter was installed") {
  if (!has_a_ring()) QIO_SKIP("no io_uring here");
  const fault::scratch directory;
  for (const qio::wait_policy policy : {qio::wait_policy::sleep, qio::wait_policy::spin}) {
    CAPTURE(qio::name_of(policy));
    CHECK(qio_test::in_child([&] {
            auto context = ring_context::create({.queue_depth = 8, .waiting = policy}).value();
            auto file = open(context, directory.path + "/file");
            if (const int failed = read_and_write(context, file); failed != 0) return failed;
            if (!fault::forbid_io_uring(EPERM, true)) return 1;
            std::vector<std::unique_ptr<pending_read>> reads;
            for (int i = 0; i < 100; ++i) reads.push_back(std::make_unique<pending_read>(file, 4096));
            reads[50]->operation.cancel();
            context.run();
            for (std::size_t i = 0; i < reads.size(); ++i) {
              if (!reads[i]->answer) return 2;
              const bool right = *reads[i]->answer && reads[i]->answer->value() == 4096;
              if (i == 50 ? !right && reads[i]->answer->error() != std::errc::operation_canceled : !right) return 3;
            }
            return 0;
          }) == 0);
  }
}

TEST_CASE("if a seccomp filter is installed while another event loop waits, the operations that follow wake it") {
  if (!has_a_ring()) QIO_SKIP("no io_uring here");
  const fault::scratch directory;
  for (const bool only_enter : {true, false}) {
    CAPTURE(only_enter);
    CHECK(qio_test::in_child([&] {
            auto context = ring_context::create().value();
            auto file = open(context, directory.path + "/file");
            const int handle = context.wake_handle().value();
            if (const int failed = read_and_write(context, file); failed != 0) return failed;
            if (!fault::forbid_io_uring(EPERM, only_enter)) return 1;
            for (int repeated = 0; repeated < 100; ++repeated) {
              pending_read one(file, 4096), two(file, 4096);
              while (!one.answer || !two.answer) {
                pollfd ready{handle, POLLIN, 0};
                if (context.prepare_to_wait() && ::poll(&ready, 1, 60'000) != 1) return 2;
                context.poll();
              }
              if (one.answer->value() != 4096 || two.answer->value() != 4096) return 3;
            }
            return context.wake_handle().value() == handle ? 0 : 4;
          }) == 0);
  }
}

TEST_CASE(
    "operations that the kernel had taken when the filter was installed fail with its error, and release their "
    "memory") {
  if (!has_a_ring()) QIO_SKIP("no io_uring here");
  const fault::scratch directory;
  const std::string pipe = make_pipe(directory);
  CHECK(qio_test::in_child([&] {
          auto context = ring_context::create().value();
          auto file = open(context, directory.path + "/file");
          auto empty = open_pipe(context, pipe);
          if (const int failed = read_and_write(context, file); failed != 0) return failed;
          pending_read one(empty, 64), two(empty, 64);
          context.poll();
          if (one.answer || two.answer) return 1;
          if (!fault::forbid_io_uring(EPERM, true)) return 2;
          pending_read later(file, 4096);
          context.run();
          if (!one.has_failed() || !two.has_failed()) return 3;
          if (one.answer->error().transferred() != 0) return 4;
          if (!later.answer || !*later.answer || later.answer->value() != 4096) return 5;
          // Nothing else reads what is written from now on.
          const int writer = ::open(pipe.c_str(), O_RDWR | O_CLOEXEC);
          const std::array<char, 64> sent{};
          if (::write(writer, sent.data(), sent.size()) != 64) return 6;
          std::array<char, 64> got{};
          if (::read(writer, got.data(), got.size()) != 64) return 7;
          const auto untouched = [](std::byte each) { return each == std::byte{1}; };
          if (!std::ranges::all_of(one.buffer, untouched) || !std::ranges::all_of(two.buffer, untouched)) return 8;
          return says_why(context) ? 0 : 9;
        }) == 0);
}

TEST_CASE("a read that the kernel did not wait for, and whose cancellation has not reached the ring, is canceled") {
  if (!has_a_ring()) QIO_SKIP("no io_uring here");
  const int answer = qio_test::in_child([] {
    const auto engine = qio::default_engine::create({.engine = qio::engine_kind::ring}).value();
    qio::detail::list<qio::file_activity> activities;
    qio::detail::turn_watch watch;
    engine->observe(activities, watch);
    std::array<int, 2> pipe{};
    if (::pipe2(pipe.data(), O_CLOEXEC) != 0) return 1;
    qio::file_activity activity;
    activity.is_direct = true;  // so that the engine enters the ring with every fourth request
    activities.insert(activity);
    std::byte memory[64];
    std::array<qio::request, 8> reads;
    for (qio::request& each : reads) {
      each.op = qio::opcode::read;
      each.handle = pipe[0];
      each.flags = RWF_NOWAIT;  // an empty pipe: the read ends with EAGAIN
      each.io = qio::detail::transfer(0, qio::mutable_buffer(memory, sizeof memory));
      each.activity = &activity;
      activity.held.insert(each);
    }
    qio::completed_requests completed;
    engine->begin();
    engine->wait(completed, qio::wait_limit::none());
    for (std::size_t i = 0; i < 4; ++i) engine->submit(reads[i]);
    if (!fault::forbid_io_uring(EPERM, true)) return 2;
    // The kernel refuses these, so the cancellations of the others wait.
    for (std::size_t i = 4; i < 8; ++i) engine->submit(reads[i]);
    for (std::size_t i = 0; i < 4; ++i) engine->cancel(reads[i]);
    while (engine->in_flight() != 0) engine->wait(completed, qio::wait_limit::unlimited());
    for (std::size_t i = 0; i < 8; ++i) {
      const bool is_canceled = reads[i].failure == std::errc::operation_canceled;
      if (reads[i].is_held() || !reads[i].failed() || is_canceled != (i < 4)) return 3;
    }
    return 0;
  });
  CHECK(answer == 0);
}

TEST_CASE("operations, files and contexts with requests in the kernel may be destroyed after a filter is installed") {
  if (!has_a_ring()) QIO_SKIP("no io_uring here");
  const fault::scratch directory;
  const std::string pipe = make_pipe(directory);
  for (const std::string_view what : {"operation", "file", "context"}) {
    CAPTURE(what);
    CHECK(qio_test::in_child([&] {
            std::optional<ring_context> context(ring_context::create().value());
            std::optional<ring_file> empty(open_pipe(*context, pipe));
            std::optional<pending_read> read(std::in_place, *empty, 64);
            context->poll();
            if (!fault::forbid_io_uring(EPERM, true)) return 1;
            if (what == "operation") {
              read.reset();
              return 0;
            }
            if (what == "file") {
              if (!empty->close()) return 2;
              context->run();
            } else {
              context.reset();
            }
            return read->has_failed() ? 0 : 3;
          }) == 0);
  }
}

TEST_CASE("after a durable write whose result was lost with the ring, every sync fails") {
  if (!has_a_ring()) QIO_SKIP("no io_uring here");
  const fault::scratch directory;
  const std::string pipe = make_pipe(directory);
  CHECK(qio_test::in_child([&] {
          auto context = ring_context::create().value();
          auto full = open_pipe(context, pipe, {.inline_writes = qio::inline_transfers::never, .durable_writes = true});
          const std::vector<std::byte> data(1 << 20);  // more than a pipe holds
          auto write = full.async_write_at(0, data);
          std::optional<qio::result<std::size_t>> answer;
          write.start([&answer](qio::result<std::size_t> told) { answer.emplace(told); });
          for (int turn = 0; turn < 3; ++turn) context.poll();
          if (answer) return 1;
          if (!fault::forbid_io_uring(EPERM, true)) return 2;
          context.run();
          if (!answer || *answer || answer->error() != std::errc::operation_not_permitted) return 3;
          if (answer->error().transferred() == 0) return 4;  // as much as the pipe held
          const auto synced = full.sync();
          return !synced && synced.error() == std::errc::io_error ? 0 : 5;
        }) == 0);
}

// What a program says last that loses its ring by `lose()`, which returns whether it has, during a read.
template <class Lose>
std::string said_at_loss(Lose&& lose) {
  const fault::scratch directory;
  const std::string pipe = make_pipe(directory);
  return qio_test::last_words([&] {
    auto context = ring_context::create().value();
    auto empty = open_pipe(context, pipe);
    pending_read read(empty, 64);
    context.poll();
    if (lose()) context.run();
  });
}

// If the program continued, the kernel could write into memory that the program uses for something else.
TEST_CASE("if all of io_uring is forbidden while the kernel has operations, the program ends with a message") {
  if (!has_a_ring()) QIO_SKIP("no io_uring here");
  const std::string said = said_at_loss([] { return fault::forbid_io_uring(EPERM, false); });
  CHECK(said.find("how long it uses their memory") != std::string::npos);
  CHECK(said.find("io_uring_register failed (Operation not permitted)") != std::string::npos);
}

TEST_CASE("if a ring is lost with operations in it and no descriptor is free, the program ends with that reason") {
  if (fault::sanitizer_needs_descriptors) QIO_SKIP("the sanitizer of undefined behavior needs descriptors of its own");
  if (!has_a_ring()) QIO_SKIP("no io_uring here");
  const std::string said = said_at_loss([] {
    const rlimit none{0, 0};
    return ::setrlimit(RLIMIT_NOFILE, &none) == 0 && fault::forbid_io_uring(EPERM, true);
  });
  CHECK(said.find("pipe2 failed (Too many open files)") != std::string::npos);
}
#endif
