# Sourced by benchmark/run and test/run: how a step of the build is run and shown. Everything goes to standard error,
# standard output is for results.

# quietly LOG LABEL COMMAND...: runs COMMAND with its output in LOG; on a terminal shows how far it is; on failure
# shows the end of LOG. One line remains: the label and the time it took.
quietly() {
  local log=$1 label=$2 began=$SECONDS progress='' status=0
  shift 2
  mkdir -p "$(dirname "$log")"
  : >"$log"
  if [[ -t 2 ]]; then
    while sleep 0.2; do
      printf '\r\033[K%s … %s' "$label" "$(tail -n 1 "$log" | grep -o '^\[[0-9]*/[0-9]*\]')" >&2
    done &
    progress=$!
  fi
  "$@" >"$log" 2>&1 </dev/null || status=$?
  if [[ $progress ]]; then
    kill "$progress"
    wait "$progress" 2>/dev/null || true
    printf '\r\033[K' >&2
  fi
  if ((status)); then
    printf '%s: FAILED after %d s\n' "$label" $((SECONDS - began)) >&2
    tail -n 40 "$log" | sed 's/^/  | /' >&2
    printf '  the whole log: %s\n' "$log" >&2
  else
    printf '%s: %d s\n' "$label" $((SECONDS - began)) >&2
  fi
  return "$status"
}

# require_writable ROOT: ends the program unless ROOT/build, and what is in it, may be changed.
require_writable() {
  local each
  for each in "$1/build"/* "$1/build" "$1"; do
    [[ -e $each ]] || continue
    if [[ ! -w $each ]]; then
      printf '%s: cannot write to %s, which belongs to %s: run it as that user, or in a clone of your own\n' \
        "$(basename "$(dirname "$0")")/$(basename "$0")" "$each" "$(stat -c %U "$each")" >&2
      exit 2
    fi
    if [[ $each == "$1/build" ]]; then break; fi # ROOT itself need not change
  done
}

# configure_and_build ROOT PRESET
configure_and_build() {
  local log=$1/build/$2/log
  (
    cd "$1" || exit
    if command -v ccache >/dev/null; then
      # What was compiled in one clone is found again by another one, wherever that is.
      export CMAKE_CXX_COMPILER_LAUNCHER=ccache CCACHE_BASEDIR=$1 CCACHE_NOHASHDIR=1
      export CCACHE_SLOPPINESS=pch_defines,time_macros # what uses a precompiled header is not found again otherwise
    fi
    quietly "$log/configure.txt" "$2: configure" cmake --preset "$2" || exit
    sed -n 's/^-- qio: /  /p' "$log/configure.txt" >&2 # which engine this build has, and why
    quietly "$log/build.txt" "$2: build" cmake --build --preset "$2" --parallel "$(nproc)"
  )
}
