// The page cache and the views of files that a shared_file has closed.
#include "../world.hpp"
#include <qio/shared_file.hpp>

namespace contract {

PROMISE(cache_ended, each_mode, "what concerns the page cache and views fails once a shared_file has closed the file") {
  REQUIRE(w.with(65536).close());
  auto table = qio::shared_file<typename Where::mode>::open(w.where / "data", access::read_write).value();
  auto context = qio::context::create().value();
  auto blocking = table.open_blocking().value();
  auto mine = table.open_on(context).value();
  CHECK(blocking.prefetch({0, 4096}));
  CHECK(context.run(mine.async_prefetch({0, 4096})));
  REQUIRE(table.close());
  const auto has_ended = [](const auto& answer) { return !answer && answer.error() == std::errc::bad_file_descriptor; };
  CHECK(has_ended(blocking.advise(qio::access_pattern::random)));
  CHECK(has_ended(blocking.prefetch({0, 4096})));
  CHECK(has_ended(blocking.forget()));
  CHECK(has_ended(blocking.resident()));
  CHECK(has_ended(context.run(mine.async_prefetch({0, 4096}))));
  CHECK(has_ended(context.run(mine.async_forget())));
  CHECK(has_ended(context.run(mine.async_resident())));
  if constexpr (Where::mode::is_mapped) {
    CHECK(has_ended(blocking.view_up_to(0, 4096)));
    CHECK(has_ended(blocking.private_view(0, 4096)));
    CHECK(has_ended(blocking.sync_range({0, 4096})));
    CHECK(has_ended(blocking.prefault({0, 4096})));
    CHECK(has_ended(blocking.use_huge_pages({0, 4096})));
    CHECK(has_ended(blocking.advise(qio::access_pattern::random, {0, 4096})));
    CHECK(has_ended(context.run(mine.async_sync_range({0, 4096}))));
    CHECK(has_ended(context.run(mine.async_prefault({0, 4096}))));
  }
}

PROMISE(private_view_of_ended, mapped_only, "a private view stays when a shared_file closes the file") {
  REQUIRE(w.with(65536).close());
  auto table = qio::shared_file<qio::mapped>::open(w.where / "data", access::read).value();
  auto file = table.open_blocking().value();
  const auto own = file.private_view(100, 60000).value();
  own.bytes()[0] = std::byte{0};
  REQUIRE(table.close());
  CHECK(own.bytes()[0] == std::byte{0});
  CHECK(holds_pattern(own.bytes().subspan(1), 101));
}

}  // namespace contract
