// Handles that the program opened itself: what adopt() says of Windows' kinds of them.
#include "../adopt.hpp"

#include <filesystem>
#include <optional>

namespace contract {

PROMISE(not_adopted_kinds, everywhere_in_the_system, "adopt() refuses handles that cannot be transferred to or bound") {
  REQUIRE(w.with(4096).close());
  const auto directory =
      ::CreateFileW(std::filesystem::path(w.where.path()).c_str(), GENERIC_READ, qio::platform::share_all, nullptr,
                    OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OVERLAPPED, nullptr);
  CHECK(refusal(w, directory) == std::errc::is_a_directory);
  HANDLE reading = nullptr, writing = nullptr;
  REQUIRE(::CreatePipe(&reading, &writing, nullptr, 0) != 0);
  CHECK(refusal(w, reading) == errc::no_offsets);
  ::CloseHandle(writing);
  const auto of_attributes =
      ::CreateFileW(std::filesystem::path(w.where / "data").c_str(), FILE_READ_ATTRIBUTES, qio::platform::share_all,
                    nullptr, OPEN_EXISTING, FILE_FLAG_OVERLAPPED, nullptr);
  CHECK(refusal(w, of_attributes) == errc::access_not_granted);

  // A blocking file takes handles of either kind, bound or not.
  os::raw_open synchronous = suitable<world<Where>>();
  synchronous.asynchronous = false;
  os::raw_open overlapped = synchronous;
  overlapped.asynchronous = true;
  memory block(4096);
  const auto other_port = ::CreateIoCompletionPort(INVALID_HANDLE_VALUE, nullptr, 0, 1);
  REQUIRE(other_port != nullptr);
  const auto bound = raw(w, overlapped);
  REQUIRE(::CreateIoCompletionPort(bound, other_port, 0, 0) != nullptr);
  if constexpr (Where::is_async) {
    CHECK(refusal(w, raw(w, synchronous)) == errc::handle_is_synchronous);
    if (w.context->explain().find("engine")->value == "iocp")
      CHECK(refusal(w, bound) == errc::cannot_be_bound);
    else
      ::CloseHandle(bound);
  } else {
    for (const auto handle : {raw(w, synchronous), raw(w, overlapped), bound}) {
      auto file = adopt(w, handle).value();
      CHECK(w.read(file, 0, block.all()).value() == 4096);
      CHECK(holds_pattern(block.all(), 0));
    }
  }
  ::CloseHandle(other_port);
}

PROMISE(not_shared, of_the_system, "a file that is bound to its context cannot be shared with another") {
  auto file = w.with(4096);
  CHECK(file.share_with(*w.context).error() == errc::cannot_be_shared);
  memory block(4096);
  CHECK(w.read(file, 0, block.all()).value() == 4096);
}

}  // namespace contract
