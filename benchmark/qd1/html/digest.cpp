// SPDX-License-Identifier: BSL-1.0
#include "digest.hpp"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace qd1::html {
namespace {

using hash_state = std::array<std::uint32_t, 8>;

constexpr std::array<std::uint32_t, 64> sha256_constants = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

std::uint32_t big_endian(std::string_view four) {
  std::uint32_t word = 0;
  for (const char each : four) word = word << 8 | static_cast<unsigned char>(each);
  return word;
}

void add_block(hash_state& state, std::string_view block) {
  std::array<std::uint32_t, 64> schedule{};
  for (std::size_t each = 0; each < 16; ++each) schedule[each] = big_endian(block.substr(each * 4, 4));
  for (std::size_t each = 16; each < 64; ++each) {
    const std::uint32_t early = schedule[each - 15], late = schedule[each - 2];
    schedule[each] = schedule[each - 16] + (std::rotr(early, 7) ^ std::rotr(early, 18) ^ early >> 3) +
                     schedule[each - 7] + (std::rotr(late, 17) ^ std::rotr(late, 19) ^ late >> 10);
  }
  auto [a, b, c, d, e, f, g, h] = state;
  for (std::size_t each = 0; each < 64; ++each) {
    const std::uint32_t one = h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) + ((e & f) ^ (~e & g)) +
                              sha256_constants[each] + schedule[each];
    const std::uint32_t other = (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    h = g;
    g = f;
    f = e;
    e = d + one;
    d = c;
    c = b;
    b = a;
    a = one + other;
  }
  const hash_state added = {a, b, c, d, e, f, g, h};
  for (std::size_t each = 0; each < state.size(); ++each) state[each] += added[each];
}

std::string bytes_of(const hash_state& state) {
  std::string bytes;
  for (const std::uint32_t word : state)
    for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(word >> shift & 0xff);
  return bytes;
}

std::string sha256(std::string_view of) {
  std::string padded(of);
  padded += '\x80';
  padded.append((120 - padded.size() % 64) % 64, '\0');
  const std::uint64_t bits = std::uint64_t(of.size()) * 8;
  for (int shift = 56; shift >= 0; shift -= 8) padded += static_cast<char>(bits >> shift & 0xff);
  hash_state state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  for (std::size_t at = 0; at < padded.size(); at += 64) add_block(state, std::string_view(padded).substr(at, 64));
  return bytes_of(state);
}

std::string base64(std::string_view bytes) {
  constexpr std::string_view base64_digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::string_view part = bytes.substr(at, 3);
    const std::uint32_t group = big_endian(part) << (3 - part.size()) * 8;
    for (std::size_t each = 0; each < 4; ++each)
      text += each > part.size() ? '=' : base64_digits[group >> (18 - 6 * each) & 0x3f];
  }
  return text;
}

}  // namespace

std::string digest(std::string_view of) { return "sha256-" + base64(sha256(of)); }

}  // namespace qd1::html
