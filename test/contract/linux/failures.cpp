// The error of a transfer that the system fails names the file.
#include "../../child_process.hpp"
#include "../world.hpp"

#include <sys/resource.h>

#include <csignal>

namespace contract {

#if !defined(__SANITIZE_THREAD__)
// The thread sanitizer does not support fork well.

PROMISE(limit_named, everywhere_in_the_system,
        "the error of a write past RLIMIT_FSIZE names the file, and has the bytes written before") {
  { auto made = w.with(block_size); }
  const auto ended = qio_test::ending_of([&] {
    world<Where> in_child;
    if (!in_child.missing.empty()) return 77;
    auto file = in_child.open_path(w.where / "data", access::read_write, creation::open_existing).value();
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{2 * block_size, 2 * block_size};
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return 1;
    memory source(4 * block_size);
    const std::string begin = "cannot write " + (w.where / "data") + ": ";
    const auto is_named = [&](const qio::result<std::size_t>& answer, std::size_t before) {
      return !answer && answer.error() == std::errc::file_too_large && answer.error().transferred() == before &&
             answer.error().message().starts_with(begin);
    };
    if (!is_named(in_child.write(file, block_size, source.all()), block_size)) return 2;
    const std::vector<qio::const_buffer> parts{source.part(0, block_size), source.part(block_size, block_size)};
    if (!is_named(in_child.write(file, block_size, parts), block_size)) return 3;
    std::array<qio::write_request, 2> batch{
        {{.offset = 0, .buffer = source.part(0, block_size)},
         {.offset = 2 * block_size, .buffer = source.part(block_size, block_size)}}};
    if constexpr (Where::is_async) {
      if (in_child.template run<std::size_t>([&] { return file.async_write_many(batch); }).value() != 1) return 4;
    } else {
      if (file.write_many(batch).value() != 1) return 5;
    }
    if (!batch[0].answer || !is_named(batch[1].answer, 0)) return 6;
    const auto longer = in_child.resize(file, 3 * block_size);
    return !longer && longer.error().message().starts_with("cannot resize " + (w.where / "data") + ": ") ? 0 : 7;
  });
  if (ended.status == 77) QIO_SKIP("no such file in a child process");
  CHECK(ended.status == 0);
}
#endif

PROMISE(read_named, each_way_of_the_system, "the error of a read that the system fails names the file") {
  // At offset 0, no process has memory.
  auto file = w.open_path("/proc/self/mem", access::read, creation::open_existing);
  if (!file) QIO_SKIP("no /proc/self/mem here");
  memory buffer(block_size);
  const auto failed = w.read(file.value(), 0, buffer.all());
  REQUIRE(!failed);
  CHECK(failed.error() == std::errc::io_error);
  CHECK(failed.error().message().starts_with("cannot read /proc/self/mem: "));
}

PROMISE(full_named, each_way_of_the_system, "the error of a write that the system fails names the file") {
  auto file = w.open_path("/dev/full", access::write, creation::open_existing);
  if (!file) QIO_SKIP("no /dev/full here");
  memory buffer(block_size);
  for (int i = 0; i < 3; ++i) {
    const auto failed = w.write(file.value(), 0, buffer.all());
    REQUIRE(!failed);
    CHECK(failed.error() == std::errc::no_space_on_device);
    CHECK(failed.error().message().starts_with("cannot write /dev/full: "));
  }
}

}  // namespace contract
