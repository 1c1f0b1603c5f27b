// Each branch of the completion port's engine. Wine does not take most of them, so a shim replaces the calls to
// Windows.
#include "catch.hpp"
#include "reader.hpp"
#include "world.hpp"

#include <deque>

using namespace contract;
using shim::call;
using shim::canceling;
using shim::completion;

namespace {

using here = on_ring<qio::cached>;

struct with_port {
  with_port() { qio_test::current = qio_test::ring; }
};

/// A world in which transfers complete as specified.
struct strange : private with_port, world<here> {
  explicit strange(completion completes, canceling cancels = canceling::aborts) {
    shim::now.completes = completes;
    shim::now.cancels = cancels;
  }
  ~strange() {
    shim::now.completes = completion::as_it_is;
    shim::now.valid_end = -1;
    shim::now.knows_only_disk = false;
    shim::now.attributes = 0;
    shim::now.longest_in_memory = 0xffffffff;
  }
};

}  // namespace

TEST_CASE("a read that Windows completes at once does not pass through the port") {
  strange w(completion::at_once);
  auto file = w.with(64 * 4096);
  std::deque<reader<world<here>>> readers;
  for (std::size_t i = 0; i < 64; ++i) readers.emplace_back(4096).start(file, i * 4096);
  CHECK(readers.front().calls == 0);  // called back by the loop, never from within start()
  CHECK(w.context->poll());
  for (auto& each : readers) CHECK(each.is_right());
  CHECK(file.statistics().served_inline == 64);
  CHECK(file.statistics().served_by_ring == 0);
}

TEST_CASE("reads that Windows completes at once do not starve other coroutines") {
  strange w(completion::at_once);
  auto file = w.with(4096);
  bool done = false;
  memory buffer(4096);
  const auto busy = [&]() -> qio::task<> {
    while (!done) static_cast<void>(co_await file.async_read_at(0, buffer.all()));
  };
  const auto other = [&]() -> qio::task<> {
    for (int i = 0; i < 10; ++i) co_await w.context->schedule();
    done = true;
  };
  w.context->run(qio::when_all(busy(), other()));
  CHECK(done);
}

TEST_CASE("the end of the file ends a read, whether reported at once or later") {
  for (const auto how : {completion::as_it_is, completion::at_once, completion::late}) {
    strange w(how);
    auto file = w.with(5000);
    memory buffer(8192);
    CHECK(w.read(file, 4096, buffer.all()).value() == 904);
    CHECK(w.read(file, 5000, buffer.all()).value() == 0);
    CHECK(w.read(file, 1 << 20, buffer.all()).value() == 0);
  }
}

TEST_CASE("the code of the end of a file within it repeats the read once, and is then a failure") {
  for (const auto how : {completion::as_it_is, completion::at_once, completion::late}) {
    strange w(how);
    auto file = w.with(5000);
    memory buffer(8192);
    const auto blocking = [&] { return file.read_at(0, buffer.all()); };
    const auto on_context = [&] { return w.read(file, 0, buffer.all()); };
    const auto fails = [&](auto&& read, call which) {
      shim::fail_next(which, ERROR_HANDLE_EOF);  // as if the file had been empty, and has grown since
      CHECK(read().value() == 5000);
      shim::fail_next(which, ERROR_HANDLE_EOF, 2);
      const auto refused = read();
      REQUIRE(!refused);
      CHECK(refused.error().code().value() == ERROR_HANDLE_EOF);
      CHECK(refused.error() == std::errc::io_error);
      shim::fail_next(which, ERROR_HANDLE_EOF);  // of a handle that a server has closed
      shim::fail_next(call::get_size, ERROR_INVALID_HANDLE);
      CHECK(read().error().code().value() == ERROR_HANDLE_EOF);
    };
    fails(blocking, call::transfer);
    fails(on_context, how == completion::late ? call::completion : call::transfer);
    CHECK(on_context().value() == 5000);
  }
}

TEST_CASE("each part of a read is repeated if the file may have grown") {
  strange w(completion::late);
  auto file = w.with(3 * 4096);
  memory buffer(3 * 4096);
  const std::array<qio::mutable_buffer, 3> parts{buffer.part(0, 4096), buffer.part(4096, 4096),
                                                 buffer.part(8192, 4096)};
  std::optional<qio::result<std::size_t>> answer;
  auto read = file.async_read_at(0, parts);
  shim::now.completions_late = 0;
  read.start([&](qio::result<std::size_t> given) { answer = given; });
  while (!answer) {  // each poll() completes at most one of the late transfers: the first attempt at each part fails
    shim::fail_next(call::completion, shim::now.completions_late % 2 == 1 ? ERROR_HANDLE_EOF : 0);
    w.context->poll();
  }
  CHECK(shim::now.completions_late == 6);
  REQUIRE(answer->has_value());
  CHECK(answer->value() == 3 * 4096);
}

