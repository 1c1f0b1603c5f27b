// Mapped files that others truncate, and the signal that this raises.
#include "../../child_process.hpp"
#include "../world.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <csignal>

namespace contract {

PROMISE(truncated_elsewhere, mapped_only,
        "transfers of a mapped file that others truncated return what a cached file's return") {
  auto file = w.with(3 * 4096);
  REQUIRE(::truncate((w.where / "data").c_str(), 100) == 0);
  memory buffer(3 * 4096);
  CHECK(file.read_at(8192, buffer.part(0, 4096)).value() == 0);  // the page is gone
  CHECK(file.read_at(0, buffer.all()).value() == 100);           // the pages after the first are gone
  CHECK(file.read_at(50, buffer.part(0, 100)).value() == 50);    // the page is there, the bytes are not
  CHECK(file.read_at(200, buffer.part(0, 100)).value() == 0);
  auto source = memory::with_pattern(200, 100);
  CHECK(file.write_at(200, source.all()).value() == 100);
  CHECK(file.size().value() == 300);
  CHECK(contents(w.where / "data").size() == 300);
  CHECK(file.write_at(8192, source.all()).value() == 100);
  CHECK(file.size().value() == 8292);
}

PROMISE(prefault_truncated, mapped_only, "prefault() of what others have cut off fails, and the process survives") {
  const std::size_t page = qio::platform::page_size();
  auto file = w.with(8 * page);
  REQUIRE(::truncate((w.where / "data").c_str(), 100) == 0);
  CHECK(file.prefault({0, page}));
  for (const access wanted : {access::read, access::write}) {
    const auto failed = file.prefault({page, 4 * page}, wanted);
    REQUIRE(!failed);
    if (failed.error() != errc::prefault_not_supported) CHECK(failed.error() == errc::prefault_failed);
  }
}

PROMISE(private_truncated, mapped_only, "a private view shows what others change where it was not stored to") {
  const std::size_t page = qio::platform::page_size();
  auto file = w.with(3 * page);
  auto own = file.private_view(0, 3 * page).value();
  own.bytes()[page] = std::byte{0};
  auto other = qio::cached_file::open(w.where / "data", access::write).value();
  const std::vector<std::byte> zeros(3 * page);
  REQUIRE(other.write_at(0, zeros).value() == zeros.size());
  CHECK(holds_only(own.bytes().first(page), std::byte{0}));
  CHECK(holds_pattern(own.bytes().subspan(page + 1, page - 1), page + 1));
  CHECK(holds_only(own.bytes().subspan(2 * page), std::byte{0}));
}

#if !defined(__SANITIZE_THREAD__)
// The thread sanitizer has handlers of its own, and does not support fork well. (CMakePresets.json keeps the address
// sanitizer from handling SIGBUS.)

namespace {

volatile std::sig_atomic_t foreign_faults = 0;
void* foreign_page = nullptr;

void foreign_handler(int, siginfo_t*, void*) {
  foreign_faults = foreign_faults + 1;
  void* const there = ::mmap(foreign_page, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  if (there == MAP_FAILED) ::_exit(2);  // the fault would recur forever
}

}  // namespace

PROMISE(view_fault, mapped_only, "accessing a view of what was cut off ends the process with SIGBUS") {
  auto file = w.with(2 * 4096);
  const int status = qio_test::in_child([&] {
    const auto view = file.view(0, 8192).value();
    if (::truncate((w.where / "data").c_str(), 0) != 0) return 1;
    const volatile std::byte touched = view[4096];
    return touched == std::byte{0} ? 2 : 3;
  });
  CHECK(status == -SIGBUS);
}

PROMISE(foreign_fault, mapped_only, "a previous SIGBUS handler still receives the faults that are not qio's") {
  // In an image of the program that has not installed the guard yet: the first open does.
  const int status = qio_test::in_child([&] {
    struct sigaction foreign {};
    foreign.sa_sigaction = &foreign_handler;
    foreign.sa_flags = SA_SIGINFO;
    // The world's probe has installed the guard already: put the foreign handler where install() finds it.
    qio::platform::guard::previous_action(SIGBUS) = foreign;
    { auto created = w.with(2 * 4096); }
    auto file = w.open("data", access::read_write, creation::open_existing).value();
    auto own = qio::cached_file::open(w.where / "own", access::read_write, creation::always_new).value();
    if (!own.resize(4096)) return 1;
    foreign_page = ::mmap(nullptr, 4096, PROT_READ, MAP_SHARED, own.native_handle(), 0);
    if (!own.resize(0) || ::truncate((w.where / "data").c_str(), 0) != 0) return 2;

    memory buffer(4096);
    if (file.read_at(4096, buffer.all()).value() != 0) return 3;
    if (foreign_faults != 0) return 4;
    const volatile std::byte touched = *static_cast<std::byte*>(foreign_page);
    return touched == std::byte{0} && foreign_faults == 1 ? 0 : 5;
  });
  CHECK(status == 0);
}

#endif

}  // namespace contract
