// A program that imports the library. Standard headers, and those with macros, come before the import.
#include <qio/configuration.hpp>

#include <boost/outcome/try.hpp>

#include <array>
#include <coroutine>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <span>
#include <string>
#include <system_error>
#include <utility>

import qio;

namespace {

constexpr std::array<char, 4> written{'q', 'i', 'o', '\n'};

qio::result<std::size_t> write(const std::filesystem::path& path) {
  BOOST_OUTCOME_TRY(auto file, qio::cached_file::open(path, qio::access::read_write, qio::creation::always_new));
  return file.write_at(0, std::as_bytes(std::span(written)));
}

qio::task<qio::result<std::size_t>> read(qio::context& context, std::string path, std::span<std::byte> into) {
  auto opened = co_await qio::cached_file::async_open(context, std::move(path));
  if (!opened) co_return opened.error();
  co_return co_await opened.value().async_read_at(0, into);
}

bool names_the_mistake() {
  const auto missing = qio::direct_file::open("no such file");
  const std::error_code beyond = qio::errc::beyond_end;
  try {
    static_cast<void>(missing.value());
    return false;
  } catch (const std::system_error& thrown) {
    return std::string(thrown.what()).find("no such file") != std::string::npos && beyond == qio::errc::beyond_end &&
           missing.error() == std::errc::no_such_file_or_directory;
  }
}

}  // namespace

int main() {
  static_assert(QIO_HAS_URING == 0 || QIO_HAS_URING == 1);
  const std::filesystem::path path = "consumer.tmp";
  std::array<char, 4> found{};
  auto context = qio::context::create();
  if (!context || !write(path)) return 1;
  const auto bytes =
      context.value().run(read(context.value(), path.string(), std::as_writable_bytes(std::span(found))));
  const bool removed = qio::remove(path).value();
  if (!bytes || bytes.value() != found.size() || found != written || !removed) return 2;
  return names_the_mistake() ? 0 : 3;
}
