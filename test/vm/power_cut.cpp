// power_cut write DIRECTORY NOTES   appends records, each made durable, until it is killed; what has been acknowledged
//                                   is noted in NOTES, which is to be elsewhere
// power_cut rename DIRECTORY NOTES  gives a file another name, and makes that durable
// power_cut verify DIRECTORY NOTES  after the power was cut: is every record there that was noted, and that name?
//
// So does a database: a record counts from the moment on when sync() has returned, or a durable write.
#include <qio/qio.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <string_view>

namespace {

constexpr std::size_t record = 4096;
constexpr std::array<std::string_view, 8> writers = {
    "cached",         "direct",         "mapped",         "asynchronous",
    "durable cached", "durable direct", "durable mapped", "durable asynchronous"};

void fill(std::span<std::byte> memory, std::uint64_t number) {
  for (std::size_t at = 0; at < memory.size(); at += sizeof number) std::memcpy(&memory[at], &number, sizeof number);
}

std::string in(const std::string& directory, std::string_view name) { return directory + '/' + std::string(name); }

// The old number is there until the new one is: whoever writes this is killed at any moment.
void note(const std::string& notes, std::string_view writer, std::uint64_t records) {
  const std::string next = in(notes, "next");
  std::ofstream(next) << records << '\n';
  std::filesystem::rename(next, in(notes, writer));
}

template <class File>
bool append(File& file, std::uint64_t number, std::span<std::byte> memory) {
  fill(memory, number);
  return file.write_at(number * record, memory) && file.sync(qio::sync_kind::data_and_size);
}

template <class File>
qio::task<bool> async_append(File& file, std::uint64_t number, std::span<std::byte> memory) {
  fill(memory, number);
  co_return co_await file.async_write_at(number * record, memory) &&
      co_await file.async_sync(qio::sync_kind::data_and_size);
}

// Writes that are durable when they are over, without a sync.
template <class File>
bool write_durably(File& file, std::uint64_t number, std::span<std::byte> memory) {
  fill(memory, number);
  return file.write_at(number * record, memory).has_value();
}

int write(const std::string& directory, const std::string& notes) {
  constexpr auto access = qio::access::read_write;
  constexpr auto creation = qio::creation::always_new;
  constexpr qio::open_options durably{.durable_writes = true};
  auto context = qio::context::create().value();
  auto cached = qio::cached_file::open(in(directory, "cached"), access, creation).value();
  auto direct = qio::direct_file::open(in(directory, "direct"), access, creation).value();
  auto mapped = qio::mapped_file::open(in(directory, "mapped"), access, creation).value();
  auto asynchronous = qio::direct_file::open(context, in(directory, "asynchronous"), access, creation).value();
  auto durable_cached = qio::cached_file::open(in(directory, "durable cached"), access, creation, durably).value();
  auto durable_direct = qio::direct_file::open(in(directory, "durable direct"), access, creation, durably).value();
  auto durable_mapped = qio::mapped_file::open(in(directory, "durable mapped"), access, creation, durably).value();
  auto durable_asynchronous =
      qio::cached_file::open(context, in(directory, "durable asynchronous"), access, creation, durably).value();
  qio::sync_directory(directory).value();

  auto memory = qio::aligned_buffer::allocate(record).value();
  for (std::uint64_t number = 0;; ++number) {
    if (!append(cached, number, memory)) return 1;
    note(notes, "cached", number + 1);
    if (!append(direct, number, memory)) return 1;
    note(notes, "direct", number + 1);
    if (!append(mapped, number, memory)) return 1;
    note(notes, "mapped", number + 1);
    if (!context.run(async_append(asynchronous, number, memory))) return 1;
    note(notes, "asynchronous", number + 1);
    if (!write_durably(durable_cached, number, memory)) return 1;
    note(notes, "durable cached", number + 1);
    if (!write_durably(durable_direct, number, memory)) return 1;
    note(notes, "durable direct", number + 1);
    if (!write_durably(durable_mapped, number, memory)) return 1;
    note(notes, "durable mapped", number + 1);
    fill(memory, number);
    if (!context.run(durable_asynchronous.async_write_at(number * record, memory))) return 1;
    note(notes, "durable asynchronous", number + 1);
    // What was not made durable is lost, or the power was not cut.
    if (number == 0) std::ofstream(in(directory, "not synced")) << std::string(record, 'x');
  }
}

// A file that is durable under one name gets another, and that is made durable, too.
int rename(const std::string& directory) {
  const std::string before = in(directory, "to be renamed");
  auto file = qio::cached_file::open(before, qio::access::write, qio::creation::always_new).value();
  file.sync().value();
  std::filesystem::rename(before, in(directory, "renamed"));
  qio::sync_directory(directory).value();
  return 0;
}

int verify(const std::string& directory, const std::string& notes) {
  bool complete = true;
  for (const std::string_view writer : writers) {
    std::uint64_t noted = 0, found = 0;
    std::ifstream(in(notes, writer)) >> noted;
    auto file = qio::cached_file::open(in(directory, writer)).value();
    std::array<std::byte, record> memory, expected;
    for (fill(expected, 0); found < noted; fill(expected, ++found))
      if (file.read_at(found * record, memory).value() != record || memory != expected) break;
    std::printf("%s: %ju records acknowledged, %ju found\n", std::string(writer).c_str(), std::uintmax_t{noted},
                std::uintmax_t{found});
    complete = complete && noted != 0 && found == noted;
  }
  const bool is_renamed = std::filesystem::exists(in(directory, "renamed"));
  if (!is_renamed) std::puts("a name that was made durable is not there");
  complete = complete && is_renamed;
  const auto unsynced = qio::cached_file::open(in(directory, "not synced"));
  const bool was_cut = !unsynced || unsynced.value().size().value() == 0;
  if (!was_cut) std::puts("what was not synced is there, too: the power was not cut");
  return complete && was_cut ? 0 : 1;
}

}  // namespace

int main(int count, char** arguments) {
  const std::string_view task = count == 4 ? arguments[1] : "";
  if (task == "write") return write(arguments[2], arguments[3]);
  if (task == "rename") return rename(arguments[2]);
  if (task == "verify") return verify(arguments[2], arguments[3]);
  std::fprintf(stderr, "usage: %s write|rename|verify DIRECTORY NOTES\n", arguments[0]);
  return 2;
}
