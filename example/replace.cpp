// Saves settings so that a crash never leaves half of them, and keeps the version before.
#include <qio/names.hpp>
#include <qio/qio.hpp>

#include <cstdio>
#include <span>
#include <string>
#include <string_view>

qio::result<std::string> load(const char* path) {
  const auto file = qio::cached_file::open(path);
  if (!file) return file.error();
  const auto size = file.value().size();
  if (!size) return size.error();
  std::string text(static_cast<std::size_t>(size.value()), '\0');
  if (auto read = file.value().read_at(0, std::as_writable_bytes(std::span(text))); !read) return read.error();
  return text;
}

// Keeps the old version under another name, and replaces it. Both steps are durable when this returns.
qio::result<void> save(std::string_view text) {
  if (auto removed = qio::remove("replace.settings.before"); !removed) return removed.error();
  const auto kept = qio::link("replace.settings", "replace.settings.before");
  if (!kept && kept.error() != std::errc::no_such_file_or_directory) return kept.error();
  return qio::replace_file("replace.settings", std::as_bytes(std::span(text)));
}

int main() {
  qio::create_directory("replace.tmp").value();  // false if it was there
  for (const char* const text : {"color = red", "color = blue"})
    if (const auto saved = save(text); !saved) std::printf("%s\n", saved.error().message().c_str());
  std::printf("now \"%s\", before \"%s\"\n", load("replace.settings").value().c_str(),
              load("replace.settings.before").value().c_str());

  {  // A large result is written where it will be, and gets its name when it is complete, unless that is taken.
    auto scratch = qio::temporary_file<>::create({.within = "replace.tmp"}).value();
    scratch.file().write_at(0, std::as_bytes(std::span("the result"))).value();
    scratch.file().sync().value();
    qio::rename(scratch.path(), "replace.tmp/result", qio::if_exists::fail, {.durable = true}).value();
    scratch.keep();
  }
  const bool is_right = load("replace.settings").value() == "color = blue" &&
                        load("replace.settings.before").value() == "color = red" &&
                        load("replace.tmp/result").has_value();
  for (const char* const each : {"replace.settings", "replace.settings.before", "replace.tmp/result"})
    qio::remove(each).value();
  qio::remove_directory("replace.tmp").value();
  return is_right ? 0 : 1;
}
