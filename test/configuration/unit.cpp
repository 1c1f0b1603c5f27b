// Compiled once for each configuration: UNIT is the name of what it defines.
#include "unit.hpp"

#include <qio/qio.hpp>

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <system_error>

#define QUOTE(name) #name
#define QUOTE_VALUE(name) QUOTE(name)

extern const unit UNIT;

namespace {

constexpr std::size_t page = 4096;

qio::task<bool> transfer(qio::async_cached_file& file) {
  std::array<std::byte, page> written, read{};
  written.fill(std::byte{42});
  const auto out = co_await file.async_write_at(page, written);
  const auto in = co_await file.async_read_at(page, read);
  const auto synced = co_await file.async_sync();  // never served without the engine
  co_return out&& in&& synced&& read == written;
}

bool transfers(const std::string& path) {
  auto context = qio::context::create();
  if (!context) return false;
  auto file = qio::cached_file::open(context.value(), path, qio::access::read_write, qio::creation::always_new);
  if (!file) return false;
  std::array<std::byte, page> block{};
  return file.value().write_at(0, block) && context.value().run(transfer(file.value())) &&
         file.value().read_at(page, block) && block.front() == std::byte{42};
}

std::optional<qio::mapped_file> mapped;

bool map(const std::string& path) {
  auto file = qio::mapped_file::open(path, qio::access::read_write, qio::creation::always_new);
  if (!file || !file.value().resize(4 * page)) return false;
  mapped = std::move(file.value());
  std::array<std::byte, page> block{};
  return mapped->read_at(2 * page, block) && mapped->view(0, page);
}

int read_mapped() {
  std::array<std::byte, page> block{};
  const auto bytes = mapped->read_at(2 * page, block);
  return bytes ? static_cast<int>(bytes.value()) : -1;
}

std::error_code misaligned() { return qio::errc::misaligned_offset; }

}  // namespace

const unit UNIT{QUOTE_VALUE(QIO_CONFIGURATION), &transfers, &map, &read_mapped, &misaligned};