TEST_CASE("a pending read that is canceled reports what really happened") {
  const auto canceled = [](canceling how) {
    strange w(completion::late, how);
    auto file = w.with(4096);
    reader<world<here>> one(4096);
    one.start(file, 0);
    one.read->cancel();
    one.read->cancel();
    w.context->run();
    CHECK(one.is_real());
    return one.answer.has_value();
  };
  CHECK(!canceled(canceling::aborts));
  CHECK(canceled(canceling::is_ignored));
  CHECK(canceled(canceling::is_too_late));
}

TEST_CASE("destroying an operation, a file or a context waits for pending transfers") {
  for (const auto how : {canceling::aborts, canceling::is_ignored, canceling::is_too_late}) {
    strange w(completion::late, how);
    auto file = w.with(64 * 4096);
    memory buffer(4096);
    { reader<world<here>>(4096).start(file, 0); }
    std::deque<reader<world<here>>> readers;
    for (std::size_t i = 0; i < 64; ++i) readers.emplace_back(4096).start(file, i * 4096);
    CHECK(file.close());
    w.context->run();
    for (auto& each : readers) CHECK(each.is_real());

    auto again = w.open("data", access::read, creation::open_existing).value();
    for (std::size_t i = 0; i < 64; ++i) readers[i].start(again, i * 4096);
    w.context.reset();
    for (auto& each : readers) CHECK(each.is_real());
  }
}

TEST_CASE("a transfer fails with the code of Windows, whether at once or later") {
  strange w(completion::as_it_is);
  auto file = w.with(4096);
  memory buffer(4096);
  for (const auto code : {ERROR_IO_DEVICE, ERROR_CRC, ERROR_DISK_FULL, ERROR_LOCK_VIOLATION}) {
    shim::fail_next(call::transfer, DWORD(code));
    const auto refused = w.read(file, 0, buffer.all());
    REQUIRE(!refused);
    CHECK(refused.error().code() == qio::platform::system_error(DWORD(code)).code());
    shim::fail_next(call::transfer, DWORD(code));
    CHECK(w.write(file, 0, buffer.all()).error().code().value() == static_cast<int>(code));
  }
  CHECK(w.read(file, 0, buffer.all()).value() == 4096);
}

TEST_CASE("a transfer that Windows aborts although nobody has canceled it is a failure of the device") {
  strange w(completion::late);
  auto file = w.with(4096);
  memory buffer(4096);
  shim::fail_next(call::completion, ERROR_OPERATION_ABORTED);
  const auto aborted = w.read(file, 0, buffer.all());
  REQUIRE(!aborted);
  CHECK(aborted.error().code().value() == ERROR_OPERATION_ABORTED);
  CHECK(aborted.error() == std::errc::io_error);
  CHECK(aborted.error() != std::errc::operation_canceled);
}

TEST_CASE("a sync or a durable write that Windows aborts makes all later syncs fail") {
  memory buffer(4096);
  for (const call aborted : {call::flush, call::transfer}) {
    strange w(completion::late);
    auto file = w.with(4096);
    shim::fail_next(aborted, ERROR_OPERATION_ABORTED);
    if (aborted == call::flush)
      CHECK(w.context->run(file.async_sync()).error() == std::errc::io_error);
    else
      CHECK(file.write_at(0, buffer.all(), {.durable = true}).error() == std::errc::io_error);
    CHECK(file.sync().error() == std::errc::io_error);
    CHECK(w.context->run(file.async_sync()).error() == std::errc::io_error);
  }
}

TEST_CASE("a transfer that Windows has no memory for waits for another to complete, and fails if there is none") {
  strange w(completion::late);
  auto file = w.with(4 * 4096);
  for (const auto code : {ERROR_INVALID_USER_BUFFER, ERROR_NOT_ENOUGH_MEMORY, ERROR_NO_SYSTEM_RESOURCES,
                          ERROR_WORKING_SET_QUOTA, ERROR_NOT_ENOUGH_QUOTA}) {
    reader<world<here>> alone(4096);
    shim::fail_next(call::transfer, DWORD(code));
    alone.start(file, 0);
    w.context->run();
    CHECK(alone.answer.error() == std::errc::not_enough_memory);

    reader<world<here>> first(4096), second(4096), canceled(4096);
    first.start(file, 0);
    shim::fail_next(call::transfer, DWORD(code));
    second.start(file, 4096);
    shim::fail_next(call::transfer, DWORD(code));
    canceled.start(file, 8192);
    canceled.read->cancel();
    w.context->run();
    CHECK(first.is_right());
    CHECK(second.is_right());
    CHECK(canceled.answer.error() == std::errc::operation_canceled);
    CHECK(canceled.answer.error().transferred() == 0);
  }
}

