#!/usr/bin/env bash
# Lists the TCP and UDP ports that are open for requests. Names of processes need root. Changes nothing.
set -u
if command -v ss >/dev/null 2>&1; then
  ss -H -t -u -l -n -p 2>/dev/null | awk '{ printf "%-5s %-45s %s\n", $1, $5, $7 }' | sort -u
elif command -v netstat >/dev/null 2>&1; then
  netstat -t -u -l -n -p 2>/dev/null | awk 'NR > 2 { printf "%-5s %-45s %s\n", $1, $4, $NF }' | sort -u
elif [ -r /proc/net/tcp ]; then
  for protocol in tcp tcp6; do
    [ -r "/proc/net/$protocol" ] || continue
    awk '$4 == "0A" { split($2, part, ":"); print part[2] }' "/proc/net/$protocol" | sort -u | while read -r port; do
      printf '%-5s port %d\n' "$protocol" "$((16#$port))"
    done
  done
else
  echo 'Neither ss nor netstat is installed'
  exit 2
fi
exit 0
