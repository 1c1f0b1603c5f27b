// SPDX-License-Identifier: BSL-1.0
// Random locks of one file through several handles, compared with a model in memory.
#include "catch.hpp"
#include "directory.hpp"
#include <qio/engine/simulated.hpp>
#include <qio/qio.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace {

using qio::lock_kind;

constexpr std::size_t handles = 4, cells = 24;

enum class held : std::uint8_t { nothing, shared, exclusive };

/// Which handle holds what of each cell. A cell is a byte of the file; the last one is all that follows.
class model {
 public:
  bool is_refused(std::size_t by, lock_kind kind, std::size_t begin, std::size_t end) const {
    for (std::size_t other = 0; other < handles; ++other)
      for (std::size_t cell = begin; cell < end && other != by; ++cell)
        if (held_[other][cell] == held::exclusive ||
            (held_[other][cell] == held::shared && kind == lock_kind::exclusive))
          return true;
    return false;
  }
  void set(std::size_t by, held what, std::size_t begin, std::size_t end) {
    for (std::size_t cell = begin; cell < end; ++cell) held_[by][cell] = what;
  }

 private:
  std::array<std::array<held, cells>, handles> held_{};
};

/// `open()` opens the file once more.
template <class Open>
void compare_with_model(std::uint64_t seed, int steps, std::uint64_t first_byte, Open open) {
  INFO("seed " << seed);
  std::mt19937_64 random(seed);
  const auto below = [&](std::size_t limit) { return static_cast<std::size_t>(random() % limit); };
  model expected;
  std::vector<decltype(open())> files;
  for (std::size_t i = 0; i < handles; ++i) files.push_back(open());
  for (int step = 0; step < steps; ++step) {
    INFO("step " << step);
    const std::size_t by = below(handles);
    auto& file = files[by];
    const std::size_t begin = below(cells);
    const bool reaches_end = begin == cells - 1 || below(8) == 0;
    const std::size_t end = reaches_end ? cells : begin + 1 + below(cells - 1 - begin);
    const qio::extent range{first_byte + begin, reaches_end ? 0 : end - begin};
    const auto kind = below(2) == 0 ? lock_kind::shared : lock_kind::exclusive;
    const bool refused = expected.is_refused(by, kind, begin, end);
    switch (below(8)) {
      case 0:
      case 1:
      case 2:
        if (file.try_lock(kind, range).value() == refused) FAIL("try_lock() differs from the model");
        if (!refused) expected.set(by, kind == lock_kind::shared ? held::shared : held::exclusive, begin, end);
        break;
      case 3:
      case 4:
        if (file.is_locked(kind, range).value() != refused) FAIL("is_locked() differs from the model");
        break;
      case 5:
        if (below(16) != 0) break;
        file = open();  // which closes the other
        expected.set(by, held::nothing, 0, cells);
        break;
      default:
        if (!file.unlock(range)) FAIL("unlock() failed");
        expected.set(by, held::nothing, begin, end);
    }
  }
}

void compare_files(std::uint64_t seed, int steps) {
  const qio_test::directory where;
  const std::string path = where / "file";
  const auto how = qio::creation::if_needed;
  for (const std::uint64_t first_byte : {std::uint64_t(0), std::uint64_t(1) << 62, (~std::uint64_t(0) >> 1) - cells})
    compare_with_model(seed, steps, first_byte,
                       [&] { return qio::cached_file::open(path, qio::access::read_write, how).value(); });
}

void compare_simulated(std::uint64_t seed, int steps) {
  const auto context = qio::basic_context<qio::simulated>::create().value();
  const auto how = qio::creation::if_needed;
  compare_with_model(seed, steps, 7,
                     [&] { return qio::cached_file::open(context, "file", qio::access::read_write, how).value(); });
}

}  // namespace

TEST_CASE("20,000 random steps lock, convert and unlock as a model does") { compare_files(20261126, 20'000); }

TEST_CASE("20,000 random steps lock, convert and unlock simulated files as a model does") {
  compare_simulated(20261126, 20'000);
}

TEST_CASE("random steps of many seeds lock, convert and unlock as a model does", "[nightly]") {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    compare_files(seed, 20'000);
    compare_simulated(seed, 20'000);
  }
}
