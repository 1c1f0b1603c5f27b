// What the plugin exports. It is loaded at run time, and has a copy of everything in the library.
#pragma once

#include <qio/result.hpp>

#include <system_error>

extern "C" {
/// Makes an error of each kind that the library has.
using make_errors_function = void(qio::error* own, qio::error* of_system, qio::error* of_deadline);
/// The code of errc::beyond_end, without a qio::error around it.
using make_code_function = void(std::error_code* code);
using address_of_category_function = const void*();
/// Maps the file at `path` and copies from it; the guard of copies is installed then. 0, or the line that failed.
using copy_from_file_function = int(const char* path);
/// Creates a context, which the plugin keeps. 0, or the line that failed.
using keep_context_function = int();
}
