// Which failures of a sync are remembered.
#include "catch.hpp"
#include "os.hpp"
#include <qio/request/syncs.hpp>

namespace {

using qio::detail::sync_failure;
qio::error system_error(int code) { return std::error_code(code, qio::platform::system_category()); }

}  // namespace

TEST_CASE("after a failure that may have lost data, every sync returns that failure") {
  sync_failure remembered;
  int calls = 0;
  const auto sync = [&](int code) {
    return remembered.answer_of([&]() -> qio::result<void> {
      ++calls;
      if (code != 0) return system_error(code);
      return qio::success();
    });
  };
  CHECK(sync(0));
  CHECK(sync(os::io_error).error() == std::errc::io_error);
  CHECK(remembered.exists());
  CHECK(sync(0).error() == std::errc::io_error);
  CHECK(sync(os::disk_full).error() == std::errc::io_error);
  CHECK(calls == 2);
}

TEST_CASE("a full disk makes every later sync fail, too") {
  sync_failure remembered;
  remembered.note(system_error(os::disk_full));
  CHECK(remembered.get() == std::errc::no_space_on_device);
}

TEST_CASE("what a server refuses when it gets the data makes every later sync fail, and not a write that it refuses") {
  for (const int code : {os::permission_denied, os::too_large}) {
    CAPTURE(code);
    sync_failure of_sync, of_write;
    of_sync.note(system_error(code));
    CHECK(of_sync.get() == system_error(code));
    of_write.note_write(system_error(code));
    CHECK_FALSE(of_write.exists());
  }
}

TEST_CASE("an invalid or canceled sync does not make later ones fail") {
  sync_failure remembered;
  remembered.note(std::make_error_code(std::errc::operation_canceled));
  remembered.note(system_error(os::interrupted));
  remembered.note(system_error(os::no_file));
  remembered.note(qio::errc::misaligned_offset);
  CHECK_FALSE(remembered.exists());
}
