#!/usr/bin/env bash
# Shows how long the computer has been running, and its load. Exit code 1: more than 60 days. Changes nothing.
set -u
limit_days=60
if [ -r /proc/uptime ]; then
  seconds=$(cut -d. -f1 /proc/uptime)
else
  boot=$(sysctl -n kern.boottime 2>/dev/null | sed -n 's/^{ sec = \([0-9]*\),.*/\1/p')
  [ -n "$boot" ] || { echo 'The time of the start is not known'; exit 2; }
  seconds=$(($(date +%s) - boot))
fi
days=$((seconds / 86400))
echo "Running for: $days days, $((seconds % 86400 / 3600)) hours"
if [ -r /proc/loadavg ]; then
  echo "Load: $(cut -d' ' -f1-3 /proc/loadavg)"
else
  echo "Load: $(sysctl -n vm.loadavg 2>/dev/null)"
fi
[ "$days" -le "$limit_days" ] || { echo "Warning: no restart for more than $limit_days days"; exit 1; }
