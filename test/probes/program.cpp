// What check.py traces: a program of which it is known how many operations of each kind it makes. Compiled with
// QIO_USDT=1. program DIRECTORY MILLISECONDS: how long its call on a worker thread takes.
#include <qio/call.hpp>
#include <qio/qio.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>

namespace {

constexpr int transfers = 64;
constexpr std::size_t block = 4096;

// By the engine, and then by the context's thread at once. One write fails: /dev/full is a full disk.
qio::task<bool> transfer(qio::context& context, const std::string& path, qio::aligned_buffer& memory,
                         std::chrono::milliseconds call) {
  const qio::open_options not_at_once{.inline_reads = qio::inline_transfers::never,
                                      .inline_writes = qio::inline_transfers::never};
  auto by_engine = qio::cached_file::open(context, path, qio::access::read_write, qio::creation::emptied, not_at_once);
  auto full =
      qio::cached_file::open(context, "/dev/full", qio::access::write, qio::creation::open_existing, not_at_once);
  if (!by_engine || !full) co_return false;
  for (int i = 0; i < transfers; ++i)
    if (!co_await by_engine.value().async_write_at(std::uint64_t(i) * block, memory)) co_return false;
  for (int i = 0; i < transfers; ++i)
    if (!co_await by_engine.value().async_read_at(std::uint64_t(i) * block, memory)) co_return false;
  if (!co_await by_engine.value().async_sync()) co_return false;
  if (co_await full.value().async_write_at(0, memory)) co_return false;

  auto at_once = qio::cached_file::open(context, path, qio::access::read);
  if (!at_once || !co_await at_once.value().async_read_at(0, memory)) co_return false;
  co_return (co_await qio::async_call(context, [call] { std::this_thread::sleep_for(call); })).has_value();
}

}  // namespace

int main(int, char** arguments) {
  const std::chrono::milliseconds call(std::atoi(arguments[2]));
  auto context = qio::context::create();
  if (!context) return 2;
  auto memory = qio::aligned_buffer::allocate(block).value();
  const std::string path = std::filesystem::path(arguments[1]) / "traced";
  if (!context.value().run(transfer(context.value(), path, memory, call))) return 1;
  std::puts("the program has done what it was to do");
}
