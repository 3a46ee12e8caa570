#!/usr/bin/env bash
# Lists local file systems with their use. Exit code 1: one is at least 90 % full. Changes nothing.
set -u
limit=90
status=0
printf '%-40s %10s %10s %6s\n' 'Mounted on' 'Size MB' 'Free MB' 'Used'
while read -r _ size _ free used mount; do
  percent=${used%\%}
  case $percent in '' | *[!0-9]*) continue ;; esac
  case $mount in /dev | /dev/* | /run | /run/* | /snap/* | /sys/* | /proc/* | /System/Volumes/*) continue ;; esac
  printf '%-40s %10d %10d %5d%%\n' "$mount" "$((size / 1024))" "$((free / 1024))" "$percent"
  if [ "$percent" -ge "$limit" ]; then
    echo "Warning: $mount is at least $limit % full"
    status=1
  fi
done < <(df -P -k -l 2>/dev/null | tail -n +2)
exit "$status"
