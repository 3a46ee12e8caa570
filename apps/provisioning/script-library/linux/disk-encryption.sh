#!/usr/bin/env bash
# Shows which mounted file systems are on encrypted volumes (LUKS). Exit code 1: the root file system is not. Changes nothing.
set -u
if ! command -v lsblk >/dev/null 2>&1 || ! command -v findmnt >/dev/null 2>&1; then
  echo 'lsblk and findmnt are needed'
  exit 2
fi
status=2
while read -r volume target; do
  device=${volume%%\[*}
  [ -b "$device" ] || continue
  if lsblk --noheadings --inverse --output TYPE "$device" 2>/dev/null | grep -qw crypt; then
    echo "$target: encrypted"
    if [ "$target" = / ]; then status=0; fi
  else
    echo "$target: not encrypted"
    if [ "$target" = / ]; then status=1; fi
  fi
done < <(findmnt --real --noheadings --list --output SOURCE,TARGET 2>/dev/null)
[ "$status" -ne 2 ] || echo 'The device of the root file system is not known'
exit "$status"
