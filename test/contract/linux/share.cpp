// One open file description on several contexts.
#include "../world.hpp"

#include <fcntl.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <thread>
#include <utility>

namespace contract {

namespace {

bool is_open(int handle) { return ::fcntl(handle, F_GETFD) >= 0; }

}  // namespace

PROMISE(shared, of_the_system, "files that share a handle transfer on their own contexts, and the last one closes it") {
  auto other = world<Where>::new_context().value();
  auto first = w.with(8192);
  const int handle = first.native_handle();
  std::optional second = first.share_with(other).value();
  CHECK(second->native_handle() == handle);
  CHECK(second->alignment() == first.alignment());
  CHECK(second->is_direct() == first.is_direct());
  CHECK(second->explain().find("mode")->value == Where::mode::name);

  memory block(4096);
  auto source = memory::with_pattern(8192, 4096);
  CHECK(other.run(second->async_write_at(8192, source.all())).value() == 4096);
  CHECK(w.read(first, 8192, block.all()).value() == 4096);
  CHECK(holds_pattern(block.all(), 8192));
  CHECK(other.run(second->async_read_at(4096, block.all())).value() == 4096);
  CHECK(holds_pattern(block.all(), 4096));
  CHECK(other.run(second->async_sync()));

  CHECK(first.release().error() == errc::handle_is_shared);
  CHECK(first.is_open());
  CHECK(first.close());
  CHECK(is_open(handle));
  CHECK(other.run(second->async_read_at(0, block.all())).value() == 4096);
  second.reset();
  CHECK(!is_open(handle));
}

PROMISE(shared_thrice, of_the_system, "a shared file can be shared again, and released when it is alone") {
  auto other = world<Where>::new_context().value();
  auto third_context = world<Where>::new_context().value();
  auto first = w.with(4096);
  const int handle = first.native_handle();
  auto second = first.share_with(other).value();
  auto third = second.share_with(third_context).value();
  CHECK(third_context.run(third.async_close()));
  CHECK(second.release().error() == errc::handle_is_shared);
  CHECK(first.close());
  REQUIRE(second.release().value() == handle);
  CHECK(is_open(handle));
  os::close(handle);
}

PROMISE(shared_lock, each_engine_of_the_system,
        "a lock belongs to all files that share a handle, until the last closes") {
  auto other = world<Where>::new_context().value();
  auto first = w.with(4096);
  auto stranger = w.open("data", access::read_write, creation::open_existing).value();
  auto second = first.share_with(other).value();
  REQUIRE(os::lock_whole(first.native_handle()));
  CHECK(os::lock_whole(second.native_handle()));
  CHECK(!os::lock_whole(stranger.native_handle()));
  CHECK(first.close());
  CHECK(!os::lock_whole(stranger.native_handle()));
  CHECK(second.close());
  CHECK(os::lock_whole(stranger.native_handle()));
}

PROMISE(shared_access, of_the_system, "a shared file keeps access and durability, and the blocking file shares, too") {
  auto other = world<Where>::new_context().value();
  REQUIRE(w.with(4096).close());
  auto reader = w.open("data", access::read, creation::open_existing).value();
  auto second = reader.share_with(other).value();
  memory block(4096);
  CHECK(other.run(second.async_write_at(0, block.all())).error() == errc::access_not_granted);
  auto durable = w.open("data", access::read_write, creation::open_existing, {.durable_writes = true}).value();
  CHECK(durable.share_with(other).value().explain().find("durable writes")->value == "on");
  CHECK(reader.share_with(other, {.durable_writes = true}).error() == errc::handle_is_not_durable);

  const std::string path = w.where / "data";
  auto blocking = qio::basic_file<typename Where::mode>::open(path).value();
  auto shared = blocking.share_with(*w.context).value();
  CHECK(w.read(shared, 0, block.all()).value() == 4096);
  CHECK(holds_pattern(block.all(), 0));
}

PROMISE(shared_threads, of_the_system, "threads with contexts of their own use a shared file at the same time") {
  constexpr std::uint64_t blocks = 64, turns = 20;
  auto file = w.with(2 * blocks * 4096);
  auto other = world<Where>::new_context().value();
  const auto use = [](auto& context, auto& own, std::uint64_t from) {
    bool is_right = true;
    auto source = memory::with_pattern(from * 4096, blocks * 4096);
    memory block(4096);
    for (std::uint64_t i = 0; i < turns * blocks; ++i) {
      const std::uint64_t at = from + i % blocks;
      const auto part = source.part((at - from) * 4096, 4096);
      is_right = is_right && context.run(own.async_write_at(at * 4096, part)) &&
                 context.run(own.async_read_at(at * 4096, block.all())) && holds_pattern(block.all(), at * 4096);
    }
    return is_right && context.run(own.async_close());
  };
  bool is_right = false;
  std::thread second([&use, &other, &is_right, shared = file.share_with(other).value()]() mutable {
    is_right = use(other, shared, blocks);
  });
  CHECK(use(*w.context, file, 0));
  second.join();
  CHECK(is_right);
}

PROMISE(shared_while_syncing, of_the_system, "a file may be shared while its sync is in flight") {
  auto other = world<Where>::new_context().value();
  auto file = w.with(4096);
  for (int repeated = 0; repeated < 50; ++repeated) {
    auto sync = file.async_sync();
    bool succeeded = false;
    sync.start([&succeeded](qio::result<void> answer) { succeeded = answer.has_value(); });
    w.context->poll();
    auto second = file.share_with(other).value();
    w.context->run();
    CHECK(succeeded);
    file = w.open("data", access::read_write, creation::open_existing).value();
    CHECK(other.run(second.async_sync()));
  }
}

PROMISE(not_shared, of_the_system, "a closed file, or a context that was moved from, cannot share") {
  auto other = world<Where>::new_context().value();
  auto file = w.with(4096);
  const auto moved = std::move(other);
  CHECK(file.share_with(other).error() == std::errc::bad_file_descriptor);  // NOLINT(bugprone-use-after-move)
  REQUIRE(file.close());
  CHECK(file.share_with(moved).error() == std::errc::bad_file_descriptor);
}

}  // namespace contract
