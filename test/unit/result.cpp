// Errors and results: conversions, messages, exceptions; and memory.
#include "catch.hpp"
#include "os.hpp"
#include <qio/buffer.hpp>
#include <qio/result.hpp>

#include <boost/outcome/try.hpp>

#include <algorithm>
#include <cstring>
#include <string>

using qio::errc;
using qio::error;

namespace {

qio::result<int> fails_with(error why) { return why; }

namespace outcome = BOOST_OUTCOME_V2_NAMESPACE;

// A function that does not use qio's error class.
outcome::std_result<int> in_terms_of_codes(const qio::result<int>& from) {
  if (!from) return from.error().code();
  return from.value();
}

qio::result<int> tried(const qio::result<int>& from) {
  BOOST_OUTCOME_TRYV(from);
  return 1;
}

qio::result<void> checked(bool works) {
  if (!works) return qio::failure(error(errc::beyond_end));
  return qio::success();
}

qio::result<std::string> repeated(const std::string& text, bool works) {
  if (!works) return qio::failure(error(errc::offset_too_large));
  return qio::success(text + text);
}

}  // namespace

TEST_CASE("success() and failure() return a value, nothing, or an error") {
  CHECK(checked(true).has_value());
  CHECK(checked(false).error() == errc::beyond_end);
  CHECK(repeated("ab", true).value() == "abab");
  CHECK(repeated("ab", false).error() == errc::offset_too_large);
}

TEST_CASE("every condition has a message, and compares with std::errc") {
  const std::pair<errc, std::errc> table[] = {
      {errc::misaligned_offset, std::errc::invalid_argument},
      {errc::misaligned_length, std::errc::invalid_argument},
      {errc::misaligned_buffer, std::errc::invalid_argument},
      {errc::invalid_alignment, std::errc::invalid_argument},
      {errc::beyond_end, std::errc::invalid_argument},
      {errc::too_many_workers, std::errc::invalid_argument},
      {errc::offset_too_large, std::errc::file_too_large},
      {errc::direct_not_supported, std::errc::operation_not_supported},
      {errc::direct_in_memory, std::errc::operation_not_supported},
      {errc::direct_to_character_device, std::errc::operation_not_supported},
      {errc::direct_not_promised, std::errc::operation_not_supported},
      {errc::foreign_io_class, std::errc::invalid_argument},
      {errc::invalid_permissions, std::errc::invalid_argument},
      {errc::tree_too_deep, std::errc::invalid_argument},
      {errc::is_mount_point, std::errc::device_or_resource_busy},
      {errc::leaves_directory, std::errc::cross_device_link},
      {errc::beneath_not_supported, std::errc::operation_not_supported},
      {errc::beneath_forbidden, std::errc::operation_not_supported},
      {errc::access_not_granted, std::errc::bad_file_descriptor},
      {errc::context_closed, std::errc::operation_canceled},
      {errc::no_offsets, std::errc::invalid_seek},
      {errc::no_wake_handle, std::errc::operation_not_supported},
      {errc::handle_appends, std::errc::invalid_argument},
      {errc::handle_is_nonblocking, std::errc::invalid_argument},
      {errc::handle_is_synchronous, std::errc::invalid_argument},
      {errc::handle_is_direct, std::errc::invalid_argument},
      {errc::handle_is_not_direct, std::errc::invalid_argument},
      {errc::handle_is_not_durable, std::errc::invalid_argument},
      {errc::adopt_not_supported, std::errc::operation_not_supported},
      {errc::cannot_be_released, std::errc::operation_not_supported},
      {errc::handle_is_shared, std::errc::device_or_resource_busy},
      {errc::cannot_be_shared, std::errc::operation_not_supported},
      {errc::record_too_large, std::errc::message_size},
      {errc::not_a_log, std::errc::invalid_argument},
      {errc::log_damaged, std::errc::bad_message},
      {errc::writeback_not_supported, std::errc::operation_not_supported},
      {errc::untorn_not_supported, std::errc::operation_not_supported},
      {errc::untorn_length, std::errc::invalid_argument},
      {errc::untorn_offset, std::errc::invalid_argument},
      {errc::untorn_buffers, std::errc::invalid_argument},
      {errc::log_is_open, std::errc::device_or_resource_busy},
      {errc::log_version, std::errc::operation_not_supported},
      {errc::log_batch_too_large, std::errc::invalid_argument},
      {errc::log_extent_too_large, std::errc::invalid_argument},
      {errc::record_not_durable, std::errc::invalid_argument},
      {errc::null_in_path, std::errc::invalid_argument},
  };
  for (const auto& [condition, portable] : table) {
    const error failure = condition;
    CAPTURE(failure.message());
    CHECK(failure == condition);
    CHECK(failure == portable);
    CHECK(failure != std::errc::io_error);
    const std::error_code code = failure;
    CHECK(code == condition);
    CHECK(code == portable);
    CHECK(code.category() == qio::qio_category());
    CHECK(code.message().find("unknown") == std::string::npos);
    CHECK(failure.is_qio());
    CHECK(failure.transferred() == 0);
  }
  CHECK(std::error_code(999, qio::qio_category()).message().find("999") != std::string::npos);
  CHECK(std::strcmp(qio::qio_category().name(), "qio") == 0);
}

