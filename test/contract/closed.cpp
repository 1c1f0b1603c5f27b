// Files that are closed, or were moved from.
#include "world.hpp"
#include <qio/salvage.hpp>

namespace contract {

namespace {

// Calls every function that returns a result, on a file that is not open. Returns the names of those that do not fail
// with std::errc::bad_file_descriptor.
template <class World>
std::string answers_otherwise(World& w, typename World::file& file) {
  memory buffer(4096);
  const auto is_right = [](const auto& answer) {
    return !answer && answer.error() == std::errc::bad_file_descriptor &&
           answer.error().message() == "the file is not open";
  };
  if (!is_right(file.read_at(0, buffer.all()))) return "read_at";
  if (!is_right(file.write_at(0, buffer.all()))) return "write_at";
  std::array<qio::read_request, 1> reads;
  std::array<qio::write_request, 1> writes;
  if (!is_right(file.read_many(reads)) || !is_right(reads[0].answer)) return "read_many";
  if (!is_right(file.write_many(writes)) || !is_right(writes[0].answer)) return "write_many";
  if (!is_right(file.sync())) return "sync";
  if (!is_right(file.size())) return "size";
  if (!is_right(file.resize(4096))) return "resize";
  if (!is_right(file.close())) return "close";
  if constexpr (requires { file.release(); })
    if (!is_right(file.release())) return "release";
  if (!is_right(qio::salvage(file, 0, buffer.all()))) return "salvage";
  if constexpr (World::mode::is_mapped) {
    if (!is_right(file.view(0, 1))) return "view";
    if (!is_right(file.writable_view(0, 1))) return "writable_view";
  }
  if constexpr (World::is_async) {
    if (!is_right(w.read(file, 0, buffer.all()))) return "async_read_at";
    if (!is_right(w.write(file, 0, buffer.all()))) return "async_write_at";
    if (!is_right(w.template run<std::size_t>([&] { return file.async_read_many(reads); }))) return "async_read_many";
    if (!is_right(w.template run<std::size_t>([&] { return file.async_write_many(writes); })))
      return "async_write_many";
    if (!is_right(w.sync(file, qio::sync_kind::data))) return "async_sync";
    if (!is_right(w.resize(file, 1))) return "async_resize";
    if (!is_right(w.context->run(file.async_close()))) return "async_close";
    const qio::operation_options in_time{.deadline = std::chrono::hours(1)};
    if (!is_right(w.template run<std::size_t>([&] { return file.async_read_at(0, buffer.all(), in_time); })))
      return "async_read_at with a deadline";
  }
  return {};
}

}  // namespace

PROMISE(closed, everywhere, "every function of a closed file that returns a result fails with bad_file_descriptor") {
  auto file = w.with(4096);
  REQUIRE(file.close());
  CHECK(!file.is_open());
  CHECK(answers_otherwise(w, file) == "");
}

PROMISE(moved_from, everywhere, "a moved-from file fails with bad_file_descriptor, and can be assigned to") {
  auto file = w.with(4096);
  auto other = std::move(file);
  CHECK(!file.is_open());  // NOLINT(bugprone-use-after-move): what it is then is what is tested
  CHECK(answers_otherwise(w, file) == "");
  file = std::move(other);
  CHECK(file.is_open());
  CHECK(answers_otherwise(w, other) == "");
  memory buffer(4096);
  CHECK(w.read(file, 0, buffer.all()).value() == 4096);
}

PROMISE(closed_by_worker, asynchronous,
        "async_close() closes at once, and a second call fails with bad_file_descriptor") {
  auto file = w.with(4096);
  auto closing = file.async_close();
  CHECK(!file.is_open());
  CHECK(answers_otherwise(w, file) == "");
  const auto closed = w.context->run(std::move(closing));
  CHECK(closed);
}

}  // namespace contract
