// SPDX-License-Identifier: BSL-1.0
// libuv: its file operations, which its threads carry out, with a callback that starts the next read.
#include "measure/libuv.hpp"

#include "measure/depth.hpp"

#include <deque>

int main(int argc, char** argv) {
  compare::competitor competitor(argc, argv);
  const uv_file file = competitor.open(O_RDONLY);
  compare::page buffers[compare::depth];
  competitor.in_parallel([&](compare::round& round) {
    std::deque<compare::uv_reader> readers;
    for (compare::page& buffer : buffers) readers.push_back({file, buffer, round});
    for (compare::uv_reader& each : readers) each.read_next();
    uv_run(uv_default_loop(), UV_RUN_DEFAULT);
  });
}