TEST_CASE("messages contain the numbers") {
  CHECK(error(errc::log_version, 1, 2).message() ==
        "the log has format version 1, but this version of qio reads only version 2");
  CHECK(error(errc::log_batch_too_large, 1 << 25, 1 << 24).message() ==
        "the log has batches of up to 33554432 bytes, but log_options::batch_limit is 16777216: raise it if you trust "
        "the file");
  CHECK(error(errc::log_extent_too_large, 9000, 4096).message() ==
        "log_options::extent is 9000 bytes, but may be at most 4096");
  CHECK(error(errc::record_not_durable, 9, 5).message() ==
        "the log cannot be trimmed up to record 9: those from record 5 on are not durable yet");
  CHECK(error(errc::misaligned_offset, 1000, 512).message() ==
        "offset 1000 is not a multiple of 512, which direct I/O on this file needs");
  CHECK(error(errc::misaligned_length, 100, 4096).message().find("length 100 is not a multiple of 4096") == 0);
  CHECK(error(errc::beyond_end, 20, 10).message() == "the range ends at 20, but the file ends at 10");
  CHECK(error(errc::invalid_alignment, 3, 0).message() == "alignment 3 is not a power of two");
}

TEST_CASE("errors of the system keep their code, and report the bytes that were transferred") {
  const error failure = error::of_transfer({os::disk_full, qio::platform::system_category()}, 4096);
  CHECK(failure == std::errc::no_space_on_device);
  CHECK(failure.code() == std::error_code(os::disk_full, qio::platform::system_category()));
  CHECK(failure.transferred() == 4096);
  CHECK(failure.given() == 0);
  CHECK(failure.message().find("4096 bytes") != std::string::npos);
  CHECK(failure == std::make_error_condition(std::errc::no_space_on_device));
  CHECK(failure == error(std::error_code(os::disk_full, qio::platform::system_category())));
  CHECK(!error().exists());
  CHECK(failure.exists());
  CHECK(std::is_trivially_copyable_v<error>);
}

TEST_CASE("value() of a failed result throws std::system_error with the message") {
  CHECK(qio::result<int>(7).value() == 7);
  try {
    static_cast<void>(fails_with({errc::misaligned_offset, 1000, 512}).value());
    FAIL("no exception");
  } catch (const std::system_error& thrown) {
    CHECK(thrown.code() == errc::misaligned_offset);
    CHECK(std::string(thrown.what()).find("offset 1000") != std::string::npos);
  }
  CHECK_THROWS_AS(fails_with(errc::context_closed).value(), std::system_error);
}

TEST_CASE("what() of the exception is the message of the error, and nothing else") {
  for (const error& failure : {error(errc::misaligned_offset, 1000, 512), error(errc::context_closed),
                               error(std::make_error_code(std::errc::timed_out))})
    try {
      static_cast<void>(fails_with(failure).value());
      FAIL("no exception");
    } catch (const std::system_error& thrown) {
      CHECK(thrown.what() == failure.message());
    }
}