TEST_CASE("a write beyond the valid data goes to a worker, whatever the size of the file") {
  for (const bool is_like_refs : {false, true}) {
    strange w(completion::late);
    shim::now.knows_only_disk = is_like_refs;
    auto file = w.with(4096);
    REQUIRE(file.resize(64 * 4096));  // on NTFS, this moves the end of the file, and not that of the valid data
    shim::now.valid_end = 8 * 4096;
    memory buffer(4096);
    const auto by_worker = [&](std::uint64_t block) {
      const auto before = file.statistics();
      CHECK(w.write(file, block * 4096, buffer.all()).value() == 4096);
      const auto after = file.statistics();
      CHECK(after.served_by_worker + after.served_by_ring == before.served_by_worker + before.served_by_ring + 1);
      return after.served_by_worker != before.served_by_worker;
    };
    CHECK(by_worker(0));  // this one finds out how far the valid data reaches
    CHECK(!by_worker(0));
    CHECK(!by_worker(7));
    CHECK(by_worker(8));
    CHECK(!by_worker(8));
    CHECK(by_worker(40));
    CHECK(!by_worker(40));
    CHECK(!by_worker(20));  // zeros were written there
  }
}

TEST_CASE("where valid data is not reported, only completed writes count as such") {
  strange w(completion::late);
  auto file = w.with(64 * 4096);
  memory buffer(4096);
  const auto workers = [&] { return file.statistics().served_by_worker; };
  const auto before = workers();
  CHECK(w.write(file, 8 * 4096, buffer.all()).value() == 4096);
  CHECK(workers() == before + 1);
  CHECK(w.write(file, 8 * 4096, buffer.all()).value() == 4096);
  CHECK(workers() == before + 1);
  CHECK(w.write(file, 9 * 4096, buffer.all()).value() == 4096);
  CHECK(workers() == before + 2);
}

TEST_CASE("a failed write does not count as valid data") {
  strange w(completion::late);
  auto file = w.with(64 * 4096);
  shim::now.valid_end = 4096;
  memory buffer(4096);
  const auto workers = [&] { return file.statistics().served_by_worker; };
  const auto before = workers();
  for (std::uint64_t attempt = 1; attempt <= 2; ++attempt) {
    shim::fail_next(call::transfer, ERROR_DISK_FULL);
    CHECK(!w.write(file, 8 * 4096, buffer.all()));
    CHECK(workers() == before + attempt);
  }
}

TEST_CASE("after a truncation, writes beyond the new end go to a worker again") {
  strange w(completion::late);
  auto file = w.with(8 * 4096);
  memory buffer(4096);
  const auto workers = [&] { return file.statistics().served_by_worker; };
  CHECK(w.write(file, 7 * 4096, buffer.all()).value() == 4096);
  REQUIRE(file.resize(4096));
  REQUIRE(file.resize(8 * 4096));
  const auto before = workers();
  CHECK(w.write(file, 0, buffer.all()).value() == 4096);
  CHECK(workers() == before);
  CHECK(w.write(file, 7 * 4096, buffer.all()).value() == 4096);
  CHECK(workers() == before + 1);
}

TEST_CASE("valid data ends with the first region that is not valid") {
  using qio::platform::end_of_valid_data;
  using qio::platform::file_regions;
  const auto end_of = [](std::uint32_t count, qio::platform::file_region a, qio::platform::file_region b,
                         qio::platform::file_region c) {
    return end_of_valid_data(file_regions{0, count, count, 0, {a, b, c}});
  };
  CHECK(end_of(0, {}, {}, {}) == 0);
  CHECK(end_of(1, {0, 4096, 1, 0}, {}, {}) == 4096);
  CHECK(end_of(2, {0, 4096, 1, 0}, {4096, 4096, 1, 0}, {}) == 8192);
  CHECK(end_of(2, {0, 4096, 1, 0}, {4096, 4096, 0, 0}, {}) == 4096);
  CHECK(end_of(2, {0, 4096, 1, 0}, {8192, 4096, 1, 0}, {}) == 4096);
  CHECK(end_of(3, {0, 4096, 1, 0}, {4096, 4096, 0, 0}, {8192, 4096, 1, 0}) == 4096);
  CHECK(end_of(1, {4096, 4096, 1, 0}, {}, {}) == 0);
}

