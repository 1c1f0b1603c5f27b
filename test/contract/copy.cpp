// Copies of whole files: see qio/copy.hpp.
#include "data_of.hpp"
#include "world.hpp"
#include <qio/copy.hpp>

#include <stop_token>
#include <string>
#include <vector>

namespace contract {

namespace {

template <class Where, class Source>
qio::result<qio::copied> copy(world<Where>& w, Source& from, typename world<Where>::file& to,
                              const qio::operation_options& options = {}) {
  if constexpr (Where::is_async && !Where::mode::is_mapped)
    return w.template run<qio::copied>([&] { return qio::async_copy(from, to, options); });
  else
    return qio::copy(from, to, options);
}

template <class Where>
auto copy_path(world<Where>& w, const std::string& from, const std::string& to,
               const qio::copy_file_options& options = {}) {
  if constexpr (Where::is_async)
    return w.context->run(qio::async_copy_file(*w.context, from, to, options));
  else
    return qio::copy_file(from, to, options);
}

/// Whether the file has `size` bytes of the pattern, with zeros in the ranges `holes`.
template <class Where>
bool has_copy(world<Where>& w, typename world<Where>::file& file, std::size_t size,
              const std::vector<qio::extent>& holes = {}) {
  memory found((size / 4096 + 2) * 4096);
  if (w.read(file, 0, found.all()).value() != size) return false;
  for (const auto& [offset, bytes] : holes)
    if (!holds_only(found.part(static_cast<std::size_t>(offset), static_cast<std::size_t>(bytes)), std::byte{0}))
      return false;
  std::uint64_t at = 0;
  for (const auto& [offset, bytes] : holes) {
    if (!holds_pattern(found.part(static_cast<std::size_t>(at), static_cast<std::size_t>(offset - at)), at))
      return false;
    at = offset + bytes;
  }
  return holds_pattern(found.part(static_cast<std::size_t>(at), size - static_cast<std::size_t>(at)), at);
}

}  // namespace

PROMISE(copy_whole, everywhere, "copy() replaces the contents of a file by all contents of another, of any length") {
  auto to = w.open("copy", access::read_write, creation::always_new).value();
  for (const std::size_t size :
       {std::size_t(3) * 1024 * 1024 + 1234, std::size_t(4096), std::size_t(1), std::size_t(0), std::size_t(70'000)}) {
    CAPTURE(size);
    auto from = w.with(size);
    const auto done = copy(w, from, to);
    REQUIRE(done);
    CHECK(done.value().bytes == size);
    const bool is_simulated = Where::is_async && !Where::is_of_system;  // the other file systems are in fault/copy.cpp
    if (size == 0 || is_simulated) CHECK(done.value().way == qio::copy_way::shared);
    CHECK(to.size().value() == size);
    CHECK(has_copy(w, to, size));
  }
}

PROMISE(copy_between_modes, everywhere_in_the_system, "copy() copies between files of any mode and context") {
  constexpr std::size_t size = 3 * 65536 + 700;
  auto from = w.with(size);
  auto cached = qio::cached_file::open(w.where / "cached", access::read_write, creation::always_new).value();
  CHECK(qio::copy(from, cached).value().bytes == size);
  auto to = w.open("copy", access::read_write, creation::always_new).value();
  CHECK(copy(w, cached, to).value().bytes == size);
  CHECK(has_copy(w, to, size));
}

PROMISE(copy_holes, everywhere_in_the_system, "copy() keeps holes, and what was stored in views is part of it") {
  constexpr std::size_t unit = 65536, size = 16 * unit + 500;  // no file system here has larger blocks
  auto from = w.with(0);
  REQUIRE(w.resize(from, size));
  for (const std::size_t at : {2 * unit, 9 * unit}) {
    auto part = memory::with_pattern(at, unit);
    REQUIRE(w.write(from, at, part.all()));
  }
  if constexpr (Where::mode::is_mapped) from.writable_view(2 * unit, 1).value()[0] = pattern(2 * unit);
  const std::vector<qio::extent> holes{{0, 2 * unit}, {3 * unit, 6 * unit}, {10 * unit, size - 10 * unit}};
  const auto expected = qio_test::data_of(from);
  auto to = w.open("copy", access::read_write, creation::always_new).value();
  const auto done = copy(w, from, to);
  REQUIRE(done);
  CHECK(done.value().bytes == size);
  CHECK(has_copy(w, to, size, holes));
  if (expected.size() != 2) QIO_SKIP("the file system makes no holes, or does not report them");
  CHECK(qio_test::data_of(to) == expected);
  // Nothing but a hole.
  REQUIRE(w.resize(from, 0));
  REQUIRE(w.resize(from, size));
  CHECK(copy(w, from, to).value().bytes == size);
  CHECK(to.size().value() == size);
  CHECK(qio_test::data_of(to).empty());
}

PROMISE(copy_refuses, everywhere,
        "copy() refuses files that are the same, closed, or not open for it, and changes nothing") {
  constexpr std::size_t size = 8192;
  auto from = w.with(size);
  auto again = w.open("data", access::read_write, creation::open_existing).value();
  const auto same = copy(w, from, again);
  CHECK(same.error() == errc::overlapping_copy);
  CHECK(copy(w, from, from).error() == errc::overlapping_copy);
  CHECK(has_copy(w, again, size));
  auto other = w.open("other", access::read_write, creation::always_new).value();
  auto reader = w.open("data", access::read, creation::open_existing).value();
  CHECK(copy(w, other, reader).error() == errc::access_not_granted);
  if constexpr (std::is_same_v<typename Where::mode, qio::cached>) {
    auto writer = w.open("other", access::write, creation::open_existing).value();
    CHECK(copy(w, writer, from).error() == errc::access_not_granted);
  }
  static_cast<void>(other.close());
  CHECK(copy(w, other, from).error() == std::errc::bad_file_descriptor);
  CHECK(has_copy(w, from, size));
  CHECK(copy(w, from, other).error() == std::errc::bad_file_descriptor);
}

PROMISE(copy_too_late, everywhere, "copy() whose deadline has passed, or whose stop was requested, changes nothing") {
  constexpr std::size_t size = 8192;
  auto to = w.with(size);
  auto from = w.open("other", access::read_write, creation::always_new).value();
  CHECK(copy(w, from, to, {.deadline = long_ago}).error() == std::errc::timed_out);
  std::stop_source source;
  source.request_stop();
  const std::stop_token stop = source.get_token();
  CHECK(copy(w, from, to, {.stop = stop}).error() == std::errc::operation_canceled);
  CHECK(has_copy(w, to, size));
}

PROMISE(copy_to_path, each_way, "copy_file() gives a path a copy of a file, whatever was there") {
  constexpr std::size_t size = 100'000;
  auto from = w.with(size);
  const std::string source = w.where / "data", target = w.where / "copy";
  for (const bool durable : {true, false}) {
    const auto done = copy_path(w, source, target, {.durable = durable});
    REQUIRE(done);
    CHECK(done.value().bytes == size);
    auto made = w.open("copy", access::read_write, creation::open_existing).value();
    CHECK(has_copy(w, made, size));
    REQUIRE(w.resize(made, 10));  // the source stays as it is
  }
  CHECK(has_copy(w, from, size));
  const auto missing = copy_path(w, w.where / "missing", target);
  CHECK(missing.error() == std::errc::no_such_file_or_directory);
  CHECK(missing.error().message().find("cannot copy " + (w.where / "missing") + " to " + target + ": ") == 0);
  const std::string nowhere = w.where / "none" + "/copy";
  if constexpr (!Where::is_async || Where::is_of_system) {
    CHECK(copy_path(w, source, nowhere).error() == std::errc::no_such_file_or_directory);
    CHECK(copy_path(w, w.where.path(), target).error() == std::errc::is_a_directory);
  }
  CHECK(copy_path(w, source, target, {.deadline = long_ago}).error() == std::errc::timed_out);
  std::stop_source stopped;
  stopped.request_stop();
  const std::stop_token stop = stopped.get_token();
  CHECK(copy_path(w, source, target, {.stop = stop}).error() == std::errc::operation_canceled);
  if constexpr (!Where::is_async || Where::is_of_system) CHECK(w.where.entries() == 2);
  CHECK(w.open("copy", access::read, creation::open_existing).value().size().value() == 10);
  // Onto itself: a new file with the same contents.
  CHECK(copy_path(w, source, source).value().bytes == size);
  auto again = w.open("data", access::read, creation::open_existing).value();
  CHECK(has_copy(w, again, size));
}

}  // namespace contract