TEST_CASE("a condition of std::errc that the library reports has a message of its own") {
  const auto says = [](std::errc condition) { return error(std::make_error_code(condition)).message(); };
  CHECK(says(std::errc::timed_out) == "the deadline passed before the operation completed");
  CHECK(says(std::errc::bad_file_descriptor) == "the file is not open");
  CHECK(says(std::errc::operation_canceled) == "the operation was canceled");
  CHECK(error::of_transfer(std::make_error_code(std::errc::timed_out), 512).message() ==
        "the deadline passed before the operation completed (after 512 bytes had been transferred)");
  CHECK(error().message() == "success");
}

TEST_CASE("the path of a failed open is part of the message until 64 later opens have failed") {
  const error plain = errc::direct_in_memory;
  const error first = plain.of_opening("/first");
  CHECK(first == plain);
  CHECK(first.code() == plain.code());
  CHECK(first.message() == "cannot open /first: " + plain.message());
  for (int i = 0; i < 63; ++i) static_cast<void>(plain.of_opening(("/later" + std::to_string(i)).c_str()));
  const error copy = first;
  CHECK(copy.message() == "cannot open /first: " + plain.message());
  CHECK(plain.of_opening("/last").message() == "cannot open /last: " + plain.message());
  CHECK(first.message() == plain.message());
}

TEST_CASE("what fails again and again displaces no other path") {
  const error plain = errc::direct_in_memory;
  const error first = plain.of_opening("/first");
  for (int i = 0; i < 1000; ++i)
    CHECK(plain.naming("write", "/full").message() == "cannot write /full: " + plain.message());
  CHECK(first.message() == "cannot open /first: " + plain.message());
}

TEST_CASE("an error that names a path keeps it when the bytes transferred change, and its own numbers") {
  const error of_system = error::of_transfer(std::make_error_code(std::errc::io_error), 100).naming("read", "/data");
  CHECK(of_system.after(512) == of_system);
  CHECK(of_system.after(512).transferred() == 512);
  CHECK(of_system.after(512).message().find("cannot read /data: ") == 0);
  CHECK(of_system.after(512).message().find("512 bytes") != std::string::npos);
  CHECK(of_system.after(0).message().find("bytes") == std::string::npos);
  const error of_library = error(errc::misaligned_offset, 1000, 512).after(4096);
  CHECK(of_library.given() == 1000);
  CHECK(of_library.needed() == 512);
  CHECK(of_library.transferred() == 0);
}

