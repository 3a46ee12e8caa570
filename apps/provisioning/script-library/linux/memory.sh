#!/usr/bin/env bash
# Shows the use of memory and swap. Exit code 1: less than 10 % is available. Changes nothing.
set -u
[ -r /proc/meminfo ] || { echo '/proc/meminfo cannot be read'; exit 2; }
value() { awk -v name="$1:" '$1 == name { print $2 }' /proc/meminfo; }
total=$(value MemTotal)
available=$(value MemAvailable)
swap_total=$(value SwapTotal)
swap_free=$(value SwapFree)
percent=$((available * 100 / total))
echo "Memory: $((total / 1024)) MB, available: $((available / 1024)) MB ($percent %)"
echo "Swap: $((swap_total / 1024)) MB, used: $(((swap_total - swap_free) / 1024)) MB"
[ "$percent" -ge 10 ] || { echo 'Warning: less than 10 % of the memory is available'; exit 1; }
