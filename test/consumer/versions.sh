#!/bin/sh
# versions.sh: checks that each recipe has the version of the library. Prints the line that one lacks.
set -eu
cd "$(dirname "$0")/../.."
version=$(sed -n 's/#define QIO_VERSION_.* //p' include/qio/version.hpp | paste -s -d .)
status=0
while IFS='|' read -r file line; do
  grep -q -F -- "$line" "$file" || { echo "$file: no line has: $line"; status=1; }
done <<end
meson.build|version: '$version'
conan/center/config.yml|  "$version":
cmake/packages/arch/PKGBUILD|pkgver=$version
cmake/packages/debian/changelog|qio ($version-
cmake/packages/rpm/qio.spec|Version:        $version
cmake/packages/vcpkg/qio/vcpkg.json|"version": "$version"
docs/install.md|directory = qio-$version
end
exit $status
