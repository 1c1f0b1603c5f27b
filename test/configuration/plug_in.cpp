// A library that is loaded at run time and has its own copy of qio. It exchanges a path and a number with its host.
#include <qio/qio.hpp>

#include <array>
#include <cstddef>
#include <exception>

namespace {

constexpr std::size_t page = 4096;

qio::task<bool> transfers(qio::context& context, qio::async_cached_file& file) {
  std::array<std::byte, page> written, read{};
  written.fill(std::byte{42});
  const auto out = co_await file.async_write_at(0, written);
  const auto synced = co_await file.async_sync();  // never served without the engine
  const auto in = co_await file.async_read_at(0, read);
  const bool is_open = co_await context.schedule();
  co_return out&& synced&& in&& is_open&& read == written;
}

}  // namespace

/// 0 if all went well. Everything of qio is destroyed when it returns.
extern "C" int use_qio(const char* path) {
  try {
    auto context = qio::context::create().value();
    auto pool = qio::context::create({.engine = qio::engine_kind::workers})
                    .value();  // starts threads, which run code of this library
    auto file = qio::cached_file::open(context, path, qio::access::read_write, qio::creation::always_new).value();
    if (!context.run(transfers(context, file))) return 1;
    std::array<std::byte, page> block{};
    auto by_worker = qio::cached_file::open(pool, path, qio::access::read_write).value();
    if (!pool.run(by_worker.async_sync())) return 2;
    qio::open_options options;
    options.guards_copies = false;  // no handler for SIGBUS, which would outlive this library
    auto mapped = qio::mapped_file::open(path, qio::access::read_write, qio::creation::open_existing, options).value();
    return mapped.read_at(0, block).value() == page && block[0] == std::byte{42} ? 0 : 3;
  } catch (const std::exception&) {
    return 4;
  }
}
