// How tests start a program: on Windows.
#pragma once

#include <qio/system/windows/handle.hpp>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace os {

/// For this program and those that it starts from now on.
inline void set_environment(const char* name, const std::string& value) {
  ::_putenv_s(name, value.c_str());  // of this process's C library as well
}

/// A program that runs in a directory, its output and its errors into files.
class child {
 public:
  child(const std::filesystem::path& in, const std::string& program, const std::string& arguments,
        const std::filesystem::path& out, const std::filesystem::path& err)
      : alone_on_console_(::GetEnvironmentVariableW(L"QIO_TEST_OWN_CONSOLE", nullptr, 0) != 0) {
    const HANDLE to[] = {inherited(out), inherited(err)};
    STARTUPINFOW start{};
    start.cb = sizeof start;
    start.dwFlags = STARTF_USESTDHANDLES;
    start.hStdInput = INVALID_HANDLE_VALUE;
    start.hStdOutput = to[0];
    start.hStdError = to[1];
    const std::filesystem::path absolute = std::filesystem::absolute(program);
    std::wstring command = L'"' + absolute.wstring() + L"\" " + qio::platform::wide(arguments.c_str()).value();
    PROCESS_INFORMATION made{};
    if (::CreateProcessW(absolute.c_str(), command.data(), nullptr, nullptr, TRUE,
                         alone_on_console_ ? 0u : CREATE_NEW_PROCESS_GROUP, nullptr, in.c_str(), &start, &made) != 0) {
      ::CloseHandle(made.hThread);
      process_ = made.hProcess;
      number_ = made.dwProcessId;
    }
    for (const HANDLE each : to) ::CloseHandle(each);
  }
  child(const child&) = delete;
  child& operator=(const child&) = delete;
  ~child() {
    kill();
    wait();
    ::CloseHandle(process_);
  }

  /// As Ctrl-Break does it to a group of processes. Wine knows only Ctrl-C for all on a console, so there the test has
  /// to have one of its own, and says so by QIO_TEST_OWN_CONSOLE. False where there is no console.
  bool interrupt() const {
    if (!alone_on_console_) return ::GenerateConsoleCtrlEvent(CTRL_BREAK_EVENT, number_) != 0;
    ::SetConsoleCtrlHandler([](DWORD) -> BOOL { return TRUE; }, TRUE);
    return ::GenerateConsoleCtrlEvent(CTRL_C_EVENT, 0) != 0;
  }
  void kill() const { ::TerminateProcess(process_, 99); }
  bool runs() const { return ::WaitForSingleObject(process_, 0) == WAIT_TIMEOUT; }
  /// Its exit status; -1 if it was never started.
  int wait() const {
    DWORD status = static_cast<DWORD>(-1);
    ::WaitForSingleObject(process_, INFINITE);
    ::GetExitCodeProcess(process_, &status);
    return static_cast<int>(status);
  }

 private:
  static HANDLE inherited(const std::filesystem::path& file) {
    SECURITY_ATTRIBUTES inherit{};
    inherit.nLength = sizeof inherit;
    inherit.bInheritHandle = TRUE;
    return ::CreateFileW(file.c_str(), GENERIC_WRITE, FILE_SHARE_READ, &inherit, CREATE_ALWAYS, FILE_ATTRIBUTE_NORMAL,
                         nullptr);
  }

  bool alone_on_console_;
  HANDLE process_ = nullptr;
  DWORD number_ = 0;
};

/// Runs a program in a directory, its output and its errors into files. Its exit status.
inline int run(const std::filesystem::path& in, const std::string& program, const std::string& arguments,
               const std::filesystem::path& out, const std::filesystem::path& err) {
  return child(in, program, arguments, out, err).wait();
}

}  // namespace os
