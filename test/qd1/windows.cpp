// SPDX-License-Identifier: BSL-1.0
// qd1.exe: how it ends, and what Windows cannot be asked.
#include "machine/find.hpp"
#include "platform/file.hpp"
#include "program.hpp"
#include <qio/qio.hpp>

#include <nlohmann/json.hpp>
#include <windows.h>
#include <winternl.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace {

using qio_test::Contains;
using namespace qd1_test;

// qd1 at work, for longer than any test here waits.
struct working {
  directory here;
  os::child child{
      here.path, QD1_PROGRAM,
      "run --modes cached --ops read --file-size 1M --time 20s --samples 100000000 --rounds 20 --json cut.json",
      here.path.string() + ".out", here.path.string() + ".err"};

  ~working() {
    child.kill();
    child.wait();
    fs::remove(here.path.string() + ".out");
    fs::remove(here.path.string() + ".err");
  }
  bool has_files() const { return !fs::is_empty(here.path); }
  void wait_for_file() const {
    while (child.runs() && !has_files()) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
};

TEST_CASE("the temporary file is gone when qd1 has been killed") {
  const working run;
  run.wait_for_file();
  CHECK(run.has_files());
  run.child.kill();
  run.child.wait();
  CHECK_FALSE(run.has_files());
}

/// How a handle was opened: FILE_NO_INTERMEDIATE_BUFFERING and the like (winternl.h). None if it is not one of a file.
std::optional<ULONG> options_of(HANDLE handle) {
  using query = NTSTATUS(NTAPI*)(HANDLE, IO_STATUS_BLOCK*, void*, ULONG, int);
  static const auto ask = reinterpret_cast<query>(
      reinterpret_cast<void*>(::GetProcAddress(::GetModuleHandleW(L"ntdll.dll"), "NtQueryInformationFile")));
  constexpr int mode_information = 16;
  IO_STATUS_BLOCK status;
  ULONG mode = 0;
  if (ask == nullptr || ask(handle, &status, &mode, sizeof mode, mode_information) < 0) return std::nullopt;
  return mode;
}

/// The options of all handles of this process by which a file of this name is open.
std::vector<ULONG> options_of_handles_of(const fs::path& file) {
  std::vector<ULONG> found;
  for (std::uintptr_t number = 4; number < 0x10000; number += 4) {
    const auto handle = reinterpret_cast<HANDLE>(number);
    if (::GetFileType(handle) != FILE_TYPE_DISK) continue;
    std::wstring name(1024, L'\0');
    name.resize(::GetFinalPathNameByHandleW(handle, name.data(), static_cast<DWORD>(name.size()), 0));
    if (const auto options = options_of(handle); options && fs::path(name).filename() == file.filename())
      found.push_back(*options);
  }
  return found;
}

TEST_CASE("the handles that qd1 keeps open do not use the cache, so direct series need not keep it in step") {
  const directory here;
  const auto use_no_cache = [](const std::vector<ULONG>& options) {
    return options.size() == 1 && (options.front() & FILE_NO_INTERMEDIATE_BUFFERING) != 0;
  };
  {
    const qd1::platform::temporary_file file(here.path.string());
    CHECK(use_no_cache(options_of_handles_of(file.path())));
  }
  const std::string name = (here.path / "data").string();
  {
    const auto made = qd1::platform::create_file(name);
    CHECK_FALSE(use_no_cache(options_of_handles_of(name)));  // so it can be told
  }
  const qd1::platform::held_file held(name);
  CHECK(use_no_cache(options_of_handles_of(name)));
}

TEST_CASE("an interrupted run writes what it has") {
  const working run;
  run.wait_for_file();
  std::this_thread::sleep_for(std::chrono::seconds(4));  // it listens for noise first
  if (!run.child.interrupt()) QIO_SKIP("there is no console, by which a program is interrupted");
  CHECK(run.child.wait() == 130);
  const auto report = nlohmann::json::parse(contents(run.here.path / "cut.json")).at("qio");
  CHECK(report.at("complete") == false);
  CHECK(report.at("series").at(0).at("latency").at("samples") > 0);
}

TEST_CASE("the engine of asynchronous series is the completion port") {
  const directory here;
  const outcome found = run_qd1(here, "run --modes cached --ops read --engine iocp" + small);
  CHECK(found.status == 0);
  CHECK_THAT(found.out, Contains("iocp") && Contains("ring 100%"));
  for (const std::string other : {"uring", "aio"}) CHECK(run_qd1(here, "run --engine " + other + small).status == 2);
}

TEST_CASE("handles take advice, and mappings do not, with the reason") {
  const directory here;
  const outcome found = run_qd1(here, "run --modes cached,mapped --ops read --advice random,sequential" + small);
  CHECK_THAT(unbroken(found.out), Contains("cached, advised random") && Contains("mapped, advised sequential") &&
                                      Contains("this system takes no advice on mappings"));
}

TEST_CASE("names may be of any language") {
  const directory here;
  const std::string name = "\xc3\xa4\xe6\x97\xa5";
  CHECK(run_qd1(here, "run ./" + name + " --modes cached --ops read" + small).status == 0);
  CHECK(fs::exists(here.path / fs::path(std::u8string(name.begin(), name.end()))));
}

TEST_CASE("a device that cannot be opened is an error with its name") {
  const directory here;
  const outcome found = run_qd1(here, R"(run \\.\PhysicalDrive4711)" + small);
  CHECK(found.status == 2);
  CHECK_THAT(found.err, Contains(R"(\\.\PhysicalDrive4711: )"));
}

// cmake/wine makes Q: a volume whose contents are a file.
TEST_CASE("a volume is read, without the cache only, and never written") {
  const directory here;
  const HANDLE volume =
      ::CreateFileW(LR"(\\.\Q:)", GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_WRITE, nullptr, OPEN_EXISTING, 0, nullptr);
  if (volume == INVALID_HANDLE_VALUE) QIO_SKIP("there is no volume Q: that this user may read");
  ::CloseHandle(volume);
  const outcome found = run_qd1(here, R"(run \\.\Q: --ops read)" + small);
  INFO(found.out << found.err);
  CHECK(found.status == 0);
  CHECK_THAT(unbroken(found.out), Contains("direct") && Contains("does not cache what it reads from a device"));
  const outcome written = run_qd1(here, R"(run \\.\Q: --overwrite)" + small);
  CHECK(written.status == 2);
  CHECK_THAT(written.err, Contains("on Windows, devices are only read"));
}

TEST_CASE("cold reads are not available where nothing shows that they were cold") {
  const directory here;
  const outcome found = run_qd1(here, "run --modes cached --ops read --reads cold" + small);
  if (!qd1::find_machine(".").devices.empty()) QIO_SKIP("the devices count here");
  CHECK_THAT(unbroken(found.out), Contains("so cold cannot be verified"));
}

TEST_CASE("short memory is refused before a file is made, since Windows does not tell what is in memory") {
  const directory here;
  const outcome found = run_qd1(here, "memory ./data");
  CHECK(found.status == 2);
  CHECK_THAT(found.err, Contains("does not report which pages of a file are in memory"));
  CHECK(fs::is_empty(here.path));
}

}  // namespace
