// How tests start a program: on Linux.
#pragma once

#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace os {

inline bool shell(const std::string& command) { return std::system((command + " >/dev/null 2>&1").c_str()) == 0; }

/// Whether the system tells on which device the files of a directory are. On overlay, as in many containers, it does
/// not.
inline bool tells_device(const std::string& directory) {
  return shell("test \"$(stat --file-system --format=%T '" + directory + "')\" != overlayfs");
}

/// For the programs that are started from now on.
inline void set_environment(const char* name, const std::string& value) { ::setenv(name, value.c_str(), 1); }

/// Runs a program in a directory, its output and its errors into files. Its exit status; as shells count, 128 more than
/// the signal that ended it.
inline int run(const std::filesystem::path& in, const std::string& program, const std::string& arguments,
               const std::filesystem::path& out, const std::filesystem::path& err) {
  const std::string command = "cd '" + in.string() + "' && '" + program + "' " + arguments + " >'" + out.string() +
                              "' 2>'" + err.string() + "'";
  const int status = std::system(command.c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace os
