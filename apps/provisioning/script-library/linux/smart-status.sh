#!/usr/bin/env bash
# Shows the SMART health of the disks. Needs root and smartmontools. Exit code 1: a disk fails. Changes nothing.
set -u
if ! command -v smartctl >/dev/null 2>&1; then
  echo 'smartctl is not installed'
  exit 2
fi
if [ "$(id -u)" -ne 0 ]; then
  echo 'SMART can be read by root only'
  exit 2
fi
status=0
checked=0
while read -r device _; do
  [ -n "$device" ] || continue
  health=$(smartctl --health "$device" 2>/dev/null | grep -E 'test result|Health Status' | sed 's/.*: *//')
  [ -n "$health" ] || continue
  checked=$((checked + 1))
  echo "$device: $health"
  case $health in PASSED | OK) ;; *) status=1 ;; esac
done < <(smartctl --scan 2>/dev/null)
echo "Checked disks: $checked"
[ "$checked" -gt 0 ] || exit 2
exit "$status"
