#!/usr/bin/env bash
# Counts failed logins of the last 24 hours by address or user. Exit code 1: 20 or more. Changes nothing.
set -u
if command -v journalctl >/dev/null 2>&1 && [ -d /run/systemd/system ]; then
  lines=$(journalctl --since='24 hours ago' --no-pager --quiet --output=cat 2>/dev/null | grep -E 'Failed password|authentication failure' || true)
elif [ -r /var/log/auth.log ]; then
  lines=$(tail -n 20000 /var/log/auth.log | grep -E 'Failed password|authentication failure' || true)
elif [ -r /var/log/secure ]; then
  lines=$(tail -n 20000 /var/log/secure | grep -E 'Failed password|authentication failure' || true)
else
  echo 'Neither the journal nor a log of logins can be read'
  exit 2
fi
count=0
if [ -n "$lines" ]; then count=$(echo "$lines" | wc -l | tr -d ' '); fi
echo "Failed logins: $count"
[ "$count" -eq 0 ] || echo "$lines" | grep -oE '(from|rhost=) ?[0-9a-fA-F.:]+' | sed -E 's/(from|rhost=) ?//' | sort | uniq -c | sort -rn | head -n 20
[ "$count" -lt 20 ] || exit 1
