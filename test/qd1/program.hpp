// SPDX-License-Identifier: BSL-1.0
// Runs qd1 as its users do.
#pragma once

#include "catch.hpp"
#include "program_os.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>

namespace qd1_test {

namespace fs = std::filesystem;

inline std::string contents(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// A directory of its own, in which qd1 is run.
struct directory {
  fs::path path = fs::current_path() / ("qd1-test-" + std::to_string(std::random_device()()));

  directory() { fs::create_directories(path); }
  directory(const directory&) = delete;
  directory& operator=(const directory&) = delete;
  ~directory() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
};

struct outcome {
  int status;
  std::string out;
  std::string err;
};

// What a program has printed. Where that is Windows, lines end in two characters.
inline std::string printed(const fs::path& path) {
  std::string text = contents(path);
  std::erase(text, '\r');
  return text;
}

inline outcome run_qd1(const directory& in, const std::string& arguments) {
  const fs::path out = in.path.string() + ".out";
  const fs::path err = in.path.string() + ".err";
  const int status = os::run(in.path, QD1_PROGRAM, arguments, out, err);
  outcome found{status, printed(out), printed(err)};
  fs::remove(out);
  fs::remove(err);
  return found;
}

// As one line, however the table was broken into lines.
inline std::string unbroken(const std::string& text) {
  std::string line;
  for (const char each : text)
    if (!((each == ' ' || each == '\n') && !line.empty() && line.back() == ' ')) line += each == '\n' ? ' ' : each;
  return line;
}

// All options that follow are of qd1 run, and print what is known of each series.
const std::string brief = " --details --time 50ms --samples 1000 --rounds 5 ";
// So that all samples are taken, however busy the machine is.
const std::string counted = " --details --time 60s --samples 1000 --rounds 5 --file-size 1M ";
const std::string small = brief + "--file-size 1M ";
// Time for all samples but on a machine that stands still, and rounds enough to be told apart.
const std::string unhurried = " --details --time 1s --samples 1000 --rounds 20 --file-size 1M ";

}  // namespace qd1_test
