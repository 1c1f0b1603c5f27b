// Copies what a failing device still returns, block by block, and lists what is lost.
#include <qio/qio.hpp>
#include <qio/salvage.hpp>

#include <cstdint>
#include <cstdio>
#include <string>

qio::result<std::uint64_t> rescue(const std::string& from, const std::string& to) {
  // Direct, so that no more than a block of the device is lost for each block that it cannot read.
  const qio::open_options options{.fallback = qio::if_unavailable::use_cache};
  auto source = qio::direct_file::open(from, qio::access::read, qio::creation::open_existing, options);
  if (!source) return source.error();
  auto target = qio::cached_file::open(to, qio::access::write, qio::creation::always_new);
  if (!target) return target.error();

  auto buffer = qio::aligned_buffer::allocate(1024 * 1024).value();
  std::uint64_t lost = 0;
  for (std::uint64_t offset = 0;;) {
    const auto part = qio::salvage(source.value(), offset, buffer);
    if (!part) return part.error();  // not of one range: the device is gone, for example
    for (const qio::unreadable& each : part.value().lost) {
      std::printf("%llu bytes from byte %llu: %s\n", static_cast<unsigned long long>(each.bytes),
                  static_cast<unsigned long long>(each.offset), each.reason.message().c_str());
      lost += each.bytes;
    }
    const std::size_t bytes = part.value().bytes;
    if (auto written = target.value().write_at(offset, std::span(buffer).first(bytes)); !written)
      return written.error();
    if (bytes < buffer.size()) return lost;  // the end
    offset += bytes;
  }
}

int main() {
  auto file = qio::cached_file::open("salvage.tmp", qio::access::write, qio::creation::always_new).value();
  file.write_at(0, std::as_bytes(std::span("all of it can be read"))).value();
  const auto lost = rescue("salvage.tmp", "salvage2.tmp");
  std::printf("%s\n", lost ? (std::to_string(lost.value()) + " bytes lost").c_str() : lost.error().message().c_str());
  std::remove("salvage.tmp");
  std::remove("salvage2.tmp");
  return lost && lost.value() == 0 ? 0 : 1;
}
