// Random numbers that do not depend on the standard library, whose distributions differ.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <random>
#include <span>

namespace property {

class random_numbers {
 public:
  /// The streams of a seed are independent of each other.
  random_numbers(std::uint64_t seed, std::uint64_t stream) : engine_(seed * 0x9e3779b97f4a7c15u ^ stream) {}

  /// From 0 to end - 1.
  std::uint64_t below(std::uint64_t end) { return engine_() % end; }
  bool one_in(std::uint64_t chances) { return below(chances) == 0; }

  template <class Value>
  Value one_of(std::initializer_list<Value> all) {
    return all.begin()[below(all.size())];
  }

  void fill(std::span<std::byte> bytes) {
    while (!bytes.empty()) {
      const std::uint64_t drawn = engine_();
      const std::size_t part = bytes.size() < sizeof drawn ? bytes.size() : sizeof drawn;
      std::memcpy(bytes.data(), &drawn, part);
      bytes = bytes.subspan(part);
    }
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace property
