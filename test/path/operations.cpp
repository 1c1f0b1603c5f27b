// operations NAME FILE: carries out one operation of the library, and counts only what that executes. Built with gcc's
// coverage, without optimization, so that each function counts. Exit status 77, and a reason, if the operation would go
// another way here.
#include <qio/log_writer.hpp>
#include <qio/qio.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>

extern "C" void __gcov_reset(void);
extern "C" void __gcov_dump(void);

namespace {

constexpr std::size_t page = 4096, pages = 64, parts = 8;
alignas(page) std::byte memory[parts * page];

std::span<std::byte> part(std::size_t index) { return {memory + index * page, page}; }

[[noreturn]] void skip(const char* reason) {
  std::printf("SKIPPED: %s\n", reason);
  std::fflush(stdout);
  ::_exit(77);
}

/// While it exists, what is executed is counted; then the process ends, so that nothing else is.
class counted {
 public:
  counted() { __gcov_reset(); }
  ~counted() {
    __gcov_dump();
    ::_exit(0);
  }
};

void write_file(const std::string& path) {
  auto file = qio::cached_file::open(path, qio::access::read_write, qio::creation::always_new).value();
  for (std::size_t each = 0; each < pages; ++each) file.write_at(each * page, part(0)).value();
  file.sync().value();
}

qio::context with_ring() {
  auto context = qio::context::create().value();
  const auto* const engine = context.explain().find("engine");
  if (engine == nullptr || engine->value != "io_uring") skip("the context has no io_uring here");
  return context;
}

qio::async_direct_file direct_file(const qio::context& context, const std::string& path) {
  auto file = qio::direct_file::open(context, path);
  if (!file) skip("no direct I/O here");
  return std::move(file).value();
}

void read_blocking(const std::string& path) {
  const auto file = qio::cached_file::open(path).value();
  file.read_at(0, part(0)).value();
  const counted here;
  file.read_at(0, part(0)).value();
}

void read_hit(const std::string& path) {
  auto context = with_ring();
  auto file = qio::cached_file::open(context, path).value();
  const auto work = [&]() -> qio::task<> {
    (co_await file.async_read_at(0, part(0))).value();  // the first shows whether the file system finds hits
    if (file.explain().find("inline reads")->value != "on") skip("reads are not attempted inline here");
    const iovec first{memory, page};
    if (::preadv2(file.native_handle(), &first, 1, 0, RWF_NOWAIT) < 0) skip("the file system cannot tell a hit");
    const counted here;
    (co_await file.async_read_at(0, part(0))).value();
  };
  context.run(work());
}

void read_direct(const std::string& path) {
  auto context = with_ring();
  auto file = direct_file(context, path);
  const auto work = [&]() -> qio::task<> {
    (co_await file.async_read_at(0, part(0))).value();
    const counted here;
    (co_await file.async_read_at(2 * page, part(0))).value();
  };
  context.run(work());
}

void read_batch(const std::string& path) {
  auto context = with_ring();
  auto file = direct_file(context, path);
  std::array<qio::read_request, parts> requests;
  for (std::size_t each = 0; each < parts; ++each) {
    requests[each].offset = each * page;
    requests[each].buffer = part(each);
  }
  const auto work = [&]() -> qio::task<> {
    (co_await file.async_read_at(0, part(0))).value();
    const counted here;
    (co_await file.async_read_many(requests)).value();
  };
  context.run(work());
}

void cancel(const std::string& path) {
  auto context = with_ring();
  auto file = direct_file(context, path);
  context.run(file.async_read_at(0, part(0))).value();
  bool is_done = false;
  auto read = file.async_read_at(0, part(0));
  const counted here;
  read.start([&](qio::result<std::size_t>) { is_done = true; });
  read.cancel();
  while (!is_done) context.run_one();
}

void append(const std::string& path) {
  auto context = with_ring();
  ::unlink(path.c_str());
  const auto work = [&]() -> qio::task<> {
    auto file = qio::direct_file::open(context, path, qio::access::read_write, qio::creation::if_needed);
    if (!file) skip("no direct I/O here");
    const auto ignore = [](const qio::log_record&) { return true; };
    auto log = (co_await qio::open_log(std::move(file).value(), ignore, {.extent = 1 << 20})).value();
    const std::span<const std::byte> record(memory, 8);
    (co_await log.append(record)).value();
    const counted here;
    (co_await log.append(record)).value();
  };
  context.run(work());
}

constexpr struct {
  const char* name;
  void (*carry_out)(const std::string& path);
} operations[] = {
    {"blocking", read_blocking}, {"hit", read_hit},  {"direct", read_direct},
    {"batch", read_batch},       {"cancel", cancel}, {"append", append},
};

}  // namespace

int main(int count, char** arguments) {
  if (count != 3) return 2;
  const std::string path = arguments[2];
  write_file(path);
  for (const auto& each : operations)
    if (std::strcmp(each.name, arguments[1]) == 0) each.carry_out(path);
  return 1;  // no such operation: each ends the process
}
