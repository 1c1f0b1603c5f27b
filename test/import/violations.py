#!/usr/bin/env python3
"""violations.py PROJECT_DIRECTORY: breaks each rule of check.py in a copy of the files, and expects it to be found."""
import pathlib
import sys

from check import differences, read

FILES, MODULE = read(pathlib.Path(sys.argv[1]))
DECLARATIONS = {
    "a class": "class [[nodiscard]] planted final : public detail::base {\n  int value = 0;\n};",
    "an enumeration": "enum class planted : std::uint8_t { one, two };",
    "an alias": "using planted = basic_file<cached>;",
    "a template of an alias": "template <class T, class U = std::pair<T, T>>\nusing planted = result<T>;",
    "a concept": "template <class T>\nconcept planted = requires(T x) {\n  { x.f() } -> std::same_as<int>;\n} && true;",
    "a constant": "inline constexpr extent planted{};",
    "a number": "inline constexpr std::size_t planted = 4096;",
    "a function": "inline result<void> planted(path_view path, const options& how = {}) { return {}; }",
    "a constrained function": "template <class T>\n  requires detail::is_good<T>\ntask<result<T>> planted(T t) {\n  co_return t;\n}",
    "a function with a condition": "template <class T>\n  requires(sizeof(T) > 1 && (f(1)))\nauto planted(T t) {\n  return t;\n}",
    "a deleted function": "void planted(int) = delete;",
}


def with_declaration(text: str) -> dict[str, str]:
    header = FILES["mode.hpp"]
    end = header.rindex("QIO_END_NAMESPACE")
    return {**FILES, "mode.hpp": header[:end] + text + "\n" + header[end:]}


BROKEN = [(what, with_declaration(text), MODULE, "planted, of qio/mode.hpp, is not exported")
          for what, text in DECLARATIONS.items()]
BROKEN += [
    ("a name that is not exported", FILES, MODULE.replace("using qio::reader;\n", ""), "reader, of qio/reader.hpp"),
    ("a name of the platform", FILES, MODULE.replace("using qio::platform::native_handle;\n", ""), "native_handle"),
    ("a name that is in a comment only", FILES, MODULE.replace("using qio::task;", "// using qio::task;"), "task, of"),
    ("an internal name", FILES, MODULE + "using qio::detail::request;\n", "detail::request is exported"),
    ("a name that is gone", FILES, MODULE + "using qio::gone;\n", "gone is exported"),
]
DETAIL = with_declaration("namespace detail {\nstruct planted {};\n}")

missed = [what for what, files, module, message in BROKEN
          if not any(message in each for each in differences(files, module))]
for each in missed:
    print(f"not found: {each}")
print(f"{len(BROKEN) - len(missed)} of {len(BROKEN)} differences found")
sound = not list(differences(FILES, MODULE)) and not list(differences(DETAIL, MODULE))
sys.exit(0 if sound and not missed else 1)
