// SPDX-License-Identifier: BSL-1.0
// libuv: its file operations, which its threads carry out, with a callback that starts the next read.
#include "measure/libuv.hpp"

int main(int argc, char** argv) {
  compare::competitor competitor(argc, argv);
  const uv_file file = competitor.open(O_RDONLY);
  compare::page buffer;
  competitor.one_at_a_time([&](compare::round& round) {
    compare::uv_reader one{file, buffer, round};
    one.read_next();
    uv_run(uv_default_loop(), UV_RUN_DEFAULT);
  });
}
