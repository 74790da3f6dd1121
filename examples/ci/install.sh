#!/usr/bin/env bash
# Installs a release of ctrlplane: downloads the archive for this machine, verifies its
# checksum, and unpacks it.
#
#   install.sh [FOLDER]          install into FOLDER (default: ~/.local/bin)
#   install.sh --resolve         only print the version and the name of the archive
#
# VERSION          a release such as v0.5.0 (default: the latest)
# ARCHIVE_CACHE    folder that keeps the archive for the next time; it is verified again,
#                  and downloaded again if it is damaged
# RELEASES         where the releases are, if not at GitHub
set -euo pipefail

releases=${RELEASES:-https://github.com/ctrlplane/ctrlplane/releases}

fail() {
  echo "install.sh: $*" >&2
  exit 1
}

fetch() { # URL FILE
  curl -fsSL --retry 3 --connect-timeout 20 -o "$2" "$1" || fail "cannot download $1: check VERSION and the network"
}

# The latest release is where its page leads.
latest_version() {
  local url
  url=$(curl -fsSL --retry 3 --connect-timeout 20 -o /dev/null -w '%{url_effective}' "$releases/latest") || fail "cannot find the latest release at $releases: set VERSION"
  echo "${url##*/}"
}

archive_name() { # VERSION without v
  local os arch suffix=tar.xz
  case ${RUNNER_OS:-$(uname -s)} in
  Linux) os=linux ;;
  macOS | Darwin) os=darwin ;;
  Windows | MINGW* | MSYS*) os=windows suffix=zip ;;
  *) fail "no release for ${RUNNER_OS:-$(uname -s)}: build it with go install" ;;
  esac
  case ${RUNNER_ARCH:-$(uname -m)} in
  X64 | x86_64 | amd64) arch=amd64 ;;
  ARM64 | arm64 | aarch64) arch=arm64 ;;
  *) fail "no release for ${RUNNER_ARCH:-$(uname -m)}: build it with go install" ;;
  esac
  echo "ctrlplane_$1_${os}_$arch.$suffix"
}

sha256() { # FILE
  if command -v sha256sum >/dev/null; then sha256sum "$1"; else shasum -a 256 "$1"; fi | cut -d ' ' -f 1
}

# mismatch prints why a file is not the one in its line of checksums.txt; nothing if it is.
mismatch() { # FILE CHECKSUMS
  local name want got
  name=$(basename "$1")
  want=$(awk -v name="$name" '$2 == name || $2 == "*" name { print $1 }' "$2")
  got=$(sha256 "$1")
  if [ -z "$want" ]; then
    echo "$name is not in checksums.txt of this release"
  elif [ "$got" != "$want" ]; then
    echo "$name has the checksum $got, checksums.txt says $want"
  fi
}

# use_cached copies the archive of an earlier installation, unless it is missing or damaged.
use_cached() {
  [ -f "$cached" ] && cp "$cached" "$work/$archive" || return 1
  local problem
  problem=$(mismatch "$work/$archive" "$work/checksums.txt")
  [ -n "$problem" ] || return 0
  echo "install.sh: the cached archive is downloaded again: $problem" >&2
  return 1
}

unpack() { # ARCHIVE FOLDER
  case $1 in
  *.zip) unzip -q "$1" -d "$2" ;;
  *) tar -xJf "$1" -C "$2" ;;
  esac || fail "cannot unpack $1: install $(case $1 in *.zip) echo unzip ;; *) echo xz ;; esac)"
}

version=${VERSION:-latest}
[ "$version" != latest ] || version=$(latest_version)
case $version in v[0-9]*) ;; *) fail "VERSION: $version is not a version such as v0.5.0" ;; esac
archive=$(archive_name "${version#v}")
if [ "${1:-}" = --resolve ]; then
  printf 'version=%s\narchive=%s\n' "$version" "$archive"
  exit
fi

target=${1:-$HOME/.local/bin}
work=$(mktemp -d)
cached=${ARCHIVE_CACHE:+$ARCHIVE_CACHE/$archive}
trap 'rm -rf "$work" ${cached:+"$cached.$$"}' EXIT
fetch "$releases/download/$version/checksums.txt" "$work/checksums.txt"
if ! use_cached; then
  fetch "$releases/download/$version/$archive" "$work/$archive"
  problem=$(mismatch "$work/$archive" "$work/checksums.txt")
  [ -z "$problem" ] || fail "$problem: nothing was installed"
fi
mkdir "$work/unpacked"
unpack "$work/$archive" "$work/unpacked"
program=$(find "$work/unpacked" -type f \( -name ctrlplane -o -name ctrlplane.exe \) | head -n 1)
[ -n "$program" ] || fail "$archive does not contain ctrlplane"
mkdir -p "$target"
install -m 755 "$program" "$target/"
if [ -n "$cached" ]; then
  mkdir -p "$ARCHIVE_CACHE"
  cp "$work/$archive" "$cached.$$" # if this is killed here, no truncated archive is left
  mv "$cached.$$" "$cached"
fi
[ -z "${GITHUB_PATH:-}" ] || echo "$target" >>"$GITHUB_PATH"
echo "ctrlplane $version is in $target"
