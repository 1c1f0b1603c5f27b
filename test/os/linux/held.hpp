// Whether anybody still has a file open, and how a file becomes one that its ring holds.
#pragma once

#include <qio/qio.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <string>
#include <vector>

namespace qio_test {

/// What a lease for reading is answered with (fcntl(2)): the kernel refuses it, EAGAIN, while anybody has the file open
/// to write it.
inline int answer_to_lease(const std::string& path) {
  const int opened = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (opened < 0) return errno;
  const int answer = ::fcntl(opened, F_SETLEASE, F_RDLCK) == 0 ? 0 : errno;
  ::close(opened);
  return answer;
}

/// What came of read_at_once(): whether all blocks were read whole, and the last byte of the last.
struct reads_at_once {
  bool whole;
  std::byte last;
};

/// Reads the first 4 KiB so often at the same time: the first read finds nobody, and may need no ring; the others go
/// through it.
template <class Context, class File>
reads_at_once read_at_once(Context& context, File& file, std::size_t times) {
  using operation = qio::operation<typename File::engine_type, std::size_t>;
  struct alignas(4096) block {
    std::array<std::byte, 4096> bytes;
  };
  std::vector<block> memory(times);
  std::vector<qio::operation_slot<operation>> reads(times);
  std::size_t whole = 0;
  for (std::size_t i = 0; i < times; ++i) {
    reads[i].emplace([&] { return file.async_read_at(0, memory[i].bytes); });
    reads[i]->start([&whole](qio::result<std::size_t> bytes) { whole += bytes && bytes.value() == 4096; });
  }
  context.run();
  return {whole == times, memory.back().bytes.back()};
}

}  // namespace qio_test