TEST_CASE("transfers of compressed and encrypted files go to workers") {
  for (const DWORD attribute : {DWORD{FILE_ATTRIBUTE_COMPRESSED}, DWORD{FILE_ATTRIBUTE_ENCRYPTED}, DWORD{0}}) {
    strange w(completion::late);
    shim::now.attributes = attribute;
    auto file = w.with(8 * 4096);
    memory buffer(4096);
    CHECK(w.write(file, 0, buffer.all()).value() == 4096);
    const auto before = file.statistics();
    CHECK(w.write(file, 0, buffer.all()).value() == 4096);
    CHECK(w.read(file, 0, buffer.all()).value() == 4096);
    const auto after = file.statistics();
    CHECK(after.served_by_worker == before.served_by_worker + (attribute != 0 ? 2 : 0));
    CHECK(after.served_by_ring == before.served_by_ring + (attribute != 0 ? 0 : 2));
  }
}

TEST_CASE("one call transfers at most 32 MiB") {
  strange w(completion::at_once);
  auto file = w.with(4096);
  memory buffer((33u << 20));
  shim::now.longest_transfer = 0;
  CHECK(w.write(file, 0, buffer.all()).value() == 33u << 20);  // by a worker
  CHECK(w.write(file, 0, buffer.all()).value() == 33u << 20);  // by the port
  CHECK(w.read(file, 0, buffer.all()).value() == 33u << 20);
  CHECK(file.write_at(0, buffer.all()).value() == 33u << 20);
  CHECK(shim::now.longest_transfer == 32u << 20);
}

TEST_CASE("a transfer that Windows has no memory for is made in smaller parts") {
  strange w(completion::late);
  auto file = w.with(4096);
  shim::now.longest_in_memory = 100'000;
  constexpr std::size_t bytes = 1'000'000;
  memory buffer(bytes);
  CHECK(w.write(file, 0, buffer.all()).value() == bytes);
  CHECK(w.write(file, 0, buffer.all()).value() == bytes);
  CHECK(w.read(file, 0, buffer.all()).value() == bytes);
  CHECK(file.read_at(0, buffer.all()).value() == bytes);
  shim::now.longest_in_memory = 1000;
  CHECK(w.read(file, 0, buffer.all()).error() == std::errc::not_enough_memory);
  CHECK(file.read_at(0, buffer.all()).error() == std::errc::not_enough_memory);
}

TEST_CASE("a handle belongs to one port, and opening a file that cannot be bound fails") {
  strange w(completion::as_it_is);
  auto file = w.with(4096);
  auto other = qio::iocp::create({.engine = qio::engine_kind::ring}).value();
  const auto refused = other->attach(file.native_handle());
  REQUIRE(!refused);
  CHECK(refused.error() == errc::cannot_be_bound);
  CHECK(refused.error().message().find("completion port") != std::string::npos);

  shim::fail_next(call::create_port, ERROR_INVALID_PARAMETER);
  CHECK(w.open("new", access::read_write, creation::if_needed).error() == errc::cannot_be_bound);
  CHECK(!std::filesystem::exists(w.where / "new"));
}

TEST_CASE("if no port can be created, the context uses workers, and explain() says why") {
  shim::fail_next(call::create_port, ERROR_NO_SYSTEM_RESOURCES);
  auto fallback = qio::context::create().value();
  const qio::explanation facts = fallback.explain();
  CHECK(facts.find("engine")->value == "pool");
  REQUIRE(facts.find("fallback") != nullptr);
  CHECK(facts.find("fallback")->value == "from iocp");
  CHECK(!facts.find("fallback")->reason.empty());

  const directory where;
  auto file = qio::cached_file::open(fallback, where / "file", access::read_write, creation::if_needed).value();
  const auto written = fallback.run([](auto& to) -> qio::task<qio::result<std::size_t>> {
    memory block(4096);
    co_return co_await to.async_write_at(0, block.all());
  }(file));
  CHECK(written.value() == 4096);

  shim::fail_next(call::create_port, ERROR_NO_SYSTEM_RESOURCES);
  CHECK(qio::context::create({.engine = qio::engine_kind::ring}).error() == std::errc::not_enough_memory);
}

TEST_CASE("a packet that could not be posted because memory was short is posted again") {
  strange w(completion::as_it_is);
  shim::fail_next(call::post, ERROR_NO_SYSTEM_RESOURCES);
  bool there = false;
  const auto visit = [&]() -> qio::task<> {
    co_await w.context->schedule();
    there = true;
  };
  w.context->run(visit());
  CHECK(there);
}

TEST_CASE("all transfers complete if there are more packets than one call returns") {
  for (const auto how : {completion::as_it_is, completion::late, completion::by_turns}) {
    strange w(how, canceling::by_turns);
    auto file = w.with(64 * 4096);
    std::deque<reader<world<here>>> readers;
    for (std::size_t i = 0; i < 500; ++i) readers.emplace_back(4096).start(file, i % 64 * 4096);
    for (std::size_t i = 0; i < 500; i += 7) readers[i].read->cancel();
    w.context->run();
    bool all_real = true;
    for (auto& each : readers) all_real = all_real && each.is_real();
    CHECK(all_real);
  }
}