TEST_CASE("the path in a message commands no terminal and hides nothing") {
  const auto shown = [](std::string_view path) {
    const std::string message = error(errc::direct_in_memory).of_opening(std::string(path).c_str()).message();
    constexpr std::string_view before = "cannot open ";
    return message.substr(before.size(), message.find(": ") - before.size());
  };
  CHECK(shown("/a path/\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80") == "/a path/\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
  CHECK(shown("\x1b[2J\n\x7f") == R"(\x1b[2J\x0a\x7f)");
  CHECK(shown("\xc2\x9b"
              "2J") == R"(\xc2\x9b2J)");  // CSI, a C1 control
  CHECK(shown("\x9b"
              "2J") == R"(\x9b2J)");  // the same, for a terminal without UTF-8
  CHECK(shown("gpj.\xe2\x80\xae"
              "exe") == R"(gpj.\xe2\x80\xaeexe)");  // right-to-left override
  CHECK(shown("a\xe2\x80\x8b"
              "b\xef\xbb\xbf") == R"(a\xe2\x80\x8bb\xef\xbb\xbf)");  // invisible
  CHECK(shown("\xf3\xa0\x81\x81") == R"(\xf3\xa0\x81\x81)");
  // Blank symbols, but neither their neighbors nor white space.
  CHECK(shown("\xe2\xa0\x80\xe2\xa0\x81") == "\\xe2\\xa0\\x80\xe2\xa0\x81");
  CHECK(shown("\xf0\x9d\x85\x98\xf0\x9d\x85\x99") == "\xf0\x9d\x85\x98\\xf0\\x9d\\x85\\x99");
  CHECK(shown("\xc2\xa0\xe3\x80\x80") == "\xc2\xa0\xe3\x80\x80");
  // Not UTF-8: cut off, longer than needed, a surrogate, beyond Unicode.
  CHECK(shown("\xe2\x82") == R"(\xe2\x82)");
  CHECK(shown("\xc0\xaf\xe0\x80\xaf") == R"(\xc0\xaf\xe0\x80\xaf)");
  CHECK(shown("\xed\xa0\x80\xf4\x90\x80\x80") == R"(\xed\xa0\x80\xf4\x90\x80\x80)");
}

TEST_CASE("an error of another module names no file of this one") {
  qio::detail::recent_failures ours, theirs;
  const auto number = theirs.keep("cannot open theirs");
  static_cast<void>(ours.keep("cannot open ours"));
  CHECK(theirs.find(number) == "cannot open theirs");
  CHECK(ours.find(number).empty());
  ours.free_texts();
  theirs.free_texts();
}

TEST_CASE("of a long path, the message has the beginning and the end") {
  const std::string begin = "/begin" + std::string(494, 'b'), end = std::string(494, 'e') + "/ending";
  const auto message_of = [](const std::string& path) {
    return error(errc::direct_in_memory).of_opening(path.c_str()).message();
  };
  const std::string fits = begin + std::string(1024 - 1001, 'm') + end;
  CHECK(message_of(fits).find("cannot open " + fits + ": ") == 0);
  const std::string huge = begin + std::string(10'000'000, 'm') + end.substr(1);
  CHECK(message_of(huge).find("cannot open " + begin + "..." + end.substr(1) + ": ") == 0);
}

TEST_CASE("TRY propagates failures, and into results of other libraries as std::error_code") {
  CHECK(tried(5).value() == 1);
  CHECK(tried(fails_with({errc::misaligned_offset, 1000, 512})).error().given() == 1000);
  CHECK(in_terms_of_codes(5).value() == 5);
  CHECK(in_terms_of_codes(fails_with(errc::beyond_end)).error() == errc::beyond_end);
}

TEST_CASE("aligned memory has the requested alignment, and the requested size rounded up") {
  for (const std::size_t alignment : {std::size_t(1), std::size_t(512), std::size_t(4096), std::size_t(1) << 20})
    for (const std::size_t bytes : {0u, 1u, 511u, 4096u, 5000u}) {
      auto buffer = qio::aligned_buffer::allocate(bytes, alignment).value();
      CHECK(reinterpret_cast<std::uintptr_t>(buffer.data()) % alignment == 0);
      CHECK(buffer.size() == (bytes + alignment - 1) / alignment * alignment);
      CHECK(buffer.alignment() == alignment);
      std::fill(buffer.begin(), buffer.end(), std::byte{1});
    }
  CHECK(qio::aligned_buffer::allocate(1).value().size() == qio::default_buffer_alignment);
}

TEST_CASE("an invalid alignment and an impossible size are errors") {
  for (const std::size_t wrong : {0u, 3u, 4097u}) {
    const auto refused = qio::aligned_buffer::allocate(10, wrong);
    REQUIRE(!refused);
    CHECK(refused.error() == errc::invalid_alignment);
    CHECK(refused.error().given() == wrong);
  }
  CHECK(qio::aligned_buffer::allocate(~std::size_t(0)).error() == std::errc::not_enough_memory);
  CHECK(qio::aligned_buffer::allocate(~std::size_t(0) - 4094).error() == std::errc::not_enough_memory);
}

TEST_CASE("aligned memory can be moved, and is freed once") {
  auto first = qio::aligned_buffer::allocate(4096).value();
  std::byte* const address = first.data();
  auto second = std::move(first);
  CHECK(first.data() == nullptr);  // NOLINT(bugprone-use-after-move): what it is then is what is tested
  CHECK(first.size() == 0);
  CHECK(second.data() == address);
  first = qio::aligned_buffer::allocate(512, 512).value();
  first = std::move(second);
  CHECK(first.data() == address);
  CHECK(first.view(512, 1024).data() == address + 512);
  CHECK(first.view(512, 1024).size() == 1024);
}
