#!/usr/bin/env bash
# Shows the destination and the latest backup of Time Machine. Exit code 1: there is none. Changes nothing.
set -u
if ! command -v tmutil >/dev/null 2>&1; then
  echo 'tmutil is not there: this is no macOS'
  exit 2
fi
tmutil destinationinfo
latest=$(tmutil latestbackup 2>/dev/null)
echo "Latest backup: ${latest:-none}"
[ -n "$latest" ] || exit 1
