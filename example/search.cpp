// Counts the lines of a file that contain a word, in the file's own pages: no copy, no system call for each read.
#include <qio/qio.hpp>

#include <cstdio>
#include <string_view>

std::size_t matching_lines(std::string_view text, std::string_view word) {
  std::size_t count = 0;
  for (std::size_t at = text.find(word); at != text.npos; at = text.find(word, at)) {
    ++count;
    at = text.find('\n', at);
    if (at == text.npos) break;
  }
  return count;
}

int main() {
  constexpr std::string_view text = "one read\ntwo writes\nread, and read again\n";
  auto writer = qio::cached_file::open("search.tmp", qio::access::write, qio::creation::always_new).value();
  writer.write_at(0, std::as_bytes(std::span(text))).value();

  auto file = qio::mapped_file::open("search.tmp");
  if (!file) {
    std::printf("%s\n", file.error().message().c_str());
    return 1;
  }
  // Valid until the file is closed. If the file may shrink meanwhile, or the device fail, use read_at(): it returns an
  // error where access to the view would raise SIGBUS.
  const auto view = file.value().view(0, file.value().size().value()).value();
  const std::size_t lines = matching_lines({reinterpret_cast<const char*>(view.data()), view.size()}, "read");
  std::printf("%zu lines\n", lines);
  std::remove("search.tmp");
  return lines == 2 ? 0 : 1;
}
